# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Points of positions alone -> a smooth motion within an arm's limits.

Straight lines between points at 10 to 50 Hz have no acceleration, hence no inertia torque to feed
forward. A cubic spline through the points has nearly the acceleration of the original motion. The
points of a chunk are known in advance, so that this needs no delay.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from .joining import braked, join, Knots
from .motion_limits import within_jerk, within_limits
from .reference import ReferencePoint, Trajectory
from ..arm import ArmDescription
from ..typing import Array

# A point this soon after the start, relative to the next interval, is skipped.
_PASSED = 0.5
_ITERATIONS = 60  # iterations for the spline's equations, which leave 2^-60 of the error


def upsample(
    times: Array,
    positions: Array,
    begin: float,
    current: ReferencePoint,
    description: ArmDescription,
) -> Trajectory:
    """
    Return the motion from `current` at `begin` through the points, to rest at the last of them.

    Between the points it is the cubic spline through them, from the present velocity to rest; the
    first and the last segment are quintics, so that acceleration goes on from the present one and
    ends at zero too. Points before `begin` are skipped. If the points end in motion, as with a
    policy that sends the next chunk before this one ends, stopping at the last point may exceed
    the limits; the arm is then braked after it. If only the start exceeds the limits, ruckig joins
    the motion. If nothing works, the motion through all points is returned, and the limits' check
    refuses it.

    Parameters
    ----------
    times : ndarray, shape (k,)
        Strictly increasing [s].
    positions : ndarray, shape (k, n)
        [rad or m]
    begin : float
        When `current` is desired [s].
    current : ReferencePoint
        Position, velocity and acceleration at the start.
    description : ArmDescription
        Whose limits hold.

    """
    times, positions = _still_to_come(times, positions, begin)
    whole = _Spline(np.append(begin, times), np.vstack((current.q, positions)), current.dq)
    alone = _Spline(times, positions, _first_velocity(times, positions))
    through = list(whole.endings(description, current.ddq))
    allowed = [motion for motion in through if within_limits(motion, description)]
    for motion in allowed:
        if within_jerk(motion, description):
            return motion
    for motion in alone.endings(description):
        if within_limits(motion, description):
            joined = join(begin, current, motion, description)
            if joined is not None:
                return joined
    return (allowed or through)[0]


class _Spline(NamedTuple):
    """A cubic spline through points, from a velocity (n,) on."""

    times: Array
    positions: Array
    velocity: Array

    def endings(
        self, description: ArmDescription, acceleration: Array | None = None
    ) -> Iterator[Trajectory]:
        """
        Yield the motion that stops at the last point, and one that is braked after it.

        The first point gets an acceleration, shape (n,), if one is given.
        """
        times, positions = self.times, self.positions
        if len(times) == 1:
            yield Knots.at(float(times[0]), ReferencePoint.at_rest(positions[0])).motion()
            return
        h, slopes = np.diff(times), np.diff(positions, axis=0) / np.diff(times)[:, None]
        in_motion = slopes[-1]
        if len(slopes) > 1:  # of the parabola through the last three
            in_motion = in_motion + (slopes[-1] - slopes[-2]) * (h[-1] / (h[-1] + h[-2]))
        for end in (np.zeros_like(in_motion), in_motion):
            derivatives = spline_derivatives(times, positions, self.velocity, end)
            knots = Knots(times, np.stack((positions, *derivatives), axis=1))
            if acceleration is not None:
                knots.states[0, 2] = acceleration
            if end.any():
                yield braked(knots, description).motion()
            else:
                knots.states[-1, 2] = 0.0
                yield knots.motion()


def _first_velocity(times: Array, positions: Array) -> Array:
    """Return the velocity with which points begin, of the parabola through the first three."""
    if len(times) < 2:
        return np.zeros_like(positions[0])
    slopes = np.diff(positions[:3], axis=0) / np.diff(times[:3])[:, None]
    return np.asarray(slopes[0] if len(slopes) < 2 else 1.5 * slopes[0] - 0.5 * slopes[1])


def _still_to_come(times: Array, positions: Array, begin: float) -> tuple[Array, Array]:
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
