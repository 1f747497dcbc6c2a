# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Watches the speeds of the joints, and whether an arm falls whose torques are refused."""

from __future__ import annotations

import math

import numpy as np

from .disturbance import Cycle, DisturbanceMonitor
from .ending import Cause, Ending
from .limits import MAX_BRAKING_DECELERATION_RAD_S2, MAX_STEP_S
from .reason import Code
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
# An arm that has moved so far while its torques are refused falls [rad or m]: further than elastic
# gears yield when motors take their load (1.7 mrad of an FR3), which lasts up to 20 ms.
MIN_FALL_RAD = 3e-3


class SpeedWatcher:
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
        """Return an ending if a joint is too fast."""
        if not (cycle.runs or cycle.rests):
            return None
        state, reference = cycle.state, cycle.reference
        if reference is not None and np.abs(reference.dq).max() > MIN_REFERENCE_SPEED_RAD_S:
            self._moved_at = state.stamp
        speed = np.abs(state.dq) + self._disturbances.speed_gain(state, cycle.terms)
        if speed.max() <= self._always_allowed:
            self._fast_s = 0.0
            return None
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
            return None
        joint = int((speed / allowed).argmax())
        reached, most = apart(speed[joint], allowed[joint])
        why = Code.TOO_FAST(
            joint=self._names[joint],
            velocity=float(state.dq[joint]),
            reached=reached,
            most=most,
            share=MAX_SPEED_RATIO,
            following=MAX_FOLLOWING_SPEED_RATIO,
            near=MAX_SPEED_NEAR_LIMIT_RAD_S,
            causes=self._disturbances.causes(cycle.terms),
        )
        return Cause.TOO_FAST.ending(why)


class FallWatcher:
    """Ends the resting torque when the arm has fallen under it, because torques are refused."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Reset to an arm that does not fall."""
        self._from: Array | None = None  # the position when torques were refused first, (n,)

    def check(self, cycle: Cycle) -> Ending | None:
        """Return an ending if the arm falls."""
        if cycle.refused is None:
            self._from = None
            return None
        self._from = cycle.state.q if self._from is None else self._from
        falls = np.abs(cycle.state.q - self._from).max() > MIN_FALL_RAD
        return Cause.DISTURBED.ending(cycle.refused) if falls else None
