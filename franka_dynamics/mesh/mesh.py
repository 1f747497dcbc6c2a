# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
The inertia of a solid that a triangle mesh encloses, and its derivatives (Kwon, section 4).

Equations and sections are those of the notes that docs/theory/references.md names as Kwon.
"""

from dataclasses import dataclass

import numpy as np

from ..arm.inertia import LinkInertia
from ..arrays import Array, ArrayLike, freeze_arrays, NDArray
from ..errors import MeshError
from ..spatial import as_rigid_transform, cross, hat

# The row of Kwon's vector of ten parameters that holds each entry of LinkInertia.parameters():
#     place      0   1   2   3   4   5   6   7   8   9
#     Kwon       m   hx  hy  hz  xx  yy  zz  xy  xz  yz
#     ours       xx  xy  xz  yy  yz  zz  hx  hy  hz  m
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
        # freeze_arrays checks the shapes, but turns the faces into floats: they are made again.
        given_faces = self.faces
        freeze_arrays(self, MeshError, 'a mesh', vertices=(None, 3), faces=(None, 3))
        faces = np.array(given_faces, order='C')
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
    Return a homogeneous solid's inertia in the frame of its mesh.

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
    s = corners.sum(axis=1)  # (17): s = v1 + v2 + v3
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
            # An inertia tensor has the products of coordinates with a minus sign.
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
    s = vi + vj + vk  # (17)
    normal = cross(vj - vi, vk - vi)
    d_normal = hat(vk - vj)  # (16)
    d_determinant = cross(vj, vk)  # (16): v_j^T [v_k]
    determinant = np.einsum('fc,fc->f', vi, d_determinant)
    g = 0.5 * (s * s + vi * vi + vj * vj + vk * vk)  # (19)
    d_g = s + vi  # the diagonal of dg/dv_i
    derivative = np.empty((len(vi), 10, 3))
    derivative[:, 0] = (normal + cross(s, vk - vj)) / 18.0  # (18)
    derivative[:, 1:4] = g[:, :, None] * d_normal / 24.0  # (21)
    moments = g[:, :, None] * d_determinant[:, None] / 60.0  # (24)
    for axis in range(3):
        derivative[:, 1 + axis, axis] += normal[:, axis] * d_g[:, axis] / 24.0
        moments[:, axis, axis] += determinant * d_g[:, axis] / 60.0
    # (23): (1 1^T - I) from the left
    derivative[:, 4:7] = moments.sum(axis=1, keepdims=True) - moments
    for row, (a, b) in enumerate(((0, 1), (0, 2), (1, 2)), start=7):  # (28)
        product = s[:, a] * s[:, b] + sum(v[:, a] * v[:, b] for v in (vi, vj, vk))
        derivative[:, row] = product[:, None] * d_determinant
        derivative[:, row, a] += determinant * d_g[:, b]
        derivative[:, row, b] += determinant * d_g[:, a]
    derivative[:, 7:] /= -120.0  # with the minus sign of products of inertia
    return derivative


def inertia_motion_derivative(inertia: LinkInertia) -> Array:
    """
    Return the derivative (10, 6) of a body's inertial parameters by a small displacement eta.

    The body's pose T becomes exp([d eta]) T. The frame in which its inertia is given stays where
    it is: G = Ad_T^{-T} G_0 Ad_T^{-1} (Kwon, (29)), with G_0 the inertia in the body's own frame.
    The blocks are Kwon's (33), (34) and the two printed without a number after (34).

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
    # Filled in Kwon's order, rows (m, h, I_diag, I_off) and columns (omega, v), and rearranged at
    # the end.
    derivative = np.zeros((10, 6))
    derivative[1:4, :3] = [[0.0, hz, -hy], [-hz, 0.0, hx], [hy, -hx, 0.0]]
    derivative[1:4, 3:] = mass * np.eye(3)
    derivative[4:7, :3] = 2.0 * np.array([[0.0, xz, -xy], [-yz, 0.0, xy], [yz, -xz, 0.0]])
    derivative[4:7, 3:] = 2.0 * np.array([[0.0, hy, hz], [hx, 0.0, hz], [hx, hy, 0.0]])
    derivative[7:, :3] = [[-xz, yz, xx - yy], [xy, zz - xx, -yz], [yy - zz, -xy, xz]]
    derivative[7:, 3:] = [[-hy, -hx, 0.0], [-hz, 0.0, -hx], [0.0, -hz, -hy]]
    columns_v_omega = np.roll(derivative, 3, axis=1)
    return columns_v_omega[list(_KWON_PARAMETER_ORDER)]
