# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Checks samples of a motion against an arm's limits."""

from __future__ import annotations

import numpy as np

from .reference import ReferencePoint, Trajectory
from ..arm import ArmDescription
from ..typing import Array

LIMIT_SLACK = 1e-6  # for motions that just reach a limit, with rounding [rad, rad/s, rad/s^2]
_SAMPLES, _LEAST_PER_SEGMENT, _MOST_PER_SEGMENT = 4000, 2, 20


def sampled(motion: Trajectory) -> tuple[Array, ReferencePoint]:
    """Return times (s,) [s] and desired states (s, n) of a motion, to check limits at."""
    share = _SAMPLES // max(1, len(motion.times) - 1)
    return motion.sample_many(min(max(share, _LEAST_PER_SEGMENT), _MOST_PER_SEGMENT))


def beyond_limits(description: ArmDescription, times: Array, points: ReferencePoint) -> str:
    """
    Return a phrase about one limit that a state in `points` exceeds, or ''.

    `points` have shape (s, n), their `times` (s,) [s]. The velocity limits are those at the
    positions in `points`.
    """
    low, high = description.velocity_bounds(points.q)
    most = description.limit('acceleration')
    checks = [
        ('position', points.q, description.limit('lower'), description.limit('upper'), 'rad'),
        ('velocity', points.dq, low, high, 'rad/s'),
        ('acceleration', points.ddq, -most, most, 'rad/s^2'),
    ]
    for name, values, lower, upper, unit in checks:
        # A segment whose two times are equal after rounding gives NaN velocities and
        # accelerations; NaN counts as outside the limits.
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
    """Return whether sampled positions, velocities and accelerations keep to an arm's limits."""
    return not beyond_limits(description, *sampled(motion))


def within_jerk(motion: Trajectory, description: ArmDescription) -> bool:
    """Return whether the mean jerk between samples keeps to an arm's limits."""
    times, points = sampled(motion)
    jerk = np.abs(np.diff(points.ddq, axis=0)) / np.diff(times)[:, None]
    return bool((jerk <= description.limit('jerk') * (1.0 + LIMIT_SLACK)).all())
