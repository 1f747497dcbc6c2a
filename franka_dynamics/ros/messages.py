# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Conversion of stamps and number arrays to and from messages and their serialized bytes."""

from array import array
from collections.abc import Sequence
import math
import re
import struct
from typing import Any

from builtin_interfaces.msg import Duration, Time
import numpy as np
from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from .rclpy_private import RMWError
from ..arrays import Array
from ..errors import (
    FrankaDynamicsError,
    SettingsError,
    short_text,
)

# A header's stamp follows the encapsulation header of serialized bytes.
STAMP_STRUCT = struct.Struct('<iI')
STAMP_OFFSET = 4
# The first second of the year 2000 [s]. The time of day is above it; simulated time is below, and
# so is the time since a computer was started.
FIRST_WALL_TIME_S = 946684800.0
# The first bytes of a message from a little-endian computer.
LITTLE_ENDIAN_HEADER = b'\x00\x01'


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


def float64_array(values: Array) -> 'array[float]':
    """Return values as array.array, for a message field of type float64[]."""
    return array('d', np.ascontiguousarray(values, dtype=float).tobytes())


def float64_message_prefix(n: int) -> bytes:
    """
    Return the bytes that precede the n numbers in a serialized Float64MultiArray.

    The last eight of them are the count of numbers and padding, four bytes each.
    """
    return serialized_exactly(Float64MultiArray(data=[0.0] * n))[: -8 * n]


def read_float64_message(data: bytes, prefix: bytes) -> Array:
    """
    Return the numbers in a serialized std_msgs/Float64MultiArray.

    A message with as many numbers as a `prefix` of `float64_message_prefix` says is read without
    rclpy, which takes longer.

    Raises
    ------
    SettingsError
        If the bytes are no such message.

    """
    count = int.from_bytes(prefix[-8:-4], 'little')
    # Padding may have any value.
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


def joint_state_template(joints: Sequence[str]) -> MessageTemplate:
    """Return a template for messages of joint states with positions, velocities and efforts."""
    row = MessageTemplate.placeholder_row(len(joints))
    return MessageTemplate(JointState(name=list(joints), position=row, velocity=row, effort=row))


def is_effort_measured(effort: Sequence[float]) -> bool:
    """
    Return whether a joint state's efforts are neither missing nor all zero nor all NaN.

    Drivers without torque sensors, Gazebo's among them, fill the effort field with zeros, and
    joint_state_broadcaster with NaN where the hardware has no effort interface. A real arm never
    measures exactly zero at every joint.
    """
    return any(effort) and not all(map(math.isnan, effort))
