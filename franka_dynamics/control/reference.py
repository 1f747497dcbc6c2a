# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The desired motion of an arm, from set-points, streams, chunks and trajectories."""

from __future__ import annotations

from collections import deque
from contextlib import suppress
from dataclasses import replace
from enum import Enum
import itertools
import logging
import threading
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from .ending import Ending
from .limits import MAX_STEP_S
from .request import checked_request, MAX_LATENESS_S, require_on_time, TrajectoryRequest
from .state_check import MAX_PLAUSIBLE_POSITION_RAD
from .trajectory import at_rest, BLEND_DURATIONS_S, ReferencePoint, through_points, Trajectory
from ..arm import ArmDescription
from ..errors import apart, LimitExceededError, ReferenceRefusedError, StartTooFarError
from ..typing import Array

# A motion begins so long after the latest joint state, which leaves time to plan it; if planning
# takes longer, the next lead time is tried: 8 points take 5 ms, 2000 take 50 ms, noisy ones 130
# ms, and twice that on a busy machine.
PLANNING_TIME_CANDIDATES_S = (0.02, 0.1, 0.5)
# Largest distance of a motion that begins at once from where the arm is or is desired [rad or m]:
# the feedback torque would begin with a step.
MAX_START_DISTANCE_RAD = 0.1
# A stream ends if no point came for this time: five periods of a slow one, of 10 Hz.
STREAM_TIMEOUT_S = 0.5
# Chosen by benchmarks/streams.py. Points of a stream that come within _GROUP_S [s] are averaged:
# else a noisy one is followed a tenth worse. The last _KEPT points determine the period: with 8
# points errors are half as large again. The last _PLANNED points are planned through.
_GROUP_S = 0.03
_KEPT, _PLANNED = 30, 8
# Points at least this far apart [s] that replace another motion are probably milliseconds: at 10
# to 100 Hz points are 10 to 100 ms apart.
_MIN_DOUBTFUL_GAP_S = 10.0
_REPLACED = 'another reference took its place'

_LOG = logging.getLogger(__name__)


class ReferenceState(str, Enum):
    """Life-cycle states of a reference; finished, refused and interrupted are final."""

    ACCEPTED = 'accepted'  # planned, not yet followed
    FOLLOWING = 'following'
    FINISHED = 'finished'  # followed to its end
    REFUSED = 'refused'  # not planned, never followed
    INTERRUPTED = 'interrupted'  # replaced or dropped before its end


class ReferenceEvent(NamedTuple):
    """
    A change of a reference's state, with its time and reason.

    `number` counts references; a stream is one. `goal_id` is the sender's identifier of the
    reference, which lasts from the stamp `begin` to `end` [s] if no other one begins before.
    `goal` is its last position, shape (n,) [rad or m], None for a refused reference. `stamp` is
    the stamp of the latest joint state [s], `reason` why a reference is refused or interrupted.
    """

    number: int
    goal_id: str
    begin: float
    end: float
    goal: Array | None
    streamed: bool = False  # as set-points, each of which continues the stream
    state: ReferenceState = ReferenceState.ACCEPTED
    stamp: float = 0.0
    reason: Ending | ReferenceRefusedError | str = ''

    @property
    def remaining(self) -> float:
        """Time until the reference ends [s]."""
        return max(0.0, self.end - self.stamp)


