# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Signs that a recording is not what it should be: units, drivers, saturation."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike

from .recording import Recording
from .replay import recorded_terms, whole_vector_error
from ..arm import ArmDescription
from ..dynamics.model import GRAVITY
from ..errors import RecordingError

# A driver clips at the limit or just below it; a joint there for longer was not free to move.
_SATURATION_FRACTION, _SATURATED_SHARE = 0.99, 0.01
_DEGREES_FACTOR = 2.0  # times the joint's range: no calibration error is as large
_VELOCITY_FACTOR = 5.0  # noise and lag of a velocity are far below; deg/s is 57.3
_GRAVITY_SHARE = 0.5  # how much better effort must fit without g to be called so
_STATES_LOOKED_AT = 500


def suspicions(
    recording: Recording, arm: ArmDescription, *, gravity: ArrayLike = GRAVITY
) -> tuple[str, ...]:
    """
    Return one sentence for each thing about a recording that looks wrong.

    Looked for are positions in degrees, velocities that are not the positions', torques at the
    joints' limits, and effort without gravity, which some drivers report.

    Raises
    ------
    RecordingError
        If effort is zero throughout: there is nothing to compare with.

    """
    if not recording.effort.any():
        raise RecordingError(
            f'{recording.source}, {recording.topic}: effort is zero in every message, as many '
            'drivers report that measure no torque; record a topic with measured joint torques.'
        )
    return (
        *_degrees(recording, arm),
        *_velocity(recording),
        *_saturation(recording, arm),
        *_without_gravity(recording, arm, gravity),
    )


def _degrees(recording: Recording, arm: ArmDescription) -> Iterator[str]:
    reach = np.abs(recording.q).max(axis=0)
    bound = _DEGREES_FACTOR * np.maximum(np.abs(arm.limit('lower')), np.abs(arm.limit('upper')))
    beyond = np.flatnonzero(reach > bound)
    if len(beyond):
        joint = int(beyond[np.argmax(reach[beyond])])
        yield (
            f'positions reach {reach[joint]:.4g} on {recording.joint_names[joint]}, whose '
            f'limit is {arm.limit("upper")[joint]:g} rad: they look like degrees, and every '
            'figure below is meaningless if they are'
        )


def _velocity(recording: Recording) -> Iterator[str]:
    """Yield a sentence where velocity is a multiple of how fast position changes."""
    step = np.diff(recording.time)[:, None]
    # Encoder noise makes the difference of neighbours large, but not the way over many of them.
    changed = np.abs(np.diff(recording.q, axis=0)).sum()
    told = (np.abs(0.5 * (recording.dq[1:] + recording.dq[:-1])) * step).sum()
    if changed > 0.0 and told > _VELOCITY_FACTOR * changed:
        yield (
            f'velocities amount to {told / changed:.3g} times the way that positions go; they '
            'look like deg/s or like the speed of motors, and friction and Coriolis torques '
            'are meaningless if they are'
        )


def _saturation(recording: Recording, arm: ArmDescription) -> Iterator[str]:
    at_limit = np.abs(recording.effort) >= _SATURATION_FRACTION * arm.limit('effort')
    share = at_limit.mean(axis=0)
    for joint in np.flatnonzero(share > _SATURATED_SHARE):
        yield (
            f'the torque of {recording.joint_names[joint]} is at its limit of '
            f'{arm.limit("effort")[joint]:g} N m in {share[joint]:.0%} of the messages; where '
            'it was clipped the model cannot fit'
        )


def _without_gravity(
    recording: Recording,
    arm: ArmDescription,
    gravity: ArrayLike,
) -> Iterator[str]:
    chosen = slice(None, None, max(1, len(recording) // _STATES_LOOKED_AT))
    g = recorded_terms(arm, recording.part(chosen), gravity=gravity).gravity
    effort = recording.effort[chosen]
    with_g, without = whole_vector_error(effort - g), whole_vector_error(effort)
    if without < _GRAVITY_SHARE * with_g:
        yield (
            f'effort looks like torque without gravity: it is {without:.3g} N m in the mean, '
            f'but {with_g:.3g} N m away from the gravity torques of {arm.inertial_set}; many '
            'drivers report commanded torque, which leaves gravity to the robot'
        )
