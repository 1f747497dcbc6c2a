# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""QoS profiles; converts joint states and trajectories to and from messages, bytes and files."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
import math
from pathlib import Path
import struct
from typing import Any, NamedTuple

from builtin_interfaces.msg import Duration, Time
import numpy as np
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.qos_overriding_options import QoSOverridingOptions
from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from .rclpy_private import RMWError
from ..arm.arm_file import canonical_arm_name
from ..arm.strict_yaml import read_mapping
from ..control.request import require_count, TrajectoryRequest
from ..control.trajectory import Trajectory
from ..errors import (
    DescriptionError,
    FrankaDynamicsError,
    JointStateError,
    listed,
    ReferenceRefusedError,
    SettingsError,
    shortened,
)
from ..resources import share_directory
from ..typing import Array

# Of every publisher without a profile below: reliable, because a default subscriber gets nothing
# from a best-effort one, and of depth 1, because an old torque is worth nothing.
PUBLISHER_QOS = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE)
# For subscriptions to joint states and model terms: a subscriber that pauses gets only the newest
# message afterwards.
STATE_QOS = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
# References must not be lost, and a few may come in a burst.
REFERENCE_QOS = QoSProfile(depth=10, reliability=ReliabilityPolicy.RELIABLE)
# QoS of robot_state_publisher's topic: late subscribers get the last message.
DESCRIPTION_QOS = QoSProfile(
    depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL, reliability=ReliabilityPolicy.RELIABLE
)


# A parameter file may override history, depth and reliability of joint states and commands, which
# other nodes send or receive. rclpy declares a parameter for each of the three.
QOS_OVERRIDES = QoSOverridingOptions.with_default_policies()

POINT_FIELDS = 'positions', 'velocities', 'accelerations', 'effort'


class JointReading(NamedTuple):
    """
    The state of the arm's joints in one message; arrays of shape (n,), SI units.

    `stamp` is the message's stamp [s], `stamp_message` the same as a ROS message. `effort` is None
    if the message has none, or only zeros, or only NaN.
    """

    stamp: float
    stamp_message: Time
    position: Array
    velocity: Array
    effort: Array | None


def seconds(stamp: Time | Duration) -> float:
    """Return the time [s] of a message's stamp or duration."""
    return stamp.sec + 1e-9 * stamp.nanosec