class Reference:
    """
    Plans and follows the desired motion of an arm: none at first, then a position or a motion.

    `at` is called in each control cycle, by one thread. `follow` may be called by any thread: it
    plans beside the cycle, and the new motion begins where the present one will be, with its
    velocity and acceleration. A motion that has ended is held at its last position. A refused
    request (ReferenceRefusedError) leaves the present motion as it is.

    `motion` is the desired motion, which is never changed but replaced; None if nothing is
    desired. `events` reports in order what becomes of each motion, and `counts` how often; the
    reader of `events` removes them, and only the last thousand are kept. All positions of `arm`
    and limits are in rad or m, times in seconds on the clock of the joint states' stamps.
    """

    def __init__(self, arm: ArmDescription, motion: Trajectory | None = None) -> None:
        self._arm, self.motion = arm, motion
        self.events: deque[ReferenceEvent] = deque(maxlen=1000)
        self.counts = dict.fromkeys(ReferenceState, 0)
        self._numbers = itertools.count(1)  # of the references to come
        self._doubted = False  # whether times of points were doubted
        self._stamp: float | None = None  # of the latest joint state
        self._followed: deque[ReferenceEvent] = deque()  # in the order of their begins
        self._stream: Array | None = None  # the points of one that goes on, see `_continued`
        self._lock = threading.Lock()  # held for microseconds
        self._planning = threading.Lock()  # held by the thread that plans

    @property
    def active(self) -> bool:
        """Whether a motion is followed or waits to begin."""
        return bool(self._followed)

    def distance(self, q: Array | None) -> Array:
        """Return the distance of q from the desired position, (n,) [rad or m]; 0 without one."""
        motion, stamp = self.motion, self._stamp
        if motion is None or stamp is None or q is None:
            return np.zeros(self._arm.n)
        return np.abs(motion.at(stamp).q - q)

    def at(self, stamp: float) -> ReferencePoint | None:
        """Return the desired state at the stamp of a joint state [s]; None without a motion."""
        with self._lock:
            self._stamp = stamp
            self._report(stamp)
            return None if self.motion is None else self.motion.at(stamp)

    def hold(self, q: ArrayLike | None) -> None:
        """
        Rest at q, shape (n,), until a motion is followed; None: desire no position.

        Does nothing while a motion is followed or waits to begin.
        """
        with self._lock:
            if not self._followed:
                self.motion = None if q is None else _resting(q, self._stamp or 0.0)

    def clear(self, reason: Ending | str = '') -> None:
        """Interrupt all motions for a reason, and desire no position."""
        with self._lock:
            self._interrupt(reason)
            self.motion = None

    def follow(
        self,
        q: ArrayLike,
        times: ArrayLike | None = None,
        dq: ArrayLike | None = None,
        ddq: ArrayLike | None = None,
        *,
        start: float | None = None,
        ahead: float = 0.0,
        window: bool = False,
        goal_id: str = '',
        measured_q: Array | None = None,
        pulled: bool = True,
    ) -> Trajectory:
        """
        Follow a trajectory, a chunk of points or a set-point; return the motion.

        Positions alone are joined by a cubic spline, positions with velocities by quintics; a
        motion that does not end at rest is braked after its last point. Points come later than
        asked for, or averaged with their neighbours, only where the arm's limits demand it.
        Set-points sent one by one at 10 to 100 Hz are a stream. Without velocities a smooth motion
        follows them about two of their periods later. With velocities, or due ahead of time (their
        velocities are then those between the points), each is followed as it is when it is due,
        and so is a window of points around now, as MoveIt Servo sends them.

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
        ahead : float, optional
            How long after `start` a set-point is due [s].
        window : bool, optional
            Whether the points, of which some may be past, are the next ones of a stream.
        goal_id : str, optional
            The sender's identifier of the motion, which its events repeat.
        measured_q : ndarray, shape (n,), optional
            The position measured now. Where nothing is desired yet the motion begins there.
        pulled : bool, optional
            Whether the arm is pulled to where it is desired. If not, a motion that begins at once
            is refused if the arm is elsewhere.

        Raises
        ------
        ReferenceRefusedError
            If the points are unusable, too late, or beyond the arm's limits of position, velocity
            or acceleration, or if they begin at once more than 0.1 rad from where the arm is and
            from where it is desired.

        """
        points = checked_request(self._arm, q, times, dq, ddq, start, ahead)
        single = times is None
        if window:  # its velocities do not fit its positions to more than some per cent
            points = replace(points, velocities=None, accelerations=None)
        with self._planning:
            for lead in PLANNING_TIME_CANDIDATES_S:
                with self._lock:
                    before, followed = self.motion, self._followed
                    stamp, present = self._present(points, single, window, measured_q, pulled)
                planned, stream, late = self._plan(
                    points, single, window, present, stamp, lead, measured_q
                )
                with self._lock:
                    if self.motion is not before or self._followed is not followed:
                        raise ReferenceRefusedError('The arm was stopped while it was planned.')
                    if late or (self._stamp or stamp) <= planned.begin:
                        self._stream = stream
                        self._begin(planned, present, goal_id, single or window)
                        return planned
        raise ReferenceRefusedError(
            f'Planning the reference took more than {PLANNING_TIME_CANDIDATES_S[-1]:g} s; this '
            'machine is too busy, or the points are too many.'
        )

    def settle(self, measured_q: Array, reason: str) -> None:
        """
        End all motions for a reason: brake to rest where the arm then is.

        Where it is desired may be elsewhere, and would go on pulling.
        """
        with self._planning:
            with self._lock:
                present, stamp = self.motion, self._stamp
            if present is None or stamp is None:
                return
            begin = stamp + PLANNING_TIME_CANDIDATES_S[0] - present.zero
            planned = self._braked(present, begin, measured_q - present.at(stamp).q)
            with self._lock:
                if self.motion is present:  # else the arm was stopped meanwhile
                    self._interrupt(reason)
                    self.motion = present.followed_by(planned, stamp)

    def refuse(self, reason: ReferenceRefusedError | str, goal_id: str = '') -> None:
        """Record that a reference was refused, as the event REFUSED."""
        with self._lock:
            one = ReferenceEvent(next(self._numbers), goal_id, 0.0, 0.0, None)
            self._add_event(one, ReferenceState.REFUSED, reason)

    # Planning ----------------------------------------------------------------------------------
    def _present(
        self,
        points: TrajectoryRequest,
        single: bool,
        window: bool,
        measured_q: Array | None,
        pulled: bool,
    ) -> tuple[float, Trajectory]:
        """
        Return the stamp of the latest joint state [s], and the motion that goes on.

        Refuses points that are not on time, or begin at once though nothing pulls the arm to
        where they begin.
        """
        stamp, motion = self._stamp, self.motion
        if stamp is None or (motion is None and measured_q is None):
            raise ReferenceRefusedError('No position is known; wait for joint states or hold one.')
        present = motion or _resting(measured_q, stamp)
        # Of a window some points are past.
        start = points.start if points.start is None or not window else points.end
        require_on_time(start, stamp, single)
        at_once = len(points.times) and (points.start or 0.0) <= stamp + MAX_LATENESS_S
        if measured_q is not None and at_once and not pulled:
            self._require_near(measured_q, present.at(stamp).q, None, 'The arm stands')
        return stamp, present

    def _require_near(
        self, q: Array, desired: Array, measured: Array | None, what: str = 'The reference starts'
    ) -> None:
        """Refuse positions q, (n,), too far from where the arm is desired and is measured."""
        others = [desired] if measured is None else [desired, measured]
        other = min(others, key=lambda one: np.abs(q - one).max())
        distance = np.abs(q - other)
        i = int(distance.argmax())
        if not distance[i] <= MAX_START_DISTANCE_RAD:
            hint = ' (are these degrees?)' if distance[i] > MAX_PLAUSIBLE_POSITION_RAD else ''
            away, most = apart(distance[i], MAX_START_DISTANCE_RAD)
            where = 'is not desired' if measured is None else 'neither is nor is desired'
            raise StartTooFarError(
                f'{what} where the arm {where}: {self._arm.joint_names[i]} is {away} rad '
                f'away ({q[i]:.4g} instead of {other[i]:.4g}), more than {most} rad{hint}; '
                'give the first point a time by which the arm can move there.'
            )

    def _plan(
        self,
        points: TrajectoryRequest,
        single: bool,
        window: bool,
        present: Trajectory,
        stamp: float,
        lead: float,
        measured_q: Array | None,
    ) -> tuple[Trajectory, Array | None, bool]:
        """
        Return the motion, the stream that it belongs to, and whether it may begin late.

        Only a set-point with velocity may: it begins when it is due.
        """
        begin = (stamp if single else stamp + lead) - present.zero
        t0 = begin if points.start is None else points.start - present.zero
        stream = None
        try:
            if single and points.velocities is None:
                stream = _continued(self._stream, stamp, points.positions[0])
                if points.times[0] == 0.0:
                    planned = self._plan_stream(stream, present, begin, lead, measured_q)
                    return planned, stream, False
                points = replace(points, velocities=_rate(stream))
            streamed = single or window
            planned = self._plan_points(points, streamed, present, begin, t0, measured_q)
        except LimitExceededError as error:
            raise LimitExceededError(error.what, error.time - t0) from None
        return planned, stream, single

    # All return a motion, with the time zero of the present one; times are seconds after it.
    def _plan_stream(
        self,
        stream: Array,
        present: Trajectory,
        now: float,
        lead: float,
        measured_q: Array | None,
    ) -> Trajectory:
        """Plan a smooth motion through the last points of a stream."""
        if len(stream) == 1:
            self._require_near(stream[0, 2:], present.at_times(now)[0], measured_q)
        rows = _grouped(stream)
        due = now + PLANNING_TIME_CANDIDATES_S[0] + rows[:, 0]
        return through_points(self._arm, present, now + lead, due, rows[:, 1:], True)

    def _plan_points(
        self,
        points: TrajectoryRequest,
        streamed: bool,
        present: Trajectory,
        begin: float,
        t0: float,
        measured_q: Array | None,
    ) -> Trajectory:
        """
        Plan the motion through points; without points the present motion is braked.

        The motion begins at `begin`, or at `t0`, the points' time zero, if this is later. A
        `streamed` point with velocity is followed as it is.
        """
        arm, zero = self._arm, present.zero
        if not len(points.times):
            return self._braked(present, begin, None)
        times, begin = t0 + points.times, max(begin, t0)
        self._warn_of_milliseconds(times)
        first = max(begin, times[0])
        if first < begin + BLEND_DURATIONS_S[0]:
            # The first point is compared with where the arm will be desired at its time.
            near = np.array([np.interp(first, times, column) for column in points.positions.T])
            self._require_near(near, present.at_times(first)[0], measured_q)
        if points.velocities is None:
            last = int((times <= begin).sum()) - 1 if streamed else 0  # of the past points
            kept = slice(max(0, last), None)
            return through_points(
                arm, present, begin, times[kept], points.positions[kept], streamed
            )
        motion = Trajectory(times, points.states(), zero)
        if streamed:
            # Unless it is replaced while the next one may still come, it is braked to rest; at
            # once, if the limits demand it.
            return motion.extrapolated(arm, (MAX_LATENESS_S, MAX_STEP_S))
        return motion.blended_from(arm, present, begin)

    def _braked(self, present: Trajectory, begin: float, away: Array | None) -> Trajectory:
        """
        Return the present motion, braked to rest from `begin` on [s after its zero].

        With `away`, (n,), it comes to rest so far from where it otherwise would, if limits allow.
        """
        moving = Trajectory(np.array([begin]), present.at_times(begin)[None], present.zero)
        braked = moving.braked(self._arm)
        if away is None:
            return braked
        states = braked.states + np.stack((away, 0.0 * away, 0.0 * away))
        with suppress(LimitExceededError):
            return Trajectory(braked.times, states, present.zero).blended_from(
                self._arm, present, begin
            )
        return braked

    def _warn_of_milliseconds(self, times: Array) -> None:
        slow = self.active and len(times) > 1 and np.diff(times).min() >= _MIN_DOUBTFUL_GAP_S
        if slow and not self._doubted:
            self._doubted = True
            _LOG.warning(
                'Points %g s or more apart replace a motion: are their times milliseconds? Give '
                'seconds.',
                _MIN_DOUBTFUL_GAP_S,
            )

    # What becomes of each motion ---------------------------------------------------------------

    def _begin(
        self, planned: Trajectory, present: Trajectory, goal_id: str, streamed: bool
    ) -> None:
        """Follow a planned motion from its begin on, and the present one until then."""
        stamp, goal = self._stamp or 0.0, planned.positions[-1]
        self.motion = present.followed_by(planned, stamp)
        end = max(planned.end, stamp + STREAM_TIMEOUT_S) if streamed else planned.end
        while self._followed:
            last = self._followed[-1]
            if streamed and last.streamed and last.goal_id == goal_id:
                self._followed[-1] = last._replace(end=end, goal=goal)
                return
            if last.begin < planned.begin:
                break
            self._add_event(self._followed.pop(), ReferenceState.INTERRUPTED, _REPLACED)
        one = ReferenceEvent(next(self._numbers), goal_id, planned.begin, end, goal, streamed)
        self._followed.append(self._add_event(one, ReferenceState.ACCEPTED))

    def _interrupt(self, reason: Ending | str) -> None:
        """Interrupt all motions for a reason."""
        for one in self._followed:
            self._add_event(one, ReferenceState.INTERRUPTED, reason)
        self._followed, self._stream = deque(), None

    def _report(self, stamp: float) -> None:
        """Add events for the motions that have begun or ended at a stamp [s]."""
        while self._followed:
            one = self._followed[0]
            if one.state is ReferenceState.ACCEPTED and stamp >= one.begin:
                one = self._followed[0] = self._add_event(one, ReferenceState.FOLLOWING)
            replaced = self._followed[1].begin if len(self._followed) > 1 else np.inf
            if stamp < min(one.end, replaced):
                return
            self._followed.popleft()
            if one.end <= replaced:
                self._add_event(one, ReferenceState.FINISHED)
            else:
                self._add_event(one, ReferenceState.INTERRUPTED, _REPLACED)

    def _add_event(
        self,
        one: ReferenceEvent,
        state: ReferenceState,
        reason: Ending | ReferenceRefusedError | str = '',
    ) -> ReferenceEvent:
        self.counts[state] += 1
        self.events.append(one._replace(state=state, stamp=self._stamp or 0.0, reason=reason))
        return self.events[-1]


