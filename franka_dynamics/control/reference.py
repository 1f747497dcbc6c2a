# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The desired motion: a held position, a stream of set-points, or a trajectory."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ..typing import Array

# A stream of set-points that are followed at once counts as finished, and its last position is
# held, after STREAM_TIMEOUT_S without a set-point [s].
STREAM_TIMEOUT_S = 0.1
_MOST_EVENTS = 1000  # number of events kept; a further event replaces the oldest
_REPLACED = 'another reference took its place'


class ReferencePoint(NamedTuple):
    """Desired position, velocity and acceleration, (n,) each [rad or m, per s, per s^2]."""

    q: Array
    dq: Array
    ddq: Array

    @classmethod
    def at_rest(cls, q: Array) -> ReferencePoint:
        """Return the desired state at rest at the position q, shape (n,)."""
        return cls(np.array(q, dtype=float), np.zeros_like(q), np.zeros_like(q))

    @property
    def stacked(self) -> ReferencePoint:
        """The desired state with arrays of shape (1, n)."""
        return ReferencePoint(*(values[None, :] for values in self))


@dataclass(frozen=True, eq=False)
class Trajectory:
    """
    A motion through points, joined by quintics as in joint_trajectory_controller.

    The first position is held before the first point, the last position after the last point.

    Parameters
    ----------
    times : ndarray, shape (k,)
        Absolute times, strictly increasing, on the clock of the joint states' stamps [s].
    positions, velocities, accelerations : ndarray, shape (k, n)
        The states at these times.

    """

    times: Array
    positions: Array
    velocities: Array
    accelerations: Array

    @classmethod
    def at(cls, time: float, point: ReferencePoint) -> Trajectory:
        """Return a motion of a single point, which is reached at the time `time` [s]."""
        return cls(np.array([time]), *point.stacked)

    def part(self, rows: Any) -> Trajectory:
        """Return the motion through the points that a slice or a mask of shape (k,) selects."""
        states = self.positions[rows], self.velocities[rows], self.accelerations[rows]
        return Trajectory(self.times[rows], *states)

    def then(self, other: Trajectory) -> Trajectory:
        """Return the motion through the points of this motion, then through those of `other`."""
        rows = (self.positions, self.velocities, self.accelerations)
        others = (other.positions, other.velocities, other.accelerations)
        return Trajectory(np.append(self.times, other.times), *map(np.vstack, zip(rows, others)))

    def point(self, row: int) -> ReferencePoint:
        """Return the desired state at the point with index `row`."""
        return ReferencePoint(self.positions[row], self.velocities[row], self.accelerations[row])

    @property
    def end(self) -> float:
        """Time of the last point [s]."""
        return float(self.times[-1])

    def sample(self, time: float) -> ReferencePoint:
        """Return the desired state at a time [s]."""
        if time >= self.end:
            return ReferencePoint.at_rest(self.positions[-1])
        if time < self.times[0]:
            return ReferencePoint.at_rest(self.positions[0])
        segment = int(np.searchsorted(self.times, time, side='right')) - 1
        start, end = float(self.times[segment]), float(self.times[segment + 1])
        return _evaluate(self._powers[segment], (time - start) / (end - start), end - start)

    def sample_many(self, per_segment: int) -> tuple[Array, ReferencePoint]:
        """Return times and desired states: `per_segment` in each segment, and at the end."""
        segments = np.repeat(np.arange(len(self.times) - 1), per_segment)
        s = np.tile(np.arange(per_segment) / per_segment, len(self.times) - 1)
        durations = np.diff(self.times)[segments]
        powers = np.moveaxis(self._powers, 0, 2)[:, :, segments]
        inside = _evaluate(powers, s[:, None], durations[:, None])
        end = ReferencePoint.at_rest(self.positions[-1])
        return (
            np.append(self.times[segments] + s * durations, self.end),
            ReferencePoint(*(np.vstack(pair) for pair in zip(inside, end))),
        )

    @cached_property
    def _powers(self) -> Array:
        """
        Polynomials in s of position, velocity and acceleration: coefficients (k - 1, 6, 3, n).

        The lowest power comes first; s runs from 0 to 1 within a segment. Planning computes the
        coefficients, before the motion is followed.
        """
        q0, q1 = self.positions[:-1], self.positions[1:]
        powers = np.zeros((len(q0), 6, 3, q0.shape[1]))
        position, duration = powers[:, :, 0], np.diff(self.times)[:, None]
        # First and second derivatives of position with respect to s at both ends of a segment.
        v0, v1 = self.velocities[:-1] * duration, self.velocities[1:] * duration
        a0, a1 = (rows * duration**2 for rows in (self.accelerations[:-1], self.accelerations[1:]))
        p, v, a = q1 - q0 - v0 - 0.5 * a0, v1 - v0 - a0, a1 - a0
        position[:, 0], position[:, 1], position[:, 2] = q0, v0, 0.5 * a0
        position[:, 3] = 10.0 * p - 4.0 * v + 0.5 * a
        position[:, 4] = -15.0 * p + 7.0 * v - a
        position[:, 5] = 6.0 * p - 3.0 * v + 0.5 * a
        rising = np.arange(1.0, 6.0)[:, None]
        powers[:, :5, 1] = rising * powers[:, 1:, 0]
        powers[:, :4, 2] = rising[:4] * powers[:, 1:5, 1]
        return powers


