# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Requests for motions, and the planning of motions that continue the present one.

Nothing here changes the present motion.

Points of a stream are rows of number, stamp of arrival [s] and position. They are meant to be
evenly spaced but come with jitter, and some are lost. The number of a point counts the lost ones
too; the slope of a line through stamps over numbers is the period. A point is due two periods
after the line, so that the motion through it can take the next point into account.
"""

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from .trajectory import (
    BLEND_DURATIONS_S,
    CONTROL_CYCLE_S,
    MAX_STREAM_ACCELERATION_TO_LIMIT,
    rest_states,
    spline_through_points,
    Trajectory,
)
from .. import errors
from ..arm import ArmDescription, JointKind
from ..arrays import Array, as_array

# Transport delays a request by less than MAX_LATENESS_S [s]; a request whose start lies further
# before the latest joint state is refused.
MAX_LATENESS_S = 0.1
# A trajectory that starts more than MAX_START_LEAD_S [s] after the latest joint state is refused,
# because its stamp comes from another clock. A set-point's bound is MAX_LATENESS_S: MoveIt Servo's
# are due 10 to 34 ms after they are sent.
MAX_START_LEAD_S = 600.0
# A stream ends if no point came for this time [s]: five periods of a slow one, of 10 Hz. A
# trajectory with a start and velocities continues a stream if it lasts no longer than this.
STREAM_TIMEOUT_S = 0.5
# rclpy takes 6 ms to deserialise 1000 points. A second thread deserialises, but meanwhile torques
# are delayed: by 3 ms for 2000 points (benchmarks/services.py).
MAX_POINT_COUNT = 2000
# Positions beyond this [rad] are probably degrees. Those of a joint state are taken for degrees if
# all of them, read as degrees, are within the limits.
MAX_PLAUSIBLE_POSITION_RAD = 10.0
# Joints that are not the arm's, such as fingers, may be in a request if neither their motion nor
# their speed exceeds this [rad or m, rad/s or m/s].
MAX_EXTRA_JOINT_MOTION_RAD = 1e-3
# A motion begins so long after the latest joint state, which leaves time to plan it; if planning
# takes longer, the next lead time is tried: 8 points take 5 ms, 2000 take 50 ms, noisy ones
# 130 ms, and twice that on a busy machine. The last one is for simulations that run faster than
# real time on a machine that is busy with them.
PLANNING_TIME_CANDIDATES_S = (0.02, 0.1, 0.5, 2.0)
# Largest distance of a motion that begins at once from where the arm is or is desired [rad or m]:
# the feedback torque would begin with a step.
MAX_START_DISTANCE_RAD = 0.1
# Chosen by benchmarks/streams.py. Points of a stream that come within _AVERAGING_SPAN_S [s] are
# averaged: else a noisy one is followed a tenth worse. The last _KEPT_POINT_COUNT points determine
# the period: with 8 points errors are half as large again. The last _PLANNED_POINT_COUNT points
# are planned through.
_AVERAGING_SPAN_S = 0.03
_KEPT_POINT_COUNT = 30
_PLANNED_POINT_COUNT = 8
# Columns of a stream: the point's number, when it arrived, and from the third on its position.
_POINT_NUMBER_COLUMN = 0
_ARRIVAL_TIME_COLUMN = 1
_POSITION_COLUMN = 2


@dataclass(frozen=True, eq=False)
class TrajectoryRequest:
    """
    The contents of a trajectory message, with joints in the order of the message.

    `times`, shape (k,), are seconds after `start_time`. `start_time` [s] is by the clock of the
    joint states' stamps; None: the motion starts on arrival. `positions`, `velocities` and
    `accelerations` have shape (k, n) [rad or m, per s, per s^2], a column for each of
    `joint_names`; all but the positions are None where the message leaves them out. Without points
    (k = 0) the request ends the present motion.
    """

    joint_names: tuple[str, ...]
    times: Array
    positions: Array
    velocities: Array | None = None
    accelerations: Array | None = None
    start_time: float | None = None

    def follow_kwargs(self, arm: ArmDescription, *, allow_setpoint: bool = True) -> dict[str, Any]:
        """
        Return keyword arguments of `ReferenceFollower.follow`, joints in the arm's order.

        With `allow_setpoint`, a single point at most MAX_LATENESS_S ahead is a set-point: `times`
        is None, and `ahead` says when it is due. Points of another kind have `times` and `window`.
        Raises JointsRefusedError as `require_arm_joints`.
        """
        if len(self.times) == 0:
            return {'q': np.zeros((0, arm.n)), 'times': self.times}
        self.require_arm_joints(arm)
        columns = [self.joint_names.index(name) for name in arm.joint_names]
        points: dict[str, Any] = {
            'q': self.positions[:, columns],
            'dq': None if self.velocities is None else self.velocities[:, columns],
            'ddq': None if self.accelerations is None else self.accelerations[:, columns],
            'start': self.start_time,
        }
        ahead = float(self.times[0]) if len(self.times) == 1 else np.inf
        if allow_setpoint and 0.0 <= ahead <= MAX_LATENESS_S:
            for name in ('q', 'dq', 'ddq'):
                points[name] = None if points[name] is None else points[name][0]
            return {**points, 'times': None, 'ahead': ahead}
        # MoveIt Servo sends the points of the last and the next tenth of a second, each time anew.
        dated = self.start_time is not None and self.velocities is not None
        window = bool(allow_setpoint and dated and self.times[-1] <= STREAM_TIMEOUT_S)
        return {**points, 'times': self.times, 'window': window}

    def point_states(self) -> Array:
        """Return positions, velocities (needed), accelerations (else computed), (k, 3, n)."""
        dq: Any = self.velocities
        ddq = self.accelerations
        if ddq is None:
            ddq = np.zeros_like(dq)
            if len(dq) > 1:
                ddq = np.asarray(np.gradient(dq, self.times, axis=0))
            for end in (0, -1):
                if not dq[end].any():  # the motion begins or ends at rest
                    ddq[end] = 0.0
        return np.stack((self.positions, dq, ddq), axis=1)

    def extra_joint_names(self, arm: ArmDescription) -> tuple[str, ...]:
        """Return the names of joints that are not the arm's, such as a gripper's fingers."""
        return tuple(name for name in self.joint_names if name not in arm.joint_names)

    def require_arm_joints(self, arm: ArmDescription) -> None:
        """
        Raise JointsRefusedError unless each of the arm's joints is named once, and others rest.

        Other joints may be named, too, but must hold still, because nobody would move them.
        """
        given = self.joint_names
        if not {*arm.joint_names} <= {*given} or len({*given}) < len(given):
            raise errors.JointsRefusedError(
                f'The reference must name each of the joints {", ".join(arm.joint_names)} once, '
                f'in any order; it names {errors.list_text(given) or "none"}.'
            )
        still = np.ptp(self.positions, axis=0) <= MAX_EXTRA_JOINT_MOTION_RAD
        if self.velocities is not None:
            still &= (np.abs(self.velocities) <= MAX_EXTRA_JOINT_MOTION_RAD).all(axis=0)
        moving = [name for name in self.extra_joint_names(arm) if not still[given.index(name)]]
        if moving:
            raise errors.JointsRefusedError(
                f'The reference moves {errors.list_text(moving)}, which the arm does not have; '
                'send that motion to the controller of these joints, and leave it out here.'
            )


def make_trajectory_request(
    arm: ArmDescription, q: Any, times: Any, dq: Any, ddq: Any, start: Any, ahead: float
) -> TrajectoryRequest:
    """
    Return arguments of `ReferenceFollower.follow` as a request, a set-point as one point.

    Raises ReferenceRefusedError if they are unusable.
    """

    def finite_array(name: str, values: Any, *shape: Any) -> Array:
        """Return values as a finite array of a shape, or raise ReferenceRefusedError."""
        return as_array(values, shape, f"The reference's {name}", errors.ReferenceRefusedError)

    single = times is None
    if single and finite_array('positions', q, ...).ndim == 2:
        raise errors.ReferenceRefusedError(
            f'The reference has {len(q)} points without times; give each its time in seconds.'
        )
    if ddq is not None and dq is None:
        raise errors.ReferenceRefusedError('A reference with accelerations needs velocities, too.')
    times = finite_array('times', [ahead] if single else times, None)
    require_point_count(len(times), 0)
    wrong = (np.diff(times, prepend=-np.inf) <= 0.0) | (times < 0.0)
    if wrong.any():
        point = int(wrong.argmax())
        raise errors.ReferenceRefusedError(
            f"The reference's times must increase from point to point and not be negative; "
            f'point {point + 1} has {times[point]:.6g} s.'
        )
    shape = (arm.n,) if single else (len(times), arm.n)
    rows = {
        name: finite_array(name, values, *shape).reshape(-1, arm.n)
        for name, values in (
            ('positions', q),
            ('velocities', dq),
            ('accelerations', ddq),
        )
        if values is not None or name == 'positions'
    }
    start = None if start is None else float(finite_array('start', start))
    return TrajectoryRequest(arm.joint_names, times, **rows, start_time=start)


def require_point_count(count: int, min_count: int = 1) -> None:
    """Raise ReferenceRefusedError unless there are `min_count` to MAX_POINT_COUNT points."""
    if not min_count <= count <= MAX_POINT_COUNT:
        raise errors.ReferenceRefusedError(
            f'The reference has {count or "no"} points; send {min_count} to {MAX_POINT_COUNT}.'
        )


class PlannedMotion(NamedTuple):
    """
    A planned motion, and the points of the stream that it continues, None without one.

    A motion that `may_begin_in_past` replaces the present one from where that already was.
    """

    motion: Trajectory
    stream: Array | None
    may_begin_in_past: bool


@dataclass(frozen=True, eq=False)
class MotionPlanner:
    """
    Plans the motion for one request.

    `request` is a single set-point if `is_setpoint`, the next points of a stream if `is_chunk`.
    The arm is at `measured_q`, None if that is not known. `has_kp` says that it is pulled to where
    it is desired: by `present_motion`, from which the requested one begins, at the stamp
    `state_stamp` [s] of the latest joint state.
    """

    arm: ArmDescription
    request: TrajectoryRequest
    is_setpoint: bool
    is_chunk: bool
    measured_q: Array | None
    has_kp: bool
    present_motion: Trajectory
    state_stamp: float

    def require_start_allowed(self) -> None:
        """
        Raise ReferenceRefusedError for points too late or early, or an arm astray without kp.

        Without kp nothing pulls the arm to where it is desired, and the points begin.
        """
        points = self.request
        stamp = self.state_stamp
        lateness = 0.0
        if points.start_time is not None:
            lateness = stamp - points.start_time
            if self.is_chunk and len(points.times):
                # Some of its points may be past: what counts is when the last one is due.
                lateness -= points.times[-1]
        lead = MAX_LATENESS_S if self.is_setpoint else MAX_START_LEAD_S
        if not -lead <= lateness <= MAX_LATENESS_S:
            kind = errors.LateReferenceError if lateness > 0.0 else errors.ReferenceRefusedError
            raise kind(
                f'The reference starts {abs(lateness):.3g} s '
                f'{"ago" if lateness > 0.0 else "ahead of the joint states"}; leave its start out '
                'to begin on arrival, or give it by the clock of the joint states.'
            )
        starts_now = points.start_time is None or points.start_time <= stamp + MAX_LATENESS_S
        if self.measured_q is not None and not self.has_kp and len(points.times) and starts_now:
            self._require_arm_near(self.measured_q, self.present_motion.at(stamp).q)

    def _require_arm_near(self, measured: Array, desired: Array) -> None:
        """Raise StartTooFarError if the arm is far from where it is desired, (n,) each."""
        if not np.abs(measured - desired).max() <= MAX_START_DISTANCE_RAD:
            place = 'The arm stands where the arm is not desired'
            raise self._too_far_error(place, measured, desired)

    def _require_start_near(self, q: Array, desired: Array) -> None:
        """Raise StartTooFarError if q, (n,), is far from the desired and the measured position."""
        place = 'The reference starts where the arm is not desired'
        nearest = desired
        if self.measured_q is not None:
            place = 'The reference starts where the arm neither is nor is desired'
            if np.abs(q - self.measured_q).max() < np.abs(q - desired).max():
                nearest = self.measured_q
        if not np.abs(q - nearest).max() <= MAX_START_DISTANCE_RAD:
            raise self._too_far_error(place, q, nearest)

    def _too_far_error(self, place: str, q: Array, expected: Array) -> errors.StartTooFarError:
        """Return the StartTooFarError to raise for q in place of the expected, (n,) each."""
        distance = np.abs(q - expected)
        i = int(distance.argmax())
        joint = self.arm.joints[i]
        unit = joint.kind.position_unit
        degrees = joint.kind is JointKind.REVOLUTE and distance[i] > MAX_PLAUSIBLE_POSITION_RAD
        hint = ' (are these degrees?)' if degrees else ''
        away, most = errors.distinct_texts(distance[i], MAX_START_DISTANCE_RAD)
        return errors.StartTooFarError(
            f'{place}: {joint.name} is {away} {unit} '
            f'away ({q[i]:.4g} instead of {expected[i]:.4g}), more than {most} {unit}{hint}; '
            'give the first point a time by which the arm can move there.'
        )

    def plan_motion(self, lead_time: float, stream: Array | None) -> PlannedMotion:
        """
        Return the motion for the request, which begins `lead_time` [s] after the latest state.

        Only a set-point with velocity begins when it is due, perhaps in the past. `stream` are the
        points of a stream that a set-point continues, None if there is none.
        """
        points = self.request
        time_zero = self.present_motion.time_zero
        # Here and in the methods below, seconds after the time zero of the present motion, which
        # is also that of the returned motions: of the latest state (`now`), of the motion's begin
        # (`begin`) and of time zero of the points (`points_zero`).
        now = self.state_stamp - time_zero
        begin = now if self.is_setpoint else (self.state_stamp + lead_time) - time_zero
        points_zero = begin
        if points.start_time is not None:
            points_zero = points.start_time - time_zero
        continued = None
        try:
            if self.is_setpoint and points.velocities is None:
                continued = _stream_with_point(stream, self.state_stamp, points.positions[0])
                if points.times[0] == 0.0:
                    motion = self._motion_along_stream(continued, now, lead_time)
                    return PlannedMotion(motion, continued, may_begin_in_past=False)
                points = replace(points, velocities=_last_stream_velocity(continued))
            motion = self._motion_via_points(points, begin, points_zero)
            return PlannedMotion(motion, continued, may_begin_in_past=self.is_setpoint)
        except errors.LimitExceededError as error:
            time = error.time - points_zero
            raise errors.LimitExceededError(error.excess_text, time) from None

    def _motion_along_stream(self, stream: Array, now: float, lead_time: float) -> Trajectory:
        """Return the present motion led, from now + `lead_time`, through averages of a stream."""
        present = self.present_motion
        if len(stream) == 1:
            first = stream[0, _POSITION_COLUMN:]
            self._require_start_near(first, present.states_at(now)[0])
        rows = _averaged_points(stream)
        due = now + PLANNING_TIME_CANDIDATES_S[0] + rows[:, 0]
        return spline_through_points(self.arm, present, now + lead_time, due, rows[:, 1:], True)

    def _motion_via_points(
        self, points: TrajectoryRequest, begin: float, points_zero: float
    ) -> Trajectory:
        """
        Return the motion through points; without points, the present motion braked to rest.

        The motion begins at `begin`, or at `points_zero`, the zero of the points' times, if this
        is later. A streamed point with velocity is followed as it is.
        """
        arm = self.arm
        present = self.present_motion
        streamed = self.is_setpoint or self.is_chunk
        if not len(points.times):
            return braked_motion(arm, present, begin)
        times = points_zero + points.times
        begin = max(begin, points_zero)
        first = max(begin, times[0])
        if first < begin + BLEND_DURATIONS_S[0]:
            # The first point is compared with where the arm will be desired at its time.
            at_first = [np.interp(first, times, column) for column in points.positions.T]
            self._require_start_near(np.array(at_first), present.states_at(first)[0])
        if points.velocities is None:
            kept = 0
            if streamed:  # of the points that are past, the last one tells where the motion is
                kept = max(0, int((times <= begin).sum()) - 1)
            return spline_through_points(
                arm, present, begin, times[kept:], points.positions[kept:], streamed
            )
        motion = Trajectory(times, points.point_states(), present.time_zero)
        if streamed:
            # Unless it is replaced while the next one may still come, it is braked to rest; at
            # once, if the limits demand it.
            return motion.extended_to_rest(arm, (MAX_LATENESS_S, CONTROL_CYCLE_S))
        return motion.blended_from(arm, present, begin)


def braked_motion(
    arm: ArmDescription,
    motion: Trajectory,
    begin: float,
    rest_offset: Array | None = None,
) -> Trajectory:
    """
    Return the present motion, braked to rest from `begin` on [s after its `time_zero`].

    With `rest_offset`, (n,), it rests so far from where it otherwise would, if limits allow. A
    stop is never refused: it may begin beyond a limit of position, use the acceleration of a
    stream and, if nothing is within these limits, rest at once where the motion is.
    """
    moving = Trajectory(np.array([begin]), motion.states_at(begin)[None], motion.time_zero)
    q0 = moving.states[0, 0]
    stopped = Trajectory(moving.times, rest_states(q0)[None], motion.time_zero)
    for ratio in (1.0, MAX_STREAM_ACCELERATION_TO_LIMIT):
        with suppress(errors.LimitExceededError):
            stopped = moving.braked_to_rest(arm, MAX_STREAM_ACCELERATION_TO_LIMIT, q0, ratio)
            break
    if rest_offset is None:
        return stopped
    states = stopped.states.copy()
    states[:, 0] += rest_offset
    with suppress(errors.LimitExceededError):
        moved = Trajectory(stopped.times, states, motion.time_zero)
        return moved.blended_from(arm, motion, begin)
    return stopped


def _stream_with_point(stream: Array | None, stamp: float, q: Array) -> Array:
    """Return a stream with one more point, or a new stream if the last point is too old."""
    if stream is None or stamp - stream[-1, _ARRIVAL_TIME_COLUMN] > STREAM_TIMEOUT_S:
        return np.array([[0.0, stamp, *q]])
    number, last = stream[-1, :_POSITION_COLUMN]
    steps = max(1.0, round((stamp - last) / _stream_timing(stream)[1]))
    return np.vstack((stream[1 - _KEPT_POINT_COUNT :], [number + steps, stamp, *q]))


def _last_stream_velocity(stream: Array) -> Array:
    """Return the velocity between a stream's last two points, zero for one, (1, n) [rad/s]."""
    if len(stream) == 1:
        return np.zeros((1, stream.shape[1] - _POSITION_COLUMN))
    steps = stream[-1] - stream[-2]
    period = _stream_timing(stream)[1]
    return np.asarray(steps[None, _POSITION_COLUMN:] / (steps[_POINT_NUMBER_COLUMN] * period))


