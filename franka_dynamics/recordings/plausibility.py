# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Checks of a recording for wrong units, driver faults, saturation and jumps."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .recording import Recording, require_effort
from ..arm import ArmDescription
from ..arm.friction import sliding_terms
from ..dynamics.model import GRAVITY
from ..dynamics.newton_euler import NewtonEulerModel
from ..errors import RecordingError
from ..typing import Array

# A joint is saturated if its effort is at least _LIMIT_SHARE of the joint's limit in more
# than _MESSAGES_SHARE of the messages. Some drivers clip efforts just below the limit.
_LIMIT_SHARE, _MESSAGES_SHARE = 0.99, 0.01
_DEGREES_FACTOR = 2.0  # positions beyond this multiple of the joint's limits must be in degrees
# Smallest and largest allowed ratio of a velocity to the rate of change of the position; for
# velocities in deg/s the ratio is 57.3. Velocity and rate of change are compared over windows, for
# joints that move by more than _MOVED_RAD per window (rms), so that noise and delay matter little.
_VELOCITY_SHARE, _VELOCITY_FACTOR = 0.2, 5.0
_WINDOW_S, _MOVED_RAD = 0.3, 2e-3
# The velocity of a joint that moves by less than _MOVED_RAD per window (rms) is wrong if the
# velocity's integrals over the windows exceed _STUCK_RAD in the root mean square.
_STUCK_RAD = 0.02
# A joint's effort has another unit or sign if the gravity torque times a factor (negative, below
# 1/3 or above 3) leaves less than _GRAVITY_SHARE of the effort and of the effort's difference from
# the gravity torque. Gravity is missing if the efforts are below _GRAVITY_SHARE of their
# difference from the gravity torques. Gravity does not explain the efforts if the gravity torques
# and the efforts minus the gravity torques exceed _GRAVITY_SHARE of the efforts, after the best
# friction and rotor inertia of each joint are subtracted from efforts and difference.
_GRAVITY_SHARE = 0.5
# Unit and sign are judged at joints whose rms gravity torque is at least _HEAVY_SHARE of the
# largest joint's, because every published set predicts such large gravity torques nearly right.
_HEAVY_SHARE = 0.25
# If gravity does not explain the efforts, two joints count as exchanged if the difference from the
# gravity torques (friction and rotor inertia fitted) is, with their efforts exchanged, less than
# _EXCHANGED_SHARE of the difference without an exchange and with any other exchange.
_EXCHANGED_SHARE = 0.5
_UNIT_FACTOR = 3.0  # no load and no error of a published set changes gravity torques so much
_SPIKE_FACTOR, _JUMP_FACTOR = 1.5, 3.0  # multiples of the torque and velocity limits
_JUMP_S = 0.02  # shorter intervals count as this long: stamps are not exact times of measurement
_STATES_CHECKED = 500  # gravity torques are computed for fewer than 1000 messages
_RATE_WINDOW_S = 0.1  # accelerations are differences of velocities over this time
# Velocities or stamps have another unit if the median, over the joints that move, of the ratio of
# velocity to the rate of change of the position is within the factor _NEAR of a ratio in
# _OTHER_UNITS.
_NEAR = 1.3
_OTHER_UNITS = (
    (57.3, 'velocities look like deg/s', '--velocity-unit deg/s'),
    (1e3, 'stamps look like milliseconds read as seconds', '--stamp-unit ms'),
    (1e6, 'stamps look like microseconds read as seconds', '--stamp-unit us'),
    (1e9, 'stamps look like nanoseconds read as seconds', '--stamp-unit ns'),
)


def suspicions(
    recording: Recording, arm: ArmDescription, *, gravity: ArrayLike = GRAVITY
) -> tuple[str, ...]:
    """
    Return one sentence for each sign that a recording is wrong.

    Signs are the results of `faults`, torques at or far beyond the joints' limits, and jumps in
    positions. Raises RecordingError if the effort is zero in every message.
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
    Return one sentence for each fault that makes all results from a recording meaningless.

    The faults are: efforts of some joints that never change, positions in degrees, velocities that
    contradict the positions, effort without gravity (as some drivers report it), in another unit
    or with a flipped sign, exchanged efforts, and effort that gravity does not explain. If
    `torque` is False, efforts (such as motor currents) are not compared with gravity torques.
    Raises RecordingError if the effort is zero in every message.
    """
    require_effort(recording)
    return (
        *_dead(recording),
        *_degrees(recording, arm),
        *_velocity(recording, arm),
        *(_about_gravity(recording, arm, gravity) if torque else ()),
    )


