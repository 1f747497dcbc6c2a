# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Positions alone -> a smooth motion: from the present state through these points to rest.

Joined by lines, points at 10 to 50 Hz have no acceleration, and nothing of the inertia torque is
fed forward. Polynomials through them have nearly that of the motion they were taken from. What is
desired now goes over into it without a step in position, velocity or acceleration, within the
limits: by a quintic, or, where that would be too harsh and ruckig is installed, by a profile
limited in jerk.

The points of a chunk are known ahead, a spline goes through them, and nothing is delayed. Those
of a stream come one by one: velocity and acceleration at a point are those of a polynomial
through it and two points on either side, so that the motion is three periods and 8 ms behind
(`delay`): two periods to wait for those that follow, one because a segment needs them at both its
ends. Every point that comes makes a new motion, which ends at rest should no other come.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from .reference import ReferencePoint, Trajectory
from ..arm import ArmDescription
from ..errors import ReferenceRefusedError
from ..typing import Array

# [s] Points that come sooner than this may be left out where the arm cannot be brought onto them.
LONGEST_BLEND_S = 0.3
# A point this close behind the present one [in shares of the next step] is taken as passed.
_PASSED = 0.5
# How many points are left out, one after the other.
_FIRST_LEFT_OUT = (*range(16), 20, 28, 40, 56, 80, 112, 160, 224, 299)
_SAMPLES, _LEAST_PER_SEGMENT, _MOST_PER_SEGMENT = 4000, 2, 20  # when limits are checked
_ITERATIONS = 60  # of the spline's equations: 2^-60 of the error is left
_BLEND_STEP_S = 0.002  # between the points of a jerk-limited profile
# Rounding of a planner that goes up to the limit exactly.
LIMIT_SLACK = 1e-6
# Of each limit that a profile may use: between its points a quintic overshoots a little.
_SHARE, _UNLIMITED = 0.99, 1e6
_STOP_ACCELERATION = 20.0  # [rad/s^2] of a joint whose file states no limit

_SIDE, _KEPT = 2, 7  # points of a stream on either side of one, and in all
# Points arrive with jitter, but were taken evenly: how fast their times follow their arrivals.
_FOLLOWED = 0.02
_MOST_MISSING, _MOST_EARLY = 3, 3.0  # periods
# A motion takes over a little later than now, so that the one before is followed until then.
LEAD_S = 0.004
_LEAST_SEGMENT_S = 0.001
_DELAY_PERIODS, _DELAY_S = 3, 2.0 * LEAD_S
_CATCH_UP_S = (0.03, 0.05, 0.08, 0.12, 0.2, 0.3, 0.5)  # until the arm moves as the points do
_COME_TO_REST_S = (*_CATCH_UP_S, 0.8, 1.2, 2.0)


class _Knots(NamedTuple):
    """Points of a motion in quintics: times (k,), and position and its derivatives, (k, 3, n)."""

    times: Array
    states: Array

    @classmethod
    def at(cls, time: float, point: ReferencePoint) -> _Knots:
        """Return a single point."""
        return cls(np.array([time]), np.array(point)[None])

    def then(self, other: _Knots) -> _Knots:
        """Return a motion through these points and others after them."""
        return _Knots(
            np.append(self.times, other.times), np.concatenate((self.states, other.states))
        )

    def part(self, first: int, end: int | None = None) -> _Knots:
        """Return the points from one on, up to another."""
        return _Knots(self.times[first:end], self.states[first:end])

    def motion(self) -> Trajectory:
        """Return the motion through them."""
        return Trajectory(self.times, *self.states.transpose(1, 0, 2))


