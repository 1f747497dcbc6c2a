# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The desired motion of an arm, from set-points, streams, chunks and trajectories."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
import threading
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from .request import MOST_LATENESS_S, Points
from .trajectory import LIMIT_SLACK, ReferencePoint, Trajectory
from ..arm import ArmDescription
from ..errors import ReferenceRefusedError
from ..typing import Array

# A motion begins LEADS_S[0] after the latest joint state [s], which leaves time to plan it; if
# planning took longer, it is planned again with the next lead.
LEADS_S = (0.02, 0.1, 0.5)
# Durations, tried in turn, in which the distance between the present and the new motion fades, and
# in which a motion is braked to rest [s].
FADES_S = tuple(0.15 * 1.2**k for k in range(20))
# Largest distance of a motion that begins at once from the present desired position, and of the
# arm from its desired position [rad or m]: the feedback torque would begin with a step.
MOST_START_DISTANCE = 0.1
# Points that are beyond the limits of acceleration, as noisy ones are, are averaged with their
# neighbours, at most _AVERAGED times. The points of a chunk or a trajectory move by at most
# _MOST_AVERAGED in all [rad or m]; a stream is followed as well as the limits allow.
_AVERAGED, _MOST_AVERAGED = 3, 0.02
# A streamed motion uses up to this share of the limits of acceleration before it falls behind.
_MOST_SHARE = 2.0
# Fades that are tried before the points of a stream are averaged; a longer one falls behind.
_STREAM_FADES = 5
# A set-point with velocity that is not replaced within SET_POINT_TIMEOUT_S is braked to rest [s].
SET_POINT_TIMEOUT_S = 0.1
_LEAST_SEGMENT_S = 1e-4
_JOINED = 1e-9  # states that differ by less count as equal [rad, rad/s]
_MOST_EVENTS = 1000  # number of events kept; a further event replaces the oldest


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
        self._cleared = 0  # how often
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
            self._cleared += 1

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
                    stamp, before, cleared = self._stamp, self._motion, self._cleared
                if stamp is None:
                    raise ReferenceRefusedError(
                        'The reference came before any joint state; wait until the arm publishes '
                        'its state.'
                    )
                points.require_on_time(stamp)
                present = self._present(stamp, before, measured, points)
                stream = _Stream()
                if points.dq is not None or points.times is not None:
                    planned = self._planned(points, stamp, lead, present)
                else:
                    stream = self._stream.then(stamp, points.q)
                    planned = self._streamed(stream, stamp, lead, present)
                at_once = points.times is None and points.dq is not None
                with self._lock:
                    if self._cleared != cleared or self._stamp is None:
                        raise ReferenceRefusedError('The arm was stopped while it was planned.')
                    if self._motion is before and (at_once or self._stamp <= planned.begin):
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
        if measured is None:
            if motion is None:
                raise ReferenceRefusedError(
                    'No position is desired to begin at: hold one, or give the measured one.'
                )
            return motion
        if motion is None:
            return Trajectory.resting(np.array(measured, dtype=float), stamp)
        if points.start is None or points.start <= stamp + MOST_LATENESS_S:
            desired = motion.at(stamp).q
            _require_near(self._arm, measured, desired, 'The arm stands where it is not desired')
        return motion

    def _planned(
        self, points: Points, stamp: float, lead: float, present: Trajectory
    ) -> Trajectory:
        """Return the motion through the points of a trajectory, a chunk or a set-point."""
        arm, zero = self._arm, present.zero
        if points.times is None:
            return _at_once(arm, points, stamp, present)
        begin = stamp + lead if points.start is None else max(stamp + lead, points.start)
        start = begin if points.start is None else points.start
        begin, times = begin - zero, start - zero + points.times
        if len(times) == 0:
            now = np.array([present.at(begin + zero)])
            return _braked(arm, Trajectory(np.array([begin]), now, zero))
        if times[0] < begin + FADES_S[0]:
            first = np.array([np.interp(begin, times, column) for column in points.q.T])
            desired = present.at(begin + zero).q
            _require_near(arm, first, desired, 'The reference starts where the arm is not desired')
        if points.dq is None:
            return _through(arm, present, begin, times, points.q)
        states = _states(times, points.q, points.dq, points.ddq)
        return _joined(arm, present, begin, _braked(arm, Trajectory(times, states, zero)))

    def _streamed(
        self, stream: _Stream, stamp: float, lead: float, present: Trajectory
    ) -> Trajectory:
        """Return the motion through the last points of a stream, braked after the last one."""
        if len(stream.points) == 1:
            q, desired = stream.positions[0], present.at(stamp).q
            _require_near(self._arm, q, desired, 'The stream starts where the arm is not desired')
        now = stamp - present.zero
        times = now + LEADS_S[0] + stream.due
        return _through(self._arm, present, now + lead, times, stream.positions, streamed=True)

    # What becomes of each motion ---------------------------------------------------------------

    def _begin(
        self, planned: Trajectory, present: Trajectory, mark: str, *, streamed: bool
    ) -> None:
        """Follow a planned motion from its begin on, and the present one until then."""
        assert self._stamp is not None
        latest, times = self._stamp - present.zero, present.times
        following = np.append(times[1:], np.inf)
        kept = (times < planned.times[0] - _LEAST_SEGMENT_S) & (following > latest)
        self._motion = Trajectory(
            np.append(times[kept], planned.times),
            np.concatenate((present.states[kept], planned.states)),
            present.zero,
        )
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

    @property
    def positions(self) -> Array:
        """The positions of the points that are planned through, shape (k, n)."""
        return np.array([q for _, _, q in self.points[-_PLANNED:]])

    @property
    def due(self) -> Array:
        """The times after the last arrival at which these positions are due, shape (k,) [s]."""
        numbers, arrivals = self._line()
        last = float(np.mean(arrivals - self.period * numbers)) + self.period * numbers[-1]
        return last + self.period * (numbers - numbers[-1] + 2.0)[-_PLANNED:]

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
        if since > (_MOST_MISSING * self.period or STREAM_TIMEOUT_S):
            return _Stream(((0, stamp, q),))
        steps = max(1, round(since / self.period)) if self.period else 1
        longer = _Stream((*self.points[1 - _KEPT :], (number + steps, stamp, q)))
        slope = float(np.polyfit(*longer._line(), 1)[0])
        return _Stream(longer.points, max(slope, _FASTEST_S))


