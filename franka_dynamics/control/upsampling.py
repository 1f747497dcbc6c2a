# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Positions alone, at 10 to 50 Hz -> a motion with velocities and accelerations that are continuous.

Joined by lines, such points have no acceleration, and nothing of the inertia torque is fed
forward. A spline through them has nearly that of the motion they were taken from. What is desired
now goes over into it without a step in position, velocity or acceleration, within the limits:
by a quintic, or, where that would be too harsh and ruckig is installed, by a profile limited in
jerk. Nothing is delayed: the points of a chunk are known ahead.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from .reference import ReferencePoint, Trajectory
from ..arm import ArmDescription
from ..typing import Array

# [s] Points that come sooner than this may be left out where the arm cannot be brought onto them.
LONGEST_BLEND_S = 0.3
# A point this close behind the present one [in shares of the next step] is taken as passed.
_PASSED = 0.5
# How many points are left out, one after the other: each try costs a spline.
_FIRST_LEFT_OUT = (*range(16), 20, 28, 40, 56, 80, 112, 160, 224, 299)
_POINTS_BEHIND = 16  # behind the blend, whose acceleration it still changes
_SAMPLES, _LEAST_PER_SEGMENT, _MOST_PER_SEGMENT = 4000, 2, 20  # when limits are checked
_ITERATIONS = 60  # of the spline's equations: 2^-60 of the error is left
_BLEND_STEP_S = 0.002  # between the points of a jerk-limited profile
_SLACK = 1.0 + 1e-6
# Of each limit that a profile may use: between its points a quintic overshoots a little.
_SHARE, _UNLIMITED = 0.99, 1e6
# Of the points that are left, in which way they end.
_Ending = Callable[[Array, Array, float, ReferencePoint, ArmDescription], Trajectory]
_STOP_ACCELERATION = 20.0  # [rad/s^2] of a joint whose file states no limit


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
    whole = [
        ending(times, positions, now, current, description) for ending in (_at_rest, _in_motion)
    ]
    for motion in whole:
        if within_limits(motion, description) and within_jerk(motion, description):
            return motion
    if not any(
        within_limits(_by_themselves(times, positions, description, ending), description)
        for ending in (_at_rest, _in_motion)
    ):
        return whole[0]
    # Only the beginning is in question: the points that are near decide how it is.
    near = np.count_nonzero(times <= now + LONGEST_BLEND_S) + _POINTS_BEHIND
    blend = _first_blend(times[:near], positions[:near], now, current, description)
    if blend is None:
        return whole[0]
    left_out, jerk_limited = blend
    for ending in (_at_rest, _in_motion):
        joined = (
            _jerk_limited(times, positions, left_out, now, current, description, ending)
            if jerk_limited
            else ending(times[left_out:], positions[left_out:], now, current, description)
        )
        if joined is not None and within_limits(joined, description):
            return joined
    return whole[0]


def _first_blend(
    times: Array,
    positions: Array,
    now: float,
    current: ReferencePoint,
    description: ArmDescription,
) -> tuple[int, bool] | None:
    """Return how many points to leave out, and whether to be limited in jerk; None: neither."""
    within = None
    for left_out in _FIRST_LEFT_OUT:
        if left_out >= len(times) or times[left_out] - now > LONGEST_BLEND_S:
            break
        for ending in (_at_rest, _in_motion):
            # A quintic has nearly the true motion's acceleration, a profile of shortest time has
            # not: that is for where the quintic would be too harsh.
            motion = ending(times[left_out:], positions[left_out:], now, current, description)
            if within_limits(motion, description):
                if within_jerk(motion, description):
                    return left_out, False
                within = (left_out, False) if within is None else within
            blended = _jerk_limited(times, positions, left_out, now, current, description, ending)
            if blended is not None and within_limits(blended, description):
                return left_out, True
    return within


def _still_to_come(times: Array, positions: Array, now: float) -> tuple[Array, Array]:
    step = float(np.diff(times).min()) if len(times) > 1 else 0.0
    coming = times > now + _PASSED * step
    coming[-1] = True
    if times[-1] <= now:
        return np.array([now + max(step, 1e-3)]), positions[-1:]
    return times[coming], positions[coming]


def _at_rest(
    times: Array, positions: Array, now: float, current: ReferencePoint, _: ArmDescription
) -> Trajectory:
    """Return the motion that rests at the last point."""
    knots, q = np.concatenate(([now], times)), np.vstack((current.q, positions))
    velocities, accelerations = spline_derivatives(knots, q, current.dq, np.zeros_like(current.q))
    accelerations[0], accelerations[-1] = current.ddq, 0.0
    return Trajectory(knots, q, velocities, accelerations)


def _in_motion(
    times: Array,
    positions: Array,
    now: float,
    current: ReferencePoint,
    description: ArmDescription,
) -> Trajectory:
    """Return the motion that passes the last point as it comes, and rests some way behind it."""
    knots, q = np.concatenate(([now], times)), np.vstack((current.q, positions))
    h, slopes = np.diff(knots), np.diff(q, axis=0) / np.diff(knots)[:, None]
    end = slopes[-1]
    if len(slopes) > 1:  # of the parabola through the last three
        end = end + (slopes[-1] - slopes[-2]) * (h[-1] / (h[-1] + h[-2]))
    velocities, accelerations = spline_derivatives(knots, q, current.dq, end)
    accelerations[0] = current.ddq
    # A quintic from v to rest has at most 1.5 v / T of acceleration, beside what it begins with.
    reach = np.minimum(description.limit('acceleration'), _STOP_ACCELERATION)
    seconds = max(float((3.0 * np.abs(end) / reach).max()), float(h[-1]))
    rest = q[-1] + 0.5 * seconds * end + seconds**2 / 12.0 * accelerations[-1]
    rest = np.clip(rest, description.limit('lower'), description.limit('upper'))
    still = np.zeros((1, len(end)))
    return Trajectory(
        np.append(knots, knots[-1] + seconds),
        np.vstack((q, rest)),
        np.vstack((velocities, still)),
        np.vstack((accelerations, still)),
    )