def upsample(
    times: Array,
    positions: Array,
    now: float,
    current: ReferencePoint,
    description: ArmDescription,
) -> Trajectory:
    """
    Return the motion from `current` at `now` through the points, to rest at the last of them.

    Between the points it is the cubic spline through them, which begins with the present velocity
    and ends at rest; the first and the last segment are quintics, so that acceleration goes on
    from the present one and ends at zero too. Points before `now` are passed. Where the points
    end in motion, as those of a policy do that sends more before they are over, rest at the last
    of them may be beyond the limits; the arm is then brought to rest past it. If the beginning is
    beyond the limits and the points themselves are not, those of the first LONGEST_BLEND_S are
    left out one by one until it is not. If nothing helps, the motion through all of them is
    returned, for the limits' check to refuse it.

    Parameters
    ----------
    times : ndarray, shape (k,)
        Strictly increasing [s].
    positions : ndarray, shape (k, n)
        [rad or m]
    now : float
        When `current` is desired [s].
    current : ReferencePoint
        Position, velocity and acceleration that the motion begins with.
    description : ArmDescription
        Whose limits hold.

    """
    times, positions = _still_to_come(times, positions, now)
    whole = _endings(times, positions, now, current, description)
    best, calm = _best(whole, description)
    if best is not None and calm:
        return best.motion()
    onto, _ = _best(_by_themselves(times, positions, description), description)
    if onto is None:
        return (best or whole[0]).motion()
    # Only the beginning is in question. A quintic has nearly the true motion's acceleration, a
    # profile of shortest time has not: that is for where the quintic would be too harsh.
    present = _Knots.at(now, current)
    for first in _FIRST_LEFT_OUT:
        if first >= len(times) or times[first] - now > LONGEST_BLEND_S:
            break
        there, behind = onto.part(first, first + 1), onto.part(first + 1)
        quintic, calm = _best([present.then(there)], description)
        profile = None if calm else _jerk_limited(present, there, description)
        if profile is not None and within_limits(profile.motion(), description):
            return profile.then(behind).motion()
        if quintic is not None and calm:
            return quintic.then(behind).motion()
        if quintic is not None and best is None:
            best = quintic.then(behind)
    return (best or whole[0]).motion()


def _best(candidates: Iterable[_Knots], description: ArmDescription) -> tuple[_Knots | None, bool]:
    """Return the first motion within the limits, one also within that of jerk first, and if so."""
    harsh = None
    for candidate in candidates:
        motion = candidate.motion()
        if within_limits(motion, description):
            if _within_jerk(motion, description):
                return candidate, True
            harsh = harsh or candidate
    return harsh, False


@dataclass(frozen=True, eq=False, kw_only=True)
class StreamedMotion(Trajectory):
    """A motion made of streamed points, with their times [s] and positions, shape (k, n)."""

    point_times: Array
    points: Array


def is_streamed(planned: Trajectory | ReferencePoint) -> bool:
    """Return whether a reference is one of a stream, which follow on each other."""
    return isinstance(planned, (ReferencePoint, StreamedMotion))


def delay(period: float) -> float:
    """Return how far the motion is behind points that come every `period` seconds [s]."""
    return _DELAY_PERIODS * period + _DELAY_S


def continue_stream(
    q: Array,
    stamp: float,
    now: float,
    current: ReferencePoint,
    description: ArmDescription,
    period: float,
    before: Trajectory | None,
) -> StreamedMotion:
    """
    Return the motion that follows from one more point of a stream.

    Parameters
    ----------
    q : ndarray, shape (n,)
        The point [rad or m].
    stamp : float
        When it was taken, or arrived [s].
    now : float
        Stamp of the latest joint state [s]; the motion begins LEAD_S later.
    current : ReferencePoint
        What is desired when the motion begins.
    description : ArmDescription
        Whose limits hold.
    period : float
        Between two points [s].
    before : Trajectory or None
        What is followed now; the stream goes on if it is the stream's.

    Raises
    ------
    ReferenceRefusedError
        If no motion within the limits gets to the point.

    """
    times, points = np.array([stamp]), q[None, :]
    if isinstance(before, StreamedMotion):
        last = float(before.point_times[-1])
        steps = max(1, round((stamp - last) / period))
        off = (stamp - last) / period - steps
        if off < -_MOST_EARLY:
            raise ReferenceRefusedError(
                f'The points of the stream come sooner than every {period:g} s; set '
                'stream_period to the time between two of them.'
            )
        if steps <= _MOST_MISSING:
            time = last + period * (steps + _FOLLOWED * min(max(off, -0.5), 0.5))
            times = np.append(before.point_times, time)[-_KEPT:]
            points = np.vstack((before.points, q))[-_KEPT:]
    begin = now + LEAD_S
    due = times + delay(period)
    ahead = due > begin + _LEAST_SEGMENT_S
    ahead[-1] = True
    knots = due[ahead]
    knots[-1] = max(knots[-1], begin + _LEAST_SEGMENT_S)
    coming = _Knots(knots, _with_derivatives(times, points, period)[ahead])
    best, _ = _best(_candidates(begin, current, coming, description, period), description)
    if best is None:
        raise ReferenceRefusedError(
            'The stream leads to no motion within the limits of position, velocity and '
            f'acceleration; let its points, {period:g} s apart, be nearer to each other.'
        )
    q, dq, ddq = best.states.transpose(1, 0, 2)
    return StreamedMotion(best.times, q, dq, ddq, point_times=times, points=points)


