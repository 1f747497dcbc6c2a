# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Places an arm in the space frame at q = 0, and finds the displacement to another arm there."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np

from ..arm import ArmDescription
from ..arrays import Array
from ..dynamics.body_tree import BodyTree
from ..spatial import adjoint

_IDENTITY_ROTATION_WEIGHT = 1e-9  # by which of several rotations that fit the least is taken


class JointAxis(NamedTuple):
    """
    The direction of a joint's axis and the point on it nearest {S}'s origin, (3,) each.

    The point is in metres; a prismatic joint has none, and zero stands for it.
    """

    direction: Array
    point: Array


@dataclass(frozen=True, eq=False, repr=False)
class SpaceFrameArm(BodyTree):
    """A serial arm as a tree whose bodies' frames are {S} at q = 0, with the flange as tool."""

    @classmethod
    def at_zero(cls, arm: ArmDescription) -> 'SpaceFrameArm':
        """Return an arm's joint axes, inertias and flange in the space frame at q = 0."""
        tree = BodyTree.from_description(arm)
        poses = tree.poses(np.zeros(arm.n))
        twists = (adjoint(poses) @ tree.twists[..., None])[..., 0]
        links = tuple(link.expressed_in(pose) for link, pose in zip(arm.links, poses))
        placements = np.tile(np.eye(4), (arm.n, 1, 1))
        tool = poses[-1] @ tree.tool_pose
        return cls(tree.parents, placements, twists, links, tree.rotor_inertias, tool_pose=tool)

    def _is_revolute(self, i: int) -> bool:
        """Return whether joint i turns."""
        return bool(self.twists[i, 3:].any())

    def axis(self, i: int) -> JointAxis:
        """Return the axis of joint i."""
        v = self.twists[i, :3]
        omega = self.twists[i, 3:]
        if self._is_revolute(i):
            return JointAxis(omega, np.cross(omega, v) + 0.0)
        return JointAxis(v, np.zeros(3))

    def with_joint(self, i: int, other: 'SpaceFrameArm', field: str) -> 'SpaceFrameArm':
        """Return this arm with the value of `field` at joint i replaced by that of another arm."""
        values = list(getattr(self, field))
        values[i] = getattr(other, field)[i]
        changed: dict[str, Any] = {field: tuple(values)}
        return replace(self, **changed)

    def with_moved_joints(self, motion: Array, first: int) -> 'SpaceFrameArm':
        """Return the arm with joints `first` on, and what they carry, moved by `motion` in {S}."""
        behind = (link.expressed_in(motion) for link in self.inertias[first:])
        inertias = (*self.inertias[:first], *behind)
        twists = np.vstack((self.twists[:first], self.twists[first:] @ adjoint(motion).T))
        return replace(self, twists=twists, inertias=inertias, tool_pose=motion @ self.tool_pose)

    def axes_agree(self, other: 'SpaceFrameArm', i: int, tolerance: float) -> bool:
        """Return whether another arm has the same axis of joint i, in either direction."""
        own = self.axis(i)
        its = other.axis(i)
        angle = np.cross(own.direction, its.direction)
        distance = np.zeros(3)
        if self._is_revolute(i):
            distance = np.cross(own.direction, its.point - own.point)
        return bool(max(np.abs(angle).max(), np.abs(distance).max()) <= tolerance)

    def displacement_to(self, other: Self, i: int, atol: float, with_flange: bool) -> Array | None:
        """
        Return the displacement (4, 4) in {S} that takes joints i to n to another arm's, or None.

        With `with_flange` it must take the flange to the other arm's, too. If several
        displacements do, this one has the least rotation, and with that the least translation.
        """
        joints = range(i, self.n)
        axes = [(self.axis(j), other.axis(j)) for j in joints]
        directions = []
        for own, its in axes:
            sign = np.copysign(1.0, own.direction @ its.direction)  # a line has two directions
            directions.append((own.direction, sign * its.direction))
        if with_flange:
            directions += zip(self.tool_pose[:3, :3].T, other.tool_pose[:3, :3].T)
        rotation = _nearest_rotation(directions)

        # A point goes to a line, or to a point: P (rotation (p - center) + center + shift - q) = 0
        # with P the projection across the line, or the identity.
        center = axes[0][0].point
        conditions = []
        for j, (own, its) in zip(joints, axes):
            if self._is_revolute(j):
                across = np.eye(3) - np.outer(its.direction, its.direction)
                conditions.append((across, own.point, its.point))
        if with_flange:
            conditions.append((np.eye(3), self.tool_pose[:3, 3], other.tool_pose[:3, 3]))
        shift = _least_shift(
            (across, across @ (q - center - rotation @ (p - center)))
            for across, p, q in conditions
        )
        motion = np.eye(4)
        motion[:3, :3] = rotation
        motion[:3, 3] = center + shift - rotation @ center

        moved = self.with_moved_joints(motion, i)
        is_there = all(moved.axes_agree(other, j, atol) for j in joints)
        if with_flange:
            is_there = is_there and np.abs(moved.tool_pose - other.tool_pose).max() <= atol
        return motion if is_there else None


def _nearest_rotation(directions: Iterable[tuple[Array, Array]]) -> Array:
    """Return the least rotation (3, 3) that fits pairs of directions best, by Kabsch (1976)."""
    correlation = sum(np.outer(after, before) for before, after in directions)
    u, _, vt = np.linalg.svd(correlation + _IDENTITY_ROTATION_WEIGHT * np.eye(3))
    return np.asarray(u @ np.diag([1.0, 1.0, np.linalg.det(u @ vt)]) @ vt)


def _least_shift(conditions: Iterable[tuple[Array, Array]]) -> Array:
    """Return the least shift s, (3,) [m], with P s = offset for P (3, 3) and each offset (3,)."""
    matrices = [np.zeros((3, 3))]  # without conditions the shift is zero
    offsets = [np.zeros(3)]
    for matrix, offset in conditions:
        matrices.append(matrix)
        offsets.append(offset)
    return np.linalg.lstsq(np.vstack(matrices), np.concatenate(offsets), rcond=1e-9)[0]