def _by_themselves(
    times: Array, positions: Array, description: ArmDescription, ending: _Ending
) -> Trajectory:
    """Return the motion through the points for an arm that is on its way at the first of them."""
    if len(times) < 2:
        return Trajectory(times, positions, np.zeros_like(positions), np.zeros_like(positions))
    slopes = np.diff(positions[:3], axis=0) / np.diff(times[:3])[:, None]
    begin = slopes[0] if len(slopes) < 2 else 1.5 * slopes[0] - 0.5 * slopes[1]
    start = ReferencePoint(positions[0], begin, np.zeros_like(begin))
    motion = ending(times[1:], positions[1:], float(times[0]), start, description)
    assert motion.velocities is not None and motion.accelerations is not None
    _, bent = spline_derivatives(times[:2], positions[:2], begin, motion.velocities[1])
    motion.accelerations[0] = bent[0]
    return motion


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
    accelerations = np.empty_like(positions)
    step = h[:, None]
    accelerations[:-1] = (6.0 * slopes - 4.0 * velocities[:-1] - 2.0 * velocities[1:]) / step
    accelerations[-1] = (-6.0 * slopes[-1] + 2.0 * velocities[-2] + 4.0 * velocities[-1]) / h[-1]
    return velocities, accelerations


def _per_segment(motion: Trajectory) -> int:
    share = _SAMPLES // max(1, len(motion.times) - 1)
    return min(max(share, _LEAST_PER_SEGMENT), _MOST_PER_SEGMENT)


def within_limits(motion: Trajectory, description: ArmDescription) -> bool:
    """Return whether position, velocity and acceleration keep to an arm's limits throughout."""
    _, points = motion.sample_many(_per_segment(motion))
    low, high = description.velocity_bounds(points.q)
    reach = description.limit('acceleration')
    inside = (
        (points.q >= description.limit('lower') - 1e-6)
        & (points.q <= description.limit('upper') + 1e-6)
        & (points.dq >= low * _SLACK - 1e-6)
        & (points.dq <= high * _SLACK + 1e-6)
        & (np.abs(points.ddq) <= reach * _SLACK)
    )
    return bool(inside.all())


def within_jerk(motion: Trajectory, description: ArmDescription) -> bool:
    """Return whether the jerk keeps to an arm's limits throughout."""
    times, points = motion.sample_many(_per_segment(motion))
    jerk = np.abs(np.diff(points.ddq, axis=0)) / np.diff(times)[:, None]
    return bool((jerk <= description.limit('jerk') * _SLACK).all())


def _jerk_limited(
    times: Array,
    positions: Array,
    left_out: int,
    now: float,
    current: ReferencePoint,
    description: ArmDescription,
    ending: _Ending,
) -> Trajectory | None:
    """Return a motion that gets onto the points limited in jerk, or None where there is none."""
    ruckig = _ruckig()
    if ruckig is None:
        return None
    own = _by_themselves(times, positions, description, ending)
    assert own.velocities is not None and own.accelerations is not None
    first, n = float(own.times[left_out]), description.n
    asked = ruckig.InputParameter(n)
    asked.current_position, asked.current_velocity = current.q.tolist(), current.dq.tolist()
    asked.current_acceleration = current.ddq.tolist()
    asked.target_position = own.positions[left_out].tolist()
    asked.target_velocity = own.velocities[left_out].tolist()
    asked.target_acceleration = own.accelerations[left_out].tolist()
    low, high = description.velocity_bounds(current.q)
    asked.max_velocity = np.minimum(_SHARE * np.minimum(-low, high), _UNLIMITED).tolist()
    for name, limit in (('max_acceleration', 'acceleration'), ('max_jerk', 'jerk')):
        setattr(asked, name, np.minimum(_SHARE * description.limit(limit), _UNLIMITED).tolist())
    asked.minimum_duration = first - now
    profile = ruckig.Trajectory(n)
    try:
        result = ruckig.Ruckig(n).calculate(asked, profile)
    except ruckig.RuckigError:
        return None  # a state beyond the limits
    if (
        result not in (ruckig.Result.Working, ruckig.Result.Finished)
        or profile.duration > first - now + 1e-9
    ):
        return None
    count = max(2, int(np.ceil((first - now) / _BLEND_STEP_S)))
    inner = np.linspace(0.0, first - now, count, endpoint=False)[1:]
    rows = [np.array(profile.at_time(time)[:3]) for time in inner]
    begin = np.stack([np.array(current), *rows]).transpose(1, 0, 2)
    return Trajectory(
        np.concatenate(([now], now + inner, own.times[left_out:])),
        np.vstack((begin[0], own.positions[left_out:])),
        np.vstack((begin[1], own.velocities[left_out:])),
        np.vstack((begin[2], own.accelerations[left_out:])),
    )


@cache
def _ruckig() -> Any:
    """Return the module ruckig, or None where it is not installed."""
    try:
        import ruckig
    except ImportError:
        return None
    return ruckig