def _with_derivatives(times: Array, points: Array, period: float) -> Array:
    """Return points with derivatives, (k, 3, n), of the polynomial through their neighbours."""
    states = np.zeros((len(times), 3, points.shape[1]))
    states[:, 0] = points
    for i, time in enumerate(times):
        near = slice(max(0, i - _SIDE), i + _SIDE + 1)
        s = (times[near] - time) / period
        factors = np.linalg.solve(np.vander(s, increasing=True), points[near])[1:3]
        states[i, 1 : 1 + len(factors)] = factors
    states[:, 1] /= period
    states[:, 2] *= 2.0 / period**2
    return states


def _candidates(
    begin: float,
    current: ReferencePoint,
    coming: _Knots,
    description: ArmDescription,
    period: float,
) -> Iterator[_Knots]:
    """Yield motions from the present one, the best first; each ends at rest."""
    present = _Knots.at(begin, current)
    for first in range(len(coming.times)):
        yield _with_rest(present.then(coming.part(first)), description, period)
    # What comes after the last point is taken to go on as it does there, and is caught up with.
    q, dq, _ = coming.states[-1]
    still = np.zeros(description.n)
    for velocity, within in ((dq, _CATCH_UP_S), (still, _COME_TO_REST_S)):
        for seconds in within:
            after = max(0.0, begin + seconds - coming.times[-1])
            caught = _Knots.at(
                begin + seconds, ReferencePoint(q + after * velocity, velocity, still)
            )
            yield _with_rest(present.then(caught), description, period)


def _with_rest(knots: _Knots, description: ArmDescription, least: float) -> _Knots:
    """Return a motion that goes on to rest behind its last point, `least` seconds or later."""
    q, dq, ddq = knots.states[-1]
    # A quintic from v to rest has at most 1.5 v / T of acceleration, beside what it begins with.
    reach = np.minimum(description.limit('acceleration'), _STOP_ACCELERATION)
    seconds = max(float((3.0 * np.abs(dq) / reach).max()), least)
    rest = q + 0.5 * seconds * dq + seconds**2 / 12.0 * ddq
    rest = np.clip(rest, description.limit('lower'), description.limit('upper'))
    return knots.then(_Knots.at(knots.times[-1] + seconds, ReferencePoint.at_rest(rest)))


def to_rest(now: float, current: ReferencePoint, description: ArmDescription) -> Trajectory:
    """
    Return a motion from `current` at `now` [s] to rest, the shortest that is within the limits.

    Without one within them the longest is returned: whoever asks for rest is to get it.
    """
    present = _Knots.at(now, current)
    motions = [_with_rest(present, description, seconds).motion() for seconds in _COME_TO_REST_S]
    return next((one for one in motions if within_limits(one, description)), motions[-1])


def _still_to_come(times: Array, positions: Array, now: float) -> tuple[Array, Array]:
    step = float(np.diff(times).min()) if len(times) > 1 else 0.0
    coming = times > now + _PASSED * step
    coming[-1] = True
    if times[-1] <= now:
        return np.array([now + max(step, 1e-3)]), positions[-1:]
    return times[coming], positions[coming]


