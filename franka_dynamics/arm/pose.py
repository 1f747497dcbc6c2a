# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Poses as homogeneous (4, 4) transforms, in the terms that URDF and our YAML files use."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

# Below this cosine of the pitch, roll and yaw turn about the same axis and cannot be told apart.
_GIMBAL_LOCK = 1e-9


def pose_from_xyz_rpy(xyz: ArrayLike, rpy: ArrayLike) -> NDArray[np.float64]:
    """
    Return the pose Rz(yaw) Ry(pitch) Rx(roll) at a position.

    Parameters
    ----------
    xyz : array_like, shape (3,)
        Position [m].
    rpy : array_like, shape (3,)
        Roll, pitch, yaw about the fixed axes x, y, z [rad], as URDF's <origin> has them.

    Returns
    -------
    ndarray, shape (4, 4)

    """
    (cr, cp, cy), (sr, sp, sy) = np.cos(rpy), np.sin(rpy)
    pose = np.eye(4)
    pose[:3, :3] = [[cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
                    [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
                    [-sp, cp * sr, cp * cr]]
    pose[:3, 3] = np.asarray(xyz, dtype=float)
    return pose


def rpy_from_rotation(rotation: ArrayLike) -> NDArray[np.float64]:
    """Return roll, pitch, yaw [rad] of a (3, 3) rotation; yaw is 0 at a pitch of 90 degrees."""
    R = np.asarray(rotation, dtype=float)
    cos_pitch = float(np.hypot(R[0, 0], R[1, 0]))
    pitch = np.arctan2(-R[2, 0], cos_pitch)
    if cos_pitch < _GIMBAL_LOCK:
        return np.array([np.arctan2(-R[1, 2], R[1, 1]), pitch, 0.0])
    return np.array([np.arctan2(R[2, 1], R[2, 2]), pitch, np.arctan2(R[1, 0], R[0, 0])])


def inverse_pose(pose: ArrayLike) -> NDArray[np.float64]:
    """Return the inverse of a (4, 4) pose, by transposition."""
    matrix = np.asarray(pose, dtype=float)
    inverse = np.eye(4)
    inverse[:3, :3] = matrix[:3, :3].T
    inverse[:3, 3] = -matrix[:3, :3].T @ matrix[:3, 3]
    return inverse