# A stream has ended if no point came for _MOST_MISSING periods; while its period is unknown, for
# STREAM_TIMEOUT_S. The period of points that come in a burst is _FASTEST_S [s].
_MOST_MISSING, STREAM_TIMEOUT_S, _FASTEST_S = 4.0, 0.5, 1e-3
_KEPT, _PLANNED = 30, 8  # points that determine the period, and points that are planned through
_REPLACED = 'another reference took its place'


def _require_near(arm: ArmDescription, q: Array, other: Array, what: str) -> None:
    """Refuse positions q that are more than MOST_START_DISTANCE from others, (n,) each."""
    distance = np.abs(q - other)
    joint = int(distance.argmax())
    if not distance[joint] <= MOST_START_DISTANCE:
        raise ReferenceRefusedError(
            f'{what}: {arm.joint_names[joint]} is {distance[joint]:.3g} rad away ({q[joint]:.4g} '
            f'instead of {other[joint]:.4g}), more than {MOST_START_DISTANCE:g} rad; give the '
            'first point a time_from_start in which the arm can move there, once the arm stands '
            'where it is desired.'
        )


def _through(
    arm: ArmDescription,
    present: Trajectory,
    begin: float,
    times: Array,
    q: Array,
    *,
    streamed: bool = False,
) -> Trajectory:
    """
    Return a motion from `present` through positions q, (k, n), at times (k,), to rest.

    `begin` and `times` are seconds after `present.zero`. Raises ReferenceRefusedError with the
    limit that the motion through the given positions breaks.
    """
    refused = None
    for points, stops, share, fades in _attempts(times, q, streamed=streamed):
        at = times[-len(points) :]
        motion = Trajectory(at, _states(at, points, _slopes(at, points, stops)), present.zero)
        try:
            return _joined(arm, present, begin, _braked(arm, motion, share), share, fades)
        except ReferenceRefusedError as error:
            refused = refused or error
    assert refused is not None
    raise refused


