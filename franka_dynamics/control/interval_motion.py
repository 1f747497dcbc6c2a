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

_REPEAT_WAY = 4e-5  # [rad] a moving arm cannot have stayed within this
_RESOLUTION = 5e-6  # [rad] of positions: an arm that goes less shows no time
_LEARNT_FROM = 100  # states until the topic's period is known
_RASTER_S = 1e-4  # to which a period is rounded
_SLOWEST_RASTER_S = 5e-3  # slower topics are thinned out from faster ones; their stamps count
# The scatter of stamps about the robot's raster, in periods, with the heavy tails of Student's
# distribution with two degrees of freedom: states are kept back on their way now and then.
_JITTER, _LEAST_JITTER = 0.25, 0.05  # at most and at least; learnt between these
_CERTAIN = 0.99  # chance of a multiple of the period that is taken as it is
_DOUBTFUL = 1e-4  # variance of a time, in shares of it, from which on it is not counted on
_UNKNOWN = 1e6  # [periods^2] the variance of a time that the motion does not tell
_CONTRADICTION = 1e-9  # likelihood below which stamps and motion contradict each other
_LEAST_CERTAIN = 0.02  # [periods] the motion never tells the time better than this
_MOST_LATE = 5.0  # periods that a stamp may be off, where states were kept back on their way
_OFFSET_SHARE = 0.02  # of an interval's error by which the stamps' offset is corrected
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
        self._way_variance = 0.0  # of the way along the motion about that expected [rad^2]
        self._told = 0
        # Of stamps against the raster [s], and the time passed on it since that was known.
        self._offset: float | None = None
        self._raster = 0.0
        self._jitter = _JITTER  # of the stamps about it [periods]

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
        seconds, doubt = self._time_passed(stamp, stamped, way)
        if seconds == 0.0:
            return None  # the state repeats an old one; a new one will come
        measured = (self._measured + 0.5 * (velocity - dq)) / self._states
        mean = Interval(
            seconds,
            0.5 * (q + position),
            self._velocity_of(way / seconds, measured, seconds, doubt),
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
        repeats = bool(np.abs(dq).max() * held > _REPEAT_WAY)
        self._held += held if repeats else 0.0
        return repeats

    def _learn(self, stamp: float) -> None:
        self._stamps.append(stamp)
        if len(self._stamps) > _LEARNT_FROM:
            steps = np.diff(self._stamps)
            # The mean of what is no gap: a median of steps that jitter by 0.3 ms errs by 0.05 ms.
            usual = steps < 2.0 * np.median(steps)
            period = float(np.mean(steps[usual])) if usual.any() else 0.0
            self._period = max(_RASTER_S, _RASTER_S * round(period / _RASTER_S))

    def _time_passed(self, stamp: float, stamped: float, way: Array) -> tuple[float, float]:
        """
        Return the time that has passed: a multiple of the period, where one is certain.

        Two witnesses: the stamps, which scatter about the robot's raster, and how far the arm
        has got on the way it was expected to go, which tells the less the slower it is.
        """
        period, velocity = self._period, self._velocity
        if period is None or self._slow or velocity is None:
            return stamped, 0.0
        if self._offset is None:
            self._offset, self._raster = stamp - stamped, 0.0
        by_stamps = (stamp - self._offset - self._raster) / period
        if abs(by_stamps - stamped / period) > _MOST_LATE:
            self._offset, self._raster = stamp - stamped, 0.0
            by_stamps = stamped / period
        expected = velocity + 0.5 * self._change
        square = float(expected @ expected)
        if square * stamped**2 > _RESOLUTION**2:
            told = float(way @ expected) / (square * period)
            # The change of velocity that was seen last need not go on.
            unknown = (self._way_variance + _RESOLUTION**2) / period**2
            unknown += 0.25 * float(self._change @ self._change) * (stamped / period) ** 2
            scatter = unknown / square + _LEAST_CERTAIN**2
        else:
            told, scatter = by_stamps, _UNKNOWN
        jitter = min(max(self._jitter, _LEAST_JITTER), _JITTER)
        lower, upper = sorted(
            (by_stamps, told if abs(told - by_stamps) < _MOST_LATE else by_stamps)
        )
        # The raster may be ahead of the stamps by more than has passed: 0 and 1 at least.
        multiples = np.arange(max(0, int(lower)), max(0, int(upper)) + 2)
        chance = (
            np.exp(-0.5 * (told - multiples) ** 2 / scatter)
            / (1.0 + 0.5 * ((by_stamps - multiples) / jitter) ** 2) ** 1.5
        )
        best, all_chances = int(chance.argmax()), float(chance.sum())
        if (
            not all_chances > _CONTRADICTION
        ):  # the arm was stopped or thrown: its motion tells nothing
            passed, variance = by_stamps, _JITTER**2
        elif chance[best] > _CERTAIN * all_chances and scatter < _JITTER**2:
            passed = float(multiples[best])
            variance = 1.0 - chance[best] / all_chances
        else:  # none is certain: their mean, each weighed by how little it scatters
            passed = (by_stamps * scatter + told * jitter**2) / (scatter + jitter**2)
            variance = _JITTER**2
        # An arm that vibrates or turns goes other ways than expected.
        self._told += 1
        share = max(stamped / _MEMORY_S, 1.0 / self._told)
        if scatter < _UNKNOWN:
            off = min(abs(told - passed), 1.0) * period
            self._way_variance += share * (off * off * square - self._way_variance)
        self._raster += passed * period
        late = stamp - self._offset - self._raster
        self._jitter += share * (min(1.25 * abs(late) / period, 1.0) - self._jitter)
        self._offset += _OFFSET_SHARE * min(max(late, -period), period)
        passed = max(passed, 0.0)
        return passed * period, variance / max(passed, 1.0) ** 2

    def _velocity_of(self, by_way: Array, measured: Array, seconds: float, doubt: float) -> Array:
        """
        Return the two velocities' mean, weighed by their second differences.

        A doubtful time makes the way's velocity doubtful, in this interval alone.
        """
        scatter = self._scatter + 1e-18
        unsure = scatter[0] + 6.0 * doubt * np.square(by_way)  # of second differences
        velocity = (scatter[1] * by_way + unsure * measured) / (unsure + scatter[1])
        # What a doubtful time does to the way's velocity says nothing of its noise.
        both = np.stack([velocity if doubt > _DOUBTFUL else by_way, measured])
        self._trace[:, :2] = self._trace[:, 1:]
        self._trace[:, 2] = both
        self._known += 1
        if self._known >= 3:
            share = max(seconds / _MEMORY_S, 1.0 / (self._known - 2))
            bent = self._trace[:, 0] - 2.0 * self._trace[:, 1] + self._trace[:, 2]
            self._scatter = self._scatter + share * (bent * bent - self._scatter)
        self._change = np.zeros(self._n) if self._velocity is None else velocity - self._velocity
        self._velocity = velocity
        return np.asarray(velocity)