def _resting(q: ArrayLike | None, zero: float) -> Trajectory:
    """Return the motion that rests at q, shape (n,)."""
    return Trajectory(np.zeros(1), at_rest(np.array([q], dtype=float)), zero)


# Streams -----------------------------------------------------------------------------------------

# Points of a stream are rows of number, stamp of arrival [s] and position. They are meant to be
# evenly spaced but come with jitter, and some are lost. The number of a point counts the lost ones
# too; the slope of a line through stamps over numbers is the period. A point is due two periods
# after the line, so that the motion through it can take the next point into account.


def _continued(stream: Array | None, stamp: float, q: Array) -> Array:
    """Return a stream after one more point, or a new one if the last point is too old."""
    if stream is None or stamp - stream[-1, 1] > STREAM_TIMEOUT_S:
        return np.array([[0.0, stamp, *q]])
    number, last = stream[-1, :2]
    steps = max(1.0, round((stamp - last) / _line(stream)[1]))
    return np.vstack((stream[1 - _KEPT :], [number + steps, stamp, *q]))


def _rate(stream: Array) -> Array:
    """Return the velocity between the last two points of a stream, (1, n) [rad/s]."""
    if len(stream) == 1:
        return np.zeros((1, stream.shape[1] - 2))
    steps = stream[-1] - stream[-2]
    return np.asarray(steps[None, 2:] / (steps[0] * _line(stream)[1]))


def _line(stream: Array) -> tuple[Array, float]:
    """Return when points are due, (k,) [s] after the last arrival, and the stream's period [s]."""
    if len(stream) == 1:
        return np.zeros(1), np.inf  # the period is not known yet
    numbers, arrivals = (stream[:, :2] - stream[-1, :2]).T
    period = max(float(np.polyfit(numbers, arrivals, 1)[0]), MAX_STEP_S)  # in a burst: one cycle
    return np.mean(arrivals - period * numbers) + period * (numbers + 2.0), period


def _grouped(stream: Array) -> Array:
    """
    Return the points to plan through: rows of the time after the last arrival [s] and position.

    The points before the last are averaged in groups that span up to _GROUP_S, with their times,
    because noise between two close points would be a large acceleration.
    """
    due, period = _line(stream)
    rows = np.column_stack((due, stream[:, 2:]))
    size = max(1, int(_GROUP_S / period))
    count = min((len(rows) - 1) // size, _PLANNED - 1)
    inner = rows[-1 - count * size : -1].reshape(count, size, rows.shape[1]).mean(axis=1)
    return np.vstack((inner, rows[-1:]))