def _dead(recording: Recording) -> Iterator[str]:
    """Yield a sentence if the effort of some joints, but not of all, never changes."""
    dead = np.ptp(recording.effort, axis=0) == 0.0
    if dead.any() and not dead.all():
        joint = int(np.flatnonzero(dead)[0])
        yield (
            f'the effort of {recording.joint_names[joint]} is {recording.effort[0, joint]:g} in '
            f'every message ({np.count_nonzero(dead)} of {len(dead)} joints): not measured, or '
            'not recorded'
        )


def require_radians(recording: Recording, arm: ArmDescription) -> None:
    """Raise RecordingError if positions seem to be in degrees."""
    for sentence in _degrees(recording, arm):
        raise RecordingError(f'{recording.source}: {sentence}.')


def _degrees(recording: Recording, arm: ArmDescription) -> Iterator[str]:
    """Yield a sentence if positions are so far beyond the limits that they must be degrees."""
    reach = np.abs(recording.q).max(axis=0)
    bound = _DEGREES_FACTOR * np.maximum(np.abs(arm.limit('lower')), np.abs(arm.limit('upper')))
    beyond = np.flatnonzero((reach > bound) & (bound > 0.0))  # some files have 0 for no limits
    if len(beyond):
        joint = int(beyond[np.argmax(reach[beyond])])
        yield (
            f'positions reach {reach[joint]:.4g} on {recording.joint_names[joint]}, whose '
            f'limit is {arm.limit("upper")[joint]:g} rad: they look like degrees; joint states '
            'must have radians, so correct what publishes them and record again, or import a log '
            'with --position-unit deg (and --velocity-unit deg/s)'
        )


def _velocity(recording: Recording, arm: ArmDescription) -> Iterator[str]:
    """Yield a sentence if velocities do not match the changes of the positions."""
    time = recording.time
    step = np.diff(time)[:, None]
    displacement = np.concatenate(
        [np.zeros((1, recording.dq.shape[1])), 0.5 * (recording.dq[1:] + recording.dq[:-1]) * step]
    ).cumsum(axis=0)
    window = max(_WINDOW_S, 3.0 * float(np.median(step)))  # stamps of ms read as s are far apart
    edges = np.searchsorted(time, np.arange(0.0, time[-1], window))
    edges = np.append(np.unique(edges), len(time) - 1)
    whole = np.diff(time[edges]) < 2.0 * window  # no gap inside
    jumps = np.concatenate(([0], np.cumsum((_speed(recording, arm) > _JUMP_FACTOR).any(axis=1))))
    whole = _most(whole, whole & (np.diff(jumps[edges]) == 0))
    moved, integrated = (
        np.diff(recording.q[edges], axis=0)[whole],
        np.diff(displacement[edges], axis=0)[whole],
    )
    if not len(moved):
        return
    squares, windows = np.sum(moved * moved, axis=0), len(moved)
    moves = squares > windows * _MOVED_RAD**2
    ratio = np.sum(moved * integrated, axis=0) / np.where(squares > 0.0, squares, 1.0)
    stuck = ~moves & (np.sum(integrated * integrated, axis=0) > windows * _STUCK_RAD**2)
    wrong = np.flatnonzero(
        stuck | (moves & ~((ratio > _VELOCITY_SHARE) & (ratio < _VELOCITY_FACTOR)))
    )
    if len(wrong):
        joint = int(wrong[np.argmax(squares[wrong])])
        of_all = float(np.median(ratio[moves])) if moves.any() else 0.0
        for factor, what, fix in _OTHER_UNITS:
            if factor / _NEAR < of_all < factor * _NEAR:
                yield (
                    f'{what}: velocities are {of_all:.3g} times the rate at which positions '
                    'change; correct what publishes them, or, if the bag was made from a log, '
                    f'import the log with {fix}'
                )
                return
        yield (
            'velocities do not match positions: they may be in deg/s, those of the motors, '
            f'sign-flipped or not measured. The velocity of {recording.joint_names[joint]} is '
            f'{ratio[joint]:.2g} times the rate at which its position changes ({len(wrong)} of '
            f'{len(moves)} joints are wrong); friction and Coriolis torques would be meaningless'
        )


