# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Checks of a recording for wrong units, driver faults, clipping and jumps."""

from collections.abc import Iterator

import numpy as np

from .recording import Recording, require_effort
from ..arm import ArmDescription, JointKind
from ..arrays import Array, NDArray
from ..errors import RecordingError

# Positions beyond this multiple of the joint's limits must be in degrees.
_MAX_POSITION_TO_LIMIT = 2.0
# Integrals of velocities over windows of _MOTION_WINDOW_S differ from the changes of the positions
# by the share _MAX_VELOCITY_ERROR_RATIO of these at most (rms): of exchanged velocities by more in
# 257 of 264 logs, of fourteen sound logs by less. Joints count that move by _MIN_MOTION_RAD per
# window (rms); of others the integrals may be _MAX_STUCK_RAD.
_MOTION_WINDOW_S = 0.3
_MAX_VELOCITY_ERROR_RATIO = 0.35
_MIN_MOTION_RAD = 2e-3
_MAX_STUCK_RAD = 0.02
# The median over joints of the ratio of both is within 1.2 % of one in twelve sound logs.
_MAX_TIME_RATIO_ERROR = 0.05
# A clipped effort is at its extreme in at least this share of the messages in which the joint
# moves.
_MIN_CLIPPED_FRACTION = 0.02
# It is there so many times as often as at any of the next values, because rounded efforts are at
# all values about as often.
_OUTLIER_RATIO = 4.0
# So many next values are compared.
_COMPARED_LEVELS = 5
_MIN_SPEED_RAD_S = 0.02
# An effort or position is frozen that keeps a value for _MIN_FROZEN_TIME_S, _OUTLIER_RATIO times
# as long as nine in ten others, while the joint's velocity adds up to _MAX_STUCK_RAD, then changes
# by more than _OUTLIER_RATIO of the finest steps.
_MIN_FROZEN_TIME_S = 0.25
_ZERO_TEXT = 'that of a zero command or a dead zone'
# Multiples of the torque and velocity limits.
_MAX_EFFORT_TO_LIMIT = 1.5
_MIN_JUMP_SPEED_TO_LIMIT = 3.0
# Efforts beyond this many torque limits in most messages are not in N m; the node's bound, too.
_MAX_MEDIAN_EFFORT_TO_LIMIT = 10.0
# Shorter intervals count as this long: stamps are not exact times of measurement.
_MIN_TIME_STEP_S = 0.02
# Velocities or stamps have another unit if the median, over the joints that move, of the ratio of
# velocity to the rate of change of the position is within the factor _UNIT_TOLERANCE_FACTOR of a
# ratio in _UNIT_MISTAKES.
_UNIT_TOLERANCE_FACTOR = 1.3
_UNIT_MISTAKES = (
    (57.3, 'velocities look like deg/s', '--velocity-unit deg/s'),
    (1e3, 'stamps look like milliseconds read as seconds', '--stamp-unit ms'),
    (1e6, 'stamps look like microseconds read as seconds', '--stamp-unit us'),
    (1e9, 'stamps look like nanoseconds read as seconds', '--stamp-unit ns'),
)


def plausibility_warnings(recording: Recording, arm: ArmDescription) -> tuple[str, ...]:
    """
    Return a warning for each sign of implausible values; RecordingError if all efforts are zero.

    Signs are the results of `fatal_faults` and of `minor_faults`. Raises RecordingError if the
    effort is zero in every message.
    """
    return (*fatal_faults(recording, arm), *minor_faults(recording, arm))


