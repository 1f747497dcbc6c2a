# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Makes a smooth motion within an arm's limits from points that have positions alone.

Straight lines between points at 10 to 50 Hz have no acceleration, hence no inertia torque to feed
forward. A cubic spline through the points has nearly the acceleration of the original motion. All
points of a request are known in advance, so the motion, unlike one from a stream, needs no delay.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .joining import join, to_rest
from .motion_limits import within_jerk, within_limits
from .reference import ReferencePoint, Trajectory
from ..arm import ArmDescription
from ..typing import Array

# Points that follow the start of the motion by at most _PASSED times the shortest interval between
# points are skipped.
_PASSED = 0.5
_ITERATIONS = 60  # of Jacobi's method for the spline; the error shrinks by the factor 2^-60


def upsample(
    times: Array,
    positions: Array,
    begin: float,
    current: ReferencePoint,
    description: ArmDescription,
) -> Trajectory:
    """
    Return a motion from the state `current` at the time `begin` [s] through the points to rest.

    The points have strictly increasing times, shape (k,) [s], and positions, shape (k, n) [rad or
    m]. The motion is the cubic spline through the points, from the velocity of `current` to rest.
    The first and the last segment are quintics, so that the acceleration starts with that of
    `current` and ends at zero. Points up to half the shortest interval after `begin` are skipped,
    except the last point. If stopping at the last point exceeds the limits, because the points end
    in motion (a policy sends its next points before these points end), the motion is braked after
    the last point. If neither stopping at the last point nor braking after it keeps to the limits,
    jerk included, ruckig computes a transition from `current` to a spline through the points.
    If ruckig finds none, `upsample` returns a motion that exceeds only the jerk limit, which
    `planning.plan` accepts, or else a motion that exceeds other limits, which `plan` refuses.
    """
    times, positions = _remaining_points(times, positions, begin)
    whole = np.append(begin, times), np.vstack((current.q, positions)), current.dq
    through = list(_endings(*whole, description, current.ddq))
    allowed = [motion for motion in through if within_limits(motion, description)]
    for motion in allowed:
        if within_jerk(motion, description):
            return motion
    first_velocity = _last_slope(times[::-1], positions[::-1])
    for motion in _endings(times, positions, first_velocity, description):
        if within_limits(motion, description):
            joined = join(begin, current, motion, description)
            if joined is not None:
                return joined
    return (allowed or through)[0]


def _endings(
    times: Array,
    positions: Array,
    velocity: Array,
    description: ArmDescription,
    acceleration: Array | None = None,
) -> Iterator[Trajectory]:
    """
    Yield two alternatives: a spline that stops at the last point, and one that is braked after it.

    Each spline starts with `velocity` and, unless None, `acceleration`, shape (n,) each. For a
    single point yield only a motion at rest at this point.
    """
    if len(times) == 1:
        yield Trajectory.at(float(times[0]), ReferencePoint.at_rest(positions[0]))
        return
    for end in (np.zeros_like(velocity), _last_slope(times, positions)):
        derivatives = spline_derivatives(times, positions, velocity, end)
        motion = Trajectory(times, positions, *derivatives)
        if acceleration is not None:
            motion.accelerations[0] = acceleration
        if end.any():
            yield to_rest(motion, description)
        else:
            motion.accelerations[-1] = 0.0
            yield motion


def _last_slope(times: Array, positions: Array) -> Array:
    """Return the velocity, (n,), at the last point of a parabola through the last three points."""
    if len(times) < 2:
        return np.zeros_like(positions[0])
    h = np.diff(times[-3:])
    slopes = np.diff(positions[-3:], axis=0) / h[:, None]
    bend = (slopes[-1] - slopes[0]) * (h[-1] / (h[-1] + h[0]))
    return np.asarray(slopes[-1] + bend)


def _remaining_points(times: Array, positions: Array, begin: float) -> tuple[Array, Array]:
    step = float(np.diff(times).min()) if len(times) > 1 else 0.0
    coming = times > begin + _PASSED * step
    coming[-1] = True
    if times[-1] <= begin:
        return np.array([begin + max(step, 1e-3)]), positions[-1:]
    return times[coming], positions[coming]


def spline_derivatives(
    times: Array, positions: Array, begin: Array, end: Array
) -> tuple[Array, Array]:
    """
    Return velocities and accelerations, shape (k, n), of the clamped cubic spline at its points.

    The k >= 2 points have strictly increasing times, shape (k,) [s], and positions, shape (k, n)
    [rad or m]; `begin` and `end`, shape (n,), are the velocities at the first and the last point.
    """
    h = np.diff(times)
    slopes = np.diff(positions, axis=0) / h[:, None]
    # Continuous acceleration gives a tridiagonal system for the inner velocities. The system is
    # strictly diagonally dominant, so Jacobi's iteration converges.
    lower, diagonal = h[1:], 2.0 * (h[:-1] + h[1:])
    right = 3.0 * (h[1:, None] * slopes[:-1] + h[:-1, None] * slopes[1:])
    velocities = np.empty_like(positions)
    velocities[0], velocities[-1] = begin, end
    if len(right):
        right[0] -= h[1] * begin
        right[-1] -= h[-2] * end
        # Jacobi's iteration at least halves the largest error in each step and is vectorised over
        # all points.
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
    Return the accelerations at begin and end of the cubics between k points, (k - 1, n) each.

    `times` [s] have shape (k,), `positions` and `velocities` at the points have shape (k, n).
    """
    h = np.diff(times)[:, None]
    slopes = np.diff(positions, axis=0) / h
    before, after = velocities[:-1], velocities[1:]
    return (
        (6.0 * slopes - 4.0 * before - 2.0 * after) / h,
        (-6.0 * slopes + 2.0 * before + 4.0 * after) / h,
    )
