# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Opens bags without ROS, chooses the topic, and finds an arm's joints in messages.

Also an MCAP file is read whose recorder was killed before it closed the file.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from itertools import islice
from pathlib import Path
import shutil
import struct
import tempfile
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from ..errors import MissingDependencyError, RecordingError, require_extra

JOINT_STATE_TYPE = 'sensor_msgs/msg/JointState'
ROBOT_STATE_TYPE = 'franka_msgs/msg/FrankaRobotState'  # of franka_ros2; it contains a JointState
ROS1_STATE_TYPE = 'franka_msgs/msg/FrankaState'  # of franka_ros; it has q, dq and tau_J, no names
ROS1_JOINT_NAMES = tuple(f'panda_joint{number}' for number in range(1, 8))  # of franka_ros
DEFAULT_JOINT_STATE_TOPIC = '/joint_states'
_SEARCHED_MESSAGE_COUNT = 50  # a gripper's messages may come first on the same topic
BAG_SUFFIXES = ('.mcap', '.db3', '.bag')
UNCLOSED_BAG_HINT = (
    'A killed recorder leaves such a file: try `ros2 bag reindex`, `mcap recover`, or record again'
)
# A record of MCAP (https://mcap.dev/spec): opcode (1 byte), length (8 bytes), content.
_MCAP_MAGIC = b'\x89MCAP0\r\n'
_MCAP_RECORD_HEAD = struct.Struct('<BQ')
_MCAP_DATA_END = 0x0F
_MCAP_FOOTER = 0x02
_MCAP_CLOSING_RECORDS = (
    _MCAP_RECORD_HEAD.pack(_MCAP_DATA_END, 4)
    + bytes(4)  # no checksum
    + _MCAP_RECORD_HEAD.pack(_MCAP_FOOTER, 20)
    + bytes(20)  # no summary: readers then read the whole file
    + _MCAP_MAGIC
)
RECOVERED_REMARK = 'the recorder was killed before it closed the bag; read as far as written'


@contextmanager
def open_bag(
    bag: Path, unnamed_joints: Sequence[str] = ROS1_JOINT_NAMES
) -> Iterator[tuple[Any, Callable[[bytes, str], Any]]]:
    """
    Yield the reader of a rosbag2 (folder, .mcap or .db3) or a ROS 1 .bag, and its deserializer.

    The deserializer returns a JointState; of a FrankaRobotState, the measured joint state in it;
    of a FrankaState of ROS 1, its q, dq and tau_J, with the names `unnamed_joints` if these are
    seven. JointState is read by rosbags' own definition, so that a broken or unknown definition
    of another type in the bag does not prevent reading; the others are read by the bag's
    definition. RecordingError is raised if the bag is missing or damaged, also while the caller
    reads messages; MissingDependencyError if rosbags is not installed.
    """
    with require_extra('Reading bags needs rosbags', 'replay'):
        from rosbags import rosbag1, rosbag2
        from rosbags.typesys import get_typestore, Stores
    inside: list[Path] = []
    if bag.is_dir():
        inside = list(bag.iterdir())
    elif bag.exists():
        inside = [bag]
    files = [file for file in inside if file.suffix in BAG_SUFFIXES]
    if not files:
        raise RecordingError(
            f'{bag} is no bag; give the folder of a rosbag2, or a single '
            f'{", ".join(BAG_SUFFIXES)} file (`bag import` reads logs of other kinds).'
        )
    path = mcap_in_folder(bag)
    readable = path.is_file() or (bag / 'metadata.yaml').is_file()
    if not (readable and any(file.stat().st_size for file in files)):
        raise RecordingError(f'{bag} was not closed, or is empty. {UNCLOSED_BAG_HINT}.')
    try:
        if bag.suffix == '.bag':
            types = get_typestore(Stores.ROS1_NOETIC)
            with rosbag1.Reader(bag) as reader:
                yield reader, _ros1_decoder(reader, types, unnamed_joints)
            return
        with (
            closed_copy(path) if is_unclosed_mcap(path) else nullcontext(path) as closed,
            rosbag2.Reader(closed) as reader,
        ):
            yield (
                reader,
                _joint_state_decoder(reader, get_typestore(Stores.ROS2_JAZZY), bag),
            )
    except (RecordingError, MissingDependencyError):
        raise
    except Exception as error:
        # On truncated files rosbags and its libraries raise many types (TypeError from ord(b''),
        # struct.error, apsw's own), so every exception is caught.
        detail = ' '.join(str(error).split()) or type(error).__name__
        raise RecordingError(
            f'{bag} cannot be read, so it is cut short or damaged ({detail.rstrip(".")}). '
            f'{UNCLOSED_BAG_HINT}.'
        ) from error


