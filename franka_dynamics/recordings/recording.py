# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The joint states of one arm in a bag, read and written without ROS."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
import shutil
import tempfile
from typing import Any

import numpy as np

from . import rosbag
from .options import HEADER_STAMP, RECEIVE_STAMP, STAMP_KINDS
from ..arm import ArmDescription
from ..arm_io import ArmLike, as_description
from ..arrays import Array, ArrayLike, as_array, NDArray
from ..errors import RecordingError, require_extra
from ..files import created_folder, expanded_path, name_file_in_errors

STATE_FIELDS = ('position', 'velocity', 'effort')
# Delayed messages may be as old as this before the first that came in time [ns].
_MAX_DELAY_BEFORE_FIRST_STAMP_NS = 100_000_000
_STAMP_ADVICE = {
    HEADER_STAMP: "the clock was set back: use the recorder's with --stamps received or, if "
    'simulated time was recorded, record again without setting it back',
    RECEIVE_STAMP: 'the bag was put together from several; replay them one by one',
}

ProgressCallback = Callable[[int, int], None]
_StateRow = tuple[int, int, Array]  # message's number from 1, stamp [ns], state (3, n)


@dataclass(frozen=True, eq=False)
class Recording:
    """
    One arm's joint states, message by message.

    Values are neither filtered nor resampled. Arrays have one row per message and one column per
    joint, in the order of `joint_names`, from base to tip.

    Attributes
    ----------
    source : str
        Path of the bag or log, for messages.
    topic : str
        Topic on which the messages were (or, of a log, will be) published.
    joint_names : tuple of str
        Names under which the arm's joints were recorded.
    stamp_ns : ndarray of int64, shape (messages,)
        Strictly increasing time stamps [ns], from the headers or by the recorder's clock.
    q, dq, effort : ndarray, shape (messages, n)
        Position [rad], velocity [rad/s] and measured torque [N m].
    remarks : tuple of str
        Sentences on messages left out or put in order, derived velocities, and the like; usually
        empty.

    """

    source: str
    topic: str
    joint_names: tuple[str, ...]
    stamp_ns: NDArray[np.int64]
    q: NDArray[np.float64]
    dq: NDArray[np.float64]
    effort: NDArray[np.float64]
    remarks: tuple[str, ...] = ()

    def __len__(self) -> int:
        """Return the number of messages."""
        return len(self.stamp_ns)

    @property
    def time(self) -> NDArray[np.float64]:
        """Seconds since the first message, shape (messages,)."""
        return (self.stamp_ns - self.stamp_ns[0]) * 1e-9

    @property
    def duration(self) -> float:
        """Seconds from the first to the last message."""
        return float(self.time[-1])

    def select(self, selection: slice | NDArray[np.bool_]) -> 'Recording':
        """Return the chosen messages as a recording of their own."""
        names = 'stamp_ns', 'q', 'dq', 'effort'
        return replace(self, **{name: getattr(self, name)[selection] for name in names})

    def with_scaled_effort(self, effort_scale: ArrayLike) -> 'Recording':
        """Return the recording, efforts times one scale or one per joint; RecordingError if 0."""
        return replace(self, effort=self.effort * effort_scales(effort_scale, self.q.shape[1]))


def effort_scales(scale: ArrayLike, n: int) -> Array:
    """
    Return each joint's torque per unit of effort, (n,) [N m]; RecordingError if unusable.

    Raises RecordingError unless `scale` is one nonzero finite number, or one for each joint.
    """
    scale = as_array(scale, (...,), 'The effort scale', RecordingError, finite=False)
    finite = np.isfinite(scale) & (scale != 0)
    if scale.shape not in ((), (1,), (n,)) or not finite.all():
        raise RecordingError(
            f'The effort scale is {scale.tolist()}; give one number that is not zero for each '
            f'of the {n} joints, from base to tip, or one for all [N m or N per unit].'
        )
    return np.broadcast_to(scale, n)


