# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The inertia of a solid that a closed triangle mesh bounds (Kwon, section 4)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arm.inertia import LinkInertia, tensor_from_six
from ..arrays import freeze
from ..errors import MeshError
from ..typing import Array

# Faces handled at once. Their arrays stay in the cache and below the 128 KB from which on the C
# library asks the kernel for fresh pages at every allocation: twice as fast as 4096 and more.
CHUNK = 1536


@dataclass(frozen=True, eq=False)
class TriangleMesh:
    """
    A triangle mesh, its faces wound so that their normals point out of the solid.

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
        """Check shapes and indices and freeze the arrays."""
        freeze(self, MeshError, 'a mesh', vertices=(None, 3))
        faces = np.array(self.faces, order='C')
        if faces.ndim != 2 or faces.shape[1] != 3 or not len(faces):
            raise MeshError(f'Mesh faces have shape {faces.shape}, expected (F, 3) with F > 0.')
        if not np.issubdtype(faces.dtype, np.integer):
            raise MeshError(f'Mesh faces hold {faces.dtype}, expected integer rows of vertices.')
        if faces.min() < 0 or faces.max() >= len(self.vertices):
            raise MeshError(
                f'A mesh face names vertex {int(faces.max())} or '
                f'{int(faces.min())}, but the rows are 0..{len(self.vertices) - 1}.'
            )
        faces = faces.astype(np.int64, copy=False)
        faces.setflags(write=False)
        object.__setattr__(self, 'faces', faces)

    @property
    def center(self) -> Array:
        """Middle of the bounding box, shape (3,) [m]."""
        return 0.5 * (self.vertices.min(axis=0) + self.vertices.max(axis=0))

    @property
    def extent(self) -> float:
        """Diagonal of the bounding box [m]."""
        return float(np.linalg.norm(np.ptp(self.vertices, axis=0)))

    def moved(self, transform: ArrayLike) -> TriangleMesh:
        """Return the mesh seen from the frame in which its own frame has this (4, 4) pose."""
        matrix = np.asarray(transform, dtype=float)
        return TriangleMesh(self.vertices @ matrix[:3, :3].T + matrix[:3, 3], self.faces)


def mesh_volume(mesh: TriangleMesh) -> float:
    """Return the enclosed volume [m^3] by (17); negative if the normals point inwards."""
    return float(_unit_density_parameters(mesh, mesh.center)[0])


def mesh_inertia(mesh: TriangleMesh, density: float) -> LinkInertia:
    """
    Return mass, first moment and inertia of a homogeneous solid from its surface.

    Kwon, (17), (20), (22) and (25); all ten parameters are proportional to the
    density. The sums run about the middle of the bounding box, so that a mesh far from its frame's
    origin loses no digits, and are then moved to the origin.

    Parameters
    ----------
    mesh : TriangleMesh
        Closed and wound outwards, as `solid_check.require_solid` checks.
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
    if not (np.isfinite(density) and density > 0.0):
        raise MeshError(f'The density is {density} kg/m^3; it must be a positive number.')
    center = mesh.center
    values = _unit_density_parameters(mesh, center)
    if not values[0] > 0.0:
        raise MeshError(
            f'The mesh encloses a volume of {values[0]:.3g} m^3; it must be positive. A negative '
            'volume means that the normals point inwards.'
        )
    here = LinkInertia(
        density * values[0],
        density * values[1:4],
        tensor_from_six(density * values[[4, 7, 8, 5, 9, 6]]),
    )
    pose = np.eye(4)
    pose[:3, 3] = center
    return here.expressed_in(pose)


def _unit_density_parameters(mesh: TriangleMesh, about: Array) -> Array:
    """Return (m, h, I_diag, I_off) about a point for a density of one, shape (10,)."""
    total = np.zeros(10)
    for v in _face_corners(mesh, about):
        s = v.sum(axis=0)
        squares = (v * v).sum(axis=0)
        g = 0.5 * (s * s + squares)  # (19): both orders of every pair, halved
        # (15). v1 . n is det [v1 v2 v3]: the other two terms of n are perpendicular to v1.
        normal = cross_columns(v[1] - v[0], v[2] - v[0])
        determinant = np.einsum('ck,ck->k', v[0], normal)
        total[0] += np.vdot(s, normal) / 18.0
        total[1:4] += np.einsum('ck,ck->c', g, normal) / 24.0
        moments = (g @ determinant) / 60.0
        total[4:7] += moments.sum() - moments
        # r(v_i) v_j of (25) summed over i <= j, rows xy, xz, yz.
        a, b = [0, 0, 1], [1, 2, 2]
        products = s[a] * s[b] + (v[:, a] * v[:, b]).sum(axis=0)
        total[7:] -= (products @ determinant) / 120.0
    return total


def _face_corners(mesh: TriangleMesh, about: Array) -> Iterator[Array]:
    """Yield the corners of a chunk of faces, shape (corner, coordinate, face)."""
    coordinates = np.ascontiguousarray((mesh.vertices - about).T)
    for start in range(0, len(mesh.faces), CHUNK):
        faces = mesh.faces[start : start + CHUNK]
        yield np.stack([coordinates[:, faces[:, corner]] for corner in range(3)])


def cross_columns(a: Array, b: Array) -> Array:
    """Return a x b for columns, shape (3, k): several times faster than numpy.cross on rows."""
    return np.stack(
        (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])
    )


