# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Plans and follows an arm's desired motion from set-points, streams, chunks and trajectories."""

from collections import deque
from dataclasses import replace
from enum import Enum
import itertools
import logging
import threading
from typing import NamedTuple

import numpy as np

from . import planning
from .trajectory import ReferencePoint, Trajectory
from ..arm import ArmDescription
from ..arrays import Array, ArrayLike
from ..errors import ReferenceRefusedError

# Points at least this far apart [s] that replace another motion are probably milliseconds: at 10
# to 100 Hz points are 10 to 100 ms apart.
_MIN_SUSPICIOUS_POINT_GAP_S = 10.0
# Of a motion in whose place another came, as each chunk of a policy does.
REPLACED_REASON = 'another reference took its place'

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
    `goal_position` is the last one, shape (n,) [rad or m], None for a refused reference. `stamp`
    is the stamp of the latest joint state [s], `reason` why a reference is refused or interrupted.
    """

    number: int
    goal_id: str
    begin: float
    end: float
    goal_position: Array | None
    is_streamed: bool = False  # as set-points, each of which continues the stream
    state: ReferenceState = ReferenceState.ACCEPTED
    stamp: float = 0.0
    reason: object = ''

    @property
    def remaining_time(self) -> float:
        """Time until the reference ends [s]; 0 once it is over."""
        return max(0.0, self.end - self.stamp)


class ReferenceFollower:
    """
    Plans and follows the desired motion of an arm: at first `motion`, then as requested.

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
        self._arm = arm
        self.motion = motion
        self.events: deque[ReferenceEvent] = deque(maxlen=1000)
        self.counts = dict.fromkeys(ReferenceState, 0)
        self._number_iter = itertools.count(1)  # of the references to come
        self._has_warned = False  # whether times of points were doubted
        self._stamp: float | None = None  # of the latest joint state
        self._open_events: deque[ReferenceEvent] = deque()  # in the order of their begins
        self._stream: Array | None = None  # the points of one that goes on, see `planning.py`
        self._lock = threading.Lock()  # held for microseconds
        self._planning_lock = threading.Lock()  # held by the thread that plans

    @property
    def has_open_motion(self) -> bool:
        """Whether a motion is followed or waits to begin."""
        return bool(self._open_events)

    def position_errors(self, q: Array | None) -> Array:
        """Return each joint's distance of q from that desired, (n,) [rad or m]; 0 if unknown."""
        motion = self.motion
        stamp = self._stamp
        if motion is None or stamp is None or q is None:
            return np.zeros(self._arm.n)
        return np.abs(motion.at(stamp).q - q)

    def at(self, stamp: float) -> ReferencePoint | None:
        """Record a joint state's stamp [s]; return the desired state then, None without motion."""
        with self._lock:
            self._stamp = stamp
            self._report_progress(stamp)
            return None if self.motion is None else self.motion.at(stamp)

    def hold(self, q: ArrayLike | None) -> None:
        """
        Make q, (n,), the desired position, or none if q is None, unless a motion is open.

        A motion is open while it is followed or waits to begin.
        """
        with self._lock:
            if not self._open_events:
                self.motion = None if q is None else Trajectory.at_rest(q, self._stamp or 0.0)

    def clear(self, reason: object = '') -> None:
        """Interrupt all motions for a reason, and have no desired position."""
        with self._lock:
            self._interrupt_motions(reason)
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
        has_kp: bool = True,
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
        has_kp : bool, optional
            Whether the arm is pulled to where it is desired. If not, a motion that begins at once
            is refused if the arm is elsewhere.

        Raises
        ------
        ReferenceRefusedError
            If the points are unusable, too late, or beyond the arm's limits of position, velocity
            or acceleration, or if they begin at once more than 0.1 rad from where the arm is and
            from where it is desired.

        """
        points = planning.make_trajectory_request(self._arm, q, times, dq, ddq, start, ahead)
        single = times is None
        if window:  # its velocities do not fit its positions to more than some per cent
            points = replace(points, velocities=None, accelerations=None)
        with self._planning_lock:
            for lead in planning.PLANNING_TIME_CANDIDATES_S:
                with self._lock:
                    before = self.motion
                    followed = self._open_events
                    stamp = self._stamp
                if stamp is None or (before is None and measured_q is None):
                    raise ReferenceRefusedError('No position known; wait for states or hold one.')
                present = before or Trajectory.at_rest(measured_q, stamp)
                planner = planning.MotionPlanner(
                    arm=self._arm,
                    request=points,
                    is_setpoint=single,
                    is_chunk=window,
                    measured_q=measured_q,
                    has_kp=has_kp,
                    present_motion=present,
                    state_stamp=stamp,
                )
                planner.require_start_allowed()
                self._warn_of_milliseconds(points.times)
                planned = planner.plan_motion(lead, self._stream)
                with self._lock:
                    # `hold` replaces the motion; a stop replaces the events, also where no motion
                    # is desired before and after.
                    if self.motion is not before or self._open_events is not followed:
                        raise ReferenceRefusedError('The arm was stopped while it was planned.')
                    in_time = (self._stamp or stamp) <= planned.motion.begin
                    if in_time or planned.may_begin_in_past:
                        self._stream = planned.stream
                        self._begin_motion(planned.motion, present, goal_id, single or window)
                        return planned.motion
        raise ReferenceRefusedError(
            f'Planning the reference took more than {lead:g} s: send fewer points or free the CPU.'
        )

    def brake_to_rest(self, measured_q: Array, reason: str) -> None:
        """
        End all motions for a reason, by a motion that brakes to rest where the arm then is.

        Where it is desired may be elsewhere, and would go on pulling: as when a goal ends outside
        its tolerances, or is cancelled. Under a lasting load kp's torque stays about the same, and
        the arm rests one error further. A motion asked for at once replaces this one before it
        begins.
        """
        with self._planning_lock:
            with self._lock:
                present = self.motion
                stamp = self._stamp
            if present is None or stamp is None:
                return
            begin = stamp + planning.PLANNING_TIME_CANDIDATES_S[0] - present.time_zero
            away = measured_q - present.at(stamp).q
            planned = planning.braked_motion(self._arm, present, begin, away)
            with self._lock:
                if self.motion is present:  # else the arm was stopped meanwhile
                    self._interrupt_motions(reason)
                    self.motion = present.followed_by(planned, stamp)

    def record_refusal(self, reason: object, goal_id: str = '') -> None:
        """Record that a reference was refused, as the event REFUSED."""
        with self._lock:
            event = ReferenceEvent(next(self._number_iter), goal_id, 0.0, 0.0, None)
            self._add_event(event, ReferenceState.REFUSED, reason)

    def _warn_of_milliseconds(self, times: Array) -> None:
        """Log once if points that replace a motion have times, (k,) [s], as of milliseconds."""
        gap = np.diff(times).min() if len(times) > 1 else 0.0
        if gap >= _MIN_SUSPICIOUS_POINT_GAP_S and self.has_open_motion and not self._has_warned:
            self._has_warned = True
            _LOG.warning('Points %g s apart replace a motion: milliseconds? Give seconds.', gap)

    # What becomes of each motion ---------------------------------------------------------------

    def _begin_motion(
        self, planned: Trajectory, present: Trajectory, goal_id: str, streamed: bool
    ) -> None:
        """Replace the present motion by the planned one when that begins; record the change."""
        stamp = self._stamp or 0.0
        goal = planned.positions[-1]
        self.motion = present.followed_by(planned, stamp)
        end = max(planned.end, stamp + planning.STREAM_TIMEOUT_S) if streamed else planned.end
        while self._open_events:
            last = self._open_events[-1]
            # A set-point of the same sender continues the stream, which goes on as one reference.
            if streamed and last.is_streamed and last.goal_id == goal_id:
                self._open_events[-1] = last._replace(end=end, goal_position=goal)
                return
            # What begins later never comes; what has begun earlier ends when the new one begins.
            if last.begin < planned.begin:
                break
            self._add_event(self._open_events.pop(), ReferenceState.INTERRUPTED, REPLACED_REASON)
        number = next(self._number_iter)
        event = ReferenceEvent(number, goal_id, planned.begin, end, goal, streamed)
        self._open_events.append(self._add_event(event, ReferenceState.ACCEPTED))

    def _interrupt_motions(self, reason: object) -> None:
        """Record all open motions as interrupted for a reason, and end a stream."""
        for event in self._open_events:
            self._add_event(event, ReferenceState.INTERRUPTED, reason)
        self._open_events = deque()
        self._stream = None

    def _report_progress(self, stamp: float) -> None:
        """Add events for the motions that have begun or ended at a stamp [s]."""
        while self._open_events:
            event = self._open_events[0]
            if event.state is ReferenceState.ACCEPTED and stamp >= event.begin:
                event = self._add_event(event, ReferenceState.FOLLOWING)
                self._open_events[0] = event
            replaced_at = self._open_events[1].begin if len(self._open_events) > 1 else np.inf
            if stamp < min(event.end, replaced_at):
                return
            self._open_events.popleft()
            if event.end <= replaced_at:
                self._add_event(event, ReferenceState.FINISHED)
            else:
                self._add_event(event, ReferenceState.INTERRUPTED, REPLACED_REASON)

    def _add_event(
        self, event: ReferenceEvent, state: ReferenceState, reason: object = ''
    ) -> ReferenceEvent:
        """Count and record that a reference is in a new state; return the event."""
        self.counts[state] += 1
        new = event._replace(state=state, stamp=self._stamp or 0.0, reason=reason)
        self.events.append(new)  # from where its reader, another thread, may take it at once
        return new
