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
# What a velocity may be of the rate at which its position changes; deg/s is 57.3 times it. Noise
# and lag of either are far from that over such windows, if positions move by so much there.
_VELOCITY_PART, _VELOCITY_FACTOR = 0.2, 5.0
_WINDOW_S, _MOVED_RAD = 0.3, 2e-3
_GRAVITY_SHARE = 0.5  # how much better effort must fit without g to be called so
_STATES_LOOKED_AT = 500


def suspicions(
    recording: Recording, arm: ArmDescription, *, gravity: ArrayLike = GRAVITY
) -> tuple[str, ...]:
    """
    Return one sentence for each thing about a recording that looks wrong.

    Looked for are `faults`, and torques at the joints' limits.

    Raises
    ------
    RecordingError
        If effort is zero throughout: there is nothing to compare with.

    """
    return (*faults(recording, arm, gravity=gravity), *_saturation(recording, arm))


def faults(
    recording: Recording,
    arm: ArmDescription,
    *,
    gravity: ArrayLike = GRAVITY,
    torque: bool = True,
) -> tuple[str, ...]:
    """
    Return one sentence for each thing that makes every figure about a recording meaningless.

    Looked for are positions in degrees, velocities that are not the positions', effort without
    gravity, which some drivers report, and effort of the opposite sign; of efforts that are no
    torques [N m], such as currents, only whether there are any.

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
        *(_about_gravity(recording, arm, gravity) if torque else ()),
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
    """Yield a sentence where velocities are not those at which positions change."""
    time = recording.time
    step = np.diff(time)[:, None]
    way = np.concatenate(
        [np.zeros((1, recording.dq.shape[1])), 0.5 * (recording.dq[1:] + recording.dq[:-1]) * step]
    ).cumsum(axis=0)
    edges = np.searchsorted(time, np.arange(0.0, time[-1], _WINDOW_S))
    edges = np.append(np.unique(edges), len(time) - 1)
    whole = np.diff(time[edges]) < 2.0 * _WINDOW_S  # no gap inside
    moved, told = np.diff(recording.q[edges], axis=0)[whole], np.diff(way[edges], axis=0)[whole]
    if not len(moved):
        return
    squares = np.sum(moved * moved, axis=0)
    moves = squares > len(moved) * _MOVED_RAD**2
    ratio = np.sum(moved * told, axis=0) / np.where(moves, squares, 1.0)
    odd = np.flatnonzero(moves & ~((ratio > _VELOCITY_PART) & (ratio < _VELOCITY_FACTOR)))
    if len(odd):
        joint = int(odd[np.argmax(squares[odd])])
        yield (
            'velocities look like deg/s, the speed of motors, the other sign or none at all: that '
            f'of {recording.joint_names[joint]} is {ratio[joint]:.2g} times the rate at which its '
            f'position changes ({len(odd)} of {len(moves)} joints are off), and friction and '
            'Coriolis torques are meaningless if it is'
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


def _about_gravity(
    recording: Recording,
    arm: ArmDescription,
    gravity: ArrayLike,
) -> Iterator[str]:
    """Yield a sentence where effort lacks gravity or is of the opposite sign."""
    chosen = slice(None, None, max(1, len(recording) // _STATES_LOOKED_AT))
    g = recorded_terms(arm, recording.part(chosen), gravity=gravity).gravity
    effort = recording.effort[chosen]
    with_g, without, opposite = (
        whole_vector_error(effort - factor * g) for factor in (1.0, 0.0, -1.0)
    )
    if opposite < min(_GRAVITY_SHARE * with_g, without):
        yield (
            f'effort looks like torque of the opposite sign: it is {opposite:.3g} N m in the mean '
            f'away from minus the gravity torques of {arm.inertial_set}, and {with_g:.3g} N m '
            'away from them; turn its sign, as --effort-scale -1 ... does for each joint'
        )
    elif without < _GRAVITY_SHARE * with_g:
        yield (
            f'effort looks like torque without gravity: it is {without:.3g} N m in the mean, '
            f'but {with_g:.3g} N m away from the gravity torques of {arm.inertial_set}; many '
            'drivers report commanded torque, which leaves gravity to the robot'
        )
