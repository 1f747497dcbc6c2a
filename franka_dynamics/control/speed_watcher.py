# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Watches the speeds of the joints."""

from __future__ import annotations

import math

import numpy as np

from .disturbance import DisturbanceMonitor
from .ending import Cause, Ending
from .limits import MAX_BRAKING_DECELERATION_RAD_S2, MAX_STEP_S
from .watcher import Cycle, Watcher
from ..arm import ArmDescription
from ..errors import apart
from ..typing import Array

# Speeds from which the arm is braked, as shares of the velocity limit: while the reference moves
# faster than MIN_REFERENCE_SPEED_RAD_S [rad/s], and FOLLOWING_GRACE_TIME_S [s] longer, noise and
# overshoot may exceed the limit a little. They are judged after MAX_OVERSPEED_TIME_S [s]: three
# states at 1 kHz.
MAX_SPEED_RATIO = 0.6
MAX_FOLLOWING_SPEED_RATIO = 1.15
MIN_REFERENCE_SPEED_RAD_S = 0.05
FOLLOWING_GRACE_TIME_S = 0.5
MAX_OVERSPEED_TIME_S = 3.0 * MAX_STEP_S
# While no reference moves, a joint that is faster than MAX_SPEED_NEAR_LIMIT_RAD_S [rad/s], with
# which an arm may be led against its stops, must be able to come to rest before its position
# limit: by that acceleration, STOPPING_DELAY_S [s] late, for braking's time constant and the
# torque's rate.
MAX_SPEED_NEAR_LIMIT_RAD_S = 0.5
STOPPING_DELAY_S = 0.05


class SpeedWatcher(Watcher):
    """
    Ends torques when a joint is too fast, or will be before its torque can be turned.

    `disturbances` says by how much an unexplained torque still accelerates it.
    """

    def __init__(self, arm: ArmDescription, disturbances: DisturbanceMonitor) -> None:
        self._disturbances = disturbances
        self._velocity, self._names = arm.limit('velocity'), arm.joint_names
        self._lower, self._upper = arm.limit('lower'), arm.limit('upper')
        self._always_allowed = min(
            MAX_SPEED_NEAR_LIMIT_RAD_S, MAX_SPEED_RATIO * self._velocity.min()
        )
        self.reset()

    def reset(self) -> None:
        """Reset to slow joints and a reference at rest."""
        self._fast_s = 0.0  # how long a joint has been too fast [s]
        self._moved_at = -math.inf  # stamp at which the reference moved last [s]

    def check(self, cycle: Cycle) -> Ending | None:
        """Return an ending if a joint is too fast; g(q) twice or not at all may be why."""
        if not (cycle.runs or cycle.rests):
            return None
        terms, found = cycle.terms, self._disturbances
        why = self.exceeded(cycle, found.speed_gain(cycle.state, terms))
        if not why:
            return None
        return Cause.TOO_FAST.ending(found.gravity_error(found.commanded, terms) or why)

    def exceeded(self, cycle: Cycle, gain: Array | float) -> str:
        """
        Return which joint is too fast, or ''.

        `gain` is by how much each joint still gets faster before its torque can be turned, (n,).
        """
        state, reference = cycle.state, cycle.reference
        if reference is not None and np.abs(reference.dq).max() > MIN_REFERENCE_SPEED_RAD_S:
            self._moved_at = state.stamp
        speed = np.abs(state.dq) + gain
        if speed.max() <= self._always_allowed:
            self._fast_s = 0.0
            return ''
        follows = state.stamp - self._moved_at < FOLLOWING_GRACE_TIME_S
        allowed = (MAX_FOLLOWING_SPEED_RATIO if follows else MAX_SPEED_RATIO) * self._velocity
        if not follows:
            left = np.where(state.dq > 0.0, self._upper - state.q, state.q - self._lower)
            way = STOPPING_DELAY_S * speed + speed**2 / (2.0 * MAX_BRAKING_DECELERATION_RAD_S2)
            allowed = np.where(
                way > left, np.minimum(MAX_SPEED_NEAR_LIMIT_RAD_S, allowed), allowed
            )
        self._fast_s = self._fast_s + cycle.elapsed if (speed > allowed).any() else 0.0
        if self._fast_s < MAX_OVERSPEED_TIME_S:
            return ''
        joint = int((speed / allowed).argmax())
        found, most = apart(speed[joint], allowed[joint])
        return (
            f'{self._names[joint]} moves at {state.dq[joint]:.2f} rad/s and would reach '
            f'{found}; at most {most} are allowed ('
            f'{MAX_SPEED_RATIO:g} of its limit, {MAX_FOLLOWING_SPEED_RATIO:g} while a reference '
            f'moves, {MAX_SPEED_NEAR_LIMIT_RAD_S:g} rad/s before its position limit)'
        )
