# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
What the kernels that read an arm from arrays share: layout, loading, motion from link to link.

As in generated kernels, 32 states lie side by side in flat scratch arrays at places that are
constants, and every loop over `i` becomes vector instructions. The motion of the present link is
in W; what belongs to one joint and has to wait is in that joint's row of `kept`.

An arm comes as `rows`, one of ROW numbers a joint and one of zeros (see `batch`). Its links hold
base parameters, regrouped: a revolute joint's link has neither m, nor hz, nor Szz, a prismatic
joint's no second moment. What is left over of a last block is zeros, and not stored.

Functions take whole arrays and the joint's number rather than rows of arrays: views are counted,
and in blocks this short the counting takes as long as the arithmetic.
"""

# numba infers the types of kernels from their arguments; all are float64 arrays.
# mypy: disallow-untyped-defs=False
from __future__ import annotations

from typing import Any

import numpy as np

from .generated_kernels import LANES
from .simd import numba, sine_cosine, TILE, transpose_tile

# Columns of `rows`.
PRISMATIC, COS, SIN, X, Y, Z, THETA, ROTOR = range(8)
MASS, HX, HY, HZ, SXX, SXY, SXZ, SYY, SYZ = range(8, 17)
ROW = 17

# Places in W, each of a vector. Ahead is the acceleration of the next joint's origin.
OMEGA, SPIN, AHEAD, ACCELERATION, FORCE, MOMENT = (3 * k * LANES for k in range(6))
SCRATCH = 18 * LANES

# Places in a row of `kept`; the link's force and moment are vectors.
SINE, COSINE, RATE, PUSH, LINK_FORCE = (k * LANES for k in range(5))
LINK_MOMENT, KEPT = 7 * LANES, 10 * LANES
TORQUE = SINE  # a joint's sine has served when its torque is known

# Places in a row of `arms`, which holds y and z of a joint's origin in the frame before.
ARM_Y, ARM_Z, ARMS = 0, LANES, 2 * LANES

# From one component of a vector to the next.
L, L2 = LANES, 2 * LANES


COMPILE: dict[str, Any] = {
    'fastmath': {'contract'},
    'error_model': 'numpy',
    'nogil': True,
    'cache': True,
}


@numba.njit(**COMPILE)
def resting_arms(rows):
    """Return `arms` with those of revolute joints, which do not change."""
    arms = np.zeros((rows.shape[0], ARMS))
    for j in range(rows.shape[0]):
        arms[j, ARM_Y:ARM_Z], arms[j, ARM_Z:] = rows[j, Y], rows[j, Z]
    return arms


@numba.njit(**COMPILE)
def load(kept, place, array, start):
    """Turn a block's rows into columns, zeros where the block has no states."""
    n, left = array.shape[1], min(LANES, array.shape[0] - start)
    if n < TILE or left < LANES:
        for j in range(n):
            for i in range(left):
                kept[j, place + i] = array[start + i, j]
            for i in range(left, LANES):
                kept[j, place + i] = 0.0
    else:
        for tile in range((n + TILE - 1) // TILE):
            j = min(tile * TILE, n - TILE)
            column = j * KEPT + place
            for i in range(0, LANES, TILE):
                transpose_tile(array, (start + i) * n + j, n, kept, column + i, KEPT)


@numba.njit(**COMPILE)
def mark_nonfinite(kept, nan_mask):
    """Set what is added to a state's results: 0, or NaN where an input is not finite."""
    nan_mask[:] = 0.0
    for j in range(kept.shape[0]):
        for i in range(LANES):
            nan_mask[i] += 0.0 * (kept[j, SINE + i] + kept[j, RATE + i] + kept[j, PUSH + i])


@numba.njit(**COMPILE)
def init_joint(rows, kept, arms, j):
    """Put a joint's sine and cosine in place of its position; a prismatic joint moves its arm."""
    theta = rows[j, THETA]
    if rows[j, PRISMATIC] == 0.0:
        for i in range(LANES):
            sine, cosine = sine_cosine(kept[j, SINE + i] + theta)
            kept[j, SINE + i], kept[j, COSINE + i] = sine, cosine
    else:
        y, z, c, s = rows[j, Y], rows[j, Z], rows[j, COS], rows[j, SIN]
        sine, cosine = sine_cosine(theta)
        for i in range(LANES):
            arms[j, ARM_Y + i] = y - s * kept[j, SINE + i]
            arms[j, ARM_Z + i] = z + c * kept[j, SINE + i]
        for i in range(LANES):
            kept[j, SINE + i], kept[j, COSINE + i] = sine, cosine


@numba.njit(**COMPILE)
def stand_still(W, gravity):
    """Set the motion of the base: a frame that accelerates upwards feels like gravity."""
    for i in range(6 * LANES):
        W[OMEGA + i] = 0.0
    gx, gy, gz = gravity[0], gravity[1], gravity[2]
    for i in range(LANES):
        W[AHEAD + i], W[AHEAD + L + i], W[AHEAD + L2 + i] = -gx, -gy, -gz


@numba.njit(**COMPILE)
def take_block(rows, gravity, q, dq, ddq, start, W, kept, arms, nan_mask):
    """Take a block's states over, up to the sines and cosines and the motion of the base."""
    load(kept, SINE, q, start)
    load(kept, RATE, dq, start)
    load(kept, PUSH, ddq, start)
    mark_nonfinite(kept, nan_mask)
    for j in range(q.shape[1]):
        init_joint(rows, kept, arms, j)
    stand_still(W, gravity)


@numba.njit(inline='always', **COMPILE)
def to_link(s, c, ca, sa, x, y, z):
    """Return a vector of the frame before in this frame."""
    t = y * ca + z * sa
    return c * x + s * t, c * t - s * x, z * ca - y * sa


@numba.njit(inline='always', **COMPILE)
def vector_to_link(s, c, ca, sa, W, place, i):
    """Return a vector that W holds in axes of the frame before in this frame."""
    return to_link(s, c, ca, sa, W[place + i], W[place + L + i], W[place + L2 + i])


@numba.njit(inline='always', **COMPILE)
def tensor(x, y, z, dx, dy, dz):
    """Return U = [domega] + [omega][omega], by rows."""
    xx, yy, zz, xy, xz, yz = x * x, y * y, z * z, x * y, x * z, y * z
    return (
        -(yy + zz),
        xy - dz,
        xz + dy,
        xy + dz,
        -(xx + zz),
        yz - dx,
        xz - dy,
        yz + dx,
        -(xx + yy),
    )


@numba.njit(inline='always', **COMPILE)
def store_motion(W, i, omega, spin, acceleration, u, arm):
    """Store the motion of a link, with the acceleration of the next joint's origin at an arm."""
    px, py, pz = arm
    W[OMEGA + i], W[OMEGA + L + i], W[OMEGA + L2 + i] = omega
    W[SPIN + i], W[SPIN + L + i], W[SPIN + L2 + i] = spin
    W[AHEAD + i] = acceleration[0] + u[0] * px + u[1] * py + u[2] * pz
    W[AHEAD + L + i] = acceleration[1] + u[3] * px + u[4] * py + u[5] * pz
    W[AHEAD + L2 + i] = acceleration[2] + u[6] * px + u[7] * py + u[8] * pz
