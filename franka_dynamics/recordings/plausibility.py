# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Checks of a recording for wrong units, driver faults, clipping and jumps."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from .recording import Recording, require_effort
from ..arm import ArmDescription
from ..errors import RecordingError
from ..typing import Array

# Positions beyond this multiple of the joint's limits must be in degrees.
_MAX_LIMIT_RATIO = 2.0
# Smallest and largest allowed ratio of a velocity to the rate of change of the position; for
# velocities in deg/s the ratio is 57.3. Velocity and rate of change are compared over windows, for
# joints that move by more than _MIN_MOVED_RAD per window (rms), so that noise and delay matter
# little.
_MIN_VELOCITY_RATIO = 0.2
_MAX_VELOCITY_RATIO = 5.0
_WINDOW_S = 0.3
# The median over joints of this ratio is within 1.2 % of one in twelve real logs.
_MAX_TIME_ERROR = 0.05
_MIN_MOVED_RAD = 2e-3
# The velocity of a joint that moves by less than _MIN_MOVED_RAD per window (rms) is wrong if the
# velocity's integrals over the windows exceed _MAX_STUCK_RAD in the root mean square.
_MAX_STUCK_RAD = 0.02
# A joint's effort is clipped if it stays at its largest or smallest value in more than
# _MAX_CLIPPED_SHARE of the messages in which the joint moves: 13 to 26 % in recordings of an FR3
# and two FER clipped at 85 % of each joint's maximum, at most 0.1 % in those as recorded.
_MAX_CLIPPED_SHARE = 0.02
_MIN_SPEED = 0.02
# Multiples of the torque and velocity limits.
_MAX_EFFORT_RATIO = 1.5
_JUMP_RATIO = 3.0
# Efforts beyond this many torque limits in most messages are not in N m; the node's bound, too.
_MAX_UNIT_RATIO = 10.0
# Shorter intervals count as this long: stamps are not exact times of measurement.
_MIN_STEP_S = 0.02
# Velocities or stamps have another unit if the median, over the joints that move, of the ratio of
# velocity to the rate of change of the position is within the factor _UNIT_TOLERANCE of a ratio in
# _OTHER_UNITS.
_UNIT_TOLERANCE = 1.3
_OTHER_UNITS = (
    (57.3, 'velocities look like deg/s', '--velocity-unit deg/s'),
    (1e3, 'stamps look like milliseconds read as seconds', '--stamp-unit ms'),
    (1e6, 'stamps look like microseconds read as seconds', '--stamp-unit us'),
    (1e9, 'stamps look like nanoseconds read as seconds', '--stamp-unit ns'),
)


def plausibility_warnings(recording: Recording, arm: ArmDescription) -> tuple[str, ...]:
    """
    Return one warning, a sentence, for each sign that a recording is implausible.

    Signs are the results of `faults`, torques far beyond the joints' limits, and jumps in
    positions. Raises RecordingError if the effort is zero in every message.
    """
    return (
        *faults(recording, arm),
        *(() if any(_effort_unit(recording, arm)) else _spikes(recording, arm)),
        *_jumps(recording, arm),
    )


def faults(recording: Recording, arm: ArmDescription) -> tuple[str, ...]:
    """
    Return one sentence for each fault that makes all results from a recording meaningless.

    The faults are: efforts of some joints that never change or are clipped, efforts that cannot
    be in N m, positions in degrees, and velocities that contradict the positions. Raises
    RecordingError if the effort is zero in every message. Smaller faults of the efforts' size need
    a model's torques (identification's verdict).
    """
    require_effort(recording)
    return (
        *_dead(recording),
        *_clipped(recording),
        *_effort_unit(recording, arm),
        *_degrees(recording, arm),
        *_velocity(recording, arm),
    )


