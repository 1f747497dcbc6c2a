# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""An arm at q = 0 in the space frame: joint axes and inertias, on which no convention bears."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..arm import ArmDescription, JointKind, LinkInertia
from ..dynamics.body_tree import BodyTree
from ..dynamics.derivatives import tree_motion
from ..dynamics.sampling import JointStates
from ..spatial import adjoint, joint_twist
from ..typing import Array

_LEAST_TURN = 1e-9  # weight by which of several rotations that fit the least is taken


@dataclass(frozen=True, eq=False)
class ArmInSpace:
    """
    Axes, inertias and flange of an arm at q = 0 in {S}.

    `twists`, shape (n, 6), are the joints' unit twists (v, omega), `links` the moving links about
    the origin and in the axes of {S}, `rotors`, shape (n,), the rotor inertias, `flange` is the
    flange's pose, shape (4, 4).
    """

    twists: Array
    links: tuple[LinkInertia, ...]
    rotors: Array
    flange: Array

    @classmethod
    def of(cls, arm: ArmDescription) -> ArmInSpace:
        """Return an arm's axes, inertias and flange."""
        frames = (arm.base, *arm.frames(np.zeros(arm.n)))
        axes = [one @ before for one, (before, _) in zip(frames, arm.joint_placements())]
        placed = zip(axes, arm.joints)
        return cls(
            np.array([joint_twist(at[:3, 2], at[:3, 3], joint.kind) for at, joint in placed]),
            tuple(link.expressed_in(frame) for link, frame in zip(arm.links, frames[1:])),
            np.array([joint.rotor_inertia for joint in arm.joints]),
            frames[-1],
        )

    def axis(self, i: int) -> tuple[Array, Array]:
        """Return direction and, zero for a prismatic joint, point nearest to {S} of an axis."""
        v, omega = self.twists[i, :3], self.twists[i, 3:]
        return (omega, np.cross(omega, v)) if omega.any() else (v, np.zeros(3))

    def kind(self, i: int) -> JointKind:
        """Return whether a joint is revolute or prismatic."""
        return JointKind.REVOLUTE if self.twists[i, 3:].any() else JointKind.PRISMATIC

    def with_joint(self, i: int, other: ArmInSpace, *fields: str) -> ArmInSpace:
        """Return the arm with what `fields` name of a joint taken from another arm."""
        changed: dict[str, Any] = {}
        for name in fields:
            values = list(getattr(self, name))
            values[i] = getattr(other, name)[i]
            changed[name] = tuple(values) if name == 'links' else np.array(values)
        return replace(self, **changed)

    def reversed(self, i: int) -> ArmInSpace:
        """Return the arm with the positive direction of a joint reversed."""
        return self.with_joint(i, replace(self, twists=-self.twists), 'twists')

    def moved(self, motion: Array, first: int) -> ArmInSpace:
        """Return the arm with its joints from `first` on, and what they carry, moved in {S}."""
        behind = tuple(link.expressed_in(motion) for link in self.links[first:])
        return replace(
            self,
            twists=np.vstack((self.twists[:first], self.twists[first:] @ adjoint(motion).T)),
            links=(*self.links[:first], *behind),
            flange=motion @ self.flange,
        )

    def torque(self, states: JointStates, gravity: Array) -> Array:
        """Return the rigid-body torques at states (..., n) [N m or N]."""
        n = len(self.links)
        parents, places = range(-1, n - 1), np.tile(np.eye(4), (n, 1, 1))
        tree = BodyTree(tuple(parents), places, self.twists, self.links, self.rotors)
        return tree_motion(tree, *states, gravity=gravity).tau


def axes_agree(one: ArmInSpace, other: ArmInSpace, i: int, tolerance: float) -> bool:
    """Return whether two arms have the same axis of a joint, of whichever direction."""
    (d, p), (e, q) = one.axis(i), other.axis(i)
    apart = np.cross(d, q - p) if one.kind(i) is JointKind.REVOLUTE else np.zeros(3)
    return bool(max(np.abs(np.cross(d, e)).max(), np.abs(apart).max()) <= tolerance)


def motion_of_rest(
    one: ArmInSpace, other: ArmInSpace, first: int, tolerance: float, *, flange: bool
) -> Array | None:
    """
    Return the rigid motion (4, 4) that brings the joints from `first` on to those of another arm.

    With `flange` the flange is among what is moved. Of several motions the smallest is returned,
    and None if there is no such motion.
    """
    joints = range(first, len(one.links))
    pairs = [(one.axis(i), other.axis(i)) for i in joints]
    signs = [np.copysign(1.0, d @ e) for (d, _), (e, _) in pairs]
    directions = [(d, sign * e) for ((d, _), (e, _)), sign in zip(pairs, signs)]
    if flange:
        directions += zip(one.flange[:3, :3].T, other.flange[:3, :3].T)
    # Kabsch's rotation of the directions.
    u, _, vt = np.linalg.svd(sum(np.outer(e, d) for d, e in directions) + _LEAST_TURN * np.eye(3))
    motion = np.eye(4)
    motion[:3, :3] = turn = u @ np.diag([1.0, 1.0, np.linalg.det(u @ vt)]) @ vt
    center = pairs[0][0][1]
    across, offsets = [np.zeros((3, 3))], [np.zeros(3)]
    points = [
        (np.eye(3) - np.outer(e, e), p, q)
        for i, ((_, p), (e, q)) in zip(joints, pairs)
        if one.kind(i) is JointKind.REVOLUTE
    ]
    if flange:
        points.append((np.eye(3), one.flange[:3, 3], other.flange[:3, 3]))
    for project, p, q in points:
        across.append(project)
        offsets.append(project @ (q - center - turn @ (p - center)))
    shift = np.linalg.lstsq(np.vstack(across), np.concatenate(offsets), rcond=1e-9)[0]
    motion[:3, 3] = center + shift - turn @ center
    brought = one.moved(motion, first)
    fits = all(axes_agree(brought, other, i, tolerance) for i in joints)
    apart = np.abs(brought.flange - other.flange).max() if flange else 0.0
    return motion if fits and apart <= tolerance else None
