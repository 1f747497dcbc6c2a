# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Checks of a recording for wrong units, driver faults, clipping and jumps."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from .recording import Recording, require_effort
from ..arm import ArmDescription, JointKind
from ..arrays import Array, NDArray
from ..errors import RecordingError

# Positions beyond this multiple of the joint's limits are in another unit.
_MAX_POSITION_TO_LIMIT = 2.0

# Positions and the integrals of velocities are compared over windows of this length.
_MOTION_WINDOW_S = 0.3
# The rms difference of both, over a joint's windows, is at most this share of the rms change of
# its position. So it is in fourteen sound logs; of 264 logs with the velocities of two joints
# exchanged, 257 are beyond it.
_MAX_VELOCITY_ERROR_RATIO = 0.35
# A joint whose position changes by less than this in a window (rms) does not move.
_MIN_MOTION_RAD = 2e-3
# The rms integral of the velocity of a joint that does not move is at most this.
_MAX_STUCK_RAD = 0.02
# The rms integral of the velocity, over the rms change of the position, is 1 in the median over
# joints but for this error. In twelve sound logs it is off by up to 0.012.
_MAX_TIME_RATIO_ERROR = 0.05

# What counts as far more than usual, of numbers of messages, times and changes.
_OUTLIER_RATIO = 4.0
# A clipped effort is at its extreme in at least this share of the messages in which the joint
# moves, and _OUTLIER_RATIO times as often as at any of the next _COMPARED_LEVELS values: rounded
# efforts are at all values about as often.
_MIN_CLIPPED_FRACTION = 0.02
_COMPARED_LEVELS = 5
_MIN_SPEED_RAD_S = 0.02
# A frozen effort or position keeps a value for at least this time.
_MIN_FROZEN_TIME_S = 0.25
_ZERO_TEXT = 'that of a zero command or a dead zone'

# Multiples of the torque and velocity limits.
_MAX_EFFORT_TO_LIMIT = 1.5
_MIN_JUMP_SPEED_TO_LIMIT = 3.0
# Efforts beyond this many torque limits in most messages are in another unit; the node's bound is
# the same.
_MAX_MEDIAN_EFFORT_TO_LIMIT = 10.0
# Shorter intervals count as this long: stamps are not exact times of measurement.
_MIN_TIME_STEP_S = 0.02

