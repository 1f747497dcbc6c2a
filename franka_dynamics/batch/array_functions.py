# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
The kernels that read an arm from arrays, as C functions that any thread can call.

Matrices are made of torques: a column of M is the torque of a unit acceleration, one of the
Coriolis matrix half a slope of C dq, which is quadratic in dq.
"""

# numba infers the types of compiled functions from their arguments.
# mypy: disallow-untyped-defs=False

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from . import array_derivatives, array_flange, array_recursions
from . import array_kernels as at
from .array_kernels import COMPILE
from .native import doubles_at, KERNEL_TYPE, words_at
from .simd import numba

# Words of what belongs to an arm: its joints, and addresses of arrays.
N, ROWS, GRAVITY, ROOT, TIP, PLACES, WIDTH, MASSES, ARM = range(9)


class ArmArrays:
    """
    An arm as these kernels read it; its memory lives as long as this does.

    Parameters
    ----------
    rows : ndarray, shape (n + 1, ROW)
        The joints (see `array_kernels`).
    gravity : ndarray, shape (3,)
        In the axes of frame 1 at zero [m/s^2].
    root, tip : ndarray, shape (4, 4)
        Poses of the first frame at zero in the space frame, of the flange in the last frame.
    columns : sequence of int
        Which parameters a regressor is by, of the 10 n.

    """

    def __init__(self, rows: Any, gravity: Any, root: Any, tip: Any, columns: Any = None) -> None:
        n = len(rows) - 1
        listed = range(10 * n) if columns is None else columns
        places = np.full(10 * n, -1)
        places[list(listed)] = range(len(listed))
        arrays = [np.ascontiguousarray(array, float) for array in (rows, gravity, root, tip)]
        carried = np.cumsum(arrays[0][n - 1 :: -1, at.MASS])[::-1].copy()
        addresses = [array.ctypes.data for array in (*arrays, places)]
        self.words = np.array([n, *addresses, len(listed), carried.ctypes.data], np.int64)
        self.address: int = self.words.ctypes.data
        self._kept = arrays, places, carried


@functools.cache
def address(name: str) -> int:
    """Return the address of a C function, of the names of `BatchModel`'s methods."""
    # Compiled when first asked for, not on import: a second each, kept on disk.
    compiled = numba.cfunc(KERNEL_TYPE, **_OPTIONS)(_FUNCTIONS[name])
    _COMPILED.append(compiled)
    found: Any = compiled.address
    return int(found)


def _inverse_dynamics(pointers, fixed, count):
    arm, table = words_at(fixed, ARM), words_at(pointers, 4)
    n = arm[N]
    array_recursions.inverse_dynamics(
        doubles_at(arm[ROWS], (n + 1, at.ROW)),
        doubles_at(arm[GRAVITY], 3),
        doubles_at(table[0], (count, n)),
        doubles_at(table[1], (count, n)),
        doubles_at(table[2], (count, n)),
        doubles_at(table[3], (count, n)),
    )


def _mass_matrix(pointers, fixed, count):
    arm, table = words_at(fixed, ARM), words_at(pointers, 2)
    n = arm[N]
    rows = doubles_at(arm[ROWS], (n + 1, at.ROW))
    _fill_mass_matrices(
        rows, doubles_at(table[0], (count, n)), doubles_at(table[1], (count, n, n))
    )


def _coriolis_matrix(pointers, fixed, count):
    arm, table = words_at(fixed, ARM), words_at(pointers, 3)
    n = arm[N]
    rows = doubles_at(arm[ROWS], (n + 1, at.ROW))
    q, dq = doubles_at(table[0], (count, n)), doubles_at(table[1], (count, n))
    out = doubles_at(table[2], (count, n, n))
    still, weightless, moved = np.zeros((count, n)), np.zeros(3), dq.copy()
    ahead, behind = np.empty((count, n)), np.empty((count, n))
    for j in range(n):
        for i in range(count):
            moved[i, j] = dq[i, j] + 1.0
        array_recursions.inverse_dynamics(rows, weightless, q, moved, still, ahead)
        for i in range(count):
            moved[i, j] = dq[i, j] - 1.0
        array_recursions.inverse_dynamics(rows, weightless, q, moved, still, behind)
        for i in range(count):
            moved[i, j] = dq[i, j]
            for k in range(n):
                out[i, k, j] = 0.25 * (ahead[i, k] - behind[i, k])


