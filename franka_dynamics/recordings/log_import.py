# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Makes a `Recording` from arrays in SI units, or from a log file in SI or other units."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
import re

import numpy as np

from .log_file import LogPart, numbered_episodes, read_log
from .log_table import episode_hint, LogTable, names_pattern
from .options import (
    ColumnMap,
    DERIVED_VELOCITY,
    POSITION_UNITS,
    STAMP_UNITS,
    VELOCITY_UNITS,
)
from .recording import effort_scales, Recording, require_valid_rows
from .rosbag import DEFAULT_JOINT_STATE_TOPIC
from ..arrays import Array, ArrayLike, as_array, NDArray
from ..errors import list_text, RecordingError
from ..spatial import JointKind

# Names that logs often give the first joint's column, without its number, and the time.
_COMMON_COLUMN_NAMES = {
    'position': ('q', 'position', 'pos', 'joint_position'),
    'velocity': ('dq', 'qd', 'velocity', 'vel', 'joint_velocity'),
    'effort': ('tau', 'tau_J', 'effort', 'torque', 'joint_effort'),
}
_COMMON_STAMP_NAMES = ('t', 'time', 'stamp', 'timestamp')
# Parts of the names of columns that hold no measured torques: external ones, and commands.
_NO_TORQUE_WORDS = {
    'cmd',
    'command',
    'commanded',
    'control',
    'ctrl',
    'd',
    'des',
    'desired',
    'ext',
    'external',
    'ref',
}
# An episode begins within this many sampling periods of the first stamp, and has as many rows.
_MIN_EPISODE_ROW_COUNT = 10.0
_MAX_STAMP_S = 2.0**31  # of the seconds of a message's stamp, which has 32 bits
_SECONDS_PER_YEAR = 3.2e7
# With a longer sampling period a remark suggests that stamps are in ms.
_MAX_PLAUSIBLE_PERIOD_S = 0.15


def recording_from_arrays(
    q: ArrayLike,
    dq: ArrayLike | None,
    effort: ArrayLike,
    *,
    joint_names: Sequence[str],
    stamp: ArrayLike | None = None,
    rate: float | None = None,
    source: str = 'arrays',
    topic: str = DEFAULT_JOINT_STATE_TOPIC,
) -> Recording:
    """
    Return a recording made from arrays in SI units; where `dq` is None it is derived from q.

    Parameters
    ----------
    q, dq, effort : array_like, shape (N, n)
        Position [rad], velocity [rad/s] and measured torque [N m], one row per sample. If `dq` is
        None, velocities are central differences of q, and a remark says so.
    joint_names : sequence of str
        The arm's joints, base to tip.
    stamp : array_like, shape (N,), optional
        Time of each sample [s], strictly increasing.
    rate : float, optional
        Samples per second [Hz], in place of stamps.
    source, topic : str
        Origin of the arrays, for error messages; topic of a bag written from the recording.

    Raises
    ------
    RecordingError
        If shapes disagree, there are fewer than two rows, a value is no finite number, stamps do
        not increase, or not exactly one of `stamp` and `rate` is given.

    """
    names = tuple(joint_names)
    position = as_array(q, (...,), f'{source}: position', RecordingError, finite=False)
    if position.shape != (*position.shape[:1], len(names)) or len(position) < 2:
        raise RecordingError(
            f'{source}: position has shape {position.shape}, expected (rows, {len(names)}) with '
            f'two rows or more: one column per joint, {list_text(names)}.'
        )

    def as_joint_columns(values: ArrayLike, what: str) -> Array:
        """Return values of all joints as floats in the shape of the positions."""
        return as_array(values, position.shape, f'{source}: {what}', RecordingError, finite=False)

    velocity = position  # until it is derived, when stamps and positions have been checked
    remarks: tuple[str, ...] = ()
    if dq is None:
        remarks = ('velocity was derived from position by central differences',)
    else:
        velocity = as_joint_columns(dq, 'velocity')
    torque = as_joint_columns(effort, 'effort')
    stamp_ns = _stamps_ns(len(position), stamp, rate, source)
    period = float(np.median(np.diff(stamp_ns))) * 1e-9 if len(stamp_ns) > 1 else 0.0
    if period > _MAX_PLAUSIBLE_PERIOD_S:
        remarks = (
            *remarks,
            f'rows are {period:g} s apart; stamps in ms are --stamp-unit ms',
        )
    found = Recording(source, topic, names, stamp_ns, position, velocity, torque, remarks)
    advice = 'delete such rows from the file, or give the rate instead of the stamp column'
    require_valid_rows(found, source, (), advice)
    if dq is None:
        found = replace(found, dq=np.asarray(np.gradient(position, found.time, axis=0)))
    return found