def _saturation(recording: Recording, arm: ArmDescription) -> Iterator[str]:
    """Yield a sentence for each joint whose effort is at its limit in over 1 % of messages."""
    share = np.mean(_effort_share(recording.effort, arm) >= _LIMIT_SHARE, axis=0)
    for joint in np.flatnonzero(share > _MESSAGES_SHARE):
        yield (
            f'the torque of {recording.joint_names[joint]} is at its limit of '
            f'{arm.limit("effort")[joint]:g} N m in {share[joint]:.0%} of the messages; no model '
            'can predict a clipped torque'
        )


def _effort_share(effort: Array, arm: ArmDescription) -> Array:
    """Return |effort| relative to the effort limit; zero where the limit is 0, thus unknown."""
    limit = arm.limit('effort')
    return np.asarray(np.abs(effort) / np.where(limit > 0.0, limit, np.inf))


def _spikes(recording: Recording, arm: ArmDescription) -> Iterator[str]:
    """Yield a sentence if an |effort| is above 1.5 times the joint's effort limit."""
    part = _effort_share(recording.effort, arm)
    row, joint = np.unravel_index(int(np.argmax(part)), part.shape)
    if part[row, joint] > _SPIKE_FACTOR:
        yield (
            f'the effort of {recording.joint_names[joint]} is {recording.effort[row, joint]:.4g} '
            f'N m at {recording.time[row]:.2f} s, far beyond its limit of '
            f'{arm.limit("effort")[joint]:g} N m ({np.count_nonzero(part > _SPIKE_FACTOR)} such '
            'values): a collision, or values that were not measured; cut them out'
        )