def _endings(
    times: Array,
    positions: Array,
    now: float,
    current: ReferencePoint,
    description: ArmDescription,
) -> list[_Knots]:
    """Return the motion that rests at the last point, and one that rests some way behind it."""
    knots, q = np.append(now, times), np.vstack((current.q, positions))
    motions = _splines(knots, q, current.dq, description)
    for motion in motions:
        motion.states[0, 2] = current.ddq
    return motions


def _by_themselves(times: Array, positions: Array, description: ArmDescription) -> list[_Knots]:
    """Return the same for an arm that is on its way at the first of the points."""
    if len(times) < 2:
        return [_Knots.at(float(times[0]), ReferencePoint.at_rest(positions[0]))]
    slopes = np.diff(positions[:3], axis=0) / np.diff(times[:3])[:, None]
    begin = slopes[0] if len(slopes) < 2 else 1.5 * slopes[0] - 0.5 * slopes[1]
    return _splines(times, positions, begin, description)


def _splines(knots: Array, q: Array, begin: Array, description: ArmDescription) -> list[_Knots]:
    """Return the splines from a velocity, (n,), to rest at the last knot and to rest behind it."""
    h, slopes = np.diff(knots), np.diff(q, axis=0) / np.diff(knots)[:, None]
    end = slopes[-1]
    if len(slopes) > 1:  # of the parabola through the last three
        end = end + (slopes[-1] - slopes[-2]) * (h[-1] / (h[-1] + h[-2]))
    at_rest, in_motion = (
        _Knots(knots, np.stack((q, *spline_derivatives(knots, q, begin, velocity)), axis=1))
        for velocity in (np.zeros_like(end), end)
    )
    at_rest.states[-1, 2] = 0.0
    return [at_rest, _with_rest(in_motion, description, float(h[-1]))]


def spline_derivatives(
    times: Array, positions: Array, begin: Array, end: Array
) -> tuple[Array, Array]:
    """
    Return velocities and accelerations, shape (k, n), of the clamped cubic spline at its points.

    Parameters
    ----------
    times : ndarray, shape (k,)
        Strictly increasing [s]; k >= 2.
    positions : ndarray, shape (k, n)
        What it goes through [rad or m].
    begin, end : ndarray, shape (n,)
        Velocities at its ends [rad/s or m/s].

    """
    h = np.diff(times)
    slopes = np.diff(positions, axis=0) / h[:, None]
    # The condition that acceleration is continuous, for the inner velocities: tridiagonal, and
    # strictly diagonally dominant, so that no pivots are needed.
    lower, diagonal = h[1:], 2.0 * (h[:-1] + h[1:])
    right = 3.0 * (h[1:, None] * slopes[:-1] + h[:-1, None] * slopes[1:])
    velocities = np.empty_like(positions)
    velocities[0], velocities[-1] = begin, end
    if len(right):
        right[0] -= h[1] * begin
        right[-1] -= h[-2] * end
        # Jacobi's iteration: each step halves the error, and takes all points at once.
        below, above = (lower / diagonal)[1:, None], (h[:-1] / diagonal)[:-1, None]
        right /= diagonal[:, None]
        inner = right.copy()
        for _ in range(_ITERATIONS):
            following = right.copy()
            following[1:] -= below * inner[:-1]
            following[:-1] -= above * inner[1:]
            inner = following
        velocities[1:-1] = inner
    begins, ends = cubic_accelerations(times, positions, velocities)
    return velocities, np.vstack((begins, ends[-1:]))


def cubic_accelerations(times: Array, positions: Array, velocities: Array) -> tuple[Array, Array]:
    """
    Return the accelerations at which cubics between points begin and end, shape (k - 1, n) each.

    Parameters are those of spline_derivatives, and the velocities at the points, shape (k, n).
    """
    h = np.diff(times)[:, None]
    slopes = np.diff(positions, axis=0) / h
    before, after = velocities[:-1], velocities[1:]
    return (
        (6.0 * slopes - 4.0 * before - 2.0 * after) / h,
        (-6.0 * slopes + 2.0 * before + 4.0 * after) / h,
    )


