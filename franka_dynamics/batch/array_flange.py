# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The flange's pose and Jacobian in many states of an arm that comes as numbers, over blocks."""

# numba infers the types of kernels from their arguments; all are float64 arrays.
# mypy: disallow-untyped-defs=False

from __future__ import annotations

import numpy as np

from . import array_layout as at
from .array_kernels import COMPILE, init_joint, load, mark_nonfinite, resting_arms, to_link
from .array_layout import L, L2, LANES
from .compiler import numba


@numba.njit(**COMPILE)
def flange(rows, root, tip, with_jacobians, q, poses, jacobians):
    """
    Fill poses (N, 4, 4) and, on request, jacobians (N, 6, n).

    Jacobians hold (v, omega) at the flange's origin in the axes of the space frame.
    """
    n = q.shape[1]
    pose = np.zeros(12 * LANES)  # R by rows, then p
    kept, arms, nan_mask = np.zeros((n, at.KEPT)), resting_arms(rows), np.zeros(LANES)
    axes = np.zeros((n, 6 * LANES))  # z, then origin, of each joint's frame
    for start in range(0, q.shape[0], LANES):
        load(kept, at.SINE, q, start)
        mark_nonfinite(kept, nan_mask)
        for a in range(3):
            for i in range(LANES):
                for b in range(3):
                    pose[(3 * a + b) * LANES + i] = root[a, b] + nan_mask[i]
                pose[(9 + a) * LANES + i] = root[a, 3] + nan_mask[i]
        for j in range(n):
            init_joint(rows, kept, arms, j)
            _step(rows, kept, arms, j, pose)
            for a in range(3):
                for i in range(LANES):
                    axes[j, a * LANES + i] = pose[(3 * a + 2) * LANES + i]
                    axes[j, (3 + a) * LANES + i] = pose[(9 + a) * LANES + i]
        _place(tip, pose)
        for i in range(LANES):
            for a in range(3):
                for b in range(3):
                    poses[start + i, a, b] = pose[(3 * a + b) * LANES + i]
                poses[start + i, a, 3] = pose[(9 + a) * LANES + i]
                poses[start + i, 3, a] = 0.0
            poses[start + i, 3, 3] = 1.0
        if with_jacobians:
            _twists(rows, axes, pose, jacobians[start : start + LANES])


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