def _clipped(recording: Recording) -> Iterator[str]:
    """Yield a sentence for each joint whose effort stays at its extreme while the joint moves."""
    moving = np.abs(recording.dq) > _MIN_SPEED
    effort = recording.effort
    for extreme in (effort.max(axis=0), effort.min(axis=0)):
        share = np.sum(moving & (effort == extreme), axis=0) / np.maximum(moving.sum(axis=0), 1)
        alive = np.ptp(effort, axis=0) > 0.0
        for joint in np.flatnonzero(alive & (share > _MAX_CLIPPED_SHARE)):
            yield (
                f'the effort of {recording.joint_names[joint]} is clipped: it is exactly '
                f'{extreme[joint]:.4g} in {share[joint]:.0%} of the messages in which the joint '
                'moves; no model can predict a clipped torque'
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


def require_units(recording: Recording, arm: ArmDescription) -> None:
    """Raise RecordingError if positions seem to be in degrees, or efforts not in N m."""
    for sentence in (*_degrees(recording, arm), *_effort_unit(recording, arm)):
        raise RecordingError(f'{recording.source}: {sentence}.')


def _degrees(recording: Recording, arm: ArmDescription) -> Iterator[str]:
    """Yield a sentence if positions are so far beyond the limits that they must be degrees."""
    reach = np.abs(recording.q).max(axis=0)
    bound = _MAX_LIMIT_RATIO * np.maximum(np.abs(arm.limit('lower')), np.abs(arm.limit('upper')))
    beyond = np.flatnonzero((reach > bound) & (bound > 0.0))  # some files have 0 for no limits
    if len(beyond):
        joint = int(beyond[np.argmax(reach[beyond])])
        yield (
            f'positions reach {reach[joint]:.4g} on {recording.joint_names[joint]}, whose '
            f'limit is {arm.limit("upper")[joint]:g} rad: they look like degrees; joint states '
            'must have radians, so correct what publishes them and record again, or import a log '
            'with --position-unit deg (and --velocity-unit deg/s)'
        )


def _moved(recording: Recording, arm: ArmDescription) -> tuple[Array, Array]:
    """
    Return changes of positions over windows, and integrals of velocities over them.

    Both are (windows, n). Windows with gaps, or mostly those with jumps, are left out.
    """
    time = recording.time
    step = np.diff(time)[:, None]
    displacement = np.concatenate(
        [np.zeros((1, recording.dq.shape[1])), 0.5 * (recording.dq[1:] + recording.dq[:-1]) * step]
    ).cumsum(axis=0)
    window = max(_WINDOW_S, 3.0 * float(np.median(step)))  # stamps of ms read as s are far apart
    edges = np.searchsorted(time, np.arange(0.0, time[-1], window))
    edges = np.append(np.unique(edges), len(time) - 1)
    whole = np.diff(time[edges]) < 2.0 * window  # no gap inside
    jumps = np.concatenate(([0], np.cumsum((_speed(recording, arm) > _JUMP_RATIO).any(axis=1))))
    whole = _most(whole, whole & (np.diff(jumps[edges]) == 0))
    moved, integrated = (
        np.diff(values[edges], axis=0)[whole] for values in (recording.q, displacement)
    )
    return moved, integrated


def _velocity(recording: Recording, arm: ArmDescription) -> Iterator[str]:
    """Yield a sentence if velocities do not match the changes of the positions."""
    moved, integrated = _moved(recording, arm)
    if not len(moved):
        return
    squares, windows = np.sum(moved * moved, axis=0), len(moved)
    moves = squares > windows * _MIN_MOVED_RAD**2
    ratio = np.sum(moved * integrated, axis=0) / np.where(squares > 0.0, squares, 1.0)
    stuck = ~moves & (np.sum(integrated * integrated, axis=0) > windows * _MAX_STUCK_RAD**2)
    wrong = np.flatnonzero(
        stuck | (moves & ~((ratio > _MIN_VELOCITY_RATIO) & (ratio < _MAX_VELOCITY_RATIO)))
    )
    if len(wrong):
        joint = int(wrong[np.argmax(squares[wrong])])
        of_all = float(np.median(ratio[moves])) if moves.any() else 0.0
        for factor, what, fix in _OTHER_UNITS:
            if factor / _UNIT_TOLERANCE < of_all < factor * _UNIT_TOLERANCE:
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
    elif moves.any():
        sizes = np.sqrt(np.sum(integrated * integrated, axis=0)[moves] / squares[moves])
        if abs(size := float(np.median(sizes)) - 1.0) > _MAX_TIME_ERROR:
            yield (
                f'velocities are {1.0 + size:.3g} times as large as the rates at which positions '
                'change, over all joints: stamps or velocities have another unit of time. Check '
                'both, or import the log with another --log-rate, or with --velocity derived'
            )


def _effort_share(effort: Array, arm: ArmDescription) -> Array:
    """Return |effort| relative to the effort limit; zero where the limit is 0, thus unknown."""
    limit = arm.limit('effort')
    return np.asarray(np.abs(effort) / np.where(limit > 0.0, limit, np.inf))


def _effort_unit(recording: Recording, arm: ArmDescription) -> Iterator[str]:
    """Yield a sentence if the efforts of most messages are far beyond the limits."""
    usual = np.median(_effort_share(recording.effort, arm), axis=0)
    joint = int(np.argmax(usual))
    if usual[joint] > _MAX_UNIT_RATIO:
        yield (
            f'the effort of {recording.joint_names[joint]} is beyond {_MAX_UNIT_RATIO:g} times '
            f'its limit of {arm.limit("effort")[joint]:g} N m in most messages, so it is not in '
            'N m; give the unit by --effort-scale, such as 0.001 for mN m'
        )


def _spikes(recording: Recording, arm: ArmDescription) -> Iterator[str]:
    """Yield a sentence if an |effort| is above 1.5 times the joint's effort limit."""
    part = _effort_share(recording.effort, arm)
    row, joint = np.unravel_index(int(np.argmax(part)), part.shape)
    if part[row, joint] > _MAX_EFFORT_RATIO:
        yield (
            f'the effort of {recording.joint_names[joint]} is {recording.effort[row, joint]:.4g} '
            f'N m at {recording.time[row]:.2f} s, far beyond its limit of '
            f'{arm.limit("effort")[joint]:g} N m ({np.count_nonzero(part > _MAX_EFFORT_RATIO)} '
            'such values): a collision, or values that were not measured; cut them out'
        )


def _most(every: NDArray[np.bool_], sound: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return mask `sound` if it has over half of the true values of mask `every`, else `every`."""
    return sound if 2 * np.count_nonzero(sound) > np.count_nonzero(every) else every


def _speed(recording: Recording, arm: ArmDescription) -> Array:
    """Return rates of change of positions relative to velocity limits, (messages - 1, n)."""
    step = np.maximum(np.diff(recording.time), _MIN_STEP_S)
    limit = arm.limit('velocity')
    rate = np.abs(np.diff(recording.q, axis=0)) / step[:, None]
    return np.asarray(rate / np.where(limit > 0.0, limit, np.inf))


def _jumps(recording: Recording, arm: ArmDescription) -> Iterator[str]:
    """Yield a sentence if a position changes at over 3 times its velocity limit (`_speed`)."""
    part = _speed(recording, arm)
    row, joint = np.unravel_index(int(np.argmax(part)), part.shape)
    if part[row, joint] > _JUMP_RATIO:
        change = recording.q[row + 1, joint] - recording.q[row, joint]
        yield (
            f'the position of {recording.joint_names[joint]} jumps by {change:.3g} rad at '
            f'{recording.time[row + 1]:.2f} s, {part[row, joint]:.3g} times as fast as it can '
            f'move ({np.count_nonzero(part > _JUMP_RATIO)} such steps): values that were not '
            'measured, or recordings put together; cut them out'
        )