@dataclass(frozen=True, eq=False, kw_only=True)
class StreamedMotion(Trajectory):
    """A motion made from streamed `points`, positions of shape (k, n), at `point_times` [s]."""

    point_times: Array
    points: Array


def _is_streamed(planned: Trajectory | ReferencePoint) -> bool:
    """Return whether a reference is part of a stream."""
    return isinstance(planned, ReferencePoint | StreamedMotion)


def _evaluate(powers: Array, s: float | Array, duration: float | Array) -> ReferencePoint:
    """Return the desired state at the fraction s of a segment that lasts `duration` [s]."""
    state = s * powers[5]
    for power in powers[4:0:-1]:
        state += power
        state *= s
    state += powers[0]
    return ReferencePoint(state[0], state[1] / duration, state[2] / duration**2)


class ReferenceState(str, Enum):
    """States of a reference in its events; finished, refused and interrupted are final."""

    ACCEPTED = 'accepted'  # planned, not yet followed
    FOLLOWING = 'following'
    FINISHED = 'finished'  # followed to its end
    REFUSED = 'refused'  # not planned, never followed
    INTERRUPTED = 'interrupted'  # replaced or dropped before its end


class ReferenceEvent(NamedTuple):
    """
    A change of a reference's state.

    `number` counts references. `stamp` is the stamp of the latest joint state [s]. `goal` is the
    last position of the reference, shape (n,) [rad or m], None for a refused reference.
    `remaining` is the time until the reference ends [s], 0 if `goal` is None. `mark` is the
    sender's identifier of the reference.
    """

    number: int
    state: ReferenceState
    stamp: float
    reason: str = ''
    goal: Array | None = None
    remaining: float = 0.0
    mark: str = ''


@dataclass(frozen=True, eq=False)
class _Followed:
    """An accepted reference: a motion or a set-point, followed from the time `begin` on [s]."""

    number: int
    planned: Trajectory | ReferencePoint
    begin: float
    mark: str
    begun: bool = False

    @property
    def end(self) -> float:
        """Time at which the motion reaches its last point or the set-point times out [s]."""
        if isinstance(self.planned, Trajectory):
            return self.planned.end
        return self.begin + STREAM_TIMEOUT_S

    @property
    def goal(self) -> Array:
        """The last position of the reference, shape (n,)."""
        planned = self.planned
        return planned.positions[-1] if isinstance(planned, Trajectory) else planned.q

    def at(self, stamp: float) -> ReferencePoint:
        """Return the desired state at a stamp [s]."""
        if isinstance(self.planned, Trajectory):
            return self.planned.sample(stamp)
        return self.planned if stamp < self.end else ReferencePoint.at_rest(self.goal)


