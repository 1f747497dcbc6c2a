# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Positions that come one by one, at 10 to 50 Hz -> a motion with continuous acceleration, late.

Velocity and acceleration at a point are those of a polynomial through it and two points on either
side; quintics join the points. So the motion is three periods and 8 ms behind the points
(`delay`): two periods to wait for those that follow, one because a segment needs them at both its
ends. Every point that comes makes a new motion, which begins in the one before without a step in
position, velocity or acceleration, and ends at rest within the limits, should no other come.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from .reference import ReferencePoint, Trajectory
from .upsampling import within_jerk, within_limits
from ..arm import ArmDescription
from ..errors import ReferenceRefusedError
from ..typing import Array

_SIDE, _KEPT = 2, 7  # points on either side of one, and in all
# Points arrive with jitter, but were taken evenly: how fast their times follow their arrivals.
_FOLLOWED = 0.02
_MOST_MISSING, _MOST_EARLY = 3, 3.0  # periods
# A motion takes over a little later than now, so that the one before is followed until then.
LEAD_S = 0.004
_LEAST_SEGMENT_S = 0.001
_DELAY_PERIODS, _DELAY_S = 3, 2.0 * LEAD_S
_STOP_ACCELERATION = 20.0  # [rad/s^2] of a joint whose file states no limit
_CATCH_UP_S = (0.03, 0.05, 0.08, 0.12, 0.2, 0.3, 0.5)  # until the arm moves as the points do
_COME_TO_REST_S = (*_CATCH_UP_S, 0.8, 1.2, 2.0)


@dataclass(frozen=True, eq=False)
class StreamedMotion(Trajectory):
    """A motion made of streamed points, with their times [s] and positions, shape (k, n)."""

    point_times: Array | None = None
    points: Array | None = None


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
    if isinstance(before, StreamedMotion) and before.point_times is not None:
        assert before.points is not None
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
    velocities, accelerations = _derivatives(times, points, period)
    ahead = due > begin + _LEAST_SEGMENT_S
    ahead[-1] = True
    knots = due[ahead]
    knots[-1] = max(knots[-1], begin + _LEAST_SEGMENT_S)
    coming = Trajectory(knots, points[ahead], velocities[ahead], accelerations[ahead])
    fallback = None
    for motion in _candidates(begin, current, coming, description, period):
        if within_limits(motion, description):
            if within_jerk(motion, description):
                fallback = motion
                break
            fallback = motion if fallback is None else fallback
    if fallback is None:
        raise ReferenceRefusedError(
            'The stream leads to no motion within the limits of position, velocity and '
            f'acceleration; let its points, {period:g} s apart, be nearer to each other.'
        )
    return StreamedMotion(
        fallback.times,
        fallback.positions,
        fallback.velocities,
        fallback.accelerations,
        point_times=times,
        points=points,
    )


def _derivatives(times: Array, points: Array, period: float) -> tuple[Array, Array]:
    """Return velocity and acceleration at each point, of the polynomial through its neighbours."""
    velocities, accelerations = np.zeros_like(points), np.zeros_like(points)
    for i, time in enumerate(times):
        near = slice(max(0, i - _SIDE), i + _SIDE + 1)
        s = (times[near] - time) / period
        factors = np.linalg.solve(np.vander(s, increasing=True), points[near])
        if len(factors) > 1:
            velocities[i] = factors[1] / period
        if len(factors) > 2:
            accelerations[i] = 2.0 * factors[2] / period**2
    return velocities, accelerations


def _candidates(
    begin: float,
    current: ReferencePoint,
    coming: Trajectory,
    description: ArmDescription,
    period: float,
) -> Iterator[Trajectory]:
    """Yield motions from the present one, the best first; each ends at rest."""
    count = len(coming.times)
    for last in range(count, 0, -1):
        yield _to_rest(begin, current, coming, slice(0, last), description, period)
    for first in range(1, count):
        yield _to_rest(begin, current, coming, slice(first, count), description, period)
    # What comes after the last point is taken to go on as it does there, and is caught up with.
    assert coming.velocities is not None
    still = np.zeros((1, len(current.q)))
    for velocity, within in (
        (coming.velocities[-1:], _CATCH_UP_S),
        (still, _COME_TO_REST_S),
    ):
        for seconds in within:
            after = max(0.0, begin + seconds - coming.end)
            there = coming.positions[-1:] + after * velocity
            goal = Trajectory(np.array([begin + seconds]), there, velocity, still)
            yield _to_rest(begin, current, goal, slice(None), description, period)


def _to_rest(
    begin: float,
    current: ReferencePoint,
    coming: Trajectory,
    used: slice,
    description: ArmDescription,
    period: float,
) -> Trajectory:
    """Return the motion through some of the points, and to rest some way behind the last."""
    assert coming.velocities is not None and coming.accelerations is not None
    q, dq, ddq = coming.positions[used], coming.velocities[used], coming.accelerations[used]
    # A quintic from v to rest has at most 1.5 v / T of acceleration, beside what it begins with.
    reach = np.minimum(description.limit('acceleration'), _STOP_ACCELERATION)
    seconds = max(float((3.0 * np.abs(dq[-1]) / reach).max()), period)
    rest = q[-1] + 0.5 * seconds * dq[-1] + seconds**2 / 12.0 * ddq[-1]
    rest = np.clip(rest, description.limit('lower'), description.limit('upper'))
    still = np.zeros_like(rest)
    times = coming.times[used]
    return Trajectory(
        np.concatenate(([begin], times, [times[-1] + seconds])),
        np.vstack((current.q, q, rest)),
        np.vstack((current.dq, dq, still)),
        np.vstack((current.ddq, ddq, still)),
    )