# Ratios of velocities to the rates at which positions change, and what makes them so. The ratio is
# the median over the joints that move, and may be off by the factor _UNIT_TOLERANCE_FACTOR.
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
    effort_ratio = _effort_to_limit_ratios(recording.effort, arm)
    row, joint = np.unravel_index(int(np.argmax(effort_ratio)), effort_ratio.shape)
    beyond = np.count_nonzero(effort_ratio > _MAX_EFFORT_TO_LIMIT)
    # Efforts in another unit are a fatal fault.
    if beyond and not any(_effort_size_faults(recording, arm)):
        unit = arm.joints[joint].kind.effort_unit
        yield (
            f'the effort of {recording.joint_names[joint]} is {recording.effort[row, joint]:.4g} '
            f'{unit} at {recording.time[row]:.2f} s, far beyond its limit of '
            f'{arm.limit("effort")[joint]:g} {unit} ({beyond} such values): a '
            'collision, or values that were not measured; cut them out'
        )
    speed_ratio = _speed_to_limit_ratios(recording, arm)
    row, joint = np.unravel_index(int(np.argmax(speed_ratio)), speed_ratio.shape)
    jumps = np.count_nonzero(speed_ratio > _MIN_JUMP_SPEED_TO_LIMIT)
    if jumps:
        change = recording.q[row + 1, joint] - recording.q[row, joint]
        unit = arm.joints[joint].kind.position_unit
        yield (
            f'the position of {recording.joint_names[joint]} jumps by {change:.3g} {unit} at '
            f'{recording.time[row + 1]:.2f} s, {speed_ratio[row, joint]:.3g} times as fast as it '
            f'can move ({jumps} such steps): values that '
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


class _Stretches(NamedTuple):
    """
    The stretches of a signal in which it keeps a value, without the last, which the end cuts off.

    All arrays have one number for each stretch.
    """

    values: Array
    begins: NDArray[np.intp]  # the number of the first message
    ends: NDArray[np.intp]  # the number of the first message with another value
    durations: Array  # from the first message to the last [s]
    change_before: Array  # size of the change that begins the stretch; infinite for the first
    change_after: Array  # size of the change that ends it

    @classmethod
    def of_signal(cls, time: Array, signal: Array) -> '_Stretches':
        """Return the stretches of a signal (messages,) at times [s]."""
        changes = np.abs(np.diff(signal))
        ends = np.flatnonzero(changes) + 1
        begins = np.append(0, ends)[:-1]
        return cls(
            signal[begins],
            begins,
            ends,
            time[ends - 1] - time[begins],
            np.append(np.inf, changes)[begins],
            changes[ends - 1],
        )


def _plateau_faults(
    recording: Recording, quantity: str, moving: NDArray[np.bool_]
) -> Iterator[str]:
    """
    Yield a message for each joint whose values stay the same while it moves.

    They are frozen, clipped or, at zero, those of a zero command or a dead zone.
    """
    values = recording.q if quantity == 'position' else recording.effort
    for joint, name in enumerate(recording.joint_names):
        stretches = _Stretches.of_signal(recording.time, values[:, joint])
        frozen = _frozen_stretches(recording, joint, values[:, joint], stretches)
        if len(frozen):
            k = frozen[0]
            value = stretches.values[k]
            begin = recording.time[stretches.begins[k]]
            end = recording.time[stretches.ends[k] - 1]
            what = 'frozen' if value or quantity == 'position' else _ZERO_TEXT
            yield (
                f'the {quantity} of {name} is {what}: it is exactly {value:.4g} from '
                f'{begin:.2f} to {end:.2f} s while the joint moves '
                f'({len(frozen)} such times); cut them out, or record again'
            )
        if quantity == 'effort' and moving[:, joint].any():
            in_motion = values[moving[:, joint], joint]
            for value, share in _clipped_values(in_motion, stretches):
                yield (
                    f'the effort of {name} is {"clipped" if value else _ZERO_TEXT}: it is '
                    f'exactly {value:.4g} in {share:.0%} of the messages in which it moves; no '
                    'model predicts that'
                )


def _frozen_stretches(
    recording: Recording, joint: int, signal: Array, stretches: _Stretches
) -> NDArray[np.intp]:
    """Return the numbers of the stretches in which a joint's signal is frozen while it moves."""
    dq = recording.dq[:, joint]
    begins = stretches.begins
    ends = stretches.ends
    usual_time = float(np.quantile(np.append(0.0, stretches.durations), 0.9))
    lasts = stretches.durations > max(_MIN_FROZEN_TIME_S, _OUTLIER_RATIO * usual_time)
    path = np.append(0.0, np.cumsum(np.abs(dq[1:]) * np.diff(recording.time)))
    moves = path[ends] - path[begins] > _MAX_STUCK_RAD
    # What was missed meanwhile comes as one change, larger than the finest steps of the signal.
    jumps = stretches.change_after > _OUTLIER_RATIO * _finest_step(signal)
    # Where the joint turns back, friction jumps: behind the stretch it goes on in its direction.
    before_end = int(np.searchsorted(recording.time, _MIN_TIME_STEP_S, 'right'))
    speeds = dq[ends] * dq[(ends - before_end).clip(0)]
    goes_on = np.minimum(speeds, dq[ends] ** 2) > _MIN_SPEED_RAD_S**2
    # An extreme value is clipped instead.
    is_extreme = np.isin(stretches.values, (signal.min(), signal.max()))
    return np.flatnonzero(lasts & moves & jumps & goes_on & ~is_extreme)


def _finest_step(signal: Array) -> float:
    """Return the smallest distance of two values of a signal, infinite if there is one only."""
    levels = np.unique(signal)
    rounding = 1e-9 * np.ptp(levels)
    distinct = np.diff(levels, prepend=-np.inf) > rounding
    return float(np.diff(levels[distinct]).min(initial=np.inf))


def _clipped_values(in_motion: Array, stretches: _Stretches) -> Iterator[tuple[float, float]]:
    """
    Yield the smallest and the largest effort, each with its share of messages, if it is clipped.

    `in_motion` are the efforts of the messages in which the joint moves. An effort approaches its
    bound: the held end of a log, to which it jumps, is not clipped, unless it is zero.
    """
    changes = stretches.change_after
    usual_change = float(np.quantile(np.append(0.0, changes), 0.9))
    largest_change = np.maximum(stretches.change_before, changes)
    is_approached = largest_change < _OUTLIER_RATIO * usual_change
    levels, counts = np.unique(in_motion, return_counts=True)
    for order in (1, -1):  # from the smallest effort upwards, then from the largest downwards
        value = float(levels[::order][0])
        at_value, *at_next = counts[::order][: _COMPARED_LEVELS + 1].tolist()
        if len(at_next) < _COMPARED_LEVELS or at_value <= _OUTLIER_RATIO * max(at_next):
            continue
        share = at_value / len(in_motion)
        approached = is_approached & (stretches.values == value)
        lengths = stretches.ends - stretches.begins
        mostly_approached = 2 * lengths[approached].sum() > at_value
        if share > _MIN_CLIPPED_FRACTION and (mostly_approached or value == 0.0):
            yield value, share


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
    faults = (*_position_faults(recording, arm), *_effort_size_faults(recording, arm))
    if faults:
        raise RecordingError(f'{recording.source}: {faults[0]}.')


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
    mean_velocity = 0.5 * (recording.dq[1:] + recording.dq[:-1])
    at_start = np.zeros((1, recording.dq.shape[1]))
    path = np.concatenate([at_start, mean_velocity * step]).cumsum(axis=0)
    window = max(_MOTION_WINDOW_S, 3.0 * float(np.median(step)))  # ms read as s are far apart
    begins = window * np.unique(np.floor(time / window))  # a gap may last for years
    edges = np.append(np.searchsorted(time, begins[begins < time[-1]]), len(time) - 1)
    without_gap = np.diff(time[edges]) < 2.0 * window
    jumps = (_speed_to_limit_ratios(recording, arm) > _MIN_JUMP_SPEED_TO_LIMIT).any(axis=1)
    jumps_before = np.append(0, np.cumsum(jumps))
    usable = without_gap & (np.diff(jumps_before[edges]) == 0)
    if 2 * np.count_nonzero(usable) <= np.count_nonzero(without_gap):
        usable = without_gap
    moved = np.diff(recording.q[edges], axis=0)[usable]
    integrated = np.diff(path[edges], axis=0)[usable]
    return moved, integrated


def _velocity_faults(recording: Recording, arm: ArmDescription) -> Iterator[str]:
    """Yield a message if velocities do not match the changes of the positions."""
    moved, integrated = _changes_by_q_and_dq(recording, arm)
    if not len(moved):
        return
    position_rms = _rms_by_joint(moved)
    velocity_rms = _rms_by_joint(integrated)
    mismatch_rms = _rms_by_joint(moved - integrated)
    moves = position_rms > _MIN_MOTION_RAD
    wrong = np.where(
        moves,
        mismatch_rms > _MAX_VELOCITY_ERROR_RATIO * position_rms,
        velocity_rms > _MAX_STUCK_RAD,
    )
    median_size_ratio = 1.0
    if moves.any():
        median_size_ratio = float(np.median(velocity_rms[moves] / position_rms[moves]))
    if not wrong.any() and abs(median_size_ratio - 1.0) <= _MAX_TIME_RATIO_ERROR:
        return
    # The factor of each joint by which velocities are larger than the rates of positions.
    factors = np.sum(moved * integrated, axis=0) / np.maximum(np.sum(moved**2, axis=0), 1e-300)
    median_factor = float(np.median(factors[moves])) if moves.any() else 1.0
    for factor, what, fix in _UNIT_MISTAKES:
        if factor / _UNIT_TOLERANCE_FACTOR < median_factor < factor * _UNIT_TOLERANCE_FACTOR:
            yield (
                f'{what}: velocities are {median_factor:.3g} times the rate at which positions '
                f'change; correct what publishes them, or import the log with {fix}'
            )
            return
    if not wrong.any():
        yield (
            f'velocities are {median_size_ratio:.3g} times as large as the rates at which '
            'positions change, over all joints: rows come at another rate, or velocities have '
            'another unit. Check both, or import the log with a --log-rate '
            f'{median_size_ratio:.3g} times the present rate, or with --velocity derived'
        )
        return
    joint = int(np.argmax(np.where(wrong, position_rms, -1.0)))
    yield (
        'velocities do not match positions: they may be in deg/s, those of the motors, of another '
        f'joint, sign-flipped or not measured. The velocity of {recording.joint_names[joint]} is '
        f'{factors[joint]:.2g} times the rate at which its position changes ({wrong.sum()} of '
        f'{len(wrong)} joints are wrong); friction and Coriolis torques would be meaningless. '
        'Correct them, or import the log with --velocity derived'
    )


def _rms_by_joint(values: Array) -> Array:
    """Return the root mean square of each column, (n,)."""
    return np.asarray(np.sqrt(np.mean(values * values, axis=0)))


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
