# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The limits of torque and torque rate that every command keeps, and of joint speed."""

from __future__ import annotations

import math

import numpy as np

from .terms import StateTerms
from .trajectory import ReferencePoint
from ..arm import ArmDescription
from ..typing import Array

# FCI's limit of the torque rate, applied to every arm even if the arm file has a larger rate or
# none.
MAX_TORQUE_RATE = 1000.0  # N m/s, or N/s for a prismatic joint
# A receiver applies a new torque within one cycle of 1 ms, even if states come more slowly. A
# command therefore changes by at most the rate limit times MAX_STEP_S [s].
MAX_STEP_S = 1e-3
# A joint may reach SPEED_FREE times its velocity limit; SPEED_FOLLOWING times while the reference
# moves faster than MOVES [rad/s], and FOLLOWING_S [s] longer. If it is faster for FAST_S [s], the
# arm is braked.
SPEED_FREE, SPEED_FOLLOWING, FOLLOWING_S, MOVES, FAST_S = 0.6, 1.15, 0.5, 0.05, 0.003


class TorqueLimiter:
    """
    Keeps commands within torque limits [N m] and torque rates [N m/s], shape (n,) each.

    An infinite torque limit limits nothing. Torque rates above MAX_TORQUE_RATE are reduced to
    MAX_TORQUE_RATE. A torque changes by at most the rate times `longest_step` [s].
    """

    def __init__(
        self, effort: Array, effort_rate: Array, longest_step: float = MAX_STEP_S
    ) -> None:
        self._longest_step = longest_step
        self._effort = np.array(effort, dtype=float)
        self._rate = np.minimum(np.asarray(effort_rate, dtype=float), MAX_TORQUE_RATE)

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


class SpeedLimit:
    """Finds a joint of one arm that is faster than it may be, state by state."""

    def __init__(self, arm: ArmDescription) -> None:
        self._velocity, self._names = arm.limit('velocity'), arm.joint_names
        self.restart()

    def restart(self) -> None:
        """Take joints for slow and the reference for resting."""
        self._fast_s = 0.0  # how long a joint has been too fast [s]
        self._moved_at = -math.inf  # stamp at which the reference moved last [s]

    def exceeded(self, state: StateTerms, reference: ReferencePoint | None, elapsed: float) -> str:
        """Return which joint is too fast, or ''; `elapsed` is the time between states [s]."""
        if reference is not None and np.abs(reference.dq).max() > MOVES:
            self._moved_at = state.stamp
        follows = state.stamp - self._moved_at < FOLLOWING_S
        allowed = (SPEED_FOLLOWING if follows else SPEED_FREE) * self._velocity
        speed = np.abs(state.dq)
        self._fast_s = self._fast_s + elapsed if (speed > allowed).any() else 0.0
        if self._fast_s < FAST_S:
            return ''
        joint = int((speed / allowed).argmax())
        return (
            f'{self._names[joint]} moves at {state.dq[joint]:.2f} rad/s, and {allowed[joint]:.2f} '
            f'are allowed ({SPEED_FREE:g} of its limit, {SPEED_FOLLOWING:g} while a reference '
            'moves)'
        )
