# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Joint states read from their bytes.

Turning a JointState into Python objects costs more than the dynamics. Its CDR bytes hold the
values in one piece each, and where they lie only depends on what comes before them: the frame
id and the names, which do not change from message to message. So the place is worked out once
and kept as long as those bytes stay the same; whatever is not exactly as expected goes through
the decoded path, which is also what the tests compare with.
"""

from __future__ import annotations

from collections.abc import Sequence
import re
import struct
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from .messages import doubles, JointReading, JointStateReader, measured

# Plain CDR, little endian, as every ROS 2 middleware writes on the machines it runs on.
_ENCAPSULATION = b'\x00\x01\x00\x00'
_BODY = len(_ENCAPSULATION)  # alignment counts from here
_STAMP = struct.Struct('<iI')
_AFTER_STAMP = _BODY + _STAMP.size
_COUNT = struct.Struct('<I')
_DOUBLE = 8


class _Layout(NamedTuple):
    """Where the values of messages with these constant bytes lie."""

    length: int
    constant: re.Pattern[bytes]  # from behind the stamp up to the first position
    counts: tuple[tuple[int, bytes], ...]  # between the arrays: where, and their bytes
    begin: int  # of the doubles
    doubles: int  # up to the last array's end; a count and its padding take the room of one
    order: np.ndarray  # of positions, velocities and efforts (if any) among them, in joint order
    n: int


class RawJointStateReader:
    """
    Reads serialized joint states; same results and errors as JointStateReader.

    Parameters
    ----------
    joint_names : sequence of str
        The arm's joints, in joint order.

    """

    def __init__(self, joint_names: Sequence[str]) -> None:
        self._wanted = tuple(joint_names)
        self._decoded = JointStateReader(joint_names)
        self._layout: _Layout | None = None

    def read(self, data: bytes) -> JointReading:
        """
        Return the arm's part of a serialized sensor_msgs/JointState.

        Raises
        ------
        JointStateError
            As JointStateReader.read.

        """
        layout = self._layout
        if layout is None or not _fits(layout, data):
            message = deserialize_message(data, JointState)
            reading = self._decoded.read(message)
            self._layout = _layout_of(data, message, self._wanted)
            return reading
        sec, nanosec = _STAMP.unpack_from(data, _BODY)
        n = layout.n
        values = np.frombuffer(data, '<f8', layout.doubles, layout.begin)[layout.order]
        return JointReading(sec, nanosec, values[:n], values[n:2 * n],
                            measured(values[2 * n:]) if len(values) > 2 * n else None)


def _fits(layout: _Layout, data: bytes) -> bool:
    """Return whether a message's values lie where another's did."""
    return (len(data) == layout.length
            and data.startswith(_ENCAPSULATION)
            and layout.constant.match(data, _AFTER_STAMP) is not None
            and data.startswith(layout.counts[0][1], layout.counts[0][0])
            and data.startswith(layout.counts[1][1], layout.counts[1][0]))


def _layout_of(data: bytes, message: JointState, wanted: Sequence[str]) -> _Layout | None:
    """Return where a decoded message's values lie in its bytes, or None if it is not certain."""
    if not data.startswith(_ENCAPSULATION):
        return None
    spans, place = [], _AFTER_STAMP
    for text in (message.header.frame_id, None, *message.name):
        place = _align(place, _COUNT.size)
        end = place + _COUNT.size + (0 if text is None else len(text.encode()) + 1)
        spans.append((place, end))
        place = end
    offsets, counts = [], []
    for values in (message.position, message.velocity, message.effort):
        place = _align(place, _COUNT.size)
        counts.append((place, len(values)))
        place += _COUNT.size
        if len(values):
            place = _align(place, _DOUBLE)
        offsets.append(place)
        place += _DOUBLE * len(values)
    # A serializer may pad the end; anything else means that the layout is not understood.
    if not place <= len(data) < place + _DOUBLE or any(
            _COUNT.unpack_from(data, offset)[0] != count for offset, count in counts):
        return None
    names = list(message.name)
    pick = np.array([names.index(name) for name in wanted])
    # The three arrays are read as one row of doubles: between two of them there must be just the
    # eight bytes of a count and its padding.
    step = len(names) + 1
    if offsets[1] - offsets[0] != _DOUBLE * step:
        return None
    order, doubles = [pick, step + pick], 2 * step - 1
    if len(message.effort):
        order.append(2 * step + pick)
        doubles += step
    return _Layout(
        len(data), _pattern(data, [*spans, (counts[0][0], counts[0][0] + _COUNT.size)],
                            offsets[0]),
        tuple((offset, data[offset:offset + _COUNT.size]) for offset, _ in counts[1:]),
        offsets[0], doubles, np.concatenate(order), len(wanted))


def _align(place: int, to: int) -> int:
    return place + (_BODY - place) % to


def _pattern(data: bytes, spans: Sequence[tuple[int, int]], end: int) -> re.Pattern[bytes]:
    """
    Return what matches these bytes, whatever stands between the spans.

    Between them is padding, which serializers leave as it was in their memory.
    """
    parts, place = [], _AFTER_STAMP
    for begin, stop in spans:
        parts.append(b'.' * (begin - place) + re.escape(data[begin:stop]))
        place = stop
    return re.compile(b''.join(parts) + b'.' * (end - place), re.DOTALL)


class CommandBytes:
    """
    Serializes torques of one arm.

    Parameters
    ----------
    n : int
        Number of joints.

    """

    def __init__(self, n: int) -> None:
        # The middleware's own bytes for such a message; only the values at its end change. (The
        # padding before them is whatever its memory held; ours is always the same.)
        marked = doubles(np.full(n, -1.0))
        whole = bytes(serialize_message(Float64MultiArray(data=marked)))
        self._head = whole[:len(whole) - _DOUBLE * n]
        again = deserialize_message(self._head + marked.tobytes(), Float64MultiArray)
        self.direct = again.data == marked and not again.layout.dim

    def serialize(self, torque: NDArray[np.float64]) -> bytes:
        """Return the message that carries a torque, shape (n,)."""
        if not self.direct:
            return serialize_message(Float64MultiArray(data=doubles(torque)))
        return self._head + np.ascontiguousarray(torque, dtype='<f8').tobytes()