def minor_faults(recording: Recording, arm: ArmDescription) -> Iterator[str]:
    """Yield warnings of torques far beyond the joints' limits, and of jumps of positions."""
    part = _effort_to_limit_ratios(recording.effort, arm)
    row, joint = np.unravel_index(int(np.argmax(part)), part.shape)
    # Efforts in another unit are a fatal fault.
    if part[row, joint] > _MAX_EFFORT_TO_LIMIT and not any(_effort_size_faults(recording, arm)):
        unit = arm.joints[joint].kind.effort_unit
        yield (
            f'the effort of {recording.joint_names[joint]} is {recording.effort[row, joint]:.4g} '
            f'{unit} at {recording.time[row]:.2f} s, far beyond its limit of '
            f'{arm.limit("effort")[joint]:g} {unit} '
            f'({np.count_nonzero(part > _MAX_EFFORT_TO_LIMIT)} such values): a '
            'collision, or values that were not measured; cut them out'
        )
    part = _speed_to_limit_ratios(recording, arm)
    row, joint = np.unravel_index(int(np.argmax(part)), part.shape)
    if part[row, joint] > _MIN_JUMP_SPEED_TO_LIMIT:
        change = recording.q[row + 1, joint] - recording.q[row, joint]
        unit = arm.joints[joint].kind.position_unit
        yield (
            f'the position of {recording.joint_names[joint]} jumps by {change:.3g} {unit} at '
            f'{recording.time[row + 1]:.2f} s, {part[row, joint]:.3g} times as fast as it can '
            f'move ({np.count_nonzero(part > _MIN_JUMP_SPEED_TO_LIMIT)} such steps): values that '
            'were not measured, or recordings put together; cut them out'
        )


def fatal_faults(recording: Recording, arm: ArmDescription) -> tuple[str, ...]:
    """
    Return a message per fault that makes results meaningless; RecordingError if efforts are zero.

    The faults are: efforts of moving joints that never change, freeze or are clipped, or cannot be
    in N m, frozen positions, positions far beyond the limits, and velocities that contradict the
    positions. Raises RecordingError if the effort is zero in every message. Smaller faults of the
    efforts' size need a model's torques (identification's verdict).
    """
    require_effort(recording)
    moving = _moving_mask(recording)
    return (
        *_constant_effort_faults(recording, moving),
        *_plateau_faults(recording, 'effort', moving),
        *_plateau_faults(recording, 'position', moving),
        *_effort_size_faults(recording, arm),
        *_position_faults(recording, arm),
        *_velocity_faults(recording, arm),
    )


def _moving_mask(recording: Recording) -> NDArray[np.bool_]:
    """Return the mask of the joints that move at each message's time, (messages, n)."""
    half = max(1, round(0.5 * _MOTION_WINDOW_S / float(np.median(np.diff(recording.time)))))
    q = np.pad(recording.q, ((half, half), (0, 0)), mode='edge')
    return np.asarray(np.abs(q[2 * half :] - q[: -2 * half]) > _MIN_MOTION_RAD)


def _plateau_faults(
    recording: Recording, quantity: str, moving: NDArray[np.bool_]
) -> Iterator[str]:
    """
    Yield a message for each joint whose values stay the same while it moves.

    They are frozen, clipped or, at zero, those of a zero command or a dead zone. A clipped effort
    is at its extreme, and its neighbours in time are near: the held end of a log is none.
    """
    time = recording.time
    values = recording.q if quantity == 'position' else recording.effort
    lag = int(np.searchsorted(time, _MIN_TIME_STEP_S, 'right'))
    for joint, name in enumerate(recording.joint_names):
        column = values[:, joint]
        dq = recording.dq[:, joint]
        change = np.abs(np.diff(column))
        end = np.flatnonzero(change) + 1  # of stretches with one value
        first = np.append(0, end)[:-1]
        lasts = time[end - 1] - time[first]
        levels = np.unique(column)
        finest = np.diff(levels[np.diff(levels, prepend=-np.inf) > 1e-9 * np.ptp(levels)])
        jump = change[end - 1] > _OUTLIER_RATIO * finest.min(initial=np.inf)
        path = np.append(0.0, np.cumsum(np.abs(dq[1:]) * np.diff(time)))
        # Friction jumps where the joint turns back; an extreme value is clipped.
        onward = np.minimum(dq[end] * dq[(end - lag).clip(0)], dq[end] ** 2) > _MIN_SPEED_RAD_S**2
        inside = (column[first] > levels[0]) & (column[first] < levels[-1])
        usual = float(np.quantile(np.append(0.0, lasts), 0.9))
        stuck = lasts > max(_MIN_FROZEN_TIME_S, _OUTLIER_RATIO * usual)
        stuck &= (path[end] - path[first] > _MAX_STUCK_RAD) & jump & onward & inside
        for k in np.flatnonzero(stuck)[:1]:
            what = 'frozen' if column[first[k]] or quantity == 'position' else _ZERO_TEXT
            yield (
                f'the {quantity} of {name} is {what}: it is exactly {column[first[k]]:.4g} from '
                f'{time[first[k]]:.2f} to {time[end[k] - 1]:.2f} s while the joint moves '
                f'({np.count_nonzero(stuck)} such times); cut them out, or record again'
            )
        if quantity == 'position' or not moving[:, joint].any():
            continue
        largest = np.maximum(np.append(np.inf, change)[first], change[end - 1])
        usual = float(np.quantile(np.append(0.0, change[change > 0.0]), 0.9))
        length = (end - first) * (largest < _OUTLIER_RATIO * usual)
        levels, counts = np.unique(column[moving[:, joint]], return_counts=True)
        for order in (1, -1):
            often = counts[::order][: _COMPARED_LEVELS + 1]
            level = levels[::order][:1]
            share = often[:1].sum() / max(1, counts.sum())
            alone = len(often) > _COMPARED_LEVELS and often[0] > _OUTLIER_RATIO * often[1:].max()
            approached = 2 * length[column[first] == level].sum() > often[:1].sum()
            if alone and share > _MIN_CLIPPED_FRACTION and (approached or not level.any()):
                yield (
                    f'the effort of {name} is {"clipped" if level.any() else _ZERO_TEXT}: it is '
                    f'exactly {level[0]:.4g} in {share:.0%} of the messages in which it moves; no '
                    'model predicts that'
                )


