# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
States of a fast topic -> means over short intervals: time passed, position, velocity, effort.

Drivers stamp states when they arrive, and some report the motors' velocity, which follows the
links late and carries the gears' ripple. On a recording of a real FER at 1 kHz stamps jitter by
0.2 ms about the robot's raster, and velocity is a hundred times as noisy from 15 to 60 Hz as
what positions on that raster show. A momentum from such a velocity vibrates by newton metres.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..typing import Array

_LEARNT_FROM = 50  # states until the topic's period is known
_RASTER_S = 1e-4  # to which a period is rounded
_SLOWEST_RASTER_S = 5e-3  # slower topics are thinned out from faster ones; their stamps count
# The arm's own motion tells the time passed where it goes at least this far in an interval.
_LEAST_WAY = 4e-4  # [rad]; below that the stamps are as good
_TRUST = 0.3  # of a period: a time that is further from the raster was not told by the motion
_MOST_LATE = 5.0  # periods that a stamp may be off, where states were kept back on their way
_MEMORY_S = 1.0  # over which the noise of the two velocities is compared


class Interval(NamedTuple):
    """Means over an interval: seconds it lasted, and q, dq, effort in its middle, shape (n,)."""

    seconds: float
    q: Array
    dq: Array
    effort: Array


class IntervalMotion:
    """
    Gathers states until an interval is full.

    Velocity is the way over the time passed, or the mean of what was measured, each weighed by
    how little it scatters. The time passed is a multiple of the topic's period, chosen by how
    far the arm got; a state that repeats the one before adds none.

    Parameters
    ----------
    n : int
        Number of joints.
    least : float
        Shortest interval [s].

    """

    def __init__(self, n: int, least: float) -> None:
        # Stamps of a millisecond raster are rounded: half a raster is no reason to wait a whole.
        self._n, self._due = n, least - 2e-4
        self.restart()

    def restart(self) -> None:
        """Forget the past; the next state begins the first interval."""
        self._stamps: list[float] = []
        self._period: float | None = None
        self._begin: tuple[float, Array, Array, Array] | None = None
        self._measured = np.zeros(self._n)
        self._effort = np.zeros(self._n)
        self._states = 0
        self._last: tuple[float, Array] | None = None
        self._held = 0.0
        self._last_effort: Array | None = None
        self._velocity: Array | None = None
        self._change = np.zeros(self._n)
        self._trace = np.zeros((2, 3, self._n))
        self._scatter = np.ones((2, self._n))
        self._known = 0

    def add(self, stamp: float, q: Array, dq: Array, effort: Array) -> Interval | None:
        """Take a state; return the means where it ends an interval."""
        if self._period is None:
            self._learn(stamp)
        if self._begin is None:
            self._begin, self._last = (stamp, q, dq, effort), (stamp, q)
            return None
        if self._repeats(stamp, q, dq):
            return None
        self._measured += dq
        self._effort += effort
        self._states += 1
        began, position, velocity, torque = self._begin
        stamped = stamp - began
        if self._slow:
            # As recordings show, no time passes for the arm while a state is sent again. Faster
            # topics catch up, and the motion tells.
            stamped -= self._held
        if stamped < self._due:
            return None
        way = q - position
        seconds = self._time_passed(stamped, way)
        if seconds == 0.0:
            return None  # the state repeats an old one; a new one will come
        measured = (self._measured + 0.5 * (velocity - dq)) / self._states
        mean = Interval(
            seconds,
            0.5 * (q + position),
            self._velocity_of(way / seconds, measured, seconds),
            (self._effort + 0.5 * (torque - effort)) / self._states,
        )
        self._begin = (stamp, q, dq, effort)
        self._measured = np.zeros(self._n)
        self._effort = np.zeros(self._n)
        self._states, self._held = 0, 0.0
        # From the middle of the interval before to the middle of this one.
        before, self._last_effort = self._last_effort, mean.effort
        return mean if before is None else mean._replace(effort=0.5 * (before + mean.effort))

    @property
    def _slow(self) -> bool:
        return self._period is not None and self._period > _SLOWEST_RASTER_S

    def _repeats(self, stamp: float, q: Array, dq: Array) -> bool:
        """Return whether a moving arm's state is the one before, sent again."""
        last, self._last = self._last, (stamp, q)
        # The first joint tells almost always, and this is asked of every state.
        if last is None or q[0] != last[1][0] or not np.array_equal(q, last[1]):
            return False
        held = stamp - last[0]
        repeats = bool(np.abs(dq).max() * held > 0.1 * _LEAST_WAY)
        self._held += held if repeats else 0.0
        return repeats

    def _learn(self, stamp: float) -> None:
        self._stamps.append(stamp)
        if len(self._stamps) > _LEARNT_FROM:
            period = float(np.median(np.diff(self._stamps)))
            self._period = max(_RASTER_S, _RASTER_S * round(period / _RASTER_S))

    def _time_passed(self, stamped: float, way: Array) -> float:
        """Return the time that has passed, by the motion where it tells, else by the stamps."""
        period, velocity = self._period, self._velocity
        if period is None or self._slow or velocity is None:
            return stamped
        expected = velocity + 0.5 * self._change
        square = float(expected @ expected)
        told = float(way @ expected) / square if square * stamped**2 > _LEAST_WAY**2 else -1.0
        periods = round(told / period)
        if (
            abs(told - periods * period) < _TRUST * period
            and abs(periods * period - stamped) < _MOST_LATE * period
        ):
            return periods * period
        return stamped

    def _velocity_of(self, by_way: Array, measured: Array, seconds: float) -> Array:
        """Return the two velocities' mean, weighed by their second differences."""
        both = np.stack([by_way, measured])
        self._trace[:, :2] = self._trace[:, 1:]
        self._trace[:, 2] = both
        self._known += 1
        if self._known >= 3:
            share = max(seconds / _MEMORY_S, 1.0 / (self._known - 2))
            bent = self._trace[:, 0] - 2.0 * self._trace[:, 1] + self._trace[:, 2]
            self._scatter = self._scatter + share * (bent * bent - self._scatter)
        scatter = self._scatter + 1e-18
        velocity = (scatter[1] * by_way + scatter[0] * measured) / (scatter[0] + scatter[1])
        self._change = np.zeros(self._n) if self._velocity is None else velocity - self._velocity
        self._velocity = velocity
        return np.asarray(velocity)
