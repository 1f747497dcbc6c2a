# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Computes how differences between two arms, placed in the space frame, change joint torques."""

from dataclasses import dataclass, field, replace
import math
from typing import Any, Self

import numpy as np

from .. import former_names
from ..arm import ArmDescription
from ..arm.friction import friction_along, friction_torque, grows_with_load
from ..arrays import Array, ArrayLike
from ..dynamics.body_tree import BodyTree
from ..dynamics.derivatives import tree_motion
from ..dynamics.model import as_gravity_vector
from ..dynamics.sampling import sample_states
from ..errors import distinct_texts
from ..spatial import adjoint

_IDENTITY_ROTATION_WEIGHT = 1e-9  # by which of several rotations that fit the least is taken
# Torque differences up to MAX_TORQUE_ROUNDING_RATIO, relative to the largest torque, are
# rounding errors.
MAX_TORQUE_ROUNDING_RATIO = 1e-11
_RANDOM_STATE_COUNT = 200
# Steps of a motion in which the friction models of both are compared.
_FRICTION_PATH_COUNT = 500
_FRICTION_PATH_STEP_S = 0.01


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

    def axis(self, i: int) -> tuple[Array, Array]:
        """Return joint i's axis: direction and point [m] nearest {S}'s origin (0 if prismatic)."""
        v = self.twists[i, :3]
        omega = self.twists[i, 3:]
        return (omega, np.cross(omega, v) + 0.0) if omega.any() else (v, np.zeros(3))

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
        d, p = self.axis(i)
        e, q = other.axis(i)
        apart = np.cross(d, q - p) if self.twists[i, 3:].any() else np.zeros(3)
        return bool(max(np.abs(np.cross(d, e)).max(), np.abs(apart).max()) <= tolerance)

    def displacement_to(self, other: Self, i: int, atol: float, with_flange: bool) -> Array | None:
        """
        Return the displacement (4, 4) in {S} that takes joints i to n to another arm's, or None.

        With `with_flange` the flange is moved, too. Of several the smallest is returned.
        """
        joints = range(i, self.n)
        pairs = [(self.axis(j), other.axis(j)) for j in joints]
        signs = [np.copysign(1.0, d @ e) for (d, _), (e, _) in pairs]
        directions = [(d, sign * e) for ((d, _), (e, _)), sign in zip(pairs, signs)]
        if with_flange:
            directions += zip(self.tool_pose[:3, :3].T, other.tool_pose[:3, :3].T)
        # Kabsch's rotation of the directions.
        correlation = sum(np.outer(e, d) for d, e in directions)
        u, _, vt = np.linalg.svd(correlation + _IDENTITY_ROTATION_WEIGHT * np.eye(3))
        motion = np.eye(4)
        motion[:3, :3] = turn = u @ np.diag([1.0, 1.0, np.linalg.det(u @ vt)]) @ vt
        center = pairs[0][0][1]
        across = [np.zeros((3, 3))]
        offsets = [np.zeros(3)]
        turning = [pair for j, pair in zip(joints, pairs) if self.twists[j, 3:].any()]
        points = [(np.eye(3) - np.outer(e, e), p, q) for (_, p), (e, q) in turning]
        if with_flange:
            points.append((np.eye(3), self.tool_pose[:3, 3], other.tool_pose[:3, 3]))
        for project, p, q in points:
            across.append(project)
            offsets.append(project @ (q - center - turn @ (p - center)))
        shift = np.linalg.lstsq(np.vstack(across), np.concatenate(offsets), rcond=1e-9)[0]
        motion[:3, 3] = center + shift - turn @ center
        brought = self.with_moved_joints(motion, i)
        fits = all(brought.axes_agree(other, j, atol) for j in joints)
        apart = np.abs(brought.tool_pose - other.tool_pose).max() if with_flange else 0.0
        return motion if fits and apart <= atol else None


@dataclass(frozen=True)
class TorqueEffect:
    """
    Largest difference of two arms' torques at random states and on a path, and rms at the states.

    `largest` is the largest difference, `joint` its joint and `unit` that joint's unit of effort;
    `rms` is the root mean square, over the random states, of the norm of the torque difference.
    `rms_unit` is its unit, or '' for an arm that has joints of both kinds.
    """

    largest: float
    joint: str
    rms: float
    unit: str = 'N m'
    rms_unit: str = 'N m'

    def __str__(self) -> str:
        """Return the effect in words."""
        if self.largest == 0.0:
            return 'none in any motion'
        rms = f', {self.rms:.3g} {self.rms_unit} rms over all joints' if self.rms_unit else ''
        return (
            f'up to {self.largest:.3g} {self.unit} (at {self.joint}){rms}, at '
            f'{_RANDOM_STATE_COUNT} random states within the limits, the same in each run'
        )