def read_recording(
    path: str | Path,
    joints: ArmLike | Sequence[str],
    *,
    topic: str | None = None,
    stamps: str = HEADER_STAMP,
    progress: ProgressCallback | None = None,
) -> Recording:
    """
    Read the joint states of one arm from a rosbag2, or from a bag of ROS 1.

    The arm's joints are found by name, in any order and among other joints. Messages without any
    of the arm's joints, such as those of a gripper on the same topic, are skipped and counted.
    A FrankaState of ROS 1 names no joints: its seven are those of an arm of seven joints.

    Parameters
    ----------
    path : str or Path
        A bag's folder, or a single .mcap, .db3 or (ROS 1) .bag file.
    joints : ArmDescription, str, Path or sequence of str
        The arm, or its name or file, or the names of its joints from base to tip.
    topic : str, optional
        Topic of the joint states; by default /joint_states, or the only topic of that type, or
        of FrankaRobotState (franka_ros2) or FrankaState (franka_ros).
    stamps : str
        'header' for the messages' own stamps, 'received' for the recorder's clock.
    progress : callable, optional
        Called with the number of messages read so far and their total number.

    Raises
    ------
    RecordingError
        If the bag is missing, empty, cut short or damaged, lacks the topic, or a message lacks a
        joint or holds arrays of wrong length, values that are not finite or stamps that do not
        advance. An MCAP file whose recorder was killed is read as far as it was written.
    DescriptionError
        If there is no such arm.
    MissingDependencyError
        If rosbags is not installed.

    """
    if stamps not in STAMP_KINDS:
        raise RecordingError(f'There are no {stamps!r} stamps; choose {" or ".join(STAMP_KINDS)}.')
    given = as_description(joints) if isinstance(joints, (str, Path)) else joints
    names = given.joint_names if isinstance(given, ArmDescription) else tuple(given)
    bag = expanded_path(path)
    seen = 0
    rows: list[_StateRow] = []
    indices: dict[tuple[str, ...], NDArray[np.intp] | None] = {}
    with rosbag.open_bag(bag, names) as (reader, deserialize):
        chosen = rosbag.choose_topic(reader, bag, topic)
        where = f'{bag}, {chosen}'
        connections = rosbag.connections_on(reader, chosen)
        expected = sum(connection.msgcount for connection in connections)
        for seen, (connection, received_ns, data) in enumerate(reader.messages(connections), 1):
            message = deserialize(data, connection.msgtype)
            header = message.header.stamp
            stamp_ns = int(header.sec) * 1_000_000_000 + int(header.nanosec)
            state = _arm_state(message, names, indices, f'{where}, message {seen}')
            if state is not None:
                rows.append((seen, received_ns if stamps == RECEIVE_STAMP else stamp_ns, state))
            if progress is not None and seen % 256 == 0:
                progress(seen, expected)
    _require_states(seen, expected, names, indices, where)
    if progress is not None:
        progress(expected, expected)
    remarks = []
    messages = f'of {seen} messages on {chosen}'
    rows, late_count = _with_delayed_in_order(rows)
    if late_count:
        remarks.append(
            f'{late_count} {messages} came late, and were put in the order of their stamps'
        )
    if len(rows) < seen:
        remarks.append(f"{seen - len(rows)} {messages} name none of the arm's joints; passed over")
    if rosbag.is_unclosed_mcap(rosbag.mcap_in_folder(bag)):
        remarks.append(rosbag.RECOVERED_REMARK)
    numbers, stamps_ns, states = zip(*rows)
    q, dq, effort = np.ascontiguousarray(np.swapaxes(states, 0, 1))
    found = Recording(f'{bag}', chosen, names, np.array(stamps_ns), q, dq, effort, tuple(remarks))
    labels = [f'message {number}' for number in numbers]
    require_valid_rows(found, where, labels, _STAMP_ADVICE[stamps])
    return found


