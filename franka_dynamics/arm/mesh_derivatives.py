# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Derivatives of a mesh's ten inertial parameters by its vertices (seed 003, (16)-(28))."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .mesh import CHUNK, cross_columns, TriangleMesh

# How seed 003 orders the ten parameters, (m, h, xx, yy, zz, xy, xz, yz), as rows of
# LinkInertia.parameters(): phi = parameters[DIAGONAL_FIRST].
DIAGONAL_FIRST = (0, 1, 2, 3, 4, 7, 9, 5, 6, 8)
_PARAMETER_ORDER = tuple(int(row) for row in np.argsort(DIAGONAL_FIRST))


def in_parameter_order(derivative: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return rows (m, h, I_diag, I_off) in the order of `LinkInertia.parameters()`."""
    return np.asarray(derivative)[list(_PARAMETER_ORDER)]


def vertex_derivatives(mesh: TriangleMesh, density: float) -> NDArray[np.float64]:
    """
    Return the derivative of the ten inertial parameters by every vertex.

    Seed 003, (18), (21), (23)-(24) and (27)-(28), read per vertex: a vertex collects the terms
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
        Rows (m, h, I_diag, I_off), seed 003's order with I_off = xy, xz, yz;
        `in_parameter_order` turns them into that of `LinkInertia.parameters()`.
        Units: kg/m, kg, kg m.

    """
    by_vertex = np.zeros((10, 3, len(mesh.vertices)))
    coordinates = np.ascontiguousarray(mesh.vertices.T)
    by_corner = np.empty((10, 3, len(mesh.faces)))
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        for start in range(0, len(mesh.faces), CHUNK):
            faces = mesh.faces[start:start + CHUNK]
            by_corner[..., start:start + CHUNK] = _corner_derivatives(
                *(coordinates[:, faces[:, corner]] for corner in (i, j, k)))
        for row, column in np.ndindex(10, 3):
            by_vertex[row, column] += np.bincount(
                mesh.faces[:, i], by_corner[row, column], minlength=len(mesh.vertices))
    return density * np.swapaxes(by_vertex, 1, 2)


def _corner_derivatives(vi: NDArray[np.float64], vj: NDArray[np.float64],
                        vk: NDArray[np.float64]) -> NDArray[np.float64]:
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


def _skew_columns(a: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return [a] for columns, shape (3, 3, k)."""
    zero = np.zeros_like(a[0])
    return np.stack((np.stack((zero, -a[2], a[1])), np.stack((a[2], zero, -a[0])),
                     np.stack((-a[1], a[0], zero))))