def _attempts(
    times: Array, q: Array, *, streamed: bool
) -> Iterator[tuple[Array, bool, float, Sequence[float]]]:
    """
    Yield what is tried in turn: positions, whether to stop at the last one, share, fades.

    A stream never stops at its last point, since the next point is on its way. If nothing else is
    within the limits, the arm moves to the last point of a stream and rests there.
    """
    for share in (1.0, _MOST_SHARE) if streamed else (1.0,):
        points = q
        for _ in range(_AVERAGED + 1):
            if streamed:
                yield points, False, share, FADES_S[:_STREAM_FADES]
            else:
                yield points, True, share, FADES_S
                yield points, False, share, FADES_S
            points = _averaged(times, points)
            if not streamed and np.abs(points - q).max() > _MOST_AVERAGED:
                break
    if streamed:
        yield q[-1:], True, _MOST_SHARE, FADES_S


def _averaged(times: Array, q: Array) -> Array:
    """Return positions of which each inner one is halfway to the line between its neighbours."""
    before, after = np.diff(times)[:-1, None], np.diff(times)[1:, None]
    halfway = q.copy()
    halfway[1:-1] += (after * q[:-2] + before * q[2:]) / (before + after)
    halfway[1:-1] /= 2.0
    return halfway


def _slopes(times: Array, q: Array, stops: bool) -> Array:
    """
    Return the velocities (k, n) of a cubic spline through positions q, (k, n).

    The first and the last velocity are those of parabolas through three points; the last one is
    zero if the motion stops there.
    """
    count = len(times)
    if count == 1:
        return np.zeros_like(q)
    dq = np.gradient(q, times, axis=0, edge_order=2 if count > 2 else 1)
    if stops:
        dq[-1] = 0.0
    h = np.diff(times)[:, None]
    slope = np.diff(q, axis=0) / h
    right = 3.0 * (h[1:] * slope[:-1] + h[:-1] * slope[1:])
    # Continuous acceleration gives a tridiagonal system for the inner velocities. Each step of
    # Jacobi's iteration at least halves the largest error.
    for _ in range(25):
        dq[1:-1] = (right - h[1:] * dq[:-2] - h[:-1] * dq[2:]) / (2.0 * (h[1:] + h[:-1]))
    return dq


def _states(times: Array, q: Array, dq: Array, ddq: Array | None = None) -> Array:
    """
    Return the states (k, 3, n) of a motion, with accelerations if none are given.

    At an inner point the acceleration is the mean of those of the two cubics that meet there; at
    either end it is the cubic's, or zero where the motion is at rest.
    """
    if ddq is None:
        ddq = np.zeros_like(q)
        if len(times) > 1:
            h = np.diff(times)[:, None]
            slope = np.diff(q, axis=0) / h
            begin = (6.0 * slope - 4.0 * dq[:-1] - 2.0 * dq[1:]) / h
            end = (-6.0 * slope + 2.0 * dq[:-1] + 4.0 * dq[1:]) / h
            ddq[1:-1] = (begin[1:] + end[:-1]) / 2.0
            ddq[0] = begin[0] if dq[0].any() else 0.0
            ddq[-1] = end[-1] if dq[-1].any() else 0.0
    return np.stack((q, dq, ddq), axis=1)


