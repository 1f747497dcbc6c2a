# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A motion of all joints about a pose, at rest at both ends, within an arm's limits."""

from __future__ import annotations

import numpy as np

from .planning import TrajectoryRequest
from ..arm import ArmDescription
from ..errors import SettingsError
from ..typing import Array

# Cycles per motion of each joint's two sines: no two joints alike, so that all couplings show.
_CYCLES = ((2, 3), (3, 5), (4, 5), (3, 7), (5, 6), (4, 7), (6, 7))
_FADE = 0.2  # of the motion, at each end
_ROOM = 0.8  # of every limit
_CHECK_POINTS = 2001
POINT_RATE_HZ = 25.0


def multisine(description: ArmDescription, duration: float, amplitude: float) -> TrajectoryRequest:
    """
    Return a trajectory of two sines per joint about the home pose, faded in and out.

    Parameters
    ----------
    description : ArmDescription
        Whose limits are kept, 20 % from each.
    duration : float
        [s].
    amplitude : float
        Largest deflection of a joint [rad]; less where a limit of position, velocity or
        acceleration demands it.

    Raises
    ------
    SettingsError
        If the arm has no home pose, or a number is not positive.

    """
    pose = description.home
    if pose is None:
        raise SettingsError(f'{description.name} has no home pose to move about.')
    if not (duration > 0.0 and amplitude > 0.0):
        raise SettingsError(
            f'duration and amplitude must be positive; got {duration} and {amplitude}.'
        )
    unit = _unit_motion(description.n, np.linspace(0.0, 1.0, _CHECK_POINTS), duration)
    scale = _largest_scale(description, pose, unit, amplitude)
    count = max(3, round(duration * POINT_RATE_HZ) + 1)
    position, velocity, acceleration = (
        scale * rows
        for rows in _unit_motion(description.n, np.linspace(0.0, 1.0, count), duration)
    )
    return TrajectoryRequest(
        description.joint_names,
        np.linspace(0.0, duration, count),
        pose + position,
        velocity,
        acceleration,
    )


def _unit_motion(n: int, s: Array, duration: float) -> tuple[Array, Array, Array]:
    """Return position, velocity and acceleration of the undamped motion, each (len(s), n)."""
    cycles = np.array([_CYCLES[i % len(_CYCLES)] for i in range(n)], dtype=float)
    angle = 2.0 * np.pi * s[:, None, None] * cycles
    w = 2.0 * np.pi * cycles
    wave = np.stack(
        [
            0.5 * np.sin(angle).sum(-1),
            0.5 * (w * np.cos(angle)).sum(-1),
            -0.5 * (w**2 * np.sin(angle)).sum(-1),
        ]
    )
    fade, fade1, fade2 = (rows[:, None] for rows in _fade(s))
    return (
        fade * wave[0],
        (fade1 * wave[0] + fade * wave[1]) / duration,
        (fade2 * wave[0] + 2.0 * fade1 * wave[1] + fade * wave[2]) / duration**2,
    )


def _fade(s: Array) -> tuple[Array, Array, Array]:
    """Return a window with rest at both ends, and its first two derivatives by s."""

    def rise(x: Array) -> tuple[Array, Array, Array]:
        return (
            x**3 * (10.0 - 15.0 * x + 6.0 * x**2),
            30.0 * x**2 * (1.0 - x) ** 2 / _FADE,
            60.0 * x * (1.0 - x) * (1.0 - 2.0 * x) / _FADE**2,
        )

    up, down = (rise(np.clip(edge / _FADE, 0.0, 1.0)) for edge in (s, 1.0 - s))
    signed = (1.0, -1.0, 1.0)
    rows = [np.where(s < 0.5, a, sign * b) for a, b, sign in zip(up, down, signed)]
    return rows[0], rows[1], rows[2]


def _largest_scale(
    description: ArmDescription, pose: Array, unit: tuple[Array, Array, Array], amplitude: float
) -> Array:
    """Return the factor of each joint's motion, shape (n,)."""
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
