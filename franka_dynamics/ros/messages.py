# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Conversion of stamps and number arrays to and from messages and their serialized bytes."""

from array import array
from collections.abc import Sequence
import math
import re
import struct
from typing import Any, NamedTuple

from builtin_interfaces.msg import Duration, Time
import numpy as np
from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from .rclpy_private import RMWError
from .. import former_names
from ..arrays import Array
from ..errors import (
    FrankaDynamicsError,
    JointStateError,
    list_text,
    SettingsError,
    short_text,
)

__getattr__ = former_names.of_module(__name__, '0.3', STATE_QOS='.topics.STATE_QOS')

# A header's stamp follows the encapsulation header of serialized bytes.
STAMP_STRUCT = struct.Struct('<iI')
STAMP_OFFSET = 4
# The first second of the year 2000 [s]. The time of day is above it; simulated time is below, and
# so is the time since a computer was started.
FIRST_WALL_TIME_S = 946684800.0
_MAX_STAMP_NANOSECONDS = 10**9 - 1
# The first bytes of a message from a little-endian computer.
_LITTLE_ENDIAN_HEADER = b'\x00\x01'
_EMPTY_ARRAY = np.zeros(0)
_VELOCITY_ADVICE = ' (franka_ros2 has them on franka/joint_states)'


def stamp_to_seconds(stamp: Time | Duration) -> float:
    """Return a message's stamp or duration in seconds."""
    return stamp.sec + 1e-9 * stamp.nanosec