def _at_once(arm: ArmDescription, points: Points, stamp: float, present: Trajectory) -> Trajectory:
    """
    Return the motion that follows a set-point with velocity from now on.

    Until the next set-point comes, the acceleration fades to zero within SET_POINT_TIMEOUT_S;
    after that, or earlier where the arm's limits demand it, the motion is braked to rest.
    """
    assert points.dq is not None
    q, dq, now = points.q, points.dq, stamp - present.zero
    ddq = np.zeros_like(q) if points.ddq is None else points.ddq
    _require_near(arm, q, present.at(stamp).q, 'The set-point is where the arm is not desired')
    refused = None
    for h in (SET_POINT_TIMEOUT_S, 0.25 * SET_POINT_TIMEOUT_S, 0.0):
        states = [(q, dq, ddq)]
        times = [now]
        if h > 0.0:
            coasting = q + h * dq + h**2 * ddq / 3.0, dq + h * ddq / 2.0, np.zeros_like(q)
            states.append(coasting)
            times.append(now + h)
        try:
            return _braked(arm, Trajectory(np.array(times), np.array(states), present.zero))
        except ReferenceRefusedError as error:
            refused = refused or error
    assert refused is not None
    raise refused


def _braked(arm: ArmDescription, motion: Trajectory, share: float = 1.0) -> Trajectory:
    """Return the motion within limits, brought to rest if it moves at its last state."""
    motion.require_within(arm, share=share)
    q, dq, ddq = motion.states[-1]
    if np.abs(dq).max() <= LIMIT_SLACK:
        return motion
    refused = None
    for duration in FADES_S:
        # The velocity falls to zero as a cubic of time.
        rest = q + duration * dq / 2.0 + duration**2 * ddq / 12.0
        ends = np.array([motion.states[-1], ReferencePoint.at_rest(rest)])
        times = motion.times[-1] + np.array([0.0, duration])
        try:
            Trajectory(times, ends).require_within(arm)
        except ReferenceRefusedError as error:
            refused = refused or error
            continue
        return Trajectory(
            np.append(motion.times, times[1]),
            np.concatenate((motion.states, ends[1:])),
            motion.zero,
        )
    assert refused is not None
    raise refused


def _joined(
    arm: ArmDescription,
    present: Trajectory,
    begin: float,
    motion: Trajectory,
    share: float = 1.0,
    fades: Sequence[float] = FADES_S,
) -> Trajectory:
    """
    Return `motion` from `begin` [s after zero] on, without a step from the present motion.

    If its first point comes late enough, the arm moves there from its present state. Otherwise the
    distance between the present motion and the new one, with its rates, is added to the new one
    and fades to zero.
    """
    now = np.array(present.at(begin + present.zero))
    early = motion.times[0] - begin
    if early > 0.0:
        first = now
        if early < FADES_S[0]:  # extended backwards at constant acceleration
            q, dq, ddq = motion.states[0]
            first = np.array((q - early * dq + early**2 * ddq / 2.0, dq - early * ddq, ddq))
        motion = Trajectory(
            np.append(begin, motion.times), np.concatenate(([first], motion.states)), motion.zero
        )
    distance = now - motion.at_times(np.array([begin]))[0]
    # The motion after its first point has been checked.
    unchecked = max(begin, motion.times[1] if early > 0.0 else begin)
    if np.abs(distance[:2]).max() < _JOINED:
        times = np.append(begin, motion.times[motion.times > begin + _LEAST_SEGMENT_S])
        joined = Trajectory(times, motion.at_times(times), motion.zero)
        return joined.require_within(arm, share=share, until=unchecked)
    refused = None
    for duration in fades:
        ends = np.array([begin, begin + duration])
        fade = Trajectory(ends, np.array([distance, np.zeros_like(distance)]))
        times = np.union1d(ends, motion.times[motion.times > begin + _LEAST_SEGMENT_S])
        times = times[np.diff(times, append=np.inf) > _LEAST_SEGMENT_S]
        states = motion.at_times(times) + fade.at_times(times)
        try:
            joined = Trajectory(times, states, motion.zero)
            return joined.require_within(arm, share=share, until=max(unchecked, ends[1]))
        except ReferenceRefusedError as error:
            refused = refused or error
    assert refused is not None
    raise refused