def _constant_effort_faults(recording: Recording, moving: NDArray[np.bool_]) -> Iterator[str]:
    """Yield one message if efforts of moving joints never change, naming the first joint."""
    dead = (np.ptp(recording.effort, axis=0) == 0.0) & moving.any(axis=0)
    if dead.any():
        joint = int(np.flatnonzero(dead)[0])
        yield (
            f'the effort of {recording.joint_names[joint]} is {recording.effort[0, joint]:g} in '
            f'every message ({np.count_nonzero(dead)} of {len(dead)} joints): not measured'
        )


def require_plausible_units(recording: Recording, arm: ArmDescription) -> None:
    """Raise RecordingError if positions or most efforts are far beyond limits, as in degrees."""
    for sentence in (
        *_position_faults(recording, arm),
        *_effort_size_faults(recording, arm),
    ):
        raise RecordingError(f'{recording.source}: {sentence}.')


def _position_faults(recording: Recording, arm: ArmDescription) -> Iterator[str]:
    """Yield a message if positions are far beyond limits, as in degrees or with another zero."""
    reach = np.abs(recording.q).max(axis=0)
    bound = _MAX_POSITION_TO_LIMIT * np.abs((arm.limit('lower'), arm.limit('upper'))).max(axis=0)
    beyond = np.flatnonzero((reach > bound) & (bound > 0.0))  # some files have 0 for no limits
    if len(beyond):
        joint = int(beyond[np.argmax(reach[beyond])])
        cause = "its zero is off, or the column is another joint's; correct the column"
        kind = arm.joints[joint].kind
        if np.ptp(recording.q[:, joint]) > bound[joint]:
            cause = 'they look like millimetres, not metres; correct what publishes them'
            if kind is JointKind.REVOLUTE:
                cause = (
                    'they look like degrees, not radians; correct what publishes them and record '
                    'again, or import a log with --position-unit deg (and --velocity-unit deg/s)'
                )
        yield (
            f'positions reach {reach[joint]:.4g} on {recording.joint_names[joint]}, whose '
            f'limit is {arm.limit("upper")[joint]:g} {kind.position_unit}: {cause}'
        )


def _changes_by_q_and_dq(recording: Recording, arm: ArmDescription) -> tuple[Array, Array]:
    """
    Return changes of positions and integrals of velocities by window, (windows, n) each [rad].

    Windows with gaps, or mostly those with jumps, are left out.
    """
    time = recording.time
    step = np.diff(time)[:, None]
    path = np.concatenate(
        [
            np.zeros((1, recording.dq.shape[1])),
            0.5 * (recording.dq[1:] + recording.dq[:-1]) * step,
        ]
    ).cumsum(axis=0)
    window = max(_MOTION_WINDOW_S, 3.0 * float(np.median(step)))  # ms read as s are far apart
    begins = window * np.unique(np.floor(time / window))  # a gap may last for years
    edges = np.append(np.searchsorted(time, begins[begins < time[-1]]), len(time) - 1)
    whole = np.diff(time[edges]) < 2.0 * window  # no gap inside
    fast = (_speed_to_limit_ratios(recording, arm) > _MIN_JUMP_SPEED_TO_LIMIT).any(axis=1)
    jumps = np.concatenate(([0], np.cumsum(fast)))
    without_jumps = whole & (np.diff(jumps[edges]) == 0)
    if 2 * np.count_nonzero(without_jumps) > np.count_nonzero(whole):
        whole = without_jumps
    moved, integrated = (np.diff(values[edges], axis=0)[whole] for values in (recording.q, path))
    return moved, integrated