def _require_columns(log: LogTable, columns: ColumnMap) -> None:
    """Raise RecordingError unless columns are named for position, velocity and effort."""
    for what in ('position', 'velocity', 'effort'):
        if vars(columns)[what]:
            continue
        hint = ''
        if what == 'velocity':
            hint = (
                f' Where none was logged, say {DERIVED_VELOCITY} (--velocity {DERIVED_VELOCITY}).'
            )
        advice = _option_advice(log) or f' Add --{what} COLUMNS, such as q{{}} or 2-8.'
        raise RecordingError(
            f'{log.source}: {what} is missing; the file has {log.names_text()}.{hint}{advice}'
        )


def _option_advice(log: LogTable) -> str:
    """Return advice on options for common column names (q1, tau1) that a log has, else ''."""
    options = []
    for what, stems in _COMMON_COLUMN_NAMES.items():
        usual = (f'{stem}{end}' for stem in stems for end in ('0', '_0', '1', '_1'))
        first = next((name for name in usual if name in log.columns), '')
        if first:
            # In a pattern {0} stands for numbers from 0, and {} for numbers from 1.
            number = '{0}' if first.endswith('0') else '{}'
            options.append(f'--{what} {first[:-1]}{number}')
    if not options:
        return ''
    stamp = next((name for name in _COMMON_STAMP_NAMES if name in log.columns), '')
    options.append(f'--stamp {stamp}' if stamp else '--log-rate HZ')
    return f' Try {" ".join(options)}.'


def import_log(
    path: str | Path | Sequence[str | Path],
    columns: ColumnMap,
    joint_names: Sequence[str],
    *,
    topic: str = DEFAULT_JOINT_STATE_TOPIC,
    joint_kinds: Sequence[JointKind] | None = None,
) -> Recording:
    """
    Read a log file, or several files with the same rows, as one `Recording`.

    Position, effort and a velocity that is not derived have a column for each joint, base to tip.
    A bag written from the recording has its messages on `topic`. Units of angles are those of the
    joints that turn: of joints that slide, which `joint_kinds` says (all turn if it is not given),
    positions are in m and velocities in m/s.

    Raises
    ------
    RecordingError
        If the file or a column is missing or not usable, or `joint_kinds` has not one for each
        joint.
    MissingDependencyError
        If a library for this kind of file is not installed.

    """
    n = len(joint_names)
    if joint_kinds is not None and len(joint_kinds) != n:
        raise RecordingError(
            f'joint_kinds has {len(joint_kinds)} kinds of joints, joint_names {n} names: give the '
            'kind of each joint, in the same order.'
        )
    paths = (path,) if isinstance(path, (str, Path)) else tuple(path)
    whole = _read_columns(paths, columns)
    if len(paths) > 1:
        _require_one_clock(whole, columns)
    log = whole.episode_log(columns.episode)
    _require_columns(log, columns)
    arrays = _arrays_in_si_units(log, columns, n, joint_kinds)
    _require_equal_row_counts(log.source, arrays)
    remarks = [*log.remarks, *_column_warnings(log, columns, n)]
    is_complete = ~_incomplete_mask(arrays, log.source, joint_names, columns)
    if not is_complete.all():
        left_out = np.count_nonzero(~is_complete)
        remarks.append(f'{left_out} incomplete rows of {len(is_complete)} were left out')
    arrays = {name: array[is_complete] for name, array in arrays.items()}
    # Where a column or a group numbers the episodes, `log` is one of them already.
    episode = columns.episode if log is whole else None
    row_count = int(np.count_nonzero(is_complete))
    of_episode = _episode_mask(arrays.get('stamp'), row_count, episode, log.source)
    arrays = {name: array[of_episode] for name, array in arrays.items()}
    recording = recording_from_arrays(
        arrays['position'],
        arrays.get('velocity'),
        arrays['effort'],
        joint_names=joint_names,
        stamp=arrays.get('stamp'),
        rate=columns.rate,
        source=log.source,
        topic=topic,
    )
    return replace(recording, remarks=(*remarks, *recording.remarks))


def _read_columns(paths: Sequence[str | Path], columns: ColumnMap) -> LogTable:
    """Return the columns of logs that a map names or, where one is not there, all."""
    texts = [columns.position, columns.effort, columns.velocity, columns.stamp]
    named = [text for text in texts if text and text != DERIVED_VELOCITY]
    pattern = names_pattern(named)
    if pattern is None or len(paths) > 1 or not named:
        return read_log(*paths)
    try:
        part = read_log(*paths, part=LogPart(pattern, columns.episode))
    except RecordingError:  # as no such column is there
        return read_log(*paths)
    # Where one is missing, a message is to tell what is there.
    wanted = [names_pattern([text]) for text in named]
    is_complete = all(one and any(map(one.fullmatch, part.columns)) for one in wanted)
    return part if is_complete else read_log(*paths)