def _arm_state(
    message: Any,
    joints: Sequence[str],
    indices_by_names: dict[tuple[str, ...], NDArray[np.intp] | None],
    source: str,
) -> Array | None:
    """
    Return the arm's q, dq and effort (3, n) in a message, or None if it names none of the joints.

    `indices_by_names` has the places of the arm's joints among the names of earlier messages;
    those of a message with other names are added. Raises RecordingError if only some of the
    joints are named, one is named twice, or a field has not one value per name.
    """
    names = tuple(message.name)
    if names not in indices_by_names:
        indices_by_names[names] = rosbag.joint_indices(names, joints, source)
    columns = indices_by_names[names]
    if columns is None:
        return None
    for field in STATE_FIELDS:
        count = len(getattr(message, field))
        if count != len(names):
            raise RecordingError(
                f'{source}: {field} has {count} of {len(names)} values; {_field_fix(field, count)}'
            )
    state = [np.asarray(getattr(message, field))[columns] for field in STATE_FIELDS]
    return np.array(state, dtype=float)


def _require_states(
    count: int,
    expected: int,
    joints: Sequence[str],
    named: Collection[Sequence[str]],
    source: str,
) -> None:
    """
    Raise RecordingError unless all `expected` messages were read and some have an arm's joints.

    `named` are the joint names in each kind of message.
    """
    if count == 0:
        raise RecordingError(f'{source} holds no messages; record again while the arm moves.')
    if count != expected:
        raise RecordingError(
            f'{source}: the index promises {expected} messages, but {count} are there, so the bag '
            f'is cut short or damaged. {rosbag.UNCLOSED_BAG_HINT}.'
        )
    if not any(joint in names for names in named for joint in joints):
        most = max(named, key=len)  # a gripper's own messages may come first
        raise RecordingError(
            f'{source}: none of the {count} messages has the joints {", ".join(joints)}; one '
            f'names {", ".join(most) or "no joints"}. Choose the topic by --topic, the arm by '
            '--arm or --arm-prefix, or name its joints with --joint-names.'
        )


def _with_delayed_in_order(rows: list[_StateRow]) -> tuple[list[_StateRow], int]:
    """
    Return rows with delayed messages in the order of stamps, and how many messages were delayed.

    Rows after a clock that was set back, of which none is delayed, are returned as they are.
    """
    stamps = np.array([stamp for _, stamp, _ in rows])
    delayed = stamps < np.maximum.accumulate(stamps)
    if not delayed.any():
        return rows, 0
    in_time = stamps[~delayed]
    order = np.argsort(stamps, kind='stable')
    # After a clock that was set back, messages come where others were one period apart: there is
    # no room for them between those that came in time.
    place = np.searchsorted(in_time, stamps[delayed])
    gaps = np.diff(in_time, prepend=in_time[0] - _MAX_DELAY_BEFORE_FIRST_STAMP_NS)
    needed = (np.bincount(place) + 0.5) * np.median(np.diff(stamps[order]))
    if (gaps[place] < needed[place]).any():
        return rows, 0
    return [rows[k] for k in order], int(delayed.sum())


def require_finite(recording: Recording, source: str, row_labels: Sequence[str] = ()) -> None:
    """Raise RecordingError, naming field, joint and rows, if a value is not finite."""
    for field, values in zip(STATE_FIELDS, (recording.q, recording.dq, recording.effort)):
        bad = np.argwhere(~np.isfinite(values))
        if len(bad):
            row, joint = bad[0]
            raise RecordingError(
                f'{source}, {_row_text(row_labels, np.unique(bad[:, 0]))}: {field} of '
                f'{recording.joint_names[joint]} is {values[row, joint]}; every value of the arm '
                'must be a finite number. Cut the recording before it, or mend what wrote it.'
            )


