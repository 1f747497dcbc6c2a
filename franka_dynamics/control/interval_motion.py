# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
States of a fast topic -> means over short intervals: time passed, position, velocity, effort.

Drivers stamp states on arrival, and some report the motors' velocity, which lags the links' and
contains the gears' ripple. On a recording of a real FER at 1 kHz stamps jitter by 0.2 ms about the
robot's raster, and velocity is a hundred times as noisy from 15 to 60 Hz as what positions on that
raster show. With such a velocity the momentum observer's torque vibrates by newton metres.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..typing import Array

_REPEAT_WAY = 4e-5  # [rad]; a moving arm moves further than this between two states
_RASTER_S = 1e-3  # [s], the robot's sampling period
_SLOWEST_S = 6e-3  # [s] between states; for topics slower than 200 Hz the stamps are used
# [rad/s] of all joints together; the displacement of a slower arm does not show the time.
_LEAST_SPEED = 0.02
_MOST_LATE_S = 0.02  # [s], largest error of a stamp, if states were delayed in transport


class Interval(NamedTuple):
    """Means over an interval: seconds it lasted, and q, dq, effort in its middle, shape (n,)."""

    seconds: float
    q: Array
    dq: Array
    effort: Array


class IntervalMotion:
    """
    Collects states until an interval is complete.

    On a fast topic the velocity is displacement over elapsed time. The elapsed time is the whole
    number of milliseconds in which the arm makes this displacement at the measured velocity, or
    the stamps' difference if the arm hardly moves. On a slow topic stamps and velocities are used
    as measured. Repeated states are skipped.

    Parameters
    ----------
    n : int
        Number of joints.
    least : float
        Shortest interval [s].

    """

    def __init__(self, n: int, least: float) -> None:
        # Half a sampling period of tolerance, because stamps are rounded.
        self._n, self._due = n, least - 2e-4
        self.restart()

    def restart(self) -> None:
        """Forget the past; the next state begins the first interval."""
        self._since, self._count = 0.0, 0  # of all states
        self._begin: tuple[float, Array, Array, Array] | None = None
        self._last: tuple[float, Array] | None = None
        self._last_effort: Array | None = None
        self._clear()

    def _clear(self) -> None:
        self._sums, self._states = np.zeros((2, self._n)), 0  # of velocities and efforts

    def add(self, stamp: float, q: Array, dq: Array, effort: Array) -> Interval | None:
        """Add a state; return the means if it completes an interval."""
        last, self._last = self._last, (stamp, q)
        self._count += 1
        if self._begin is None or last is None:
            self._since = stamp
            self._begin = (stamp, q, dq, effort)
            return None
        if np.array_equal(q, last[1]) and np.abs(dq).max() * (stamp - last[0]) > _REPEAT_WAY:
            return None
        self._sums += dq, effort
        self._states += 1
        began, position, velocity, torque = self._begin
        seconds = stamp - began
        if seconds < self._due:
            return None
        measured = (self._sums[0] + 0.5 * (velocity - dq)) / self._states
        if stamp - self._since < _SLOWEST_S * self._count:
            seconds = _time_passed(seconds, q - position, measured)
            if seconds == 0.0:
                return None  # a repeated state
            measured = (q - position) / seconds
        mean_effort = (self._sums[1] + 0.5 * (torque - effort)) / self._states
        self._begin = (stamp, q, dq, effort)
        self._clear()
        # From the middle of the previous interval to the middle of this one.
        before, self._last_effort = self._last_effort, mean_effort
        if before is not None:
            mean_effort = 0.5 * (before + mean_effort)
        return Interval(seconds, 0.5 * (q + position), measured, mean_effort)


def _time_passed(stamped: float, way: Array, measured: Array) -> float:
    """Return the elapsed time by the arm's displacement [s], or else by the stamps."""
    square = float(measured @ measured)
    if square < _LEAST_SPEED**2:
        return stamped
    told = max(0, round(float(way @ measured) / (square * _RASTER_S))) * _RASTER_S
    return told if abs(told - stamped) < _MOST_LATE_S else stamped
