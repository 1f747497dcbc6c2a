# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Signs that a recording is not what it should be: units, drivers, saturation."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .recording import Recording, require_effort
from .replay import friction_terms
from ..arm import ArmDescription
from ..dynamics.model import GRAVITY
from ..dynamics.newton_euler import NewtonEulerModel
from ..typing import Array

# A driver clips at the limit or just below it; a joint there for longer was not free to move.
_SATURATION_FRACTION, _SATURATED_SHARE = 0.99, 0.01
_DEGREES_FACTOR = 2.0  # times the joint's range: no calibration error is as large
# What a velocity may be of the rate at which its position changes; deg/s is 57.3 times it. Noise
# and lag of either are far from that over such windows, if positions move by so much there.
_VELOCITY_PART, _VELOCITY_FACTOR = 0.2, 5.0
_WINDOW_S, _MOVED_RAD = 0.3, 2e-3
_STUCK_RAD = 0.02  # that a velocity amounts to there while the position stays
_GRAVITY_SHARE = 0.5  # how much better effort must fit otherwise to be called so
_HEAVY_PART = 0.25  # of the joint that carries most: where a set has weight nearly right
_UNIT_FACTOR = 3.0  # of the gravity torques, more than any load or error of a set makes
_SPIKE_FACTOR, _JUMP_FACTOR = 1.5, 3.0  # of the limits of torque and speed
_JUMP_S = 0.02  # below which stamps do not tell when a position was measured
_STATES_LOOKED_AT = 500


def suspicions(
    recording: Recording, arm: ArmDescription, *, gravity: ArrayLike = GRAVITY
) -> tuple[str, ...]:
    """
    Return one sentence for each thing about a recording that looks wrong.

    Looked for are `faults`, torques at the joints' limits or far beyond, and positions that jump.

    Raises
    ------
    RecordingError
        If effort is zero throughout: there is nothing to compare with.

    """
    return (
        *faults(recording, arm, gravity=gravity),
        *_saturation(recording, arm),
        *_spikes(recording, arm),
        *_jumps(recording, arm),
    )


def faults(
    recording: Recording,
    arm: ArmDescription,
    *,
    gravity: ArrayLike = GRAVITY,
    torque: bool = True,
) -> tuple[str, ...]:
    """
    Return one sentence for each thing that makes every figure about a recording meaningless.

    Looked for are joints without effort, positions in degrees, velocities that are not the
    positions', effort without gravity, which some drivers report, and effort of another unit or
    sign; of efforts that are no torques [N m], such as currents, only whether there are any.

    Raises
    ------
    RecordingError
        If effort is zero throughout: there is nothing to compare with.

    """
    require_effort(recording)
    return (
        *_dead(recording),
        *_degrees(recording, arm),
        *_velocity(recording, arm),
        *(_about_gravity(recording, arm, gravity) if torque else ()),
    )


def _dead(recording: Recording) -> Iterator[str]:
    """Yield a sentence where some joints' effort never changes while others' does."""
    dead = np.ptp(recording.effort, axis=0) == 0.0
    if dead.any() and not dead.all():
        joint = int(np.flatnonzero(dead)[0])
        yield (
            f'the effort of {recording.joint_names[joint]} is {recording.effort[0, joint]:g} in '
            f'every message ({np.count_nonzero(dead)} of {len(dead)} joints): not measured, or '
            'not recorded'
        )


def _degrees(recording: Recording, arm: ArmDescription) -> Iterator[str]:
    reach = np.abs(recording.q).max(axis=0)
    bound = _DEGREES_FACTOR * np.maximum(np.abs(arm.limit('lower')), np.abs(arm.limit('upper')))
    beyond = np.flatnonzero((reach > bound) & (bound > 0.0))  # some files have 0 for no limits
    if len(beyond):
        joint = int(beyond[np.argmax(reach[beyond])])
        yield (
            f'positions reach {reach[joint]:.4g} on {recording.joint_names[joint]}, whose '
            f'limit is {arm.limit("upper")[joint]:g} rad: they look like degrees, and every '
            'figure below is meaningless if they are'
        )