def sampled(motion: Trajectory) -> tuple[Array, ReferencePoint]:
    """Return times (s,) and states (s, n) at which a motion's limits are checked."""
    share = _SAMPLES // max(1, len(motion.times) - 1)
    return motion.sample_many(min(max(share, _LEAST_PER_SEGMENT), _MOST_PER_SEGMENT))


def beyond_limits(
    description: ArmDescription,
    times: Array,
    points: ReferencePoint,
    *,
    accelerations: bool = True,
) -> str:
    """
    Return which limit of an arm states go beyond first, or an empty text.

    Parameters
    ----------
    description : ArmDescription
        Whose limits hold.
    times : ndarray, shape (s,)
        As they are to be told [s].
    points : ReferencePoint
        The states, of shape (s, n).
    accelerations : bool
        Whether to check these, too.

    """
    low, high = description.velocity_bounds(points.q)
    reach = description.limit('acceleration')
    checks = [
        ('position', points.q, description.limit('lower'), description.limit('upper'), 'rad'),
        ('velocity', points.dq, low, high, 'rad/s'),
        ('acceleration', points.ddq, -reach, reach, 'rad/s^2'),
    ]
    for name, values, lower, upper, unit in checks if accelerations else checks[:2]:
        # Written so that a NaN is outside: of points too near for their stamps to differ.
        outside = ~((values >= lower - LIMIT_SLACK) & (values <= upper + LIMIT_SLACK))
        if outside.any():
            row, joint = np.argwhere(outside)[0]
            lower, upper = (np.broadcast_to(bound, values.shape) for bound in (lower, upper))
            return (
                f'{description.joint_names[joint]} to a {name} of {values[row, joint]:.4g} {unit} '
                f'at {times[row]:.3f} s; its limits there are {lower[row, joint]:.4g} to '
                f'{upper[row, joint]:.4g}'
            )
    return ''


def within_limits(motion: Trajectory, description: ArmDescription) -> bool:
    """Return whether position, velocity and acceleration keep to an arm's limits throughout."""
    return not beyond_limits(description, *sampled(motion))


def _within_jerk(motion: Trajectory, description: ArmDescription) -> bool:
    """Return whether the jerk keeps to an arm's limits throughout."""
    times, points = sampled(motion)
    jerk = np.abs(np.diff(points.ddq, axis=0)) / np.diff(times)[:, None]
    return bool((jerk <= description.limit('jerk') * (1.0 + LIMIT_SLACK)).all())


def _jerk_limited(present: _Knots, there: _Knots, description: ArmDescription) -> _Knots | None:
    """Return the motion from one point to another that is limited in jerk, or None."""
    ruckig = _ruckig()
    if ruckig is None:
        return None
    begin, seconds, n = present.times[0], float(there.times[0] - present.times[0]), description.n
    asked = ruckig.InputParameter(n)
    for name, knots in (('current', present), ('target', there)):
        for order, values in zip(('position', 'velocity', 'acceleration'), knots.states[0]):
            setattr(asked, f'{name}_{order}', values.tolist())
    low, high = description.velocity_bounds(present.states[0, 0])
    for name, limit in (
        ('velocity', np.minimum(-low, high)),
        ('acceleration', description.limit('acceleration')),
        ('jerk', description.limit('jerk')),
    ):
        setattr(asked, f'max_{name}', np.minimum(_SHARE * limit, _UNLIMITED).tolist())
    asked.minimum_duration = seconds
    profile = ruckig.Trajectory(n)
    try:
        result = ruckig.Ruckig(n).calculate(asked, profile)
    except ruckig.RuckigError:
        return None  # a state beyond the limits
    if (
        result not in (ruckig.Result.Working, ruckig.Result.Finished)
        or profile.duration > seconds + 1e-9
    ):
        return None
    count = max(2, int(np.ceil(seconds / _BLEND_STEP_S)))
    inner = np.linspace(0.0, seconds, count, endpoint=False)[1:]
    states = np.array([profile.at_time(time)[:3] for time in inner])
    return present.then(_Knots(begin + inner, states)).then(there)


@cache
def _ruckig() -> Any:
    """Return the module ruckig, or None where it is not installed."""
    try:
        import ruckig
    except ImportError:
        return None
    return ruckig
