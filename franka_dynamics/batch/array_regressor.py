# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The regressor in many states of an arm given as numbers, by blocks (see `array_kernels`)."""

# numba infers the types of kernels from their arguments; all are float64 arrays.
# mypy: disallow-untyped-defs=False

from __future__ import annotations

import numpy as np

from . import array_layout as at
from .array_kernels import (
    COMPILE,
    resting_arms,
    store_motion,
    take_block,
    tensor,
    to_link,
    vector_to_link,
)
from .array_layout import L, L2, LANES
from .compiler import numba


@numba.njit(**COMPILE)
def regressor(rows, gravity, q, dq, ddq, out):
    """Fill out (N, n, 10 n): torques by XX, XY, XZ, YY, YZ, ZZ, mX, mY, mZ, m of each link."""
    n = q.shape[1]
    W, nan_mask = np.zeros(at.SCRATCH), np.zeros(LANES)
    kept, arms = np.zeros((n, at.KEPT)), resting_arms(rows)
    axes = np.zeros((n, 6 * LANES))  # linear and angular part of each joint's unit twist
    entries = np.zeros(10 * LANES)
    for start in range(0, out.shape[0], LANES):
        take_block(rows, gravity, q, dq, ddq, start, W, kept, arms, nan_mask)
        for j in range(n):
            _advance(W, rows, kept, arms, j)
            axes[j] = 0.0
            turning = 5 if rows[j, at.PRISMATIC] == 0.0 else 2
            for i in range(LANES):
                axes[j, turning * LANES + i] = 1.0
            for joint in range(j):
                _carry(rows, kept, arms, j, axes[joint])
            for joint in range(n):
                if joint <= j:
                    _entries(W, axes[joint], entries)
                else:
                    entries[:] = 0.0
                for i in range(LANES):
                    for k in range(10):
                        out[start + i, joint, 10 * j + k] = entries[k * LANES + i] + nan_mask[i]


@numba.njit(**COMPILE)
def _advance(W, rows, kept, arms, j):
    """Advance the motion through a joint of either type."""
    ca, sa, px, slides = rows[j, at.COS], rows[j, at.SIN], rows[j + 1, at.X], rows[j, at.PRISMATIC]
    turns = 1.0 - slides
    for i in range(LANES):
        s, c = kept[j, at.SINE + i], kept[j, at.COSINE + i]
        rate, push = kept[j, at.RATE + i], kept[j, at.PUSH + i]
        x, y, z = vector_to_link(s, c, ca, sa, W, at.OMEGA, i)
        dx, dy, dz = vector_to_link(s, c, ca, sa, W, at.SPIN, i)
        ax, ay, az = vector_to_link(s, c, ca, sa, W, at.AHEAD, i)
        turn, slide = turns * rate, 2.0 * slides * rate
        z, dx, dy, dz = z + turn, dx + y * turn, dy - x * turn, dz + turns * push
        ax, ay, az = ax + slide * y, ay - slide * x, az + slides * push
        W[at.ACCELERATION + i], W[at.ACCELERATION + L + i] = ax, ay
        W[at.ACCELERATION + L2 + i] = az
        arm = (px, arms[j + 1, at.ARM_Y + i], arms[j + 1, at.ARM_Z + i])
        store_motion(W, i, (x, y, z), (dx, dy, dz), (ax, ay, az), tensor(x, y, z, dx, dy, dz), arm)


@numba.njit(**COMPILE)
def _carry(rows, kept, arms, j, twist):
    """Express a unit twist, at the origin of the frame before, at and in this frame."""
    ca, sa, px = rows[j, at.COS], rows[j, at.SIN], rows[j, at.X]
    for i in range(LANES):
        s, c = kept[j, at.SINE + i], kept[j, at.COSINE + i]
        py, pz = arms[j, at.ARM_Y + i], arms[j, at.ARM_Z + i]
        x, y, z = twist[3 * L + i], twist[4 * L + i], twist[5 * L + i]
        vx, vy, vz = to_link(
            s,
            c,
            ca,
            sa,
            twist[i] + y * pz - z * py,
            twist[L + i] + z * px - x * pz,
            twist[L2 + i] + x * py - y * px,
        )
        x, y, z = to_link(s, c, ca, sa, x, y, z)
        twist[i], twist[L + i], twist[L2 + i] = vx, vy, vz
        twist[3 * L + i], twist[4 * L + i], twist[5 * L + i] = x, y, z


@numba.njit(**COMPILE)
def _entries(W, twist, entries):
    """Fill what one joint feels of unit parameters of the present link."""
    for i in range(LANES):
        ux, uy, uz = twist[i], twist[L + i], twist[L2 + i]
        wx, wy, wz = twist[3 * L + i], twist[4 * L + i], twist[5 * L + i]
        x, y, z = W[at.OMEGA + i], W[at.OMEGA + L + i], W[at.OMEGA + L2 + i]
        dx, dy, dz = W[at.SPIN + i], W[at.SPIN + L + i], W[at.SPIN + L2 + i]
        ax, ay = W[at.ACCELERATION + i], W[at.ACCELERATION + L + i]
        az = W[at.ACCELERATION + L2 + i]
        xx, yy, zz, xy, xz, yz = x * x, y * y, z * z, x * y, x * z, y * z
        entries[i] = wx * dx + wy * xz - wz * xy
        entries[L + i] = wx * (dy - xz) + wy * (dx + yz) + wz * (xx - yy)
        entries[L2 + i] = wx * (dz + xy) + wy * (zz - xx) + wz * (dx - yz)
        entries[3 * L + i] = wy * dy + wz * xy - wx * yz
        entries[4 * L + i] = wx * (yy - zz) + wy * (dz - xy) + wz * (dy + xz)
        entries[5 * L + i] = wz * dz + wx * yz - wy * xz
        entries[6 * L + i] = uy * (xy + dz) - ux * (yy + zz) + uz * (xz - dy) + wz * ay - wy * az
        entries[7 * L + i] = ux * (xy - dz) - uy * (xx + zz) + uz * (yz + dx) + wx * az - wz * ax
        entries[8 * L + i] = ux * (xz + dy) + uy * (yz - dx) - uz * (xx + yy) + wy * ax - wx * ay
        entries[9 * L + i] = ux * ax + uy * ay + uz * az
