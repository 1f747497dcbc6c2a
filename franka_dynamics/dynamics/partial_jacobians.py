# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Partial Jacobians of links, column by column from joint axes, and their derivatives by hand.

J_P has columns z_j x (p_l - p_j) for revolute and z_j for prismatic joints, J_O has z_j or 0
(seed 004, sections 1.5 and 2.1, corrected). Their slopes rest on dz_j/dq_k = z_k x z_j. Poses are
products of screws along x and along z, not the DH matrix.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .model import joint_stack
from ..arm import ArmDescription, Convention, JointKind

Array = NDArray[np.float64]


class Geometry(NamedTuple):
    """Axes, points and link tensors in {S} at one position; l counts links, j and k joints."""

    poses: Array  # (..., n + 1, 4, 4), frames 1..n and the flange
    axes: Array  # (..., n, 3), z_j
    feet: Array  # (..., n, 3), a point p_j on each joint's axis
    centers: Array  # (..., n, 3), centres of mass c_l
    tensors: Array  # (..., n, 3, 3), R I R^T about the centre of mass


class PartialJacobians(NamedTuple):
    """Columns of joint j for link l, zero for j > l; shape (..., l, 3, j)."""

    linear: Array  # J_P, of the centre of mass [m/rad or 1]
    angular: Array  # J_O


class PartialKinematics:
    """
    Axes, points and partial Jacobians of a described arm.

    Parameters
    ----------
    description : ArmDescription
        The arm, revolute and prismatic joints in either convention.

    Attributes
    ----------
    moved : ndarray, shape (n, n)
        moved[l, j] is True where joint j moves link l.

    """

    def __init__(self, description: ArmDescription) -> None:
        self.description = description
        self.moved = np.tril(np.ones((description.n, description.n), dtype=bool))
        self._turns = np.array([j.kind is JointKind.REVOLUTE for j in description.joints])

    def geometry(self, q: ArrayLike) -> Geometry:
        """Walk up the arm by screws along x and z and note what the columns need."""
        position = joint_stack(self.description, q, 'q')
        modified = self.description.convention is Convention.MODIFIED
        pose = np.broadcast_to(np.asarray(self.description.base, dtype=float),
                               (*position.shape[:-1], 4, 4))
        poses, carriers, centers, tensors = [], [], [], []
        for i, (joint, link) in enumerate(zip(self.description.joints, self.description.links)):
            row, moves = joint.row, position[..., i]
            along_x = _screw(0, row.alpha, row.a)
            turn, slide = (moves, 0.0) if self._turns[i] else (0.0, moves)
            along_z = _screw(2, row.theta + turn, row.d + slide)
            # Craig's joint turns about the new frame's z, the standard one about the last one's.
            before, pose = pose, pose @ (along_x @ along_z if modified else along_z @ along_x)
            poses.append(pose)
            carriers.append(pose if modified else before)
            rotation = pose[..., :3, :3]
            centers.append(rotation @ link.center_of_mass + pose[..., :3, 3])
            tensors.append(rotation @ link.inertia_at_center_of_mass
                           @ np.swapaxes(rotation, -1, -2))
        row = self.description.flange
        along_x, along_z = _screw(0, row.alpha, row.a), _screw(2, row.theta, row.d)
        poses.append(pose @ (along_x @ along_z if modified else along_z @ along_x))
        carrier = np.stack(carriers, axis=-3)
        return Geometry(np.stack(poses, axis=-3), carrier[..., :3, 2], carrier[..., :3, 3],
                         np.stack(centers, axis=-2), np.stack(tensors, axis=-3))

    def columns(self, geometry: Geometry, points: Array, *, carrier: int | None = None,
                ) -> PartialJacobians:
        """
        Return z_j x (p - p_j) or z_j, and z_j or 0, for points p of shape (..., l, 3).

        Point l belongs to link l, or the one point to the link `carrier`, counted from 0.
        """
        moved = self.moved if carrier is None else self.moved[[carrier]]
        axes = geometry.axes[..., None, :, :]
        arms = points[..., :, None, :] - geometry.feet[..., None, :, :]
        turns = self._turns[:, None]
        linear = np.where(turns, np.cross(axes, arms), axes) * moved[..., None]
        angular = np.where(turns, axes, 0.0) * moved[..., None]
        return PartialJacobians(np.swapaxes(linear, -1, -2), np.swapaxes(angular, -1, -2))

    def column_slopes(self, geometry: Geometry, linear: Array) -> tuple[Array, Array]:
        """Return dJ_P/dq_k and dJ_O/dq_k of the centres of mass, each (..., l, 3, j, k)."""
        axes, feet = geometry.axes, geometry.feet
        inner = np.tril(self.moved, -1)[..., None]  # [j, k]: joint k carries joint j's axis
        turns = self._turns[:, None]
        by, of = axes[..., None, :, :], axes[..., :, None, :]
        axis_slopes = np.where(turns, np.cross(by, of), 0.0) * inner
        lever = feet[..., :, None, :] - feet[..., None, :, :]
        foot_slopes = np.where(turns, np.cross(by, lever), by) * inner
        arms = (geometry.centers[..., :, None, :] - feet[..., None, :, :])[..., None, :]
        arm_slopes = (np.swapaxes(linear, -1, -2)[..., :, None, :, :]
                      - foot_slopes[..., None, :, :, :])
        turning = (np.cross(axis_slopes[..., None, :, :, :], arms)
                   + np.cross(of[..., None, :, :, :], arm_slopes))
        moved = self.moved[..., None, None]
        column_turns = self._turns[:, None, None]
        slopes = np.where(column_turns, turning, axis_slopes[..., None, :, :, :]) * moved
        turned = np.where(column_turns, axis_slopes[..., None, :, :, :], 0.0) * moved
        # A joint beyond link l moves neither its centre nor the axes that move it.
        reached = self.moved[:, None, :, None]
        return (np.moveaxis(slopes * reached, -1, -3), np.moveaxis(turned * reached, -1, -3))


def _screw(axis: int, angle: ArrayLike, slide: ArrayLike) -> Array:
    """Return the turn by an angle about x (0) or z (2) and the slide along it, (..., 4, 4)."""
    turn, shift = np.broadcast_arrays(np.asarray(angle, dtype=float),
                                      np.asarray(slide, dtype=float))
    u, v = (axis + 1) % 3, (axis + 2) % 3
    out = np.zeros((*turn.shape, 4, 4))
    out[..., axis, axis] = out[..., 3, 3] = 1.0
    out[..., u, u] = out[..., v, v] = np.cos(turn)
    out[..., v, u], out[..., u, v] = np.sin(turn), -np.sin(turn)
    out[..., axis, 3] = shift
    return out
