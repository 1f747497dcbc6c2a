# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Pose and Jacobian of the flange in many states of an arm that comes as numbers, over blocks."""

# numba infers the types of kernels from their arguments; all are float64 arrays.
# mypy: disallow-untyped-defs=False

from __future__ import annotations

import numpy as np

from . import array_kernels as at
from .array_kernels import (
    COMPILE,
    init_joint,
    L,
    L2,
    LANES,
    load,
    mark_nonfinite,
    resting_arms,
    to_link,
)
from .simd import numba


@numba.njit(**COMPILE)
def flange_pose(rows, root, tip, q, out):
    """Fill out (N, 4, 4) with the flange's poses."""
    n = q.shape[1]
    pose, axes = np.zeros(12 * LANES), np.zeros((n, 6 * LANES))
    kept, arms, nan_mask = np.zeros((n, at.KEPT)), resting_arms(rows), np.zeros(LANES)
    for start in range(0, q.shape[0], LANES):
        _flange(rows, root, tip, q, start, pose, axes, kept, arms, nan_mask)
        for i in range(min(LANES, q.shape[0] - start)):
            for a in range(3):
                for b in range(3):
                    out[start + i, a, b] = pose[(3 * a + b) * LANES + i]
                out[start + i, a, 3] = pose[(9 + a) * LANES + i]
                out[start + i, 3, a] = 0.0
            out[start + i, 3, 3] = 1.0


@numba.njit(**COMPILE)
def jacobian(rows, root, tip, q, out):
    """Fill out (N, 6, n) with (v, omega) at the flange's origin, in axes of the space frame."""
    n = q.shape[1]
    pose, axes = np.zeros(12 * LANES), np.zeros((n, 6 * LANES))
    kept, arms, nan_mask = np.zeros((n, at.KEPT)), resting_arms(rows), np.zeros(LANES)
    for start in range(0, q.shape[0], LANES):
        _flange(rows, root, tip, q, start, pose, axes, kept, arms, nan_mask)
        _twists(rows, axes, pose, out[start : start + LANES])


@numba.njit(**COMPILE)
def _flange(rows, root, tip, q, start, pose, axes, kept, arms, nan_mask):
    """Find a block's poses (R by rows, then p), and z, then the origin, of each joint's frame."""
    load(kept, np.int64(at.SINE), q, start, np.int64(LANES))
    mark_nonfinite(kept, nan_mask, LANES)
    for a in range(3):
        for i in range(LANES):
            for b in range(3):
                pose[(3 * a + b) * LANES + i] = root[a, b] + nan_mask[i]
            pose[(9 + a) * LANES + i] = root[a, 3] + nan_mask[i]
    for j in range(q.shape[1]):
        init_joint(rows, kept, arms, j, LANES)
        _step(rows, kept, arms, j, pose)
        for a in range(3):
            for i in range(LANES):
                axes[j, a * LANES + i] = pose[(3 * a + 2) * LANES + i]
                axes[j, (3 + a) * LANES + i] = pose[(9 + a) * LANES + i]
    _place(tip, pose)


@numba.njit(**COMPILE)
def _step(rows, kept, arms, j, pose):
    """Advance R and p through a joint."""
    ca, sa, px = rows[j, at.COS], rows[j, at.SIN], rows[j, at.X]
    for a in range(3):
        x, y, z, p = 3 * a * L, (3 * a + 1) * L, (3 * a + 2) * L, (9 + a) * L
        for i in range(LANES):
            rx, ry, rz = pose[x + i], pose[y + i], pose[z + i]
            s, c = kept[j, at.SINE + i], kept[j, at.COSINE + i]
            pose[p + i] += rx * px + ry * arms[j, at.ARM_Y + i] + rz * arms[j, at.ARM_Z + i]
            pose[x + i], pose[y + i], pose[z + i] = to_link(s, c, ca, sa, rx, ry, rz)


@numba.njit(**COMPILE)
def _place(tip, pose):
    """Multiply R and p by a fixed transform."""
    for a in range(3):
        x, y, z, p = 3 * a * L, (3 * a + 1) * L, (3 * a + 2) * L, (9 + a) * L
        for i in range(LANES):
            rx, ry, rz = pose[x + i], pose[y + i], pose[z + i]
            pose[p + i] += rx * tip[0, 3] + ry * tip[1, 3] + rz * tip[2, 3]
            pose[x + i] = rx * tip[0, 0] + ry * tip[1, 0] + rz * tip[2, 0]
            pose[y + i] = rx * tip[0, 1] + ry * tip[1, 1] + rz * tip[2, 1]
            pose[z + i] = rx * tip[0, 2] + ry * tip[1, 2] + rz * tip[2, 2]


@numba.njit(**COMPILE)
def _twists(rows, axes, pose, jacobians):
    """Fill the Jacobians from the joints' axes and origins and the flange's."""
    for i in range(jacobians.shape[0]):
        for j in range(jacobians.shape[2]):
            x, y, z = axes[j, i], axes[j, L + i], axes[j, L2 + i]
            if rows[j, at.PRISMATIC] == 0.0:
                rx = pose[9 * L + i] - axes[j, 3 * L + i]
                ry = pose[10 * L + i] - axes[j, 4 * L + i]
                rz = pose[11 * L + i] - axes[j, 5 * L + i]
                jacobians[i, 0, j] = y * rz - z * ry
                jacobians[i, 1, j] = z * rx - x * rz
                jacobians[i, 2, j] = x * ry - y * rx
                jacobians[i, 3, j], jacobians[i, 4, j], jacobians[i, 5, j] = x, y, z
            else:
                jacobians[i, 0, j], jacobians[i, 1, j], jacobians[i, 2, j] = x, y, z
                jacobians[i, 3, j] = jacobians[i, 4, j] = jacobians[i, 5, j] = 0.0