def _ros1_decoder(
    reader: Any, typestore: Any, unnamed_joints: Sequence[str]
) -> Callable[[bytes, str], Any]:
    """Return a function that reads a JointState from a JointState or FrankaState message."""
    from rosbags.typesys import get_types_from_msg

    # A bag of ROS 1 holds the definition of each of its types.
    definitions = {connection.msgtype: connection.msgdef.data for connection in reader.connections}
    names = unnamed_joints if len(unnamed_joints) == len(ROS1_JOINT_NAMES) else ROS1_JOINT_NAMES
    joint_state_class = typestore.types[JOINT_STATE_TYPE]

    def joint_state(data: bytes, type_name: str) -> Any:
        """Return the JointState in serialized `data` of a message of type `type_name`."""
        if type_name != ROS1_STATE_TYPE:
            return typestore.deserialize_ros1(data, type_name)
        if type_name not in typestore.types:
            typestore.register(get_types_from_msg(definitions[type_name], type_name))
        whole = typestore.deserialize_ros1(data, type_name)
        return joint_state_class(whole.header, list(names), whole.q, whole.dq, whole.tau_J)

    return joint_state


def _joint_state_decoder(reader: Any, typestore: Any, bag: Path) -> Callable[[bytes, str], Any]:
    """Return a function that reads a JointState from a JointState or FrankaRobotState message."""
    from rosbags.typesys import get_types_from_msg

    definitions = {connection.msgtype: connection.msgdef.data for connection in reader.connections}
    definition = definitions.get(ROBOT_STATE_TYPE)

    def joint_state(data: bytes, type_name: str) -> Any:
        """Return the JointState in serialized `data` of a message of type `type_name`."""
        if type_name != ROBOT_STATE_TYPE:
            return typestore.deserialize_cdr(data, type_name)
        if not definition:
            raise RecordingError(
                f'{bag} lacks the definition of {ROBOT_STATE_TYPE}, which bags of MCAP have; '
                'convert it by `ros2 bag convert` where franka_msgs is installed.'
            )
        if type_name not in typestore.types:
            typestore.register(get_types_from_msg(definition, type_name))
        whole = typestore.deserialize_cdr(data, type_name)
        return replace(whole.measured_joint_state, header=whole.header)

    return joint_state


def choose_topic(reader: Any, bag: Path, topic: str | None) -> str:
    """
    Return the topic of joint states to read from an open bag; RecordingError if not clear.

    If `topic` is None, /joint_states is chosen, the only topic of this name in another namespace,
    or the bag's only topic of joint states; without any, the only topic of FrankaRobotState, or
    of FrankaState of ROS 1.
    Raises RecordingError if the bag has no joint states on `topic`, or, if `topic` is None, no
    joint states at all or several such topics.
    """
    kinds = {(connection.topic, connection.msgtype) for connection in reader.connections}
    robot_states = sorted(
        name for name, kind in kinds if kind in (ROBOT_STATE_TYPE, ROS1_STATE_TYPE)
    )
    candidates = sorted(name for name, kind in kinds if kind == JOINT_STATE_TYPE) or robot_states
    if candidates:
        there = f'joint states are on {", ".join(candidates)}'
    else:
        every = ', '.join(f'{name} ({kind})' for name, kind in sorted(kinds))
        there = f'it holds {every or "no topics at all, as if it were cut short"}'
    if topic is not None:
        requested = topic if topic.startswith('/') else f'/{topic}'
        if requested not in (*candidates, *robot_states):
            raise RecordingError(f'{bag} has no {JOINT_STATE_TYPE} on {requested}; {there}.')
        return requested
    default = [name for name in candidates if name == DEFAULT_JOINT_STATE_TOPIC]
    named = [name for name in candidates if name.endswith(DEFAULT_JOINT_STATE_TOPIC)]
    for found in (default, named, candidates):
        if len(found) == 1:
            return found[0]
    if candidates:
        raise RecordingError(f'{bag} has no {DEFAULT_JOINT_STATE_TOPIC}; {there}: give --topic.')
    raise RecordingError(f'{bag} has no topic of type {JOINT_STATE_TYPE}; {there}.')


