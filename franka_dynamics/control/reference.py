# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The desired motion of an arm, from set-points, streams, chunks and trajectories."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from enum import Enum
import threading
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from .planning import from_state, require_near, spliced, through_points, through_stream
from .request import MOST_LATENESS_S, Points
from .trajectory import ReferencePoint, Trajectory
from ..arm import ArmDescription
from ..errors import ReferenceRefusedError
from ..typing import Array

# A motion begins LEADS_S[0] after the latest joint state [s], which leaves time to plan it; if
# planning took longer, it is planned again with the next lead.
LEADS_S = (0.02, 0.1, 0.5)
# A set-point with velocity that is not replaced within SET_POINT_TIMEOUT_S is braked to rest [s].
SET_POINT_TIMEOUT_S = 0.1
# A stream ends if no point came for STREAM_TIMEOUT_S [s] and for _MOST_MISSING periods. The period
# of points that come in a burst is _FASTEST_S [s].
_MOST_MISSING, STREAM_TIMEOUT_S, _FASTEST_S = 4.0, 0.5, 1e-3
# Points of a stream that come within _GROUP_S [s] are averaged (`benchmarks/streams.py --tuning`).
_GROUP_S = 0.03
_KEPT, _PLANNED = 30, 8  # points that determine the period, and points that are planned through
_MOST_EVENTS = 1000  # number of events kept; a further event replaces the oldest
_REPLACED = 'another reference took its place'


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

    `number` counts references; a stream is one. `stamp` is the stamp of the latest joint state
    [s]. `goal` is the last position of the reference, shape (n,) [rad or m], None for a refused
    reference. `remaining` is the time until the reference ends [s], 0 if `goal` is None. `mark` is
    the sender's identifier of the reference.
    """

    number: int
    state: ReferenceState
    stamp: float
    reason: str = ''
    goal: Array | None = None
    remaining: float = 0.0
    mark: str = ''


@dataclass(eq=False)
class _Followed:
    """A motion that is followed from `begin` to `end` [s], or until the next one begins."""

    number: int
    mark: str
    begin: float
    end: float
    goal: Array
    streamed: bool  # as set-points, each of which continues the stream
    begun: bool = False


class Reference:
    """
    The desired motion of an arm: nothing at first, then a held position or a motion.

    `at` is called in each control cycle, by one thread. `follow` may be called by any thread: it
    plans beside the cycle, and the new motion begins where the present one will be, with its
    velocity and acceleration. A motion that has ended is held at its last position. A refused
    request (ReferenceRefusedError) leaves the present motion as it is.

    `events` reports in order what becomes of each motion, and `counts` how often; the reader of
    `events` removes them. All positions of `arm` and limits are in rad or m, times in seconds on
    the clock of the joint states' stamps. `motion` is desired at first, by default nothing.
    """

    def __init__(self, arm: ArmDescription, motion: Trajectory | None = None) -> None:
        self._arm = arm
        self.events: deque[ReferenceEvent] = deque(maxlen=_MOST_EVENTS)
        self.counts = dict.fromkeys(ReferenceState, 0)
        self._numbers = 0
        self._stamp: float | None = None  # of the latest joint state
        self._motion = motion
        self._followed: deque[_Followed] = deque()  # in the order of their begins
        self._stream = _Stream()
        self._clears = 0  # number of calls of `clear`
        self._lock = threading.Lock()  # held for microseconds
        self._planning = threading.Lock()  # held by the thread that plans

    @property
    def active(self) -> bool:
        """Whether a motion is followed or waits to begin."""
        return bool(self._followed)

    @property
    def motion(self) -> Trajectory | None:
        """The desired motion, which is never changed but replaced; None if nothing is desired."""
        return self._motion

    def at(self, stamp: float) -> ReferencePoint | None:
        """Return the desired state at the stamp of a joint state [s]; None if there is none."""
        with self._lock:
            self._stamp = stamp
            if self._followed:
                self._report(stamp)
            return None if self._motion is None else self._motion.at(stamp)

    def hold(self, q: ArrayLike | None) -> None:
        """
        Rest at q, shape (n,), until a motion is followed; None: desire nothing.

        Does nothing while a motion is followed or waits to begin.
        """
        with self._lock:
            if not self._followed:
                rest = None if q is None else np.array(q, dtype=float)
                zero = self._stamp or 0.0
                self._motion = None if rest is None else Trajectory.resting(rest, zero)

    def clear(self, stamp: float = 0.0, reason: str = '') -> None:
        """End what is followed, for a reason and at a stamp [s], and desire nothing."""
        with self._lock:
            for one in self._followed:
                self._tell(one, ReferenceState.INTERRUPTED, stamp, reason)
            self._followed.clear()
            self._motion, self._stream = None, _Stream()
            self._clears += 1

    def follow(
        self,
        q: ArrayLike,
        times: ArrayLike | None = None,
        dq: ArrayLike | None = None,
        ddq: ArrayLike | None = None,
        *,
        start: float | None = None,
        mark: str = '',
        measured: Array | None = None,
    ) -> Trajectory:
        """
        Follow a trajectory, a chunk of points or a set-point; return the motion.

        Positions alone are joined by a cubic spline, positions with velocities by quintics; a
        motion that does not end at rest is braked after its last point. Points come later than
        asked for, or averaged with their neighbours, only where the arm's limits demand it.
        Set-points without velocity, sent one by one at 10 to 100 Hz, are a stream: a smooth motion
        that follows them about two of their periods later. A set-point with velocity is followed
        as it is, from now on.

        Parameters
        ----------
        q : array_like, shape (n,) or (k, n)
            A set-point, or the positions at `times` [rad or m]; without points (0, n) the present
            motion is braked to rest.
        times : array_like, shape (k,), optional
            Increasing times after `start` [s]; None for a set-point.
        dq, ddq : array_like, shape of q, optional
            Velocities and accelerations; missing accelerations are computed.
        start : float, optional
            Stamp at which the motion starts [s]; None: now.
        mark : str, optional
            The sender's identifier of the motion, which its events repeat.
        measured : ndarray, shape (n,), optional
            The position measured now. Where nothing is desired yet the motion begins there, and a
            motion that begins at once is refused if the arm is not where it is desired.

        Raises
        ------
        ReferenceRefusedError
            If the points are unusable, too late, more than 0.1 rad away though they begin at once,
            or beyond the arm's limits of position, velocity or acceleration.

        """
        points = Points(q, times, dq, ddq, start).checked(self._arm)  # type: ignore[arg-type]
        with self._planning:
            for lead in LEADS_S:
                with self._lock:
                    stamp, before, clears = self._stamp, self._motion, self._clears
                if stamp is None:
                    raise ReferenceRefusedError(
                        'The reference came before any joint state; wait until the arm publishes '
                        'its state.'
                    )
                points.require_on_time(stamp)
                present = self._present(stamp, before, measured, points)
                stream = self._stream.then(stamp, points.q) if points.is_streamed else _Stream()
                planned = self._planned(points, stream, stamp, lead, present)
                with self._lock:
                    if self._clears != clears:
                        raise ReferenceRefusedError('The arm was stopped while it was planned.')
                    in_time = points.is_set_point or (self._stamp or stamp) <= planned.begin
                    if in_time and self._motion is before:
                        self._stream = stream
                        self._begin(planned, present, mark, streamed=points.times is None)
                        return planned
        raise ReferenceRefusedError(
            f'Planning the reference took more than {LEADS_S[-1]:g} s; this machine is too busy, '
            'or the points are too many.'
        )

    def pass_by(self, planned: Trajectory, stamp: float, reason: str, mark: str = '') -> None:
        """Add ACCEPTED, then INTERRUPTED with `reason`, for a motion that is not followed here."""
        with self._lock:
            one = self._numbered(planned, mark, streamed=False)
            self._tell(one, ReferenceState.ACCEPTED, stamp)
            self._tell(one, ReferenceState.INTERRUPTED, stamp, reason)

    def refuse(self, stamp: float, reason: str, mark: str = '') -> None:
        """Add the event of a refused reference."""
        with self._lock:
            self._numbers += 1
            state = ReferenceState.REFUSED
            self._put(ReferenceEvent(self._numbers, state, stamp, reason, mark=mark))

    # Planning ----------------------------------------------------------------------------------

    def _present(
        self, stamp: float, motion: Trajectory | None, measured: Array | None, points: Points
    ) -> Trajectory:
        """Return the motion that the next one begins from."""
        if motion is None and measured is None:
            raise ReferenceRefusedError(
                'No position is desired to begin at: hold one, or give the measured one.'
            )
        motion = motion or Trajectory.resting(np.array(measured, dtype=float), stamp)
        if measured is not None and (points.start or 0.0) <= stamp + MOST_LATENESS_S:
            desired = motion.at(stamp).q
            require_near(self._arm, measured, desired, 'The arm stands where it is not desired')
        return motion

    def _planned(
        self, points: Points, stream: _Stream, stamp: float, lead: float, present: Trajectory
    ) -> Trajectory:
        """Return the motion to follow, with the time zero of the present one."""
        arm, now = self._arm, stamp - present.zero
        if points.times is None and (points.dq is not None or len(stream.points) == 1):
            desired = present.at(stamp).q
            require_near(arm, points.q, desired, 'The set-point is where the arm is not desired')
        if points.times is None and points.dq is not None:
            ddq = np.zeros(arm.n) if points.ddq is None else points.ddq
            state = ReferencePoint(points.q, points.dq, ddq)
            return from_state(arm, state, now, present.zero, SET_POINT_TIMEOUT_S)
        if points.times is None:
            due, q = stream.planned_through()
            return through_stream(arm, present, now + lead, now + LEADS_S[0] + due, q)
        start = now + lead if points.start is None else points.start - present.zero
        begin, times = max(now + lead, start), start + points.times
        return through_points(arm, present, begin, times, points.q, points.dq, points.ddq)

    # What becomes of each motion ---------------------------------------------------------------

    def _begin(
        self, planned: Trajectory, present: Trajectory, mark: str, *, streamed: bool
    ) -> None:
        """Follow a planned motion from its begin on, and the present one until then."""
        assert self._stamp is not None
        self._motion = spliced(present, self._stamp - present.zero, planned)
        end = max(planned.end, self._stamp + STREAM_TIMEOUT_S) if streamed else planned.end
        while self._followed:
            last = self._followed[-1]
            if streamed and last.streamed:
                last.end, last.goal = end, planned.positions[-1]
                return
            if last.begin < planned.begin:
                break
            self._followed.pop()
            self._tell(last, ReferenceState.INTERRUPTED, self._stamp, _REPLACED)
        self._followed.append(self._numbered(planned, mark, streamed=streamed))
        self._followed[-1].end = end
        self._tell(self._followed[-1], ReferenceState.ACCEPTED, self._stamp)

    def _numbered(self, planned: Trajectory, mark: str, *, streamed: bool) -> _Followed:
        self._numbers += 1
        goal = planned.positions[-1]
        return _Followed(self._numbers, mark, planned.begin, planned.end, goal, streamed)

    def _report(self, stamp: float) -> None:
        """Add events for the motions that have begun or ended at a stamp [s]."""
        while self._followed:
            one = self._followed[0]
            if not one.begun and stamp >= one.begin:
                one.begun = True
                self._tell(one, ReferenceState.FOLLOWING, stamp)
            replaced = self._followed[1].begin if len(self._followed) > 1 else np.inf
            if stamp < min(one.end, replaced):
                return
            self._followed.popleft()
            if one.end <= replaced:
                self._tell(one, ReferenceState.FINISHED, stamp)
            else:
                self._tell(one, ReferenceState.INTERRUPTED, stamp, _REPLACED)

    def _tell(self, one: _Followed, state: ReferenceState, stamp: float, reason: str = '') -> None:
        left = max(0.0, one.end - stamp)
        self._put(ReferenceEvent(one.number, state, stamp, reason, one.goal, left, one.mark))

    def _put(self, event: ReferenceEvent) -> None:
        self.counts[event.state] += 1
        self.events.append(event)


@dataclass(frozen=True, eq=False)
class _Stream:
    """
    The last points of a stream: number, stamp of arrival [s] and position (n,) of each.

    A stream's points are meant to come evenly, but come with jitter, and some are lost. The number
    of a point counts the lost ones too; the slope of a line through stamps over numbers is the
    period. A point is due two periods after the line, so that the motion through it can take the
    next point into account.
    """

    points: tuple[tuple[int, float, Array], ...] = ()
    period: float = 0.0  # [s]; 0 for a single point

    def planned_through(self) -> tuple[Array, Array]:
        """
        Return the points to plan through: times after the last arrival, (k,) [s], and (k, n).

        The points before the last are averaged in groups that span up to _GROUP_S, with their
        times, because noise between two close points would be a large acceleration.
        """
        numbers, arrivals = self._line()
        last = float(np.mean(arrivals - self.period * numbers)) + self.period * numbers[-1]
        due = last + self.period * (numbers - numbers[-1] + 2.0)
        q = np.array([q for _, _, q in self.points])
        size = max(1, int(_GROUP_S / self.period)) if self.period else 1
        count = min((len(q) - 1) // size, _PLANNED - 1)
        inner = slice(-1 - count * size, -1)
        times = np.append(due[inner].reshape(count, size).mean(axis=1), due[-1])
        return times, np.vstack((q[inner].reshape(count, size, q.shape[1]).mean(axis=1), q[-1:]))

    def _line(self) -> tuple[Array, Array]:
        """Return numbers and arrivals, the latter relative to the last arrival [s]."""
        numbers, arrivals = np.array([point[:2] for point in self.points]).T
        return numbers, arrivals - arrivals[-1]

    def then(self, stamp: float, q: Array) -> _Stream:
        """Return the stream after one more point, or a new one if the last point is too old."""
        if not self.points:
            return _Stream(((0, stamp, q),))
        number, before, _ = self.points[-1]
        since = stamp - before
        if since > max(STREAM_TIMEOUT_S, _MOST_MISSING * self.period):
            return _Stream(((0, stamp, q),))
        steps = max(1, round(since / self.period)) if self.period else 1
        longer = _Stream((*self.points[1 - _KEPT :], (number + steps, stamp, q)))
        slope = float(np.polyfit(*longer._line(), 1)[0])
        return _Stream(longer.points, max(slope, _FASTEST_S))