def _forward_dynamics(pointers, fixed, count):
    arm, table = words_at(fixed, ARM), words_at(pointers, 4)
    n = arm[N]
    rows, gravity = doubles_at(arm[ROWS], (n + 1, at.ROW)), doubles_at(arm[GRAVITY], 3)
    q, dq = doubles_at(table[0], (count, n)), doubles_at(table[1], (count, n))
    tau, out = doubles_at(table[2], (count, n)), doubles_at(table[3], (count, n))
    left, matrices = np.empty((count, n)), np.empty((count, n, n))
    array_recursions.inverse_dynamics(rows, gravity, q, dq, np.zeros((count, n)), left)
    _fill_mass_matrices(rows, q, matrices)
    for i in range(count):
        for k in range(n):
            left[i, k] = tau[i, k] - left[i, k]
        _solve(matrices[i], left[i])
        unknown = 0.0
        for k in range(n):
            unknown += 0.0 * left[i, k]
        for k in range(n):
            out[i, k] = left[i, k] + unknown


def _inverse_dynamics_derivatives(pointers, fixed, count):
    arm, table = words_at(fixed, ARM), words_at(pointers, 4)
    n = arm[N]
    array_derivatives.derivatives(
        doubles_at(arm[ROWS], (n + 1, at.ROW)),
        doubles_at(arm[GRAVITY], 3),
        doubles_at(arm[MASSES], n),
        doubles_at(table[0], (count, n)),
        doubles_at(table[1], (count, n)),
        doubles_at(table[2], (count, n)),
        doubles_at(table[3], (count, 3 * n * n)),
    )


def _regressor(pointers, fixed, count):
    arm, table = words_at(fixed, ARM), words_at(pointers, 4)
    n = arm[N]
    array_recursions.regressor(
        doubles_at(arm[ROWS], (n + 1, at.ROW)),
        doubles_at(arm[GRAVITY], 3),
        words_at(arm[PLACES], 10 * n),
        doubles_at(table[0], (count, n)),
        doubles_at(table[1], (count, n)),
        doubles_at(table[2], (count, n)),
        doubles_at(table[3], (count, n, arm[WIDTH])),
    )


def _flange_pose(pointers, fixed, count):
    arm, table = words_at(fixed, ARM), words_at(pointers, 2)
    n = arm[N]
    array_flange.flange_pose(
        doubles_at(arm[ROWS], (n + 1, at.ROW)),
        doubles_at(arm[ROOT], (4, 4)),
        doubles_at(arm[TIP], (4, 4)),
        doubles_at(table[0], (count, n)),
        doubles_at(table[1], (count, 4, 4)),
    )


def _jacobian(pointers, fixed, count):
    arm, table = words_at(fixed, ARM), words_at(pointers, 2)
    n = arm[N]
    array_flange.jacobian(
        doubles_at(arm[ROWS], (n + 1, at.ROW)),
        doubles_at(arm[ROOT], (4, 4)),
        doubles_at(arm[TIP], (4, 4)),
        doubles_at(table[0], (count, n)),
        doubles_at(table[1], (count, 6, n)),
    )


@numba.njit(**COMPILE)
def _fill_mass_matrices(rows, q, out):
    """Fill out (N, n, n): column j is the torque of a unit acceleration, without gravity."""
    count, n = q.shape
    still, push, weightless = np.zeros((count, n)), np.zeros((count, n)), np.zeros(3)
    column = np.empty((count, n))
    for j in range(n):
        push[:, j] = 1.0
        array_recursions.inverse_dynamics(rows, weightless, q, still, push, column)
        push[:, j] = 0.0
        for i in range(count):
            for k in range(n):
                out[i, k, j] = column[i, k]


@numba.njit(**COMPILE)
def _solve(M, x):
    """Overwrite x by M^-1 x, and M by its L D L^T (Golub and Van Loan 2013, section 4.1.2)."""
    n = len(x)
    for j in range(n):
        for k in range(j):
            M[j, j] -= M[j, k] * M[j, k] * M[k, k]
        for i in range(j + 1, n):
            for k in range(j):
                M[i, j] -= M[i, k] * M[j, k] * M[k, k]
            M[i, j] /= M[j, j]
    for i in range(n):
        for k in range(i):
            x[i] -= M[i, k] * x[k]
    for i in range(n - 1, -1, -1):
        x[i] /= M[i, i]
        for k in range(i + 1, n):
            x[i] -= M[k, i] * x[k]


_OPTIONS = {name: value for name, value in COMPILE.items() if name != 'nogil'}
_FUNCTIONS = {
    'inverse_dynamics': _inverse_dynamics,
    'mass_matrix': _mass_matrix,
    'coriolis_matrix': _coriolis_matrix,
    'forward_dynamics': _forward_dynamics,
    'inverse_dynamics_derivatives': _inverse_dynamics_derivatives,
    'regressor': _regressor,
    'flange_pose': _flange_pose,
    'jacobian': _jacobian,
}
_COMPILED: list[Any] = []