def episode_numbers(path: str | Path, columns: ColumnMap) -> list[int]:
    """
    Return the numbers of the episodes in a log file, none if the whole file is one.

    As for `import_log` a group or a column numbers them, or else they are where stamps begin anew.
    """
    numbered = numbered_episodes(path)
    if numbered or columns.stamp is None:
        return numbered
    stamps = _stamp_column(_read_columns([path], columns), columns)
    _, several = _stamp_episodes(stamps, len(stamps))
    return several if len(several) > 1 else []


def _arrays_in_si_units(
    log: LogTable, columns: ColumnMap, n: int, joint_kinds: Sequence[JointKind] | None
) -> dict[str, Array]:
    """
    Return position, velocity and effort (rows, n) of a log in SI units, and the stamps (rows,).

    Stamps are first, so that faults of theirs are told first; they and a velocity that is to be
    derived may be missing.
    """
    turns = np.ones(n, dtype=bool)
    if joint_kinds is not None:
        turns = np.array([kind is JointKind.REVOLUTE for kind in joint_kinds])
    position_scale = np.where(turns, POSITION_UNITS[columns.position_unit], 1.0)
    velocity_scale = np.where(turns, VELOCITY_UNITS[columns.velocity_unit], 1.0)
    arrays = {'position': position_scale * log.select(columns.position, n, 'position')}
    if columns.velocity != DERIVED_VELOCITY:
        arrays['velocity'] = velocity_scale * log.select(columns.velocity, n, 'velocity')
    effort = log.select(columns.effort, n, 'effort')
    arrays['effort'] = effort * effort_scales(columns.effort_scale, n)
    if columns.stamp is None:
        return arrays
    return {'stamp': _stamp_column(log, columns), **arrays}


def _require_equal_row_counts(source: str, arrays: Mapping[str, Array]) -> None:
    """Raise RecordingError that says which quantity has how many rows, unless all have as many."""
    counts = {name: len(array) for name, array in arrays.items()}
    if len({*counts.values()}) > 1:
        stated = list_text([f'{name} {count} rows' for name, count in counts.items()])
        raise RecordingError(
            f'{source}: {stated}. Rows are one moment each: bring all quantities to the same rows '
            'first, such as by pandas.merge_asof, or cut the longer ones where both begin at once.'
        )


def _column_warnings(log: LogTable, columns: ColumnMap, n: int) -> Iterator[str]:
    """Yield a warning for each sign in column names of another quantity or another arm."""
    words = re.split('[^a-z]+', columns.effort.lower())
    for word in sorted(_NO_TORQUE_WORDS.intersection(words)):
        yield (
            f'effort is read from {columns.effort!r}: does {word!r} mean measured torques '
            'with gravity and friction? External torques or commands identify nothing'
        )
    for what in ('position', 'velocity', 'effort'):
        pattern = vars(columns)[what]
        following = pattern.replace('{}', str(n + 1)).replace('{0}', str(n))
        if following != pattern and following in log.columns:
            yield (
                f'{what} {pattern!r} is read for the {n} joints of the arm, and the log has '
                f'{following}, too: a gripper, or is this another arm?'
            )


def _require_one_clock(log: LogTable, columns: ColumnMap) -> None:
    """Raise RecordingError if the files of a log have different stamps under the same name."""
    for name in filter(log.columns.__contains__, (columns.stamp or '').split(',')):
        for other, array in log.columns.items():
            same_name = other.rpartition('/')[2] == name.rpartition('/')[2]
            if same_name and not np.array_equal(array, log.columns[name], equal_nan=True):
                raise RecordingError(
                    f'{log.source}: the stamps {name} and {other} differ; bring all quantities to '
                    'the same rows first, such as by pandas.merge_asof.'
                )


def _stamp_column(log: LogTable, columns: ColumnMap) -> Array:
    """Return the rows' stamps, (rows,) [s], from one column or from seconds and nanoseconds."""
    assert columns.stamp is not None
    if columns.stamp.count(',') == 1:
        if columns.stamp_unit != 's':
            raise RecordingError(
                f'{log.source}: the stamp {columns.stamp!r} is seconds and nanoseconds; leave out '
                '--stamp-unit, or give one column.'
            )
        return log.select(columns.stamp, 2, 'stamp') @ [1.0, 1e-9]
    return log.select(columns.stamp, 1, 'stamp')[:, 0] * STAMP_UNITS[columns.stamp_unit]