def _velocity(recording: Recording, arm: ArmDescription) -> Iterator[str]:
    """Yield a sentence where velocities are not those at which positions change."""
    time = recording.time
    step = np.diff(time)[:, None]
    way = np.concatenate(
        [np.zeros((1, recording.dq.shape[1])), 0.5 * (recording.dq[1:] + recording.dq[:-1]) * step]
    ).cumsum(axis=0)
    edges = np.searchsorted(time, np.arange(0.0, time[-1], _WINDOW_S))
    edges = np.append(np.unique(edges), len(time) - 1)
    whole = np.diff(time[edges]) < 2.0 * _WINDOW_S  # no gap inside
    jumps = np.concatenate(([0], np.cumsum((_speed(recording, arm) > _JUMP_FACTOR).any(axis=1))))
    whole = _most(whole, whole & (np.diff(jumps[edges]) == 0))
    moved, told = np.diff(recording.q[edges], axis=0)[whole], np.diff(way[edges], axis=0)[whole]
    if not len(moved):
        return
    squares, windows = np.sum(moved * moved, axis=0), len(moved)
    moves = squares > windows * _MOVED_RAD**2
    ratio = np.sum(moved * told, axis=0) / np.where(squares > 0.0, squares, 1.0)
    stuck = ~moves & (np.sum(told * told, axis=0) > windows * _STUCK_RAD**2)
    odd = np.flatnonzero(
        stuck | (moves & ~((ratio > _VELOCITY_PART) & (ratio < _VELOCITY_FACTOR)))
    )
    if len(odd):
        joint = int(odd[np.argmax(squares[odd])])
        yield (
            'velocities look like deg/s, the speed of motors, the other sign or none at all: that '
            f'of {recording.joint_names[joint]} is {ratio[joint]:.2g} times the rate at which its '
            f'position changes ({len(odd)} of {len(moves)} joints are off), and friction and '
            'Coriolis torques are meaningless if it is'
        )


def _saturation(recording: Recording, arm: ArmDescription) -> Iterator[str]:
    share = np.mean(_effort_part(recording.effort, arm) >= _SATURATION_FRACTION, axis=0)
    for joint in np.flatnonzero(share > _SATURATED_SHARE):
        yield (
            f'the torque of {recording.joint_names[joint]} is at its limit of '
            f'{arm.limit("effort")[joint]:g} N m in {share[joint]:.0%} of the messages; where '
            'it was clipped the model cannot fit'
        )


def _effort_part(effort: Array, arm: ArmDescription) -> Array:
    """Return efforts as parts of their limits; some files have 0 for no limit."""
    limit = arm.limit('effort')
    return np.asarray(np.abs(effort) / np.where(limit > 0.0, limit, np.inf))


def _spikes(recording: Recording, arm: ArmDescription) -> Iterator[str]:
    """Yield a sentence where effort is what no motor of the arm can make."""
    part = _effort_part(recording.effort, arm)
    row, joint = np.unravel_index(int(np.argmax(part)), part.shape)
    if part[row, joint] > _SPIKE_FACTOR:
        yield (
            f'the effort of {recording.joint_names[joint]} is {recording.effort[row, joint]:.4g} '
            f'N m at {recording.time[row]:.2f} s, far beyond its limit of '
            f'{arm.limit("effort")[joint]:g} N m ({np.count_nonzero(part > _SPIKE_FACTOR)} such '
            'values): a collision, or values that were not measured; cut them out'
        )