def _velocity_faults(recording: Recording, arm: ArmDescription) -> Iterator[str]:
    """Yield a message if velocities do not match the changes of the positions."""
    moved, integrated = _changes_by_q_and_dq(recording, arm)
    if not len(moved):
        return
    size, difference, summed = (
        np.sqrt(np.mean(one * one, axis=0)) for one in (moved, moved - integrated, integrated)
    )
    moves = size > _MIN_MOTION_RAD
    ratio = np.sum(moved * integrated, axis=0) / np.maximum(np.sum(moved * moved, axis=0), 1e-300)
    wrong = np.where(moves, difference > _MAX_VELOCITY_ERROR_RATIO * size, summed > _MAX_STUCK_RAD)
    times = float(np.median(summed[moves] / size[moves])) if moves.any() else 1.0
    if not wrong.any() and abs(times - 1.0) <= _MAX_TIME_RATIO_ERROR:
        return
    of_all = float(np.median(ratio[moves])) if moves.any() else 1.0
    for factor, what, fix in _UNIT_MISTAKES:
        if factor / _UNIT_TOLERANCE_FACTOR < of_all < factor * _UNIT_TOLERANCE_FACTOR:
            yield (
                f'{what}: velocities are {of_all:.3g} times the rate at which positions change; '
                f'correct what publishes them, or import the log with {fix}'
            )
            return
    if not wrong.any():
        yield (
            f'velocities are {times:.3g} times as large as the rates at which positions change, '
            'over all joints: rows come at another rate, or velocities have another unit. '
            f'Check both, or import the log with a --log-rate {times:.3g} times the present rate, '
            'or with --velocity derived'
        )
        return
    joint = int(np.argmax(np.where(wrong, size, -1.0)))
    yield (
        'velocities do not match positions: they may be in deg/s, those of the motors, of another '
        f'joint, sign-flipped or not measured. The velocity of {recording.joint_names[joint]} is '
        f'{ratio[joint]:.2g} times the rate at which its position changes ({wrong.sum()} of '
        f'{len(wrong)} joints are wrong); friction and Coriolis torques would be meaningless. '
        'Correct them, or import the log with --velocity derived'
    )


def _effort_to_limit_ratios(effort: Array, arm: ArmDescription) -> Array:
    """Return absolute effort over its limit, (messages, n), 0 at a joint without known limit."""
    limit = arm.limit('effort')
    return np.asarray(np.abs(effort) / np.where(limit > 0.0, limit, np.inf))


def _effort_size_faults(recording: Recording, arm: ArmDescription) -> Iterator[str]:
    """Yield a message if a joint's efforts exceed its limit by far in most messages."""
    usual = np.median(_effort_to_limit_ratios(recording.effort, arm), axis=0)
    joint = int(np.argmax(usual))
    beyond = usual > _MAX_MEDIAN_EFFORT_TO_LIMIT
    if beyond.any():
        unit = arm.joints[joint].kind.effort_unit
        yield (
            f'the effort of {recording.joint_names[joint]} is beyond '
            f'{_MAX_MEDIAN_EFFORT_TO_LIMIT:g} times its limit of {arm.limit("effort")[joint]:g} '
            f'{unit} in most messages ({beyond.sum()} of {len(beyond)} joints): give its unit by '
            f'--effort-scale, such as 0.001 for m{unit}, or correct the limit in the arm file'
        )


def _speed_to_limit_ratios(recording: Recording, arm: ArmDescription) -> Array:
    """Return speeds from positions (a step lasts >= 0.02 s) over limits, (messages - 1, n)."""
    step = np.maximum(np.diff(recording.time), _MIN_TIME_STEP_S)
    limit = arm.limit('velocity')
    rate = np.abs(np.diff(recording.q, axis=0)) / step[:, None]
    return np.asarray(rate / np.where(limit > 0.0, limit, np.inf))
