# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Piecewise quintic motions within an arm's limits, which pass points, blend or brake to rest.

Whatever is beyond a limit is tried again, slower or with other points, and refused in the end
(ReferenceRefusedError).
"""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from ..arm import ArmDescription
from ..arrays import Array, ArrayLike
from ..errors import distinct_texts, LimitExceededError, ReferenceRefusedError

# A motion is followed by one state in each control cycle [s].
CONTROL_CYCLE_S = 1e-3
# Durations, tried in turn, in which a distance fades, or a motion is braked to rest.
BLEND_DURATIONS_S = tuple(0.15 * 1.2**k for k in range(20))
# Points beyond a limit, as noisy ones are, are averaged with their neighbours, all but the ends,
# at most _MAX_SMOOTHING_COUNT times. Those of a chunk or a trajectory move by at most
# MAX_SMOOTHING_SHIFT_RAD in all [rad or m]. Without, benchmarks/streams.py refuses 374 chunks.
_MAX_SMOOTHING_COUNT = 6
MAX_SMOOTHING_SHIFT_RAD = 0.02
# A stream that is joined slowly falls behind, and leads far beyond its last point: only the first
# _MAX_STREAM_BLEND_COUNT durations are tried. It may use MAX_STREAM_ACCELERATION_TO_LIMIT times
# the limit of acceleration: else benchmarks/streams.py refuses 5 points of a stream of an FR3, or
# errors of streams with lost points are ten times as large.
_MAX_STREAM_BLEND_COUNT = 5
MAX_STREAM_ACCELERATION_TO_LIMIT = 2.0
# Rounding [rad, rad/s, rad/s^2]: beyond a limit that is just reached, of states that are equal.
MAX_ROUNDING_ERROR = 1e-6
# Number of samples at which the limits of a motion are checked, if its segments are few.
_SAMPLE_COUNT = 400
# Least number of samples in each segment.
_MIN_SAMPLE_COUNT = 12
_MIN_SEGMENT_DURATION_S = 0.1 * CONTROL_CYCLE_S


class ReferencePoint(NamedTuple):
    """Desired position, velocity and acceleration, (n,) each [rad or m, per s, per s^2]."""

    q: Array
    dq: Array
    ddq: Array


def rest_states(q: Array) -> Array:
    """Return the states at rest, (..., 3, n), at positions q, (..., n)."""
    return np.stack((q, 0.0 * q, 0.0 * q), axis=-2)


class Trajectory:
    """
    A motion through k states, joined by quintics; at rest before the first and after the last.

    It is never changed. `positions`, `velocities` and `accelerations` are those at `times`, (k, n)
    each; `begin` and `end` are the stamps of the first and the last state [s].

    Parameters
    ----------
    times : ndarray, shape (k,)
        Strictly increasing times after `time_zero` [s].
    states : ndarray, shape (k, 3, n)
        Position, velocity and acceleration at these times.
    time_zero : float
        Time zero on the clock of the joint states' stamps [s]. Seconds since 1970 are rounded to
        0.2 us, too coarse for the derivatives of short segments; `times` are not.

    """

    def __init__(self, times: Array, states: Array, time_zero: float = 0.0) -> None:
        self.times = times
        self.states = states
        self.time_zero = time_zero
        self.begin = time_zero + float(times[0])
        self.end = time_zero + float(times[-1])
        self.positions, self.velocities, self.accelerations = states.swapaxes(0, 1)
        h = np.diff(times)[:, None]
        q, v, a = states[:-1].swapaxes(0, 1)
        q1, v1, a1 = states[1:].swapaxes(0, 1)
        # What position, velocity and acceleration at the end still lack, scaled by the duration.
        dq = q1 - q - v * h - a * h**2 / 2
        dv = (v1 - v - a * h) * h
        da = (a1 - a) * h**2 / 2
        cubic = (10 * dq - 4 * dv + da) / h**3
        quartic = (7 * dv - 15 * dq - 2 * da) / h**4
        quintic = (6 * dq - 3 * dv + da) / h**5
        # Coefficients of position, velocity and acceleration, (k + 1, 3, 6, n), the lowest power
        # of the time first: rest, the segments, and rest.
        self._coefficients = np.zeros((len(times) + 1, 3, 6, states.shape[2]))
        self._coefficients[[0, -1], 0, 0] = self.positions[[0, -1]]
        self._coefficients[1:-1, 0] = np.stack((q, v, a / 2, cubic, quartic, quintic), axis=1)
        for rate in (1, 2):
            higher = self._coefficients[:, rate - 1, 1:]
            self._coefficients[:, rate, :-1] = np.arange(1.0, 6.0)[:, None] * higher
        self._rest = ReferencePoint(*rest_states(self.positions[-1]))

    @classmethod
    def at_rest(cls, q: ArrayLike | None, time_zero: float) -> 'Trajectory':
        """Return a motion that stays at rest at q, shape (n,)."""
        return cls(np.zeros(1), rest_states(np.array([q], dtype=float)), time_zero)

    def at(self, stamp: float) -> ReferencePoint:
        """Return the desired state at a stamp [s]."""
        if stamp > self.end:
            return self._rest
        return ReferencePoint(*self.states_at(stamp - self.time_zero))

    def states_at(self, times: Any) -> Array:
        """Return states, (..., 3, n), at times counted from `self.time_zero`, (...) [s]."""
        # The number of the segment; at the last time itself the segment before it counts still.
        k = self.times[:-1].searchsorted(times, 'right') + (times > self.times[-1])
        powers = np.asarray(times - self.times[k - 1])[..., None, None, None] ** np.arange(6.0)
        return np.asarray((powers @ self._coefficients[k])[..., 0, :])

    def extended_by(self, times: Array, states: Array) -> 'Trajectory':
        """Return the motion, extended by segments to `states` at `times` [s after `time_zero`]."""
        states = np.concatenate((self.states, states))
        return Trajectory(np.append(self.times, times), states, self.time_zero)

    def followed_by(self, other: 'Trajectory', stamp: float) -> 'Trajectory':
        """Return this motion from a stamp [s] on, followed by `other` when `other` begins."""
        not_over = np.append(self.times[1:], np.inf) > stamp - self.time_zero
        kept = not_over & (self.times < other.times[0] - _MIN_SEGMENT_DURATION_S)
        states = np.concatenate((self.states[kept], other.states))
        return Trajectory(np.append(self.times[kept], other.times), states, self.time_zero)

    def require_within_limits(
        self,
        arm: ArmDescription,
        ratio: float = 1.0,
        end: float = np.inf,
        q0: Array | None = None,
    ) -> 'Trajectory':
        """
        Return the motion; raise LimitExceededError if it leaves the arm's limits.

        They are the limits of position, of velocity (at its position) and `ratio` times that of
        acceleration, of segments that begin earlier than `end`, a time after `time_zero` [s].
        Where the arm stands beyond a limit of position, at `q0`, (n,), the motion may lead back
        from there, but not further out. The error names joint and limit.
        """
        h = np.append(np.diff(self.times), 0.0)[self.times < end]
        samples = np.linspace(0.0, 1.0, max(_SAMPLE_COUNT // (len(h) + 1), _MIN_SAMPLE_COUNT))
        since = np.outer(h, samples)
        powers = since[:, None, :, None] ** np.arange(6.0)
        q, dq, ddq = np.moveaxis(powers @ self._coefficients[1 : len(h) + 1], 1, 0)
        acceleration = ratio * arm.limit('acceleration')
        lower = arm.limit('lower')
        upper = arm.limit('upper')
        if q0 is not None:
            lower = np.minimum(lower, q0)
            upper = np.maximum(upper, q0)
        for name, per, values, low, high in (
            ('a position', '', q, lower, upper),
            ('a velocity', '/s', dq, *arm.velocity_bounds(q)),
            ('an acceleration', '/s^2', ddq, -acceleration, acceleration),
        ):
            # NaN is outside.
            outside = ~(np.abs(values - np.clip(values, low, high)) <= MAX_ROUNDING_ERROR)
            if outside.any():
                segment, sample, joint = np.argwhere(outside)[0]
                at = (segment, sample, joint)
                least = np.broadcast_to(low, q.shape)[at]
                most = np.broadcast_to(high, q.shape)[at]
                unit = arm.joints[joint].kind.position_unit + per
                found, above = distinct_texts(values[at], most, 4)
                _, below = distinct_texts(values[at], least, 4)
                raise LimitExceededError(
                    f'{arm.joint_names[joint]} to {name} of {found} {unit}; its limits there are '
                    f'{below} to {above} {unit}',
                    self.times[segment] + since[segment, sample],
                )
        return self

    def braked_to_rest(
        self,
        arm: ArmDescription,
        ratio: float = 1.0,
        q0: Array | None = None,
        braking_ratio: float = 1.0,
    ) -> 'Trajectory':
        """
        Return the motion, braked to rest within the arm's limits if it does not end at rest.

        The motion itself may use `ratio` times the limit of acceleration, and its braking
        `braking_ratio` times; `q0` is that of `require_within_limits`.
        """
        self.require_within_limits(arm, ratio, q0=q0)
        last = self.states[-1:]
        end = self.times[-1:]
        q, dq, ddq = self.states[-1]
        if np.abs(dq).max() <= MAX_ROUNDING_ERROR:
            return self

        def braked_within(duration: float) -> Trajectory:
            """Return the motion braked to rest in a duration [s]; raise an error off limits."""
            # The velocity falls to zero as a cubic of time.
            rest = rest_states(q + duration * dq / 2.0 + duration**2 * ddq / 12.0)[None]
            braked = Trajectory(end, last).extended_by(end + duration, rest)
            braked.require_within_limits(arm, braking_ratio, q0=q0)
            return self.extended_by(end + duration, rest)

        return _first_within_limits(braked_within, BLEND_DURATIONS_S)

    def extended_to_rest(self, arm: ArmDescription, durations: Iterable[float]) -> 'Trajectory':
        """
        Return the motion continued until its acceleration has faded to zero, then braked to rest.

        The acceleration fades in the first of some durations [s] for which the limits allow it.
        """
        q, dq, ddq = self.states[-1]

        def extrapolated_for(h: float) -> Trajectory:
            """Return the motion with an acceleration that fades in h [s], then braked to rest."""
            end = np.array([[q + h * dq + h**2 * ddq / 3.0, dq + h * ddq / 2.0, 0.0 * ddq]])
            return self.extended_by(self.times[-1:] + h, end).braked_to_rest(arm)

        return _first_within_limits(extrapolated_for, durations)

    def blended_from(
        self,
        arm: ArmDescription,
        present: 'Trajectory',
        begin: float,
        blend_durations: Iterable[float] = BLEND_DURATIONS_S,
        ratio: float = 1.0,
    ) -> 'Trajectory':
        """
        Return the motion blended from `present` at `begin` [s after `time_zero`], ending at rest.

        If its first point comes late enough, the arm moves there from its present state. Otherwise
        the distance between the present motion and this one, with its rates, is added to this one
        and fades to zero. Accelerations stay within `ratio` times their limit.
        """
        present_state = present.states_at(begin)
        motion = self.braked_to_rest(arm, ratio, present_state[0])
        lead = self.times[0] - begin
        if lead > 0.0:
            first_state = present_state
            if lead < BLEND_DURATIONS_S[0]:
                # There is no time to move to the first point: the motion is extended backwards
                # from there, at constant acceleration.
                q, dq, ddq = self.states[0]
                first_state = np.array((q - lead * dq + lead**2 * ddq / 2.0, dq - lead * ddq, ddq))
            before = Trajectory(np.array([begin]), first_state[None], self.time_zero)
            motion = before.extended_by(motion.times, motion.states)
        distance = present_state - motion.states_at(begin)
        if np.abs(distance[:2]).max() <= MAX_ROUNDING_ERROR:
            distance = np.zeros_like(distance)  # accelerations may step

        def blended_over(duration: float) -> Trajectory:
            """Return the motion blended over a duration [s]; raise an error beyond a limit."""
            ends = np.array([begin, begin + duration])
            times = np.union1d(ends, motion.times[motion.times > begin + _MIN_SEGMENT_DURATION_S])
            times = times[np.diff(times, append=np.inf) > _MIN_SEGMENT_DURATION_S]
            fading = Trajectory(ends, np.array([distance, np.zeros_like(distance)]))
            states = motion.states_at(times) + fading.states_at(times)
            path = Trajectory(times, states, self.time_zero)
            checked_until = max(ends[1], self.times[0])
            return path.require_within_limits(arm, ratio, checked_until, present_state[0])

        return _first_within_limits(blended_over, blend_durations)


class _SplineOption(NamedTuple):
    """Points (k, n) of a spline, its share of the acceleration limit, and whether it stops."""

    points: Array
    acceleration_ratio: float
    ends_at_rest: bool


def spline_through_points(
    arm: ArmDescription,
    present: Trajectory,
    begin: float,
    times: Array,
    q: Array,
    streamed: bool,
) -> Trajectory:
    """
    Return a motion from `present` through positions q, (k, n), and to rest.

    `begin` and `times`, (k,), are seconds after `present.time_zero`. The motion begins at `begin`,
    at its first point if this comes later. A spline stops at the last point or, where it cannot,
    is braked after it. `streamed` points are the last ones of a stream: the motion is braked after
    them; if nothing else is within the limits, it leads to the last point and rests there.
    """
    before = np.diff(times)[:-1, None]
    after = np.diff(times)[1:, None]
    smoothed = [q]
    for _ in range(_MAX_SMOOTHING_COUNT):
        points = smoothed[-1].copy()
        # Each point comes halfway to the line of its neighbours.
        lines = (after * points[:-2] + before * points[2:]) / (before + after)
        points[1:-1] = (points[1:-1] + lines) / 2.0
        smoothed.append(points)
    if streamed:
        durations = BLEND_DURATIONS_S[:_MAX_STREAM_BLEND_COUNT]
        options = [
            _SplineOption(points, ratio, ends_at_rest=False)
            for ratio in (1.0, MAX_STREAM_ACCELERATION_TO_LIMIT)
            for points in smoothed
        ]
        last_point = _SplineOption(q[-1:], MAX_STREAM_ACCELERATION_TO_LIMIT, ends_at_rest=True)
        options.append(last_point)
    else:
        durations = BLEND_DURATIONS_S
        options = [
            _SplineOption(points, 1.0, ends_at_rest)
            for points in smoothed
            if np.abs(points - q).max() <= MAX_SMOOTHING_SHIFT_RAD
            for ends_at_rest in (True, False)
        ]

    def make_spline(option: _SplineOption) -> Trajectory:
        """Return the blended spline of an option."""
        points, ratio, ends_at_rest = option
        at = times[-len(points) :]
        motion = Trajectory(at, _spline_states(at, points, ends_at_rest), present.time_zero)
        return motion.blended_from(arm, present, begin, durations, ratio)

    return _first_within_limits(make_spline, options)


def _spline_states(times: Array, q: Array, ends_at_rest: bool) -> Array:
    """
    Return the states of a cubic spline through positions q, (k, n), in shape (k, 3, n).

    The first and the last velocity are those of parabolas through three points; the last one is
    zero if the motion stops there, and with it the acceleration.
    """
    if len(times) == 1:
        return rest_states(q)
    dq = np.asarray(np.gradient(q, times, axis=0, edge_order=2 if len(times) > 2 else 1))
    if ends_at_rest:
        dq[-1] = 0.0
    h = np.diff(times)[:, None]
    slope = np.diff(q, axis=0) / np.diff(times)[:, None]
    right = 3.0 * (h[1:] * slope[:-1] + h[:-1] * slope[1:])
    # Continuous acceleration gives a tridiagonal system for the inner velocities. Each step of
    # Jacobi's iteration at least halves the largest error.
    for _ in range(25):
        dq[1:-1] = (right - h[1:] * dq[:-2] - h[:-1] * dq[2:]) / (2.0 * (h[1:] + h[:-1]))
    last = 0.0 if ends_at_rest else (4.0 * dq[-1] + 2.0 * dq[-2] - 6.0 * slope[-1]) / h[-1]
    ddq = np.vstack(((6.0 * slope - 4.0 * dq[:-1] - 2.0 * dq[1:]) / h, last + 0.0 * dq[-1]))
    return np.stack((q, dq, ddq), axis=1)


def _first_within_limits(make: Callable[[Any], Trajectory], options: Iterable[Any]) -> Trajectory:
    """Return `make(option)` of the first option within limits, or raise the first refusal."""
    refusals = []
    for option in options:
        try:
            return make(option)
        except ReferenceRefusedError as error:
            refusals.append(error)
    raise refusals[0]
