# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Limits torques and torque rates; holds the constants that files of `control` share."""

import numpy as np

from ..arrays import Array
from ..motion.trajectory import CONTROL_CYCLE_S

# FCI's limit of the torque rate, applied to every arm even if the arm file has a larger rate or
# none.
MAX_TORQUE_RATE_NM_S = 1000.0  # N m/s, or N/s for a prismatic joint
# A receiver applies a new torque within one cycle of 1 ms, even if states come more slowly. A
# command therefore changes by at most the rate limit times MAX_STEP_S [s]; a loop's, which applies
# each torque for a whole period, by the rate limit times its period.
MAX_STEP_S = CONTROL_CYCLE_S
MIN_PERIOD_S, MAX_PERIOD_S = 0.5 * MAX_STEP_S, 10.0 * MAX_STEP_S  # of joint states, as stated [s]
# What is decided by a period bears one that later is PERIOD_MARGIN_FACTOR times as long.
PERIOD_MARGIN_FACTOR = 1.05
# With 10 rad/s^2 the light wrist hardly brakes a load that nobody declared; with none a falling
# arm's joints 2 and 4 ask for more torque than its rate allows (chosen on draw 6 of
# benchmarks/guard_misconfiguration.py, judged on draw 9).
MAX_BRAKING_DECELERATION_RAD_S2 = 30.0
# Time constant with which braking makes velocities decay [s]: thirty cycles, so that a delay of
# two cycles causes no overshoot.
BRAKING_TIME_CONSTANT_S = 30.0 * MAX_STEP_S
# A gentle speed [rad/s], with which an arm may be led against its stops.
MAX_GENTLE_SPEED_RAD_S = 0.5
# What drives the arm for so long, though the torques that are sent do not, does not end by itself
# [s]: five cycles.
RUNAWAY_DETECTION_TIME_S = 5.0 * MAX_STEP_S


class TorqueLimiter:
    """
    Limits torques to torque limits [N m] and torque rates [N m/s], shape (n,) each.

    An infinite torque limit limits nothing. Torque rates above MAX_TORQUE_RATE_NM_S are reduced to
    MAX_TORQUE_RATE_NM_S. A torque changes by at most the rate times `max_step_s` [s].
    """

    def __init__(self, max_torque: Array, max_rate: Array, max_step_s: float = MAX_STEP_S) -> None:
        self._max_step_s = max_step_s
        self._upper_limit = np.array(max_torque, dtype=float)
        self._lower_limit = -self._upper_limit
        self._max_rate = np.minimum(np.asarray(max_rate, dtype=float), MAX_TORQUE_RATE_NM_S)

    def clip_torque(self, torque: Array) -> Array:
        """Return a torque clipped to the torque limits, shape (n,) [N m]."""
        # np.minimum and np.maximum rather than np.clip, which takes twice as long on seven
        # numbers.
        return np.minimum(np.maximum(torque, self._lower_limit), self._upper_limit)

    def limit(self, desired: Array, previous: Array | None, elapsed: float) -> Array:
        """
        Return the torque nearest to the finite `desired` within torque and rate limit, (n,) [N m].

        `previous` is the last torque; if it is None, only the torque limit applies. `elapsed` is
        the time since `previous` [s], counted as at most the longest step and at least zero; NaN
        counts as zero.
        """
        within = self.clip_torque(desired)
        if previous is None:
            return within
        step = self._max_rate * min(max(0.0, elapsed), self._max_step_s)  # NaN gives zero
        return np.minimum(np.maximum(within, previous - step), previous + step)
