# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Stamps of messages, and the bytes of messages with an array of numbers."""

from array import array
import re
import struct
from typing import Any

from builtin_interfaces.msg import Duration, Time
import numpy as np
from rclpy.serialization import deserialize_message, serialize_message
from std_msgs.msg import Float64MultiArray

from .rclpy_private import RMWError
from ..errors import FrankaDynamicsError, SettingsError, short_text
from ..typing import Array


def seconds(stamp: Time | Duration) -> float:
    """Return the time [s] of a message's stamp or duration."""
    return stamp.sec + 1e-9 * stamp.nanosec


def stamp_from_seconds(time: float) -> Time:
    """Return a time [s] as a stamp."""
    nanoseconds = round(time * 1e9)
    return Time(sec=nanoseconds // 10**9, nanosec=nanoseconds % 10**9)


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


# A header's stamp follows the encapsulation header of serialized bytes.
STAMP, STAMP_AT = struct.Struct('<iI'), 4


def deserialize(
    message_type: type, data: bytes, description: str, error_type: type[FrankaDynamicsError]
) -> Any:
    """Return the message in serialized bytes; raise `error_type` if they hold no such message."""
    try:
        return deserialize_message(data, message_type)
    except (RMWError, UnicodeDecodeError) as error:
        reason = short_text(' '.join(str(error).split()), 200)
        raise error_type(f'The {description} cannot be read: {reason}.') from error


class StampedTemplate:
    """
    Serializes messages in which only the stamp and rows of numbers change.

    It is made of a message in which FIRST is the first number of each row.
    """

    FIRST = 1.2345678901234567

    def __init__(self, message: Any) -> None:
        self._data = bytearray(serialize_message(message))
        first = re.escape(struct.pack('<d', self.FIRST))
        self._rows = [found.start() for found in re.finditer(first, self._data)]

    @classmethod
    def row(cls, count: int) -> list[float]:
        """Return a row of numbers for the message."""
        return [cls.FIRST, *[0.0] * (count - 1)]

    def write(self, stamp: Time, *rows: Array) -> bytes:
        """Return the bytes of a message with a stamp and rows as long as in the first one."""
        STAMP.pack_into(self._data, STAMP_AT, stamp.sec, stamp.nanosec)
        for at, values in zip(self._rows, rows):
            numbers = values.astype('<f8', copy=False).tobytes()
            self._data[at : at + len(numbers)] = numbers
        return bytes(self._data)