def _incomplete_mask(
    arrays: Mapping[str, Array],
    source: str,
    joint_names: Sequence[str],
    columns: ColumnMap,
) -> NDArray[np.bool_]:
    """Return a mask of incomplete rows; raise RecordingError if all are, or may not be skipped."""
    lacking = {
        name: np.asarray(np.isnan(array.reshape(len(array), -1)).any(axis=1))
        for name, array in arrays.items()
    }
    rows: NDArray[np.bool_] = np.any(list(lacking.values()), axis=0)
    if rows.all() or (rows.any() and not columns.skip_incomplete):
        first = int(np.argmax(rows))
        what = next(name for name, lacks in lacking.items() if lacks[first])
        if arrays[what].ndim == 2:
            what = f'{what} of {joint_names[int(np.argmax(np.isnan(arrays[what][first])))]}'
        advice = 'leave such rows, as of merged topics, out by --skip-incomplete'
        if rows.all():
            advice = 'bring all quantities to the same rows first, such as by pandas.merge_asof'
        raise RecordingError(
            f'{source}, row {first + 1}: {what} is nan or empty, as are values in {rows.sum()} of '
            f'{len(rows)} rows; {advice}.'
        )
    return rows


def _episode_mask(
    stamps: Array | None, row_count: int, episode: int | None, source: str
) -> NDArray[np.bool_]:
    """
    Return a mask of an episode's rows, of all if there is one; raise RecordingError if unclear.

    Fewer rows in order than an episode has are none: their stamps are refused later, with the
    rows' numbers, as is any other step back.
    """
    numbers, several = _stamp_episodes(stamps, row_count)
    if episode is None and len(several) <= 1:
        return np.ones(row_count, dtype=bool)
    if len(several) <= 1:
        raise RecordingError(
            f'{source}: no episode {episode}; neither a group nor a column numbers episodes, and '
            'no stamps begin anew: leave --episode out.'
        )
    if episode is None or episode not in several:
        what = 'the stamps begin anew, so' if episode is None else f'no episode {episode};'
        raise RecordingError(f'{source}: {what} {episode_hint(several)}')
    return numbers == episode


def _stamp_episodes(stamps: Array | None, row_count: int) -> tuple[NDArray[np.int64], list[int]]:
    """
    Return the number of each row's episode, and the numbers of those that are episodes.

    An episode begins where stamps go back to about the first one, and has
    _MIN_EPISODE_ROW_COUNT rows in order at least.
    """
    numbers = np.zeros(row_count, dtype=np.int64)  # of each row's episode
    in_order = np.zeros(row_count)  # 1 for a row that comes after the one before in its episode
    if stamps is not None and row_count > 1:
        step = np.diff(stamps)
        if np.any(step > 0.0):
            near_first = stamps[0] + _MIN_EPISODE_ROW_COUNT * np.median(step[step > 0.0])
            numbers[1:] = np.cumsum((step < 0.0) & (stamps[1:] < near_first))
        in_order[1:] = (step > 0.0) & (np.diff(numbers) == 0)
    several = np.flatnonzero(np.bincount(numbers, in_order) >= _MIN_EPISODE_ROW_COUNT)
    return numbers, several.tolist()


def _negative_stamp_fix(times: Array) -> str:
    """Return advice on stamps [s] of which some are not finite or below zero."""
    if np.isfinite(times).all() and (np.diff(times) > 0.0).all():
        return 'the clock begins below 0: subtract the first stamp from all'
    return (
        'delete these rows and torn ones beside them from the file, or, if all other columns are '
        'right there, give the rate of the rows (--log-rate) in place of --stamp'
    )


def _stamps_ns(
    row_count: int, stamps: ArrayLike | None, rate_hz: float | None, source: str
) -> NDArray[np.int64]:
    """Return rows' stamps [ns] from stamps [s] or a rate [Hz]; raise RecordingError if wrong."""
    if stamps is None and rate_hz is None:
        raise RecordingError(
            f'{source}: give the stamp column or the rate [Hz]; neither is given.'
        )
    if stamps is not None and rate_hz is not None:
        raise RecordingError(f'{source}: give either the stamp column or the rate [Hz], not both.')
    if rate_hz is not None:
        if not 0.0 < rate_hz <= 1e9:
            raise RecordingError(f'{source}: the rate is {rate_hz} Hz; it must be positive.')
        return np.round(np.arange(row_count) * (1e9 / rate_hz)).astype(np.int64)
    times = as_array(stamps, (row_count,), f'{source}: stamp', RecordingError, finite=False)
    bad = np.flatnonzero(~np.isfinite(times) | (times < 0.0))
    if len(bad):
        raise RecordingError(
            f'{source}, row {bad[0] + 1}: the stamp is {times[bad[0]]:g}, not a time from 0 on, '
            f'as are {len(bad)} of {row_count}; {_negative_stamp_fix(times)}.'
        )
    if times.max(initial=0.0) >= _MAX_STAMP_S:
        raise RecordingError(
            f'{source}: a stamp is {times.max():g} s, some '
            f'{times.max() / _SECONDS_PER_YEAR:.0f} years; its unit is probably ms, us or ns, '
            'or it counts from before 1970: subtract the first.'
        )
    return np.round(times * 1e9).astype(np.int64)
