# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
What the kernels that read an arm from arrays share: layout, loading, motion from link to link.

As in generated kernels, 32 states lie side by side in flat scratch arrays at places that are
constants, and every loop over `i` becomes vector instructions. The motion of the present link is
in W; what belongs to one joint and has to wait is in that joint's row of `kept`.

An arm comes as `rows`, one of ROW numbers a joint and one of zeros (see `batch`). Its links hold
base parameters, regrouped: a revolute joint's link has neither m, nor hz, nor Szz, a prismatic
joint's no second moment. A last block takes only as many lanes as it needs, in steps; what is left
over of these is zeros, and not stored.

Functions take whole arrays and the joint's number rather than rows of arrays: views are counted,
and in blocks this short the counting takes as long as the arithmetic. Most become part of who
calls them (`inline`), because passing a dozen arrays takes time, too.

Those that are called in many places are compiled once, and LLVM puts them there (`forceinline`);
numba's own way (`inline`) types them again in each. numba also compiles a function once more for
each literal that it is given: hence the `np.int64` around places.
"""

# numba infers the types of kernels from their arguments; all are float64 arrays.
# mypy: disallow-untyped-defs=False
from __future__ import annotations

from typing import Any

import numpy as np

from .generated_kernels import LANES, STEP
from .simd import numba, TILE, transpose_tile, turn

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


@numba.njit(inline='always', **COMPILE)
def rest_arms(rows, arms):
    """Fill `arms` with those of revolute joints, which do not change."""
    for j in range(rows.shape[0]):
        for i in range(LANES):
            arms[j, ARM_Y + i], arms[j, ARM_Z + i] = rows[j, Y], rows[j, Z]


@numba.njit(**COMPILE)
def resting_arms(rows):
    """Return `arms` with those of revolute joints."""
    arms = np.empty((rows.shape[0], ARMS))
    rest_arms(rows, arms)
    return arms


@numba.njit(inline='always', **COMPILE)
def block_width(lanes, left):
    """Return how many lanes a block takes for so many states: of a last one a part, in steps."""
    return min(lanes, (left + STEP - 1) // STEP * STEP)


@numba.njit(**COMPILE)
def load(kept, place, array, start, width):
    """Turn rows into columns of `width` lanes, zeros where there are no states any more."""
    n, stride, left = array.shape[1], kept.shape[1], min(width, array.shape[0] - start)
    whole = left - left % TILE if n >= TILE else 0
    if whole:
        for tile in range((n + TILE - 1) // TILE):
            j = min(tile * TILE, n - TILE)
            column = j * stride + place
            for i in range(0, whole, TILE):
                transpose_tile(array, (start + i) * n + j, n, kept, column + i, stride)
    if whole < width:
        for j in range(n):
            for i in range(whole, left):
                kept[j, place + i] = array[start + i, j]
            for i in range(left, width):
                kept[j, place + i] = 0.0


@numba.njit(inline='always', **COMPILE)
def mark_nonfinite(kept, nan_mask, width):
    """Set what is added to a state's results: 0, or NaN where an input is not finite."""
    nan_mask[:] = 0.0
    for j in range(kept.shape[0]):
        for i in range(width):
            nan_mask[i] += 0.0 * (kept[j, SINE + i] + kept[j, RATE + i] + kept[j, PUSH + i])


@numba.njit(inline='always', **COMPILE)
def init_joint(rows, kept, arms, j, width):
    """Put a joint's sine and cosine in place of its position; a prismatic joint moves its arm."""
    theta = rows[j, THETA]
    if rows[j, PRISMATIC] == 0.0:
        for i in range(width):
            sine, cosine = turn(kept[j, SINE + i] + theta)
            kept[j, SINE + i], kept[j, COSINE + i] = sine, cosine
    else:
        y, z, c, s = rows[j, Y], rows[j, Z], rows[j, COS], rows[j, SIN]
        sine, cosine = turn(theta)
        for i in range(width):
            arms[j, ARM_Y + i] = y - s * kept[j, SINE + i]
            arms[j, ARM_Z + i] = z + c * kept[j, SINE + i]
        for i in range(width):
            kept[j, SINE + i], kept[j, COSINE + i] = sine, cosine


@numba.njit(inline='always', **COMPILE)
def stand_still(W, gravity, nan_mask, width):
    """
    Set the motion of the base: a frame that accelerates upwards feels like gravity.

    With NaN where an input is not finite: every torque contains the base's acceleration, if only
    times zero.
    """
    W[OMEGA:AHEAD] = 0.0
    gx, gy, gz = gravity[0], gravity[1], gravity[2]
    for i in range(width):
        W[AHEAD + i], W[AHEAD + L + i] = nan_mask[i] - gx, nan_mask[i] - gy
        W[AHEAD + L2 + i] = nan_mask[i] - gz


@numba.njit(inline='always', **COMPILE)
def take_block(rows, gravity, q, dq, ddq, start, width, W, kept, arms, nan_mask):
    """Take a block's states over, up to the sines and cosines and the motion of the base."""
    load(kept, np.int64(SINE), q, start, np.int64(width))
    load(kept, np.int64(RATE), dq, start, np.int64(width))
    load(kept, np.int64(PUSH), ddq, start, np.int64(width))
    mark_nonfinite(kept, nan_mask, width)
    for j in range(q.shape[1]):
        init_joint(rows, kept, arms, j, width)
    stand_still(W, gravity, nan_mask, width)


@numba.njit(forceinline=True, **COMPILE)
def to_link(s, c, ca, sa, x, y, z):
    """Return a vector of the frame before in this frame."""
    t = y * ca + z * sa
    return c * x + s * t, c * t - s * x, z * ca - y * sa


@numba.njit(inline='always', **COMPILE)
def vector_to_link(s, c, ca, sa, W, place, i):
    """Return a vector that W holds in axes of the frame before in this frame."""
    return to_link(s, c, ca, sa, W[place + i], W[place + L + i], W[place + L2 + i])


@numba.njit(inline='always', **COMPILE)
def vector_up(s, c, W, place, i):
    """Return the same where alpha is a right angle: cos alpha = 0, sin alpha = 1."""
    x, y, z = W[place + i], W[place + L + i], W[place + L2 + i]
    return c * x + s * z, c * z - s * x, -y


@numba.njit(inline='always', **COMPILE)
def vector_down(s, c, W, place, i):
    """Return the same where cos alpha = 0, sin alpha = -1."""
    x, y, z = W[place + i], W[place + L + i], W[place + L2 + i]
    return c * x - s * z, -(c * z + s * x), y


@numba.njit(forceinline=True, **COMPILE)
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
