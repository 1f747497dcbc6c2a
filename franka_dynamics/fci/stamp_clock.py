# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The robot's clock -> stamps of this machine's clock, without the network's jitter."""

from __future__ import annotations

import math

# Two quartz clocks part by less than this: 50 ppm are 50 us per second.
_DRIFT = 1e-4
_LEAP_S = 0.05
_LEAST_STEP_S = 1e-6


class StampClock:
    """
    Maps the robot's time to stamps.

    A state is never older than its arrival, and the quickest arrivals are the least delayed: the
    offset is the smallest difference seen, let loose by the drift that two clocks may have. So
    stamps advance as the robot's milliseconds do, and do not part from this machine's clock.
    """

    def __init__(self) -> None:
        self._offset = math.inf
        self._time = math.nan
        self._stamp = -math.inf

    def stamp(self, time: float, now: float) -> float:
        """
        Return the stamp of a state.

        Parameters
        ----------
        time : float
            The robot's clock [s].
        now : float
            This machine's clock at the state's arrival [s].

        """
        elapsed = time - self._time
        difference = now - time
        if not 0.0 <= elapsed < _LEAP_S or abs(difference - self._offset) > _LEAP_S:
            self._offset = difference  # the first state, or one of the clocks was set
        else:
            self._offset = min(self._offset + _DRIFT * elapsed, difference)
        restarted = not elapsed >= 0.0
        self._time = time
        stamp = time + self._offset
        if elapsed > 0.0 and not restarted:
            stamp = max(stamp, self._stamp + _LEAST_STEP_S)
        elif elapsed == 0.0:
            stamp = self._stamp
        self._stamp = stamp
        return stamp