@former_names.of_attributes('0.3', place='owner')
@dataclass(frozen=True)
class ParameterDifference:
    """
    One parameter in which two arm descriptions differ, with its effect on joint torques.

    `kind` is geometry, link (an inertial parameter), limits or friction. `owner` is the name of a
    joint (for the joint or its link), 'base', 'flange' or 'arm' (friction); `first` and `second`
    are the two arms' values of `parameter`, in `unit`. `torque_effect` is the largest change of a
    joint torque, in `effect_unit`, in the motions of `TorqueSensitivity` if what differs at this
    place (the base, a joint's axis with what is moved with it, its kind, direction or rotor, a
    link, the friction) is taken from the second arm; 0.0 if no torque changes by more than
    rounding. `remark` says more of the difference, if there is more to say.
    """

    kind: str
    owner: str = field(metadata={'former_key': 'place'})
    parameter: str
    first: float | str
    second: float | str
    unit: str
    torque_effect: float
    remark: str = ''
    effect_unit: str = 'N m'

    @property
    def has_effect(self) -> bool:
        """Whether the difference changes a joint torque by more than rounding."""
        return self.torque_effect > 0.0

    def __str__(self) -> str:
        """Return the difference as one sentence."""
        effect = 'no effect on torque'
        if self.has_effect:
            effect = f'torque changes by up to {self.torque_effect:.3g} {self.effect_unit}'
        here, there = distinct_texts(self.first, self.second, 6)
        return (
            f'{self.owner}: {self.parameter} is {there} instead of {here}'
            f'{f" [{self.unit}]" if self.unit else ""}; {effect}'
            f'{f"; {self.remark}" if self.remark else ""}.'
        )


class TorqueSensitivity:
    """
    Computes how far joint torques of an arm change with its parameters.

    Torques are compared at random states within the limits of the arm `reference`, in a gravity of
    shape (3,), in the space frame [m/s^2]. Friction is also compared along a motion to and fro of
    growing amplitude, because Maxwell-slip friction depends on the path.
    """

    def __init__(self, reference: ArmDescription, gravity: ArrayLike) -> None:
        """Draw states within the limits of `reference`; bound rounding by its largest torque."""
        self._reference = reference
        self._gravity = as_gravity_vector(gravity)
        self._states = sample_states(reference, _RANDOM_STATE_COUNT)
        largest = np.abs(self._rigid_body_torque(SpaceFrameArm.at_zero(reference))).max()
        self._rounding_torque = MAX_TORQUE_ROUNDING_RATIO * float(largest)

    def effect(
        self,
        changed: SpaceFrameArm,
        arm: SpaceFrameArm,
        *,
        other: ArmDescription | None = None,
    ) -> TorqueEffect:
        """Return the TorqueEffect from `arm` to `changed`, with friction's to `other` if given."""
        rigid = self._rigid_body_torque(changed) - self._rigid_body_torque(arm)
        change = np.vstack([rigid, np.zeros((_FRICTION_PATH_COUNT, self._reference.n))])
        if other is not None:
            change += self._friction_torque(other) - self._friction_torque(self._reference)
        change[np.abs(change) <= self._rounding_torque] = 0.0
        worst = np.abs(change).max(axis=0)
        joint = self._reference.joints[int(worst.argmax())]
        rms = float(np.sqrt(np.mean(np.sum(change[:_RANDOM_STATE_COUNT] ** 2, axis=1))))
        units = {one.kind.effort_unit for one in self._reference.joints}
        rms_unit = units.pop() if len(units) == 1 else ''
        unit = joint.kind.effort_unit
        return TorqueEffect(float(worst.max()), joint.name, rms, unit, rms_unit)

    def _rigid_body_torque(self, arm: SpaceFrameArm) -> Array:
        """Return an arm's rigid-body torques at the random states, (states, n) [N m]."""
        return tree_motion(arm, *self._states, gravity=self._gravity).tau

    def _friction_torque(self, arm: ArmDescription) -> Array:
        """Return friction at the random states, then on a motion to and fro; 0 without a model."""
        if arm.friction is None:
            return np.zeros((_RANDOM_STATE_COUNT + _FRICTION_PATH_COUNT, arm.n))
        amplitude = np.geomspace(1e-3, 1.0, _FRICTION_PATH_COUNT)  # [rad or m]
        sine = np.sin(np.linspace(0.0, 16.0 * math.tau, _FRICTION_PATH_COUNT))
        q = np.outer(amplitude * sine, np.ones(arm.n))
        dq = np.gradient(q, _FRICTION_PATH_STEP_S, axis=0)
        along = friction_along(arm.friction, q, dq, 0.0)
        load = None
        if grows_with_load(arm.friction):
            load = self._rigid_body_torque(SpaceFrameArm.at_zero(arm))
        return np.vstack([friction_torque(arm.friction, self._states.dq, load), along])
