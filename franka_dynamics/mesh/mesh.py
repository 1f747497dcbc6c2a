# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Reads STL, OBJ and PLY files as triangle meshes, and computes the inertia of enclosed solids.

The inertia and its derivatives are those of Kwon, section 4.
"""

from dataclasses import dataclass
import os
from pathlib import Path
from typing import Any

import numpy as np

from ..arm.inertia import LinkInertia
from ..arrays import Array, ArrayLike, freeze_arrays, NDArray
from ..errors import MeshError, require_extra
from ..files import expanded_path
from ..spatial import as_rigid_transform, cross, hat

METRES_PER_UNIT = {'m': 1.0, 'cm': 0.01, 'mm': 0.001, 'in': 0.0254}
MESH_SUFFIXES = ('.stl', '.obj', '.ply')
# A mesh whose largest extent is no larger is taken to be in metres.
_MAX_SIZE_IN_METRES = 1.5
# One whose largest extent is no smaller is in millimetres. Between, the user must name the unit.
_MIN_SIZE_IN_MILLIMETRES = 10.0
# Places, in Kwon's order of the ten parameters (m, h, xx, yy, zz, xy, xz, yz), of those of
# LinkInertia.parameters().
_KWON_PARAMETER_ORDER = (4, 7, 8, 5, 9, 6, 1, 2, 3, 0)


@dataclass(frozen=True, eq=False)
class TriangleMesh:
    """
    A triangle mesh whose face normals should point out of the solid, which is not checked.

    Parameters
    ----------
    vertices : array_like, shape (V, 3)
        Corner points [m].
    faces : array_like of int, shape (F, 3)
        Rows of `vertices`, counter-clockwise seen from outside.

    Raises
    ------
    MeshError
        If a shape is wrong, a coordinate is not finite, or a face names no vertex.

    """

    vertices: Array
    faces: NDArray[np.int64]

    def __post_init__(self) -> None:
        """Freeze the arrays; raise MeshError for a wrong shape, type or index, or no face."""
        given = self.faces
        freeze_arrays(self, MeshError, 'a mesh', vertices=(None, 3), faces=(None, 3))
        faces = np.array(given, order='C')
        if not (np.issubdtype(faces.dtype, np.integer) and len(faces)):
            raise MeshError(
                f'Mesh faces are {faces.dtype} of shape {faces.shape}; give one row or more of '
                'three integers.'
            )
        if faces.min() < 0 or faces.max() >= len(self.vertices):
            raise MeshError(
                f'A mesh face names vertex {int(faces.max())} or '
                f'{int(faces.min())}, but the rows are 0..{len(self.vertices) - 1}.'
            )
        faces = faces.astype(np.int64, copy=False)
        faces.setflags(write=False)
        object.__setattr__(self, 'faces', faces)

    @property
    def bounding_box_center(self) -> Array:
        """Centre of the bounding box, shape (3,) [m]."""
        return 0.5 * (self.vertices.min(axis=0) + self.vertices.max(axis=0))

    def expressed_in(self, transform: ArrayLike) -> 'TriangleMesh':
        """Return the mesh in a frame in which its present frame has the pose `transform`."""
        matrix = as_rigid_transform(transform)
        return TriangleMesh(self.vertices @ matrix[:3, :3].T + matrix[:3, 3], self.faces)


def mesh_volume(mesh: TriangleMesh) -> float:
    """Return the enclosed volume [m^3] (Kwon, (17)); negative if the normals point inwards."""
    return float(_unit_density_parameters(mesh, mesh.bounding_box_center)[0])


def mesh_inertia(mesh: TriangleMesh, density: float) -> LinkInertia:
    """
    Return a homogeneous solid's inertia in the frame of its mesh; MeshError unless volume is > 0.

    Source: Kwon, equations (17), (20), (22), (25). The parameters are summed about the middle of
    the bounding box, so that a mesh far from its frame's origin loses no digits, and then moved to
    the origin.

    Parameters
    ----------
    mesh : TriangleMesh
        Closed and wound outwards, as `load_mesh` checks.
    density : float
        [kg/m^3]

    Returns
    -------
    LinkInertia
        About the origin of the mesh's frame.

    Raises
    ------
    MeshError
        If the density is not a positive number, or the mesh encloses no positive volume.

    """
    _require_density(density)
    center = mesh.bounding_box_center
    values = _unit_density_parameters(mesh, center)
    if not values[0] > 0.0:
        raise MeshError(
            f'The mesh encloses a volume of {values[0]:.3g} m^3; it must be positive. A negative '
            'volume means that the normals point inwards.'
        )
    here = LinkInertia.from_parameters(density * values[list(_KWON_PARAMETER_ORDER)])
    pose = np.eye(4)
    pose[:3, 3] = center
    return here.expressed_in(pose)


def _require_density(density: float) -> None:
    """Raise MeshError if a density [kg/m^3] is not a positive number."""
    if not 0.0 < density < np.inf:
        raise MeshError(f'The density is {density} kg/m^3; it must be a positive number.')


def _unit_density_parameters(mesh: TriangleMesh, point: Array) -> Array:
    """
    Return mass, first moment and inertia about a point of a solid of 1 kg/m^3, shape (10,).

    Kwon's order is m, h, I_diag (xx, yy, zz) and I_off (xy, xz, yz).
    """
    corners = (mesh.vertices - point)[mesh.faces]  # (face, corner, coordinate)
    first, second, third = corners.swapaxes(0, 1)
    s = corners.sum(axis=1)
    g = 0.5 * (s * s + (corners * corners).sum(axis=1))  # (19): sum over corners i <= j of v_i v_j
    # Kwon, (15): v1 . n is det [v1 v2 v3], because v2 x v3 is the only term of the normal n that
    # is not perpendicular to v1.
    normal = cross(second - first, third - first)
    determinant = np.einsum('fc,fc->f', first, normal)
    moments = determinant @ g / 60.0
    # The sum over corners i <= j of v_ia v_jb + v_ib v_ja for ab = xy, xz, yz (Kwon, (25)).
    a = [0, 0, 1]
    b = [1, 2, 2]
    products = s[:, a] * s[:, b] + (corners[..., a] * corners[..., b]).sum(axis=1)
    return np.concatenate(
        (
            [np.vdot(s, normal) / 18.0],
            np.einsum('fc,fc->c', g, normal) / 24.0,
            moments.sum() - moments,
            -(determinant @ products) / 120.0,
        )
    )


def vertex_derivatives(mesh: TriangleMesh, density: float) -> Array:
    """
    Return the derivatives of the ten inertial parameters by all vertex positions, (10, V, 3).

    The derivatives are Kwon's (18), (21), (23)-(24) and (27)-(28), summed over the faces that
    share a vertex. The parameters are about the origin of the mesh's frame.

    Parameters
    ----------
    mesh : TriangleMesh
        Closed and wound outwards.
    density : float
        [kg/m^3]

    Returns
    -------
    ndarray, shape (10, V, 3)
        Rows in the order of `LinkInertia.parameters()`, where Kwon has (m, h, I_diag, I_off).
        Units: kg m, kg, kg/m.

    Raises
    ------
    MeshError
        If the density is not a positive number.

    """
    _require_density(density)
    by_vertex = np.zeros((len(mesh.vertices), 10, 3))
    corners = mesh.vertices[mesh.faces].swapaxes(0, 1)
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        by_corner = _corner_derivatives(corners[i], corners[j], corners[k])
        np.add.at(by_vertex, mesh.faces[:, i], by_corner)
    return density * by_vertex.swapaxes(0, 1)[list(_KWON_PARAMETER_ORDER)]


def _corner_derivatives(vi: Array, vj: Array, vk: Array) -> Array:
    """
    Return the derivative of each face's share of the inertial parameters by its corner `vi`.

    The solid's density is 1 kg/m^3; the parameters are in Kwon's order. Corners of F faces have
    shape (F, 3), derivatives (F, 10, 3).
    """
    s = vi + vj + vk
    normal = cross(vj - vi, vk - vi)
    d_normal = hat(vk - vj)  # (16)
    d_determinant = cross(vj, vk)  # (16): v_j^T [v_k]
    determinant = np.einsum('fc,fc->f', vi, d_determinant)
    g = 0.5 * (s * s + vi * vi + vj * vj + vk * vk)  # (19)
    d_g = s + vi  # the diagonal of dg/dv_i
    terms = np.empty((len(vi), 10, 3))
    terms[:, 0] = (normal + cross(s, vk - vj)) / 18.0  # (18)
    terms[:, 1:4] = g[:, :, None] * d_normal / 24.0  # (21)
    moments = g[:, :, None] * d_determinant[:, None] / 60.0  # (24)
    for axis in range(3):
        terms[:, 1 + axis, axis] += normal[:, axis] * d_g[:, axis] / 24.0
        moments[:, axis, axis] += determinant * d_g[:, axis] / 60.0
    terms[:, 4:7] = moments.sum(axis=1, keepdims=True) - moments  # (23): (1 1^T - I) from the left
    for row, (a, b) in enumerate(((0, 1), (0, 2), (1, 2)), start=7):  # (28)
        product = s[:, a] * s[:, b] + sum(v[:, a] * v[:, b] for v in (vi, vj, vk))
        terms[:, row] = product[:, None] * d_determinant
        terms[:, row, a] += determinant * d_g[:, b]
        terms[:, row, b] += determinant * d_g[:, a]
    terms[:, 7:] /= -120.0
    return terms


def inertia_motion_derivative(inertia: LinkInertia) -> Array:
    """
    Return the derivative (10, 6) of a body's inertial parameters by a small displacement eta.

    The body, with the pose T, moves by exp([d eta]), [d eta] = dT T^{-1}. The frame of its inertia
    G = Ad_T^{-T} G_0 Ad_T^{-1} (Kwon, (29)) does not move with the body. The blocks are Kwon's
    (33), (34) and the two printed without a number after (34).

    Parameters
    ----------
    inertia : LinkInertia
        The body at its present place, about the origin of its frame.

    Returns
    -------
    ndarray, shape (10, 6)
        Rows in the order of `LinkInertia.parameters()`, columns eta = (v, omega): translation [m]
        first, then rotation [rad]. Kwon has rows (m, h, I_diag, I_off) and columns (omega, v).

    """
    mass = inertia.mass
    hx, hy, hz = inertia.first_moment
    (xx, xy, xz), (_, yy, yz), (_, _, zz) = inertia.inertia
    derivative = np.zeros((10, 6))
    derivative[1:4, :3] = [[0.0, hz, -hy], [-hz, 0.0, hx], [hy, -hx, 0.0]]
    derivative[1:4, 3:] = mass * np.eye(3)
    derivative[4:7, :3] = 2.0 * np.array([[0.0, xz, -xy], [-yz, 0.0, xy], [yz, -xz, 0.0]])
    derivative[4:7, 3:] = 2.0 * np.array([[0.0, hy, hz], [hx, 0.0, hz], [hx, hy, 0.0]])
    derivative[7:, :3] = [[-xz, yz, xx - yy], [xy, zz - xx, -yz], [yy - zz, -xy, xz]]
    derivative[7:, 3:] = [[-hy, -hx, 0.0], [-hz, 0.0, -hx], [0.0, -hz, -hy]]
    return np.roll(derivative, 3, axis=1)[list(_KWON_PARAMETER_ORDER)]


@dataclass(frozen=True)
class MeshFile:
    """A mesh in metres, the `unit` of its file, and `notes` on the unit and what was changed."""

    mesh: TriangleMesh
    unit: str
    notes: tuple[str, ...]


def load_mesh(path: str | Path, *, unit: str | None = None) -> MeshFile:
    """
    Read an STL, OBJ or PLY file as a triangle mesh in metres that bounds a solid.

    Polygons are split into triangles, coinciding vertices are merged (STL has no shared vertices),
    and then unused vertices and faces with coinciding corners are left out. Volume counts twice
    where parts of a mesh overlap; a note says how many parts there are.

    Parameters
    ----------
    path : str or Path
        A file that ends in .stl, .obj or .ply.
    unit : {'m', 'cm', 'mm', 'in'}, optional
        Unit of the file's numbers; by default found from the size of the mesh.

    Returns
    -------
    MeshFile
        The mesh in metres, the unit of the file, and notes on what was changed.

    Raises
    ------
    MeshError
        If the file cannot be read, the mesh bounds no solid, or the unit is unknown, or neither
        given nor evident.
    MissingDependencyError
        If trimesh is not installed.

    """
    raw, notes = _read_mesh(expanded_path(path))
    size = float(np.ptp(np.asarray(raw.vertices), axis=0).max())
    unit, sentence = _length_unit(unit, size, path)
    notes += _require_solid(raw, path)
    mesh = TriangleMesh(np.asarray(raw.vertices) * METRES_PER_UNIT[unit], np.asarray(raw.faces))
    return MeshFile(mesh, unit, (sentence, *notes))


def _require_solid(mesh: Any, path: str | Path) -> list[str]:
    """Raise MeshError if a mesh bounds no solid; return a list with a note on several parts."""
    parts = list(mesh.split(only_watertight=False, repair=False))
    problem = ''
    with np.errstate(divide='ignore', invalid='ignore'):  # of a sheet without volume
        volumes = [part.volume for part in parts]
        is_volume = mesh.is_volume
    # A part with its normals inwards is a cavity if it lies within one that has them outwards.
    outer, inwards = (
        [part.bounds for part, volume in zip(parts, volumes) if sign * volume > 0.0]
        for sign in (1.0, -1.0)
    )
    loose = [
        one
        for one in inwards
        if not any((each[0] <= one[0]).all() and (each[1] >= one[1]).all() for each in outer)
    ]
    if not mesh.is_watertight:
        problem = 'it is not closed'
    elif not mesh.is_winding_consistent:
        problem = 'some of its faces are wound against their neighbours'
    elif loose or not is_volume:
        problem = 'it encloses no volume, or the normals of a part point inwards'
    if problem:
        raise MeshError(
            f'{path} bounds no solid: {problem}. Repair it in the program it came from, or by '
            'trimesh.repair (fill_holes, fix_normals).'
        )
    return [f'{len(parts)} parts; where they overlap, volume counts twice'][: len(parts) > 1]


def _read_mesh(path: Path) -> tuple[Any, list[str]]:
    """Return trimesh's mesh, cleaned, in the file's unit, and notes; MeshError if unreadable."""
    with require_extra('Reading a mesh file needs trimesh and scipy', 'mesh'):
        import scipy  # noqa: F401  # by which trimesh finds a mesh's parts
        import trimesh
    if path.suffix.lower() not in MESH_SUFFIXES:
        raise MeshError(f'{path} does not end in {", ".join(MESH_SUFFIXES)}; export it as such.')
    if not os.path.isfile(path):
        raise MeshError(f'{path} does not exist; correct its path.')
    try:
        raw = trimesh.load_mesh(path, process=False, skip_materials=True)
        faces = len(raw.faces)
    except Exception as error:  # trimesh's readers raise errors of many types
        raise MeshError(f'{path} cannot be read as a triangle mesh: {error}') from error
    if not (faces and np.isfinite(raw.vertices).all()):
        problem = 'has a vertex that is not a finite number' if faces else 'holds no triangle'
        raise MeshError(f'{path} {problem}.')
    vertices = len(raw.vertices)
    raw.merge_vertices(merge_tex=True, merge_norm=True)
    a, b, c = np.asarray(raw.faces).T
    proper = (a != b) & (b != c) & (c != a)
    if not proper.any():
        raise MeshError(f'{path} holds no triangle with three different corners.')
    raw.update_faces(proper)
    raw.remove_unreferenced_vertices()
    notes = []
    if len(raw.vertices) < vertices:
        notes.append(f'of {vertices} stored vertices {len(raw.vertices)} are used and different')
    if not proper.all():
        notes.append(f'{int((~proper).sum())} faces with coinciding corners were left out')
    return raw, notes


def _length_unit(unit: str | None, extent: float, path: str | Path) -> tuple[str, str]:
    """Return a mesh file's unit, given or by its `extent`, and a note; MeshError if unclear."""
    if unit is not None:
        if unit not in METRES_PER_UNIT:
            raise MeshError(f'The unit {unit!r} is none of {", ".join(METRES_PER_UNIT)}.')
        return unit, f'unit: {unit}, as given'
    if extent <= _MAX_SIZE_IN_METRES or extent >= _MIN_SIZE_IN_MILLIMETRES:
        unit = 'm' if extent <= _MAX_SIZE_IN_METRES else 'mm'
        return unit, f'unit: {unit}, because the largest extent is {extent:.4g}'
    raise MeshError(
        f'{path} has a largest extent of {extent:.4g}, which could be metres or '
        'millimetres; say which (--unit m, --unit mm).'
    )