class ReferenceSource:
    """
    The present desired state: none yet, a held position, a set-point or a trajectory.

    The last position of a stream or a trajectory that has ended is held. The present reference is
    followed until a later trajectory begins. The queue `events` reports what becomes of each
    reference, in order; its reader removes the events. A stream of set-points counts as one
    reference.
    """

    def __init__(self) -> None:
        self.events: deque[ReferenceEvent] = deque(maxlen=_MOST_EVENTS)
        self.counts = dict.fromkeys(ReferenceState, 0)
        self._numbers = 0
        self._held: ReferencePoint | None = None
        self._now: _Followed | None = None
        self._next: _Followed | None = None

    @property
    def active(self) -> bool:
        """Whether a stream or a trajectory is followed now or is waiting to begin."""
        return self._now is not None or self._next is not None

    @property
    def motion(self) -> Trajectory | None:
        """The waiting trajectory, else the present one; None for a set-point or no reference."""
        latest = self._next or self._now
        return latest.planned if latest and isinstance(latest.planned, Trajectory) else None

    def hold(self, q: Array | None) -> None:
        """Hold the position q, shape (n,), while no reference is followed; None: hold nothing."""
        self._held = None if q is None else ReferencePoint.at_rest(q)

    def continues(self, planned: Trajectory | ReferencePoint) -> bool:
        """Return whether `planned` and the latest reference are parts of one stream."""
        latest = self._next or self._now
        return latest is not None and _is_streamed(planned) and _is_streamed(latest.planned)

    def follow(self, planned: Trajectory | ReferencePoint, now: float, mark: str = '') -> None:
        """
        Follow a set-point at once, or a trajectory from its first point on.

        The present reference is followed until the trajectory begins. Adds events. `now` is the
        stamp of the latest joint state [s], `mark` the sender's identifier of the reference. If
        the latest reference is a stream, a streamed reference continues this stream and keeps its
        mark.
        """
        begin = float(planned.times[0]) if isinstance(planned, Trajectory) else now
        latest = self._next or self._now
        if latest is not None and self.continues(planned):
            following = replace(latest, planned=planned, begin=begin)
        else:
            self._numbers += 1
            following = _Followed(self._numbers, planned, begin, mark)
            self._add_event(following, ReferenceState.ACCEPTED, now)
        self._leave(self._next, now, following)
        self._next = following
        self.sample(now)

    def pass_by(
        self, planned: Trajectory | ReferencePoint, now: float, reason: str, mark: str = ''
    ) -> None:
        """Add ACCEPTED, then INTERRUPTED with `reason`, for a reference not followed here."""
        self._numbers += 1
        one = _Followed(self._numbers, planned, now, mark)
        self._add_event(one, ReferenceState.ACCEPTED, now)
        self._add_event(one, ReferenceState.INTERRUPTED, now, reason)

    def refuse(self, stamp: float, reason: str, mark: str = '') -> None:
        """Add the event of a refused reference."""
        self._numbers += 1
        refused = ReferenceEvent(self._numbers, ReferenceState.REFUSED, stamp, reason, mark=mark)
        self._put(refused)

    def clear(self, stamp: float = 0.0, reason: str = '') -> None:
        """Drop the held position and all references; add events with `stamp` [s] and `reason`."""
        for dropped in (self._now, self._next):
            self._leave(dropped, stamp, None, reason)
        self._held = self._now = self._next = None

    def at(self, stamp: float) -> ReferencePoint | None:
        """Return the desired state at a stamp [s]; None: no reference begun, no position held."""
        for one in (self._next, self._now):
            if one is not None and stamp >= one.begin:
                return one.at(stamp)
        return self._held

    def sample(self, stamp: float) -> ReferencePoint | None:
        """Return the desired state at a stamp [s]; begin and end references, add their events."""
        if self._next is not None and stamp >= self._next.begin:
            before, self._now, self._next = self._now, self._next, None
            self._leave(before, stamp, self._now)
            if not self._now.begun:
                self._now = replace(self._now, begun=True)
                self._add_event(self._now, ReferenceState.FOLLOWING, stamp)
        desired = self.at(stamp)
        if self._now is not None and stamp >= self._now.end:
            self._add_event(self._now, ReferenceState.FINISHED, stamp)
            self._held, self._now = ReferencePoint.at_rest(self._now.goal), None
        return desired

    def _leave(
        self,
        one: _Followed | None,
        stamp: float,
        successor: _Followed | None,
        reason: str = _REPLACED,
    ) -> None:
        """Add the event that ends a reference, unless `successor` continues the same stream."""
        if one is None or (successor is not None and successor.number == one.number):
            return
        if successor is not None and one.begun and stamp >= one.end:
            self._add_event(one, ReferenceState.FINISHED, stamp)
        else:
            self._add_event(one, ReferenceState.INTERRUPTED, stamp, reason)

    def _add_event(
        self, one: _Followed, state: ReferenceState, stamp: float, reason: str = ''
    ) -> None:
        left = max(0.0, one.end - stamp)
        self._put(ReferenceEvent(one.number, state, stamp, reason, one.goal, left, one.mark))

    def _put(self, event: ReferenceEvent) -> None:
        self.counts[event.state] += 1
        self.events.append(event)