def _most(every: NDArray[np.bool_], sound: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return the sound ones if they are the most, otherwise every one."""
    return sound if 2 * np.count_nonzero(sound) > np.count_nonzero(every) else every


def _speed(recording: Recording, arm: ArmDescription) -> Array:
    """Return how fast each position changes, as a part of the joint's limit, (messages - 1, n)."""
    step = np.maximum(np.diff(recording.time), _JUMP_S)
    limit = arm.limit('velocity')
    rate = np.abs(np.diff(recording.q, axis=0)) / step[:, None]
    return np.asarray(rate / np.where(limit > 0.0, limit, np.inf))


def _jumps(recording: Recording, arm: ArmDescription) -> Iterator[str]:
    """Yield a sentence where a position changes by more than the arm can move."""
    part = _speed(recording, arm)
    row, joint = np.unravel_index(int(np.argmax(part)), part.shape)
    if part[row, joint] > _JUMP_FACTOR:
        change = recording.q[row + 1, joint] - recording.q[row, joint]
        yield (
            f'the position of {recording.joint_names[joint]} jumps by {change:.3g} rad at '
            f'{recording.time[row + 1]:.2f} s, {part[row, joint]:.3g} times as fast as it can '
            f'move ({np.count_nonzero(part > _JUMP_FACTOR)} such steps): values that were not '
            'measured, or recordings put together; cut them out'
        )


def _about_gravity(
    recording: Recording,
    arm: ArmDescription,
    gravity: ArrayLike,
) -> Iterator[str]:
    """Yield a sentence where effort lacks gravity or is of another unit or sign."""
    chosen = slice(None, None, max(1, len(recording) // _STATES_LOOKED_AT))
    g = NewtonEulerModel(arm, gravity).gravity(recording.q[chosen])
    effort = recording.effort[chosen]
    sound = _most(
        np.ones(len(effort), dtype=np.bool_),
        np.all(_effort_part(effort, arm) < _SPIKE_FACTOR, axis=1),
    )
    g, effort, dq = g[sound], effort[sound], recording.dq[chosen][sound]
    weight = np.sqrt(np.mean(g * g, axis=0))
    heavy = (weight > 0.0) & (weight >= _HEAVY_PART * weight.max(initial=0.0))
    factor = np.sum(effort * g, axis=0) / np.where(heavy, np.sum(g * g, axis=0), 1.0)
    with_g, without, left = (
        np.sqrt(np.mean((effort - part * g) ** 2, axis=0)) for part in (1.0, 0.0, factor)
    )
    scaled = left < _GRAVITY_SHARE * np.minimum(with_g, without)
    usual = (factor > 1.0 / _UNIT_FACTOR) & (factor < _UNIT_FACTOR)
    odd = np.flatnonzero(heavy & scaled & ~usual)
    away, size = float(np.linalg.norm(with_g)), float(np.linalg.norm(without))
    rest, moved = (
        float(np.linalg.norm(np.sqrt(np.mean(_without_friction(torque, dq) ** 2, axis=0))))
        for torque in (effort - g, effort)
    )
    if len(odd):
        joint = int(odd[0])
        kind = 'sign' if factor[joint] < 0.0 else 'unit'
        fix = (
            '; where it is the sign alone: --effort-scale -1' if (factor[odd] < 0.0).all() else ''
        )
        yield (
            f'effort looks like another {kind}: that of '
            f'{recording.joint_names[joint]} is {factor[joint]:.3g} times the gravity torque of '
            f'{arm.inertial_set} ({len(odd)} of {np.count_nonzero(heavy)} joints that carry much '
            f'are off){fix}'
        )
    elif size < _GRAVITY_SHARE * away:
        yield (
            f'effort looks like torque without gravity: it is {size:.3g} N m in the mean, '
            f'but {away:.3g} N m away from the gravity torques of {arm.inertial_set}; many '
            'drivers report commanded torque, which leaves gravity to the robot'
        )
    elif rest > _GRAVITY_SHARE * moved and np.linalg.norm(weight) > _GRAVITY_SHARE * moved:
        yield (
            f'gravity explains little of the effort: this is {moved:.3g} N m in the mean and '
            f'{rest:.3g} N m away from the gravity torques of {arm.inertial_set}, the best '
            'friction of each joint taken out of both; look for another order of joints, another '
            'mounting (--gravity), another arm, a heavy load, or friction that is not of speed '
            'alone'
        )


def _without_friction(torque: Array, dq: Array) -> Array:
    """Return what viscous and Coulomb friction leave of torques, joint by joint."""
    left = torque.copy()
    for joint, terms in enumerate(np.swapaxes(friction_terms(dq), 0, 1)):
        left[:, joint] -= terms @ np.linalg.lstsq(terms, torque[:, joint], rcond=None)[0]
    return left
