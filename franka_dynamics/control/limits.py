# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Limits torque and torque rate of every command, and checks joint speeds."""

from __future__ import annotations

import math

import numpy as np

from .terms import StateTerms
from .trajectory import ReferencePoint
from ..arm import ArmDescription
from ..typing import Array

# FCI's limit of the torque rate, applied to every arm even if the arm file has a larger rate or
# none.
MAX_TORQUE_RATE_NM_S = 1000.0  # N m/s, or N/s for a prismatic joint
# A receiver applies a new torque within one cycle of 1 ms, even if states come more slowly. A
# command therefore changes by at most the rate limit times MAX_STEP_S [s].
MAX_STEP_S = 1e-3
# Speeds from which the arm is braked, as shares of the velocity limit: while the reference moves
# faster than MIN_REFERENCE_SPEED_RAD_S [rad/s], and FOLLOWING_GRACE_TIME_S [s] longer, noise and
# overshoot may exceed the limit a little. They are judged after MAX_OVERSPEED_TIME_S [s]: three
# states at 1 kHz.
MAX_SPEED_RATIO = 0.6
MAX_FOLLOWING_SPEED_RATIO = 1.15
MIN_REFERENCE_SPEED_RAD_S = 0.05
FOLLOWING_GRACE_TIME_S = 0.5
MAX_OVERSPEED_TIME_S = 0.003
# With 10 rad/s^2 the light wrist hardly brakes a load that nobody declared; with none a falling
# arm's joints 2 and 4 ask for more torque than its rate allows (chosen on draw 6 of
# benchmarks/guard_misconfiguration.py, judged on draw 9).
MAX_BRAKING_DECELERATION_RAD_S2 = 30.0
# While no reference moves, a joint that is faster than MAX_SPEED_NEAR_LIMIT_RAD_S [rad/s], with
# which an arm may be led against its stops, must be able to come to rest before its position
# limit: by that acceleration, STOPPING_DELAY_S [s] late, for braking's time constant and the
# torque's rate.
MAX_SPEED_NEAR_LIMIT_RAD_S = 0.5
STOPPING_DELAY_S = 0.05


class TorqueLimiter:
    """
    Keeps commands within torque limits [N m] and torque rates [N m/s], shape (n,) each.

    An infinite torque limit limits nothing. Torque rates above MAX_TORQUE_RATE_NM_S are reduced to
    MAX_TORQUE_RATE_NM_S. A torque changes by at most the rate times `longest_step` [s].
    """

    def __init__(
        self, effort: Array, effort_rate: Array, longest_step: float = MAX_STEP_S
    ) -> None:
        self._longest_step = longest_step
        self._effort = np.array(effort, dtype=float)
        self._rate = np.minimum(np.asarray(effort_rate, dtype=float), MAX_TORQUE_RATE_NM_S)

    def clipped(self, torque: Array) -> Array:
        """Return a torque within the torque limits, shape (n,) [N m]."""
        # np.minimum and np.maximum rather than np.clip, which takes twice as long on seven
        # numbers.
        return np.minimum(np.maximum(torque, -self._effort), self._effort)

    def limit(self, desired: Array, previous: Array | None, elapsed: float) -> Array:
        """
        Return the torque nearest to the finite `desired` within torque and rate limit, (n,) [N m].

        `previous` is the last torque; if it is None, only the torque limit applies. `elapsed` is
        the time since `previous` [s], counted as at most the longest step and at least zero; NaN
        counts as zero.
        """
        within = self.clipped(desired)
        if previous is None:
            return within
        step = self._rate * min(max(0.0, elapsed), self._longest_step)  # NaN gives zero
        return np.minimum(np.maximum(within, previous - step), previous + step)


class SpeedMonitor:
    """Checks the joint speeds of one arm against their limits, state by state."""

    def __init__(self, arm: ArmDescription) -> None:
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

    def exceeded(
        self,
        state: StateTerms,
        reference: ReferencePoint | None,
        gain: Array | float,
        elapsed: float,
    ) -> str:
        """
        Return which joint is too fast, or ''; `elapsed` is the time between states [s].

        `gain` is by how much each joint still gets faster before its torque can be turned, (n,).
        """
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
        self._fast_s = self._fast_s + elapsed if (speed > allowed).any() else 0.0
        if self._fast_s < MAX_OVERSPEED_TIME_S:
            return ''
        joint = int((speed / allowed).argmax())
        free, following, near = (
            MAX_SPEED_RATIO,
            MAX_FOLLOWING_SPEED_RATIO,
            MAX_SPEED_NEAR_LIMIT_RAD_S,
        )
        return (
            f'{self._names[joint]} moves at {state.dq[joint]:.2f} rad/s and would reach '
            f'{speed[joint]:.2f}; at most {allowed[joint]:.2f} are allowed ({free:g} of its '
            f'limit, {following:g} while a reference moves, {near:g} rad/s before its '
            'position limit)'
        )
