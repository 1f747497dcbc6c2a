# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Describes an arm at q = 0 by axes and inertias in the space frame, without DH rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..arm import ArmDescription
from ..arrays import Array
from ..dynamics.body_tree import BodyTree
from ..spatial import adjoint

_MIN_TURN_RAD = 1e-9  # weight by which of several rotations that fit the least is taken


@dataclass(frozen=True, eq=False, repr=False)
class ArmInSpace(BodyTree):
    """A serial arm as a tree whose bodies' frames lie in {S} at q = 0, with the flange as tool."""

    @classmethod
    def at_zero(cls, arm: ArmDescription) -> ArmInSpace:
        """Return an arm's joint axes, inertias and flange in the space frame at q = 0."""
        tree = BodyTree.from_description(arm)
        poses = tree.poses(np.zeros(arm.n))
        return cls(
            tree.parents,
            np.tile(np.eye(4), (arm.n, 1, 1)),
            (adjoint(poses) @ tree.twists[..., None])[..., 0],
            tuple(link.expressed_in(pose) for link, pose in zip(arm.links, poses)),
            tree.rotor_inertias,
            tool=poses[-1] @ tree.tool,
        )

    def axis(self, i: int) -> tuple[Array, Array]:
        """Return a joint axis: direction, and point nearest to {S}'s origin, zero if prismatic."""
        v, omega = self.twists[i, :3], self.twists[i, 3:]
        return (omega, np.cross(omega, v) + 0.0) if omega.any() else (v, np.zeros(3))

    def with_joint(self, i: int, other: ArmInSpace, field: str) -> ArmInSpace:
        """Return the arm with a joint's entry of a field taken from another arm."""
        values = list(getattr(self, field))
        values[i] = getattr(other, field)[i]
        changed: dict[str, Any] = {field: tuple(values)}
        return replace(self, **changed)

    def with_moved_joints(self, motion: Array, first: int) -> ArmInSpace:
        """Return the arm with its joints from `first` on, and what they carry, moved in {S}."""
        behind = tuple(link.expressed_in(motion) for link in self.inertias[first:])
        return replace(
            self,
            twists=np.vstack((self.twists[:first], self.twists[first:] @ adjoint(motion).T)),
            inertias=(*self.inertias[:first], *behind),
            tool=motion @ self.tool,
        )


def axes_agree(one: ArmInSpace, other: ArmInSpace, i: int, tolerance: float) -> bool:
    """Return whether two arms have the same axis of a joint, of whichever direction."""
    (d, p), (e, q) = one.axis(i), other.axis(i)
    apart = np.cross(d, q - p) if one.twists[i, 3:].any() else np.zeros(3)
    return bool(max(np.abs(np.cross(d, e)).max(), np.abs(apart).max()) <= tolerance)


def common_motion(
    one: ArmInSpace, other: ArmInSpace, first: int, tolerance: float, *, flange: bool
) -> Array | None:
    """
    Return the rigid motion (4, 4) that brings the joints from `first` on to those of another arm.

    With `flange` the flange is among what is moved. Of several motions the smallest is returned,
    and None if there is no such motion.
    """
    joints = range(first, one.n)
    pairs = [(one.axis(i), other.axis(i)) for i in joints]
    signs = [np.copysign(1.0, d @ e) for (d, _), (e, _) in pairs]
    directions = [(d, sign * e) for ((d, _), (e, _)), sign in zip(pairs, signs)]
    if flange:
        directions += zip(one.tool[:3, :3].T, other.tool[:3, :3].T)
    # Kabsch's rotation of the directions.
    correlation = sum(np.outer(e, d) for d, e in directions)
    u, _, vt = np.linalg.svd(correlation + _MIN_TURN_RAD * np.eye(3))
    motion = np.eye(4)
    motion[:3, :3] = turn = u @ np.diag([1.0, 1.0, np.linalg.det(u @ vt)]) @ vt
    center = pairs[0][0][1]
    across, offsets = [np.zeros((3, 3))], [np.zeros(3)]
    turning = [pair for i, pair in zip(joints, pairs) if one.twists[i, 3:].any()]
    points = [(np.eye(3) - np.outer(e, e), p, q) for (_, p), (e, q) in turning]
    if flange:
        points.append((np.eye(3), one.tool[:3, 3], other.tool[:3, 3]))
    for project, p, q in points:
        across.append(project)
        offsets.append(project @ (q - center - turn @ (p - center)))
    shift = np.linalg.lstsq(np.vstack(across), np.concatenate(offsets), rcond=1e-9)[0]
    motion[:3, 3] = center + shift - turn @ center
    brought = one.with_moved_joints(motion, first)
    fits = all(axes_agree(brought, other, i, tolerance) for i in joints)
    apart = np.abs(brought.tool - other.tool).max() if flange else 0.0
    return motion if fits and apart <= tolerance else None
