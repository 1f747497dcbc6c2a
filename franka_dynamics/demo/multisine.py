# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A multisine motion of all joints about the home pose, within an arm's limits."""

import numpy as np

from ..arm import ArmDescription
from ..errors import SettingsError
from ..motion.planning import TrajectoryRequest

# Cycles per motion of each joint's two sines. No two of seven joints have the same pair, so that
# no two joints move in proportion.
_SINE_CYCLE_COUNTS = ((2, 3), (3, 5), (4, 5), (3, 7), (5, 6), (4, 7), (6, 7))
_FADE_TIME_TO_DURATION = 0.2  # fraction of the duration, at each end, in which the amplitude fades
_USABLE_FRACTION_OF_LIMITS = 0.8  # usable fraction of every limit
POINT_RATE_HZ = 25.0
# Samples at which motion and limits are computed, per point of the trajectory.
_SAMPLES_PER_POINT = 40


def multisine(arm: ArmDescription, duration: float, amplitude: float) -> TrajectoryRequest:
    """
    Return a trajectory that moves each joint about home by a sum of two sines, faded in and out.

    `duration` is in seconds, `amplitude` the largest deflection of a joint [rad], reduced so that
    the joint uses at most 80 % of the distance to its position limits and of its limits of
    velocity (at the home pose) and acceleration. Raises SettingsError if the arm has no home pose,
    or `duration` or `amplitude` is not positive.
    """
    pose = arm.home
    if pose is None:
        raise SettingsError(f'{arm.name} has no home pose to move about.')
    if not (duration > 0.0 and amplitude > 0.0):
        raise SettingsError(f'duration and amplitude must be > 0; got {duration} and {amplitude}.')
    count = max(3, round(duration * POINT_RATE_HZ) + 1)
    time = np.linspace(0.0, duration, _SAMPLES_PER_POINT * (count - 1) + 1)
    time_share = time / duration
    fade_share = np.minimum(time_share, 1.0 - time_share) / _FADE_TIME_TO_DURATION
    x = np.minimum(1.0, fade_share)
    fade = x**3 * (10.0 - 15.0 * x + 6.0 * x**2)  # quintic, from rest to rest
    cycles = np.resize(_SINE_CYCLE_COUNTS, (arm.n, 2)).astype(float)
    waves = 0.5 * np.sin(2.0 * np.pi * time_share[:, None, None] * cycles).sum(axis=-1)
    position = fade[:, None] * waves
    velocity = np.gradient(position, time, axis=0)
    acceleration = np.gradient(velocity, time, axis=0)
    velocity[[0, -1]] = 0.0
    acceleration[[0, -1]] = 0.0
    peak_position, peak_velocity, peak_acceleration = (
        np.abs(rows).max(axis=0) for rows in (position, velocity, acceleration)
    )
    position_bound = np.minimum(arm.limit('upper') - pose, pose - arm.limit('lower'))
    lowest_velocity, highest_velocity = arm.velocity_bounds(pose)
    velocity_bound = np.minimum(highest_velocity, -lowest_velocity)
    usable = _USABLE_FRACTION_OF_LIMITS
    scale = np.minimum.reduce(
        [
            amplitude / peak_position,
            usable * position_bound / peak_position,
            usable * velocity_bound / peak_velocity,
            usable * arm.limit('acceleration') / peak_acceleration,
        ]
    )
    points = slice(None, None, _SAMPLES_PER_POINT)
    return TrajectoryRequest(
        arm.joint_names,
        time[points],
        pose + scale * position[points],
        scale * velocity[points],
        scale * acceleration[points],
    )
