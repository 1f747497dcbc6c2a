# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Makes a smooth motion within an arm's limits from a stream of single positions.

Velocity and acceleration at a point come from a polynomial through the point and up to two points
on either side. The motion therefore lags by three periods and 8 ms (`delay`): two periods to wait
for the next points, one because a segment needs the points at both ends, and 8 ms, twice the time
in which a motion is planned (LEAD_S). Every new point makes a new motion, which ends at rest if no
further point comes.
"""

from __future__ import annotations

import numpy as np

from .joining import leading_to, LEAST_SEGMENT_S, to_rest
from .motion_limits import within_jerk, within_limits
from .reference import ReferencePoint, StreamedMotion, Trajectory
from ..arm import ArmDescription
from ..errors import ReferenceRefusedError
from ..typing import Array

_SIDE, _KEPT = 2, 7  # points on either side of a point, and points kept in all
# Points were sampled evenly but arrive with jitter. The expected time of a point is corrected by
# the fraction _FOLLOWED of the difference between the point's arrival and its expected time; this
# difference counts as at most half a period.
_FOLLOWED = 0.02
# Longest gap between two points of one stream, and longest tolerated time between the arrival of
# an early point and its expected time, both in periods.
_MOST_MISSING, _MOST_EARLY = 3, 3.0
# Time from the latest state to the start of a new motion, in which the motion is planned [s].
LEAD_S = 0.004
_CATCH_UP_S = 1.0  # longest time to catch up with the streamed points [s]
_DELAY_PERIODS, _DELAY_S = 3, 2.0 * LEAD_S


def delay(period: float) -> float:
    """Return the delay of the motion behind points that are `period` seconds apart [s]."""
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
    Return the motion that follows a stream after one more point.

    The point `q`, shape (n,) [rad or m], was sampled or arrived at `stamp` [s]; successive points
    are `period` seconds apart. The motion starts at `begin` [s] from the desired state `current`.
    If `before`, the latest motion, was made from a stream whose last point is at most three
    periods (rounded) old, `q` continues this stream. Raises ReferenceRefusedError if the points
    come too early, or no motion within the limits of position, velocity and acceleration reaches
    the point; the jerk limit is kept where possible, but a motion that exceeds it is returned.
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
    due[-1] = max(due[-1], begin + LEAST_SEGMENT_S)
    coming = Trajectory(due, *_with_derivatives(times, points, period)).part(ahead)
    motion = _through(begin, current, coming, description)
    if motion is None:
        raise ReferenceRefusedError(
            'The stream leads to no motion within the limits of position, velocity and '
            f'acceleration; let its points, {period:g} s apart, be nearer to each other.'
        )
    rows = (motion.positions, motion.velocities, motion.accelerations)
    return StreamedMotion(motion.times, *rows, point_times=times, points=points)


def _through(
    begin: float, current: ReferencePoint, coming: Trajectory, description: ArmDescription
) -> Trajectory | None:
    """Return a motion from `current` to `coming`, along it, to rest; None: none within limits."""
    through = to_rest(Trajectory.at(begin, current).then(coming), description)
    allowed = within_limits(through, description)
    if allowed and within_jerk(through, description):
        return through
    # In the first attempt ruckig computes a transition to the coming points, extended beyond the
    # last point at constant velocity; in the second attempt, a transition to rest at the last
    # point.
    end, (q, dq, _) = coming.end, coming.point(-1)
    ahead = ReferencePoint(q + _CATCH_UP_S * dq, dq, np.zeros_like(q))
    for motion in (
        coming.then(Trajectory.at(end + _CATCH_UP_S, ahead)),
        Trajectory.at(end, ReferencePoint.at_rest(q)),
    ):
        leading = leading_to(begin, current, motion, description)
        if leading is not None:
            after = (coming.times > leading.end + LEAST_SEGMENT_S) & (len(motion.times) > 1)
            caught = to_rest(leading.then(coming.part(after)), description)
            if within_limits(caught, description):
                return caught
    return through if allowed else None


def _with_derivatives(times: Array, points: Array, period: float) -> Array:
    """Return position, velocity, acceleration (3, k, n) at k points from fitted polynomials."""
    states = np.zeros((3, *points.shape))
    states[0] = points
    for i, time in enumerate(times):
        near = slice(max(0, i - _SIDE), i + _SIDE + 1)
        s = (times[near] - time) / period
        factors = np.linalg.solve(np.vander(s, increasing=True), points[near])[1:3]
        states[1 : 1 + len(factors), i] = factors
    states[1] /= period
    states[2] *= 2.0 / period**2
    return states