def _stream_timing(stream: Array) -> tuple[Array, float]:
    """Return when points are due, (k,) [s] after the last came, and their period, inf of one."""
    if len(stream) == 1:
        return np.zeros(1), np.inf  # the period is not known yet
    numbers = stream[:, _POINT_NUMBER_COLUMN] - stream[-1, _POINT_NUMBER_COLUMN]
    arrivals = stream[:, _ARRIVAL_TIME_COLUMN] - stream[-1, _ARRIVAL_TIME_COLUMN]
    period = float(np.polyfit(numbers, arrivals, 1)[0])
    period = max(period, CONTROL_CYCLE_S)  # points of a burst come faster
    # Points lie on a line of arrival over number, and are due two periods after it.
    offset = np.mean(arrivals - period * numbers)
    return offset + period * (numbers + 2.0), period


def _averaged_points(stream: Array) -> Array:
    """
    Return a stream's averaged points as rows of time after the last arrival [s] and position.

    The points before the last are averaged in groups that span up to _AVERAGING_SPAN_S, with their
    times, because noise between two close points would be a large acceleration.
    """
    due, period = _stream_timing(stream)
    rows = np.column_stack((due, stream[:, _POSITION_COLUMN:]))
    size = max(1, int(_AVERAGING_SPAN_S / period))
    count = min((len(rows) - 1) // size, _PLANNED_POINT_COUNT - 1)
    inner = rows[-1 - count * size : -1].reshape(count, size, rows.shape[1]).mean(axis=1)
    return np.vstack((inner, rows[-1:]))
