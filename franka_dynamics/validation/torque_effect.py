# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Computes how differences between two arms, placed in the space frame, change joint torques."""

from dataclasses import dataclass
import math

import numpy as np

from .space_frame_arm import SpaceFrameArm
from ..arm import ArmDescription
from ..arm.friction import friction_along, friction_torque, grows_with_load
from ..arrays import Array, ArrayLike
from ..dynamics.derivatives import tree_motion
from ..dynamics.model import as_gravity_vector
from ..dynamics.sampling import sample_states
from ..errors import distinct_texts

# Torque differences up to MAX_TORQUE_ROUNDING_RATIO, relative to the largest torque, are
# rounding errors.
MAX_TORQUE_ROUNDING_RATIO = 1e-11
_RANDOM_STATE_COUNT = 200
# Steps of a motion in which the friction models of both are compared.
_FRICTION_PATH_COUNT = 500
_FRICTION_PATH_STEP_S = 0.01


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
    owner: str
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
