# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Computes how differences between two arm descriptions change joint torques."""

from __future__ import annotations

from dataclasses import dataclass
import math

import numpy as np

from .arm_in_space import ArmInSpace
from ..arm import ArmDescription
from ..arm.friction import friction_along
from ..arrays import Array, ArrayLike
from ..dynamics.derivatives import tree_motion
from ..dynamics.model import gravity_vector
from ..dynamics.sampling import sample_states
from ..errors import distinct_texts

# Torque differences up to MAX_TORQUE_ROUNDING_RATIO, relative to the largest torque, are
# rounding errors.
MAX_TORQUE_ROUNDING_RATIO = 1e-11
_STATE_COUNT = 200
_PATH_SAMPLE_COUNT, _PATH_STEP_S = 500, 0.01


@dataclass(frozen=True)
class TorqueEffect:
    """
    Largest and rms difference of two arms' joint torques at the states of `TorqueProbe`.

    `largest` is the largest difference [N m or N] and `joint` its joint; `rms` is the root mean
    square, over the random states, of the norm of the torque difference.
    """

    largest: float
    joint: str
    rms: float

    def __str__(self) -> str:
        """Return the effect in words."""
        if self.largest == 0.0:
            return 'none in any motion'
        return (
            f'up to {self.largest:.3g} N m (at {self.joint}), {self.rms:.3g} N m rms over '
            f'the joint vector, at {_STATE_COUNT} random states within the limits'
        )


@dataclass(frozen=True)
class ParameterDifference:
    """
    One parameter in which two arm descriptions differ, with its effect on joint torques.

    `kind` is geometry, link (an inertial parameter), limits, friction or inertial set.
    `place` is the name of a joint (for the joint or its link), 'base', 'flange', 'arm' (friction)
    or 'the arm' (a URDF's arm as a whole); `first` and `second` are the two arms' values of
    `parameter`, in `unit`. `torque_effect` is the largest change of a joint torque [N m or N] in
    the motions of `TorqueProbe` if what differs at this place (the base, a joint's axis with what
    is moved with it, its kind, direction or rotor, a link, the friction) is taken from the second
    arm; 0.0 if no torque changes by more than rounding. `remark` says more of the difference, if
    there is more to say.
    """

    kind: str
    place: str
    parameter: str
    first: float | str
    second: float | str
    unit: str
    torque_effect: float
    remark: str = ''

    @property
    def has_effect(self) -> bool:
        """Whether the difference changes a joint torque by more than rounding."""
        return self.torque_effect > 0.0

    def __str__(self) -> str:
        """Return the difference as one sentence."""
        effect = 'no effect on torque'
        if self.has_effect:
            effect = f'torque changes by up to {self.torque_effect:.3g} N m'
        here, there = distinct_texts(self.first, self.second, 6)
        return (
            f'{self.place}: {self.parameter} is {there} instead of {here}'
            f'{f" [{self.unit}]" if self.unit else ""}; {effect}'
            f'{f"; {self.remark}" if self.remark else ""}.'
        )


class TorqueProbe:
    """
    Computes how far joint torques of an arm change with its parameters.

    Torques are compared at random states within the limits of the arm `first`, in a gravity of
    shape (3,), in the space frame [m/s^2]. Friction is also compared along a motion to and fro of
    growing amplitude, because Maxwell-slip friction depends on the path.
    """

    def __init__(self, first: ArmDescription, gravity: ArrayLike) -> None:
        """Draw the random states within the limits of `first`, and compute its torques."""
        self._first, self._gravity = first, gravity_vector(gravity)
        self._states = sample_states(first, _STATE_COUNT)
        largest = np.abs(self._rigid_body_torque(ArmInSpace.at_zero(first))).max()
        self._floor = MAX_TORQUE_ROUNDING_RATIO * float(largest)

    def effect(
        self, changed: ArmInSpace, arm: ArmInSpace, *, other: ArmDescription | None = None
    ) -> TorqueEffect:
        """Return the change of torques from `arm` to `changed`, and to the friction of `other`."""
        rigid = self._rigid_body_torque(changed) - self._rigid_body_torque(arm)
        change = np.vstack([rigid, np.zeros((_PATH_SAMPLE_COUNT, self._first.n))])
        if other is not None:
            change += self._friction_torque(other) - self._friction_torque(self._first)
        change[np.abs(change) <= self._floor] = 0.0
        worst = np.abs(change).max(axis=0)
        joint = self._first.joint_names[int(worst.argmax())]
        rms = float(np.sqrt(np.mean(np.sum(change[:_STATE_COUNT] ** 2, axis=1))))
        return TorqueEffect(float(worst.max()), joint, rms)

    def _rigid_body_torque(self, arm: ArmInSpace) -> Array:
        """Return an arm's rigid-body torques at the random states."""
        return tree_motion(arm, *self._states, gravity=self._gravity).tau

    def _friction_torque(self, arm: ArmDescription) -> Array:
        """Return an arm's friction torque at the random states, then along a path."""
        if arm.friction is None:
            return np.zeros((_STATE_COUNT + _PATH_SAMPLE_COUNT, arm.n))
        amplitude = np.geomspace(1e-3, 1.0, _PATH_SAMPLE_COUNT)  # [rad or m]
        sine = np.sin(np.linspace(0.0, 16.0 * math.tau, _PATH_SAMPLE_COUNT))
        q = np.outer(amplitude * sine, np.ones(arm.n))
        along = friction_along(arm.friction, q, np.gradient(q, _PATH_STEP_S, axis=0))
        return np.vstack([arm.friction.torque(self._states.dq), along])