def connections_on(reader: Any, topic: str) -> list[Any]:
    """Return a bag's connections on a topic: one for each of its types and publishers."""
    return [connection for connection in reader.connections if connection.topic == topic]


def joint_names_in_bag(
    bag: Path, topic: str | None = None, unnamed_joints: Sequence[str] = ROS1_JOINT_NAMES
) -> list[str]:
    """
    Return the joint names in the first messages on a topic, chosen as by `choose_topic`.

    `unnamed_joints` are the names for messages without, as by `open_bag`.
    """
    names: dict[str, None] = {}
    with open_bag(bag, unnamed_joints) as (reader, deserialize):
        topic = choose_topic(reader, bag, topic)
        messages = reader.messages(connections_on(reader, topic))
        for connection, _, data in islice(messages, _SEARCHED_MESSAGE_COUNT):
            names |= dict.fromkeys(deserialize(data, connection.msgtype).name)
    return list(names)


def joint_indices(
    message_names: Sequence[str], arm_joints: Sequence[str], source: str
) -> NDArray[np.intp] | None:
    """
    Return the arm's joints' indices in a message, None without any; RecordingError if only some.

    `message_names` are the message's joint names in its order, `arm_joints` the arm's, base to
    tip; `source` names bag, topic and message in errors. RecordingError is raised if some, not
    all, of the arm's joints are missing, or one of these joints appears twice.
    """
    if not any(name in message_names for name in arm_joints):
        return None
    for name in arm_joints:
        if name not in message_names:
            raise RecordingError(
                f'{source} has no joint {name}; it names {", ".join(message_names)}. Every one '
                f'must have all {len(arm_joints)} joints of the arm.'
            )
        if list(message_names).count(name) > 1:
            raise RecordingError(f'{source} names the joint {name} twice; fix the publisher.')
    return np.array([message_names.index(name) for name in arm_joints])


def mcap_in_folder(bag: Path) -> Path:
    """Return a folder's only .mcap file if the folder lacks metadata.yaml, else the bag itself."""
    if not bag.is_dir() or (bag / 'metadata.yaml').exists():
        return bag
    found = list(bag.glob('*.mcap'))
    return found[0] if len(found) == 1 else bag


def is_unclosed_mcap(path: Path) -> bool:
    """Return whether an .mcap file begins, but does not end, with the format's magic bytes."""
    if path.suffix != '.mcap' or not path.is_file():
        return False
    with path.open('rb') as file:
        begins = file.read(len(_MCAP_MAGIC)) == _MCAP_MAGIC
        size = file.seek(0, 2)
        file.seek(max(0, size - len(_MCAP_MAGIC)))
        return begins and not (size > len(_MCAP_MAGIC) and file.read() == _MCAP_MAGIC)


@contextmanager
def closed_copy(path: Path) -> Iterator[Path]:
    """Yield the path of a closed temporary copy of an MCAP file, without a partial last record."""
    with tempfile.TemporaryDirectory(prefix='franka-dynamics-bag-') as folder:
        copy = Path(folder) / path.name
        with path.open('rb') as file:
            end = _end_of_records(file)
            file.seek(0)
            with copy.open('wb') as written:
                shutil.copyfileobj(file, written)
                written.truncate(end)
                written.seek(end)
                written.write(_MCAP_CLOSING_RECORDS)
        yield copy


def _end_of_records(mcap_file: BinaryIO) -> int:
    """Return the position [bytes] in an MCAP file after its last complete record of data."""
    size = mcap_file.seek(0, 2)
    end = mcap_file.seek(len(_MCAP_MAGIC))
    while True:
        head = mcap_file.read(_MCAP_RECORD_HEAD.size)
        if len(head) < _MCAP_RECORD_HEAD.size:
            break
        operation, length = _MCAP_RECORD_HEAD.unpack(head)
        after = end + _MCAP_RECORD_HEAD.size + length
        if operation in (_MCAP_DATA_END, _MCAP_FOOTER) or after > size:
            break
        end = mcap_file.seek(after)
    return end
