# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Positions that come one by one -> a smooth motion within an arm's limits.

Velocity and acceleration at a point are those of a polynomial through it and two points on either
side. The motion is therefore three periods and 8 ms behind (`delay`): two periods to wait for the
points that follow, one because a segment needs both its ends. Every new point makes a new motion,
which ends at rest in case no other point comes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .joining import braked, Knots, leading_to, LEAST_SEGMENT_S
from .motion_limits import within_jerk, within_limits
from .reference import ReferencePoint, Trajectory
from ..arm import ArmDescription
from ..errors import ReferenceRefusedError
from ..typing import Array

_SIDE, _KEPT = 2, 7  # points of a stream on either side of one, and in all
# Points arrive with jitter, but were taken evenly: how fast their times follow their arrivals.
_FOLLOWED = 0.02
_MOST_MISSING, _MOST_EARLY = 3, 3.0  # periods
# A motion takes over this much later than the latest state, so that there is time to plan it.
LEAD_S = 0.004
_CATCH_UP_S = 1.0  # at most, with points that go on
_DELAY_PERIODS, _DELAY_S = 3, 2.0 * LEAD_S


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
    begin: float,
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
    begin : float
        When the motion begins [s].
    current : ReferencePoint
        What is desired then.
    description : ArmDescription
        Whose limits hold.
    period : float
        Between two points [s].
    before : Trajectory or None
        What is followed now; the stream goes on if it is the stream's.

    Raises
    ------
    ReferenceRefusedError
        If the points come too soon, or no motion within the limits gets to the point.

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
    due = times + delay(period)
    ahead = due > begin + LEAST_SEGMENT_S
    ahead[-1] = True
    knots = due[ahead]
    knots[-1] = max(knots[-1], begin + LEAST_SEGMENT_S)
    coming = Knots(knots, _with_derivatives(times, points, period)[ahead])
    motion = _through(begin, current, coming, description)
    if motion is None:
        raise ReferenceRefusedError(
            'The stream leads to no motion within the limits of position, velocity and '
            f'acceleration; let its points, {period:g} s apart, be nearer to each other.'
        )
    rows = (motion.positions, motion.velocities, motion.accelerations)
    return StreamedMotion(motion.times, *rows, point_times=times, points=points)


def _through(
    begin: float, current: ReferencePoint, coming: Knots, description: ArmDescription
) -> Trajectory | None:
    """Return the motion through the coming points to rest, or one that ruckig leads to them."""
    through = braked(Knots.at(begin, current).then(coming), description).motion()
    allowed = within_limits(through, description)
    if allowed and within_jerk(through, description):
        return through
    # After the last point the motion is taken to go on with its velocity, and is caught up with;
    # else the arm comes to rest at that point.
    end, (q, dq, _) = float(coming.times[-1]), coming.states[-1]
    ahead = ReferencePoint(q + _CATCH_UP_S * dq, dq, np.zeros_like(q))
    for motion in (
        coming.then(Knots.at(end + _CATCH_UP_S, ahead)).motion(),
        Knots.at(end, ReferencePoint.at_rest(q)).motion(),
    ):
        leading = leading_to(begin, current, motion, description)
        if leading is not None:
            after = coming.times > leading.times[-1] + LEAST_SEGMENT_S
            after &= len(motion.times) > 1
            rest = Knots(coming.times[after], coming.states[after])
            caught = braked(leading.then(rest), description).motion()
            if within_limits(caught, description):
                return caught
    return through if allowed else None


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