def require_valid_rows(recording: Recording, source: str, labels: Sequence[str], fix: str) -> None:
    """
    Raise RecordingError for a value not finite, stamps that do not increase, or a single row.

    The error message names the recording by `source`, a row by its label ('message 1', ...,
    by default 'row 1', ...), joint and value; `fix` tells the user how to repair stamps
    that do not increase.
    """
    require_finite(recording, source, labels)
    if len(recording) < 2:
        raise RecordingError(f'{source} holds a single state of the arm; a motion needs many.')
    stopped = np.flatnonzero(np.diff(recording.stamp_ns) <= 0)
    if len(stopped):
        row = int(stopped[0])
        before, after = recording.stamp_ns[row : row + 2]
        raise RecordingError(
            f'{source}, {_row_text(labels, stopped + 1)}: the stamp {_time_text(after)} does not '
            f'come after {_time_text(before)} of {_row_text(labels, [row])}; {fix}.'
        )


def _row_text(labels: Sequence[str], rows: NDArray[np.intp] | Sequence[int]) -> str:
    """Return text that names one row, or the first and last of several rows and their number."""
    first = labels[rows[0]] if labels else f'row {rows[0] + 1}'
    if len(rows) == 1:
        return first
    last = labels[rows[-1]] if labels else f'row {rows[-1] + 1}'
    return f'{first} (of {len(rows)} such, the last is {last})'


def require_effort(recording: Recording) -> None:
    """Raise RecordingError if the effort is zero in every message, as if it were not measured."""
    if not recording.effort.any():
        raise RecordingError(
            f'{recording.source}, {recording.topic}: effort is zero in every message, as many '
            'drivers report that measure no torque; record a topic with measured joint torques.'
        )


def _field_fix(field: str, value_count: int) -> str:
    """Return advice on a message field that has `value_count` values in place of one per joint."""
    if value_count:
        return 'the message is malformed, fix its publisher.'
    if field == 'effort':
        return (
            'without measured torques nothing can be compared. Record a topic that carries '
            'effort, such as franka/joint_states.'
        )
    return f'record a topic that carries {field}.'


def _time_text(nanoseconds: np.int64) -> str:
    """Return a time [ns] as text in seconds, such as '1.000000001 s'."""
    whole, rest = divmod(int(nanoseconds), 1_000_000_000)
    return f'{whole}.{rest:09d} s'


def write_recording(recording: Recording, path: str | Path) -> None:
    """
    Write a recording as a rosbag2 for ROS 2 and `read_recording`; RecordingError if it exists.

    `path` is the folder to create; it appears only when the bag is complete. Raises RecordingError
    if the folder exists, OutputError if the disk is full, MissingDependencyError if rosbags is not
    installed.
    """
    bag = expanded_path(path)
    if bag.exists():
        raise RecordingError(f'{bag} exists already; remove it, or choose another name.')
    with require_extra('Writing bags needs rosbags', 'replay'):
        from rosbags.rosbag2 import StoragePlugin, Writer
        from rosbags.typesys import get_typestore, Stores
    types = get_typestore(Stores.ROS2_JAZZY)
    kinds = {name.rpartition('/')[2]: kind for name, kind in types.types.items()}
    # rosbags names the bag's files after its folder, so the scratch folder has the bag's name too.
    with (
        created_folder(bag.parent),
        name_file_in_errors(bag),
        tempfile.TemporaryDirectory(dir=bag.parent, prefix='.writing-') as scratch,
    ):
        path = Path(scratch) / bag.name
        with Writer(path, version=9, storage_plugin=StoragePlugin.MCAP) as writer:
            kind = rosbag.JOINT_STATE_TYPE
            names = list(recording.joint_names)
            connection = writer.add_connection(recording.topic, kind, typestore=types)
            states = recording.q, recording.dq, recording.effort
            for stamp, *state in zip(recording.stamp_ns.tolist(), *states):
                time = kinds['Time'](sec=stamp // 10**9, nanosec=stamp % 10**9)
                header = kinds['Header'](stamp=time, frame_id='')
                columns = [np.ascontiguousarray(column, dtype=np.float64) for column in state]
                message = kinds['JointState'](header, names, *columns)
                writer.write(connection, stamp, types.serialize_cdr(message, kind))
        shutil.move(path, bag)
