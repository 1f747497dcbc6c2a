# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A motion of all joints about a pose, at rest at both ends, within an arm's limits."""

from __future__ import annotations

import numpy as np

from .request import TrajectoryRequest
from ..arm import ArmDescription
from ..errors import SettingsError
from ..typing import Array

# Cycles per motion of each joint's two sines. No two of seven joints have the same pair, so that
# no two joints move in proportion.
_CYCLES = ((2, 3), (3, 5), (4, 5), (3, 7), (5, 6), (4, 7), (6, 7))
_FADE = 0.2  # fraction of the duration, at each end, in which the amplitude fades
_ROOM = 0.8  # usable fraction of every limit
POINT_RATE_HZ = 25.0
_FINE = 4  # points at which limits are looked at, per point of the trajectory


def multisine(description: ArmDescription, duration: float, amplitude: float) -> TrajectoryRequest:
    """
    Return a trajectory of two sines per joint about the home pose, faded in and out.

    `duration` is in seconds, `amplitude` the largest deflection of a joint [rad], reduced so that
    the joint uses at most 80 % of the distance to its position limits and of its limits of
    velocity (at the home pose) and acceleration. Raises SettingsError if the arm has no home pose,
    or `duration` or `amplitude` is not positive.
    """
    pose = description.home
    if pose is None:
        raise SettingsError(f'{description.name} has no home pose to move about.')
    if not (duration > 0.0 and amplitude > 0.0):
        raise SettingsError(
            f'duration and amplitude must be positive; got {duration} and {amplitude}.'
        )
    count = max(3, round(duration * POINT_RATE_HZ) + 1)
    time = np.linspace(0.0, duration, _FINE * (count - 1) + 1)
    by_share = _unit_motion(description.n, time / duration)
    position, velocity, acceleration = (
        rows / duration**order for order, rows in enumerate(by_share)
    )
    scale = _largest_scale(description, pose, (position, velocity, acceleration), amplitude)
    return TrajectoryRequest(
        description.joint_names,
        time[::_FINE],
        pose + scale * position[::_FINE],
        scale * velocity[::_FINE],
        scale * acceleration[::_FINE],
    )


def _unit_motion(n: int, s: Array) -> tuple[Array, Array, Array]:
    """
    Return unscaled deflections from the pose at fractions s, (k,), of the duration.

    With the deflections, (k, n), come their first and second derivatives with respect to s.
    """
    rate = 2.0 * np.pi * np.array([_CYCLES[i % len(_CYCLES)] for i in range(n)], dtype=float)
    phase = s[:, None, None] * rate
    sines, cosines = np.sin(phase), np.cos(phase)
    wave = [0.5 * rows.sum(axis=-1) for rows in (sines, rate * cosines, -(rate**2) * sines)]
    side = np.where(s < 0.5, 1.0, -1.0)[:, None] / _FADE  # dx/ds while the amplitude fades
    x = np.minimum(s, 1.0 - s)[:, None] / _FADE
    full = x >= 1.0
    fade = [
        np.where(full, 1.0, x**3 * (10.0 - 15.0 * x + 6.0 * x**2)),
        np.where(full, 0.0, 30.0 * x**2 * (1.0 - x) ** 2 * side),
        np.where(full, 0.0, 60.0 * x * (1.0 - x) * (1.0 - 2.0 * x) * side**2),
    ]
    return (
        wave[0] * fade[0],
        wave[1] * fade[0] + wave[0] * fade[1],
        wave[2] * fade[0] + 2.0 * wave[1] * fade[1] + wave[0] * fade[2],
    )


def _largest_scale(
    description: ArmDescription, pose: Array, unit: tuple[Array, Array, Array], amplitude: float
) -> Array:
    """Return the joints' largest scales (n,) within `amplitude` and _ROOM times the limits."""
    position, velocity, acceleration = (np.abs(rows).max(axis=0) for rows in unit)
    room = np.minimum(description.limit('upper') - pose, pose - description.limit('lower'))
    low, high = description.velocity_bounds(pose)
    return np.minimum.reduce(
        [
            amplitude / position,
            _ROOM * room / position,
            _ROOM * np.minimum(high, -low) / velocity,
            _ROOM * description.limit('acceleration') / acceleration,
        ]
    )