def seconds_to_stamp(time: float) -> Time:
    """Return a time [s] as a message's stamp."""
    nanoseconds = round(time * 1e9)
    return Time(sec=nanoseconds // 10**9, nanosec=nanoseconds % 10**9)


def serialized_exactly(message: Any) -> bytes:
    """
    Return a message's serialized bytes without any after its end.

    rclpy's `serialize_message` returns as many bytes as Fast DDS reserves, which are too many for
    a message with empty arrays. What follows the end is whatever the memory held, and some readers
    of bags, rosbags among them, refuse it.
    """
    data = bytes(serialize_message(message))
    try:
        while deserialize_message(data[:-1], type(message)) == message:
            data = data[:-1]
    except RMWError:  # the message is cut short
        pass
    return data


def float64_array(values: Array) -> array:
    """Return values as array.array, for a message field of type float64[]."""
    return array('d', np.ascontiguousarray(values, dtype=float).tobytes())


def float64_message_prefix(n: int) -> bytes:
    """Return the bytes that precede the n numbers in a serialized Float64MultiArray."""
    return serialized_exactly(Float64MultiArray(data=[0.0] * n))[: -8 * n]


def read_float64_message(data: bytes, prefix: bytes) -> Array:
    """
    Return the numbers in a serialized std_msgs/Float64MultiArray, or raise SettingsError.

    One with as many numbers as `prefix`, of `float64_message_prefix`, says is read without rclpy.
    Raises SettingsError if the bytes are no such message.
    """
    count = int.from_bytes(prefix[-8:-4], 'little')  # then follows padding
    if data.startswith(prefix[:-4]) and len(data) == len(prefix) + 8 * count:
        return np.frombuffer(data, '<f8', count, len(prefix))
    message = parse_message(Float64MultiArray, data, 'torque', SettingsError)
    return np.asarray(message.data, dtype=float)


def parse_message(
    message_type: type,
    data: bytes,
    description: str,
    error_type: type[FrankaDynamicsError],
) -> Any:
    """Return the message that serialized bytes hold; raise `error_type` if it cannot be read."""
    try:
        return deserialize_message(data, message_type)
    except (RMWError, UnicodeDecodeError) as error:
        reason = short_text(' '.join(str(error).split()), 200)
        raise error_type(f'The {description} cannot be read: {reason}.') from error


class MessageTemplate:
    """
    A serializer of messages in which only the stamp and rows of numbers change.

    It is made from a message in which PLACEHOLDER is the first number of each row.
    """

    PLACEHOLDER = 1.2345678901234567

    def __init__(self, message: Any) -> None:
        """Make a template from a message with placeholder rows."""
        self._data = bytearray(serialized_exactly(message))
        first = re.escape(struct.pack('<d', self.PLACEHOLDER))
        self._row_offsets = [found.start() for found in re.finditer(first, self._data)]

    @classmethod
    def placeholder_row(cls, count: int) -> list[float]:
        """Return a row of `count` numbers whose bytes mark the row's place in a message."""
        return [cls.PLACEHOLDER, *[0.0] * (count - 1)]

    def serialize(self, stamp: Time, *rows: Array) -> bytes:
        """Return the serialized message with a new stamp and new rows of the same lengths."""
        STAMP_STRUCT.pack_into(self._data, STAMP_OFFSET, stamp.sec, stamp.nanosec)
        for at, values in zip(self._row_offsets, rows):
            numbers = values.astype('<f8', copy=False).tobytes()
            self._data[at : at + len(numbers)] = numbers
        return bytes(self._data)


class JointReading(NamedTuple):
    """
    A joint state's stamp, and the arm's positions, velocities, efforts or None, (n,) in SI units.

    `stamp` is the message's stamp [s], `stamp_message` the same as a ROS message. `effort` is None
    if the message has none, or only zeros, or only NaN.
    """

    stamp: float
    stamp_message: Time
    position: Array
    velocity: Array
    effort: Array | None


class NoArmJointsError(JointStateError):
    """A joint state, such as a gripper's, has none of the arm's joints, but `joint_names`."""

    def __init__(self, text: str, joint_names: Sequence[str]) -> None:
        """Store the text, and the names of the joints that the joint state has."""
        super().__init__(text)
        self.joint_names = joint_names


def _joint_state_pattern(message: JointState, data: bytes) -> re.Pattern[bytes] | None:
    """
    Return a pattern of `message` with any stamp, values and padding; None if bytes differ in form.

    Its groups are stamp, positions, velocities and efforts in the serialized message, of which
    `data` is an example. In OMG's XCDR, version 1, a number stands at a multiple of its size after
    the encapsulation header of four bytes. The pattern is None for bytes in another form.
    """
    parts = [re.escape(data[:STAMP_OFFSET]), b'(.{8})']
    at = STAMP_OFFSET + STAMP_STRUCT.size

    def add_constant(size: int) -> None:
        """Add the data's next field, a count of four bytes and `size` bytes, to the pattern."""
        nonlocal at
        start = at + -at % 4
        parts.append(b'.{%d}' % (start - at) + re.escape(data[start : start + 4 + size]))
        at = start + 4 + size

    texts = message.name
    fields = (message.position, message.velocity, message.effort)
    add_constant(len(message.header.frame_id.encode()) + 1)
    for size in (0, *(len(text.encode()) + 1 for text in texts)):
        add_constant(size)
    for values in fields:
        add_constant(0)
        padding = (4 - at) % 8 if values else 0
        size = 8 * len(values)
        parts.append(b'.{%d}(.{%d})' % (padding, size))
        at += padding + size
    pattern = re.compile(b'%s.{%d}' % (b''.join(parts), max(0, len(data) - at)), re.DOTALL)
    found = data.startswith(_LITTLE_ENDIAN_HEADER) and pattern.fullmatch(data)
    as_read = [values.tobytes() for values in fields]
    return pattern if found and [*found.groups()[1:]] == as_read else None


def joint_state_template(joints: Sequence[str]) -> MessageTemplate:
    """Return a template for messages of joint states with positions, velocities and efforts."""
    row = MessageTemplate.placeholder_row(len(joints))
    return MessageTemplate(JointState(name=list(joints), position=row, velocity=row, effort=row))


class JointStateReader:
    """
    A reader of an arm's positions, velocities and efforts in serialized joint states.

    With `derive_velocity` a joint state without velocities, or with NaN alone, gets the mean ones
    since the state before, the first one zero. A joint state that is like the one before, but for
    stamp and values, is read without rclpy, which takes ten times as long.
    """

    def __init__(self, joint_names: Sequence[str], *, derive_velocity: bool = False) -> None:
        """Store the names of the joints to read, in the order of the arrays."""
        self._joint_names = tuple(joint_names)
        self._derive_velocity = derive_velocity
        # Stamp, position and derived velocity.
        self._last_reading: tuple[float, Array, Array] = (
            math.inf,
            _EMPTY_ARRAY,
            _EMPTY_ARRAY,
        )
        self._pattern: re.Pattern[bytes] | None = None  # of messages like the one before

    def read(self, data: bytes) -> JointReading:
        """
        Return the JointReading of the arm in a serialized JointState, or raise JointStateError.

        Raises NoArmJointsError if the joint state has none of the arm's joints. Raises
        JointStateError if the bytes are no joint state, the stamp has 10^9 nanoseconds or more,
        one of the arm's joints is missing or named twice, there are not as many positions,
        velocities and, if any, efforts as names, or no velocity is measured. Other values are not
        checked.
        """
        if found := self._pattern and self._pattern.fullmatch(data):
            stamp_bytes, *fields = found.groups()
            sec, nanosec = STAMP_STRUCT.unpack(stamp_bytes)
            rows = [np.frombuffer(one, '<f8') for one in fields]
        else:
            message = self._parse_message(data)
            sec = message.header.stamp.sec
            nanosec = message.header.stamp.nanosec
            rows = [*map(np.asarray, (message.position, message.velocity, message.effort))]
        if nanosec > _MAX_STAMP_NANOSECONDS:
            raise JointStateError(f'The joint state has a stamp of {nanosec} nanoseconds.')
        q, velocity, effort = (one[self._order] if len(one) else _EMPTY_ARRAY for one in rows)
        if len(velocity) and math.isnan(velocity[0]) and np.isnan(velocity).all():
            if not self._derive_velocity:
                raise JointStateError(f'The velocities of all joints are NaN{_VELOCITY_ADVICE}.')
            velocity = _EMPTY_ARRAY
        stamp = sec + 1e-9 * nanosec
        velocity = velocity if len(velocity) else self._mean_velocity(stamp, q)
        # Efforts become Python numbers, because numpy warns about some NaN patterns that a message
        # may hold.
        measured = effort if is_effort_measured(effort.tolist()) else None
        return JointReading(stamp, Time(sec=sec, nanosec=nanosec), q, velocity, measured)

    def _parse_message(self, data: bytes) -> JointState:
        """Return the joint state in bytes, or raise JointStateError; keep its bytes' pattern."""
        message = parse_message(JointState, data, 'joint state', JointStateError)
        order = self._joint_order(message.name)
        rows = message.name, message.position, message.velocity, message.effort
        n, q, dq, effort = map(len, rows)
        derived = self._derive_velocity and dq == 0
        if q != n or (dq != n and not derived) or effort not in (0, n):
            without = '' if dq or derived else _VELOCITY_ADVICE
            raise JointStateError(
                f'The joint state has {n} names but {q} values of position, {dq} of velocity and '
                f'{effort} of effort; give one for every joint, or no effort{without}.'
            )
        self._order = np.array(order)
        self._pattern = _joint_state_pattern(message, data)
        return message

    def _mean_velocity(self, stamp: float, q: Array) -> Array:
        """Return mean velocities since the last other stamp, (n,) [rad/s, m/s]; 0 if later."""
        before, last_q, velocity = self._last_reading
        if stamp != before:
            velocity = (q - last_q) / (stamp - before) if stamp > before else np.zeros(len(q))
            self._last_reading = stamp, q, velocity
        return velocity

    def _joint_order(self, message_names: Sequence[str]) -> list[int]:
        """Return the joints' indices in a message; raise JointStateError unless each is once."""
        missing = [name for name in self._joint_names if name not in message_names]
        if missing:
            sentence = (
                f'The joint state lacks {", ".join(missing)}; it has '
                f'{list_text(message_names) or "no joints"}. Set robot_type, arm_prefix or '
                "joint_names to match, or use the arm's topic."
            )
            if len(missing) == len(self._joint_names):
                raise NoArmJointsError(sentence, message_names)
            raise JointStateError(sentence)
        doubled = [name for name in self._joint_names if message_names.count(name) > 1]
        if doubled:
            raise JointStateError(f'The joint state repeats {", ".join(doubled)}; give each once.')
        return [message_names.index(name) for name in self._joint_names]


def is_effort_measured(effort: Sequence[float]) -> bool:
    """
    Return whether a joint state's efforts are neither missing nor all zero nor all NaN.

    Drivers without torque sensors, Gazebo's among them, fill the effort field with zeros, and
    joint_state_broadcaster with NaN where the hardware has no effort interface. A real arm never
    measures exactly zero at every joint.
    """
    return any(effort) and not all(map(math.isnan, effort))