# How Kwon orders the ten parameters, (m, h, xx, yy, zz, xy, xz, yz), as rows of
# LinkInertia.parameters(): phi = parameters[DIAGONAL_FIRST].
DIAGONAL_FIRST = (9, 6, 7, 8, 0, 3, 5, 1, 2, 4)
_PARAMETER_ORDER = tuple(int(row) for row in np.argsort(DIAGONAL_FIRST))


def in_parameter_order(derivative: Array) -> Array:
    """Return rows (m, h, I_diag, I_off) in the order of `LinkInertia.parameters()`."""
    return np.asarray(derivative)[list(_PARAMETER_ORDER)]


def vertex_derivatives(mesh: TriangleMesh, density: float) -> Array:
    """
    Return the derivative of the ten inertial parameters by every vertex.

    Kwon, (18), (21), (23)-(24) and (27)-(28), read per vertex: a vertex collects the terms
    of the faces that share it. Reference is the origin of the mesh's frame.

    Parameters
    ----------
    mesh : TriangleMesh
        Closed and wound outwards.
    density : float
        [kg/m^3]

    Returns
    -------
    ndarray, shape (10, V, 3)
        Rows (m, h, I_diag, I_off), Kwon's order with I_off = xy, xz, yz;
        `in_parameter_order` turns them into that of `LinkInertia.parameters()`.
        Units: kg/m, kg, kg m.

    """
    by_vertex = np.zeros((10, 3, len(mesh.vertices)))
    corners = np.ascontiguousarray(mesh.vertices.T)[:, mesh.faces.T].swapaxes(0, 1)
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        by_corner = _corner_derivatives(corners[i], corners[j], corners[k])
        for row, column in np.ndindex(10, 3):
            by_vertex[row, column] += np.bincount(
                mesh.faces[:, i], by_corner[row, column], minlength=len(mesh.vertices)
            )
    return density * np.swapaxes(by_vertex, 1, 2)


def _corner_derivatives(vi: Array, vj: Array, vk: Array) -> Array:
    """Return every face's terms by its corner i for a density of one, shape (10, 3, F)."""
    s = vi + vj + vk
    normal = cross_columns(vj - vi, vk - vi)
    d_normal = _skew_columns(vk - vj)  # (16)
    d_determinant = cross_columns(vj, vk)  # (16): v_j^T [v_k]
    determinant = np.einsum('ck,ck->k', vi, d_determinant)
    g = 0.5 * (s * s + vi * vi + vj * vj + vk * vk)  # (19)
    d_g = s + vi  # the diagonal of dg/dv_i
    terms = np.empty((10, 3, vi.shape[1]))
    terms[0] = (normal + cross_columns(s, vk - vj)) / 18.0  # (18)
    terms[1:4] = g[:, None] * d_normal / 24.0  # (21)
    moments = g[:, None] * d_determinant / 60.0  # (24)
    for axis in range(3):
        terms[1 + axis, axis] += normal[axis] * d_g[axis] / 24.0
        moments[axis, axis] += determinant * d_g[axis] / 60.0
    terms[4:7] = moments.sum(axis=0) - moments  # (23): (1 1^T - I) from the left
    for row, (a, b) in enumerate(((0, 1), (0, 2), (1, 2)), start=7):  # (28)
        product = s[a] * s[b] + vi[a] * vi[b] + vj[a] * vj[b] + vk[a] * vk[b]
        terms[row] = product * d_determinant
        terms[row, a] += determinant * d_g[b]
        terms[row, b] += determinant * d_g[a]
    terms[7:] /= -120.0
    return terms


def _skew_columns(a: Array) -> Array:
    """Return [a] for columns, shape (3, 3, k)."""
    zero = np.zeros_like(a[0])
    return np.stack(
        (
            np.stack((zero, -a[2], a[1])),
            np.stack((a[2], zero, -a[0])),
            np.stack((-a[1], a[0], zero)),
        )
    )


def motion_derivative(inertia: LinkInertia) -> Array:
    """
    Return d phi/d eta of an inertia that a small rigid motion eta carries along.

    With G = Ad_T^{-T} G_0 Ad_T^{-1} (29) and [d eta] = dT T^{-1}, that is with the body moved by
    exp([d eta]) as seen from the frame it is described in: (33), (34) and the two blocks printed
    without a number after (34).

    Parameters
    ----------
    inertia : LinkInertia
        The body where it is now, about the origin of its frame.

    Returns
    -------
    ndarray, shape (10, 6)
        Rows (m, h, I_diag, I_off), columns eta = (omega, v): rotation [rad] first, then
        translation [m]. `in_parameter_order` reorders the rows.

    """
    mass, (hx, hy, hz) = inertia.mass, inertia.first_moment
    (xx, xy, xz), (_, yy, yz), (_, _, zz) = inertia.inertia
    derivative = np.zeros((10, 6))
    derivative[1:4, :3] = [[0.0, hz, -hy], [-hz, 0.0, hx], [hy, -hx, 0.0]]
    derivative[1:4, 3:] = mass * np.eye(3)
    derivative[4:7, :3] = 2.0 * np.array([[0.0, xz, -xy], [-yz, 0.0, xy], [yz, -xz, 0.0]])
    derivative[4:7, 3:] = 2.0 * np.array([[0.0, hy, hz], [hx, 0.0, hz], [hx, hy, 0.0]])
    derivative[7:, :3] = [[-xz, yz, xx - yy], [xy, zz - xx, -yz], [yy - zz, -xy, xz]]
    derivative[7:, 3:] = [[-hy, -hx, 0.0], [-hz, 0.0, -hx], [0.0, -hz, -hy]]
    return derivative