def stamp_from_seconds(time: float) -> Time:
    """Return a time [s] as a stamp."""
    nanoseconds = round(time * 1e9)
    return Time(sec=nanoseconds // 10**9, nanosec=nanoseconds % 10**9)


def node_name_of(endpoint: Any) -> str:
    """Return the full name of the node that owns a publisher or subscription."""
    return f'{endpoint.node_namespace.rstrip("/")}/{endpoint.node_name}'


UNKNOWN_NAME = '_NODE_NAME_UNKNOWN_'  # as rmw says of a node whose topics alone are discovered


def publisher_names(node: Any, topic: str) -> list[str]:
    """
    Return the full names of the nodes that publish on a topic, except one publisher of `node`.

    Another node of the same name stays listed; a dead node stays listed for up to 20 s. A node
    whose name is not discovered yet, which may be later than its messages, is left out.
    """
    found = node.get_publishers_info_by_topic(topic)
    names = sorted(node_name_of(one) for one in found if one.node_name != UNKNOWN_NAME)
    own = node.get_fully_qualified_name()
    if own in names:
        names.remove(own)
    return names


def float64_array(values: Array) -> array:
    """Return values as the array.array of a message's field of type float64[]."""
    return array('d', np.ascontiguousarray(values, dtype=float).tobytes())


def float64_message_head(n: int) -> bytes:
    """Return the bytes before the n numbers of a serialized array message, in native order."""
    return bytes(serialize_message(Float64MultiArray(data=[0.0] * n)))[: -8 * n]


def read_float64(data: bytes, head: bytes) -> Array:
    """
    Return the numbers of a serialized array message.

    One with as many numbers as `head`, of `float64_message_head`, says is read without rclpy.
    Raises SettingsError if the bytes are no such message.
    """
    known = head[:-4]  # then follows padding
    if data.startswith(known):
        count = int.from_bytes(known[-4:], 'little')
        if len(data) == len(head) + 8 * count:
            return np.frombuffer(data, '<f8', count, len(head))
    message = deserialize(Float64MultiArray, data, 'torque', SettingsError)
    return np.asarray(message.data, dtype=float)


# A number or an array for each point.
Rows = Sequence[Any] | Array


def trajectory_message(
    joint_names: Sequence[str],
    times: Rows,
    positions: Rows,
    velocities: Rows | None = None,
    accelerations: Rows | None = None,
    effort: Rows | None = None,
    *,
    start: float = 0.0,
) -> JointTrajectory:
    """
    Return a trajectory message that begins at the stamp `start` [s]; 0 means on arrival.

    `times`, shape (k,), are seconds after the start. Positions, velocities, accelerations and
    effort have shape (k, n); a field given as None is left out.
    """
    message = JointTrajectory(joint_names=joint_names)
    message.header.stamp = stamp_from_seconds(start)
    rows = zip(POINT_FIELDS, (positions, velocities, accelerations, effort))
    given = {name: values for name, values in rows if values is not None}
    for i, time in enumerate(times):
        since = stamp_from_seconds(float(time))
        message.points.append(
            JointTrajectoryPoint(
                time_from_start=Duration(sec=since.sec, nanosec=since.nanosec),
                **{name: float64_array(values[i]) for name, values in given.items()},
            )
        )
    return message


def motion_message(
    joint_names: Sequence[str], motion: Trajectory, effort: Array, start: float
) -> JointTrajectory:
    """Return `motion` with torques `effort` (k, n) [N m] as a message stamped `start` [s]."""
    rows = motion.positions, motion.velocities, motion.accelerations, effort
    return trajectory_message(joint_names, motion.times - motion.times[0], *rows, start=start)


def reference_message(request: TrajectoryRequest, lead_in: float = 0.0) -> JointTrajectory:
    """Return the message of a reference that begins on arrival; add `lead_in` [s] to all times."""
    rows = request.positions, request.velocities, request.accelerations
    return trajectory_message(request.joint_names, lead_in + request.times, *rows)


_MAX_NANOSECONDS = 10**9 - 1
# How the bytes begin that a little-endian computer makes of a message, then a header's stamp.
_LITTLE_ENDIAN, _STAMP, _STAMP_AT = b'\x00\x01', struct.Struct('<iI'), 4
_NOTHING = np.zeros(0)
_NO_VELOCITIES = ' (franka_ros2 has them on franka/joint_states)'


class NoArmJointsError(JointStateError):
    """A joint state, such as a gripper's, has none of the arm's joints."""


def deserialize(
    message_type: type, data: bytes, description: str, error_type: type[FrankaDynamicsError]
) -> Any:
    """Return the message in serialized bytes; raise `error_type` if they hold no such message."""
    try:
        return deserialize_message(data, message_type)
    except (RMWError, UnicodeDecodeError) as error:
        reason = shortened(' '.join(str(error).split()), 200)
        raise error_type(f'The {description} cannot be read: {reason}.') from error


class _Layout:
    """
    Where a serialized JointState like a given one has its stamp and values.

    In OMG's XCDR, version 1, a number stands at a multiple of its size after the encapsulation
    header of four bytes.
    """

    def __init__(self, message: JointState, data: bytes) -> None:
        self._size, self.rows, same = len(data), list[tuple[int, int]](), [*range(_STAMP_AT)]
        at = _STAMP_AT + _STAMP.size

        def skip(size: int) -> None:
            """Skip a count of four bytes, and what it counts."""
            nonlocal at
            at += -at % 4
            same.extend(range(at, at + 4 + size))
            at += 4 + size

        skip(len(message.header.frame_id.encode()) + 1)
        skip(0)
        for name in message.name:
            skip(len(name.encode()) + 1)
        fields = message.position, message.velocity, message.effort
        for values in fields:
            skip(0)
            at += (4 - at) % 8 if values else 0
            self.rows.append((len(values), at))
            at += 8 * len(values)
        self._same, self._known = np.array(same), b''
        # Of bytes in another form nothing is known.
        plain = data.startswith(_LITTLE_ENDIAN) and at <= len(data)
        if plain and all(a.tobytes() == b.tobytes() for a, b in zip(self.read(data), fields)):
            self._known = self._bytes(data)

    def _bytes(self, data: bytes) -> bytes:
        """Return the bytes that stay while stamp, values and padding change."""
        return np.frombuffer(data, dtype=np.uint8)[self._same].tobytes()

    def fits(self, data: bytes) -> bool:
        """Return whether other bytes have the same names and counts at the same places."""
        return len(data) == self._size and self._bytes(data) == self._known

    def read(self, data: bytes) -> list[Array]:
        """Return positions, velocities and efforts in bytes that fit; some may be empty."""
        return [np.frombuffer(data, '<f8', count, at) for count, at in self.rows]


class StampedTemplate:
    """Serializes messages in which only the stamp and numbers in a row change."""

    FIRST = 1.2345678901234567  # of the numbers in the message that the template is made of

    def __init__(self, message: Any) -> None:
        self._data = bytearray(serialize_message(message))
        self._at = self._data.index(struct.pack('<d', self.FIRST))

    def write(self, stamp: Time, values: Array) -> bytes:
        """Return the bytes of a message with a stamp and as many values as in the first one."""
        _STAMP.pack_into(self._data, _STAMP_AT, stamp.sec, stamp.nanosec)
        numbers = values.astype('<f8', copy=False).tobytes()
        self._data[self._at : self._at + len(numbers)] = numbers
        return bytes(self._data)


class JointStateWriter:
    """Serializes an arm's joint states, of which only stamp and values change."""

    def __init__(self, names: Sequence[str]) -> None:
        zero = [0.0] * len(names)
        message = JointState(name=list(names), position=zero, velocity=zero, effort=zero)
        self._data = bytearray(serialize_message(message))
        self._rows = _Layout(message, bytes(self._data)).rows

    def write(self, stamp: Time, *fields: Array) -> bytes:
        """Return the bytes of a state: positions, velocities and efforts, shape (n,) each."""
        _STAMP.pack_into(self._data, _STAMP_AT, stamp.sec, stamp.nanosec)
        for (count, at), values in zip(self._rows, fields):
            self._data[at : at + 8 * count] = values.astype('<f8').tobytes()
        return bytes(self._data)


class JointStateReader:
    """
    Reads an arm's positions, velocities and efforts from serialized joint states, by joint name.

    With `derive_velocity` a joint state without velocities, or with NaN alone, gets the mean ones
    since the state before, the first one zero. A joint state that is like the one before, but for
    stamp and values, is read without rclpy, which takes ten times as long.
    """

    def __init__(self, joint_names: Sequence[str], *, derive_velocity: bool = False) -> None:
        self._expected, self._derive = tuple(joint_names), derive_velocity
        self._last: tuple[float, Array, Array] | None = None  # stamp, position, derived velocity
        self._layout: _Layout | None = None

    def read(self, data: bytes) -> JointReading:
        """
        Return the arm's part of a serialized sensor_msgs/JointState.

        Raises NoArmJointsError if the joint state has none of the arm's joints. Raises
        JointStateError if the bytes are no joint state, the stamp has 10^9 nanoseconds or more,
        one of the arm's joints is missing or named twice, there are not as many positions,
        velocities and, if any, efforts as names, or no velocity is measured. Other values are not
        checked.
        """
        if self._layout is not None and self._layout.fits(data):
            sec, nanosec = _STAMP.unpack_from(data, _STAMP_AT)
            rows = self._layout.read(data)
        else:
            message = self._checked(data)
            sec, nanosec = message.header.stamp.sec, message.header.stamp.nanosec
            rows = [
                np.asarray(one) for one in (message.position, message.velocity, message.effort)
            ]
        if nanosec > _MAX_NANOSECONDS:
            raise JointStateError(
                f'The joint state cannot be read: its stamp has {nanosec} nanoseconds.'
            )
        q, velocity, effort = (one[self._order] if len(one) else _NOTHING for one in rows)
        if len(velocity) and math.isnan(velocity[0]) and np.isnan(velocity).all():
            if not self._derive:
                raise JointStateError(f'The velocities of all joints are NaN{_NO_VELOCITIES}.')
            velocity = _NOTHING
        stamp = sec + 1e-9 * nanosec
        return JointReading(
            stamp,
            Time(sec=sec, nanosec=nanosec),
            q,
            velocity if len(velocity) else self._derived(stamp, q),
            # Efforts become Python numbers, because numpy warns about some NaN patterns that a
            # message may hold.
            effort if is_measured(effort.tolist()) else None,
        )

    def _checked(self, data: bytes) -> JointState:
        """Return the message, and remember its layout; raise an error if it cannot be used."""
        message = deserialize(JointState, data, 'joint state', JointStateError)
        names, position, velocity = message.name, message.position, message.velocity
        order = self._find(names)
        derived = self._derive and not velocity
        if not len(names) == len(position) == (len(names) if derived else len(velocity)):
            without = '' if velocity else _NO_VELOCITIES
            raise JointStateError(
                f'The joint state has {len(names)} names but {len(position)} values of position '
                f'and {len(velocity)} of velocity; both must be given for every joint{without}.'
            )
        if len(message.effort) not in (0, len(names)):
            raise JointStateError(
                f'The joint state has {len(names)} names but {len(message.effort)} values of '
                'effort; give one for every joint, or none.'
            )
        self._order, self._layout = np.array(order), _Layout(message, data)
        return message

    def _derived(self, stamp: float, q: Array) -> Array:
        """Return the mean velocity since the state before; zero if there was none before it."""
        before, velocity = self._last, np.zeros(len(q))
        if before is not None and stamp == before[0]:
            return before[2]
        if before is not None and stamp > before[0]:
            velocity = (q - before[1]) / (stamp - before[0])
        self._last = stamp, q, velocity
        return velocity

    def _find(self, given: Sequence[str]) -> list[int]:
        missing = [name for name in self._expected if name not in given]
        if missing:
            kind = NoArmJointsError if len(missing) == len(self._expected) else JointStateError
            raise kind(
                f'The joint state lacks {", ".join(missing)}; it has '
                f'{listed(given) or "no joints"}. Set robot_type, arm_prefix or joint_names to '
                'match, or listen to the topic that carries this arm.'
            )
        doubled = [name for name in self._expected if given.count(name) > 1]
        if doubled:
            raise JointStateError(
                f'The joint state names {", ".join(doubled)} more than once; nobody can tell '
                'which value holds.'
            )
        return [given.index(name) for name in self._expected]


def is_measured(effort: Sequence[float]) -> bool:
    """
    Return False for efforts that are missing, all exactly zero, or all NaN.

    Drivers without torque sensors, Gazebo's among them, fill the effort field with zeros, and
    joint_state_broadcaster with NaN where the hardware has no effort interface. A real arm never
    measures exactly zero at every joint.
    """
    return any(effort) and not all(map(math.isnan, effort))


_FORM = (
    'a trajectory needs joint_names and points, each with positions and time_from_start, as '
    '`franka-dynamics identify plan` writes them'
)


def parse_reference(message: JointTrajectory) -> TrajectoryRequest:
    """Return the reference in a message; a message without points asks the node to stop."""
    if message.points:
        return parse_trajectory(message)
    names = tuple(message.joint_names)
    return TrajectoryRequest(names, np.zeros(0), np.zeros((0, len(names))))


def parse_trajectory(message: JointTrajectory) -> TrajectoryRequest:
    """
    Return the reference in a message with points.

    Raises ReferenceRefusedError if the message has no points or too many, the points have no
    positions, or a field is neither empty in all points nor has one value per joint in each.
    """
    names, points = tuple(message.joint_names), message.points
    if not names:
        raise ReferenceRefusedError(
            "The reference's joint_names are empty; name the joint of each value of its points."
        )
    require_count(len(points))
    rows: dict[str, Array | None] = {}
    for name in POINT_FIELDS:
        values = [np.asarray(getattr(point, name)) for point in points]
        lengths = sorted({len(row) for row in values})
        if lengths not in ([0], [len(names)]):
            raise ReferenceRefusedError(
                f"The reference's {name} have {str(lengths)[:40]} values in its points for "
                f'{len(names)} joints; give one per joint in every point, or in none.'
            )
        rows[name] = np.array(values) if lengths == [len(names)] and names else None
    positions = rows['positions']
    if positions is None:
        raise ReferenceRefusedError('The reference has no positions; they are needed.')
    return TrajectoryRequest(
        joint_names=names,
        times=np.array([seconds(point.time_from_start) for point in points]),
        positions=positions,
        velocities=rows['velocities'],
        accelerations=rows['accelerations'],
        start=seconds(message.header.stamp) or None,
    )


_EXCITATIONS = share_directory() / 'config' / 'excitations'


def shipped_excitation(arm: str) -> Path | None:
    """Return the file of the excitation trajectory shipped for a Franka arm, or None."""
    path = _EXCITATIONS / f'{canonical_arm_name(arm)}.yaml'
    return path if path.is_file() else None


def read_trajectory_file(path: Path, lead_in: float = 0.0) -> JointTrajectory:
    """
    Return a trajectory message from a file of `identify plan`.

    If `path` is the name of a Franka arm and no such file exists, the excitation shipped for that
    arm is read.
    `lead_in` [s] is added to all times, as time to move to the first point. Raises SettingsError
    if the file cannot be read or is no trajectory.
    """
    shipped = shipped_excitation(str(path))
    if shipped is not None and not path.exists():
        path = shipped
    if not path.exists():
        arms = sorted(one.stem for one in _EXCITATIONS.glob('*.yaml'))
        raise SettingsError(
            f'There is no file {path}; give a file of `identify plan`, or an arm with a shipped '
            f'motion: {", ".join(arms)}.'
        )
    try:
        content = read_mapping(path, expected=_FORM)
        points = content['points']
        since = [point['time_from_start'] for point in points]
        times = [lead_in + one.get('sec', 0) + 1e-9 * one.get('nanosec', 0) for one in since]
        rows = [[point.get(name, ()) for point in points] for name in POINT_FIELDS]
        message = trajectory_message(content['joint_names'], times, *rows)
        parse_trajectory(message)
    except DescriptionError as error:
        raise SettingsError(str(error)) from error
    except ReferenceRefusedError as error:
        raise SettingsError(f'{path}: {error}') from error
    except (KeyError, TypeError, ValueError, AttributeError, AssertionError) as error:
        raise SettingsError(f'{path}: {_FORM} ({" ".join(repr(error).split())[:120]}).') from error
    return message


def trajectory_of(message: JointTrajectory) -> Trajectory:
    """Return the trajectory in a message with positions, velocities and accelerations."""
    request = parse_trajectory(message)
    assert request.velocities is not None and request.accelerations is not None
    states = np.stack((request.positions, request.velocities, request.accelerations), axis=1)
    return Trajectory(request.times, states, request.start or 0.0)