def _most(every: NDArray[np.bool_], sound: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return mask `sound` if it has over half of the true values of mask `every`, else `every`."""
    return sound if 2 * np.count_nonzero(sound) > np.count_nonzero(every) else every


def _speed(recording: Recording, arm: ArmDescription) -> Array:
    """Return rates of change of positions relative to velocity limits, (messages - 1, n)."""
    step = np.maximum(np.diff(recording.time), _JUMP_S)
    limit = arm.limit('velocity')
    rate = np.abs(np.diff(recording.q, axis=0)) / step[:, None]
    return np.asarray(rate / np.where(limit > 0.0, limit, np.inf))


def _jumps(recording: Recording, arm: ArmDescription) -> Iterator[str]:
    """Yield a sentence if a position changes at over 3 times its velocity limit (`_speed`)."""
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
    """
    Yield a sentence if efforts do not fit the gravity torques of the arm.

    The sentence names the cause if the effort has another unit or sign, lacks gravity, or has two
    joints exchanged; for other large differences it lists possible causes.
    """
    chosen = slice(None, None, max(1, len(recording) // _STATES_CHECKED))
    g = NewtonEulerModel(arm, gravity).gravity(recording.q[chosen])
    effort = recording.effort[chosen]
    sound = _most(
        np.ones(len(effort), dtype=np.bool_),
        np.all(_effort_share(effort, arm) < _SPIKE_FACTOR, axis=1),
    )
    g, effort = g[sound], effort[sound]
    moving = np.stack([recording.dq, _acceleration(recording)], axis=-1)[chosen][sound]
    weight = np.sqrt(np.mean(g * g, axis=0))
    heavy = (weight > 0.0) & (weight >= _HEAVY_SHARE * weight.max(initial=0.0))
    factor = np.sum(effort * g, axis=0) / np.where(heavy, np.sum(g * g, axis=0), 1.0)
    with_g, without, rescaled = (
        np.sqrt(np.mean((effort - part * g) ** 2, axis=0)) for part in (1.0, 0.0, factor)
    )
    explained = rescaled < _GRAVITY_SHARE * np.minimum(with_g, without)
    plausible = (factor > 1.0 / _UNIT_FACTOR) & (factor < _UNIT_FACTOR)
    wrong = np.flatnonzero(heavy & explained & ~plausible)
    away, size = float(np.linalg.norm(with_g)), float(np.linalg.norm(without))
    rest, moved = (
        float(np.linalg.norm(np.sqrt(np.mean(_without_motion(torque, moving) ** 2, axis=0))))
        for torque in (effort - g, effort)
    )
    if len(wrong):
        joint = int(wrong[0])
        kind = 'sign' if factor[joint] < 0.0 else 'unit'
        signs_flipped = np.ones(len(factor))
        signs_flipped[wrong] = -1.0
        signs = [-1.0] if signs_flipped[heavy].max() < 0.0 else signs_flipped
        fix = (
            '; where it is the sign alone: --effort-scale ' + ' '.join(f'{one:g}' for one in signs)
            if (factor[wrong] < 0.0).all()
            else ''
        )
        yield (
            f'effort looks like another {kind}: that of '
            f'{recording.joint_names[joint]} is {factor[joint]:.3g} times the gravity torque of '
            f'{arm.inertial_set} ({len(wrong)} of {np.count_nonzero(heavy)} joints with large '
            f'gravity torques are wrong){fix}'
        )
    elif size < _GRAVITY_SHARE * away:
        yield (
            f'effort looks like torque without gravity: it is {size:.3g} N m in the mean, '
            f'but {away:.3g} N m away from the gravity torques of {arm.inertial_set}; many '
            'drivers report commanded torque, which leaves gravity to the robot'
        )
    elif rest > _GRAVITY_SHARE * moved and np.linalg.norm(weight) > _GRAVITY_SHARE * moved:
        pairs = list(combinations(range(len(weight)), 2))
        exchanged = (_without_motion(_exchanged(effort, *pair) - g, moving) for pair in pairs)
        errors = [float(np.linalg.norm(one)) / np.sqrt(len(effort)) for one in exchanged]
        least, next_best = sorted(errors)[:2] if len(errors) > 1 else (np.inf, np.inf)
        if least < _EXCHANGED_SHARE * min(rest, next_best):
            pair = pairs[errors.index(least)]
            first, second = (recording.joint_names[joint] for joint in pair)
            yield (
                f'the efforts of {first} and {second} look exchanged, if not more: exchanged back '
                f'they are {least:.3g} N m away from the gravity torques of '
                f'{arm.inertial_set} in the mean, as recorded {rest:.3g} N m; exchange their '
                'columns, such as in --effort of bag import'
            )
            return
        yield (
            f'gravity explains little of the effort: this is {moved:.3g} N m in the mean and '
            f'{rest:.3g} N m away from the gravity torques of {arm.inertial_set}, the best '
            'friction and rotor inertia of each joint taken out of both; look for another order of'
            ' joints, another mounting (--gravity), another arm, a heavy load, or friction that '
            'is not of speed alone'
        )


def _exchanged(effort: Array, one: int, other: int) -> Array:
    """Return efforts with two columns exchanged."""
    changed = effort.copy()
    changed[:, [one, other]] = effort[:, [other, one]]
    return changed


def _acceleration(recording: Recording) -> Array:
    """Return accelerations, (messages, n), from velocities max(0.1 s, two periods) apart."""
    half = max(0.5 * _RATE_WINDOW_S, float(np.median(np.diff(recording.time))))
    time = recording.time
    after, before = (
        np.column_stack([np.interp(time + shift, time, column) for column in recording.dq.T])
        for shift in (half, -half)
    )
    return np.asarray((after - before) / (2.0 * half))


def _without_motion(torque: Array, moving: Array) -> Array:
    """
    Return torques (N, n) minus the best fit of each joint's friction and rotor inertia.

    `moving` (N, n, 2) holds velocities and accelerations.
    """
    rest = torque.copy()
    columns = np.concatenate([sliding_terms(moving[..., 0]), moving[..., 1:]], axis=-1)
    for joint, terms in enumerate(np.swapaxes(columns, 0, 1)):
        rest[:, joint] -= terms @ np.linalg.lstsq(terms, torque[:, joint], rcond=None)[0]
    return rest
