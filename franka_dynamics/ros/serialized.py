# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Joint states read from their bytes, and commands written as theirs.

Turning a JointState into Python objects costs more than the dynamics. Its CDR bytes hold the
values in pieces whose places depend only on what comes before them. That is the frame id and the
names, which do not change from message to message: so the places are worked out once and kept as
long as those bytes stay the same. Whatever is no such message is refused in one sentence: whatever
a publisher sends reaches a raw subscription, and rclpy's own conversion raises an error of its own
for some of it, and builds objects for all of it, however many.
"""

from __future__ import annotations

from collections.abc import Sequence
import struct
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from rclpy.serialization import deserialize_message, serialize_message
from std_msgs.msg import Float64MultiArray

from .messages import doubles, JointReading, JointStateReader, measured
from ..errors import FrankaDynamicsError, JointStateError

# The representation identifier and options (OMG DDS-XTypes 1.3, 7.4.1.2); alignment counts from
# behind them.
BODY = 4
_BYTE_ORDERS = {b'\x00\x01': '<', b'\x00\x00': '>'}
_COUNT = {order: struct.Struct(order + 'I') for order in '<>'}
MOST_NANOSECONDS = 10**9 - 1
# Hundreds of joints with long names; beyond that somebody sends something else.
MOST_STATE_BYTES = 1 << 16
_STAMP = {order: struct.Struct(order + 'iI') for order in '<>'}
_AFTER_STAMP = BODY + 8
_DOUBLE = 8


class CdrError(FrankaDynamicsError, ValueError):
    """Bytes that are no message of the expected type."""


class CdrReader:
    """
    Reads one value after the other; what follows the last is padding, however much.

    Parameters
    ----------
    data : bytes
        A serialized message, encapsulation header included.
    most_bytes : int
        Beyond this it is not read at all.

    Raises
    ------
    CdrError
        If it is longer, or is not plain CDR; as do all methods where the bytes end too early.

    """

    def __init__(self, data: bytes, most_bytes: int) -> None:
        if len(data) > most_bytes:
            raise CdrError(f'it is {len(data)} bytes long, and at most {most_bytes} are read')
        order = _BYTE_ORDERS.get(bytes(data[:2]))
        if order is None or len(data) < BODY:
            raise CdrError(
                f'its first bytes are {bytes(data[:BODY]).hex() or "missing"}, which '
                'is not plain CDR'
            )
        self.data, self.order, self.place = data, order, BODY

    def align(self, size: int) -> int:
        """Go to the next multiple of a size, and return the place."""
        self.place += (BODY - self.place) % size
        return self.place

    def _advance(self, size: int) -> int:
        begin = self.place
        if size > len(self.data) - begin:
            raise CdrError(f'it ends after {len(self.data)} bytes, in the middle of a value')
        self.place = begin + size
        return begin

    def count(self) -> int:
        """Return the number of elements of a sequence, or of bytes of a text."""
        self.align(4)
        number: int = _COUNT[self.order].unpack_from(self.data, self._advance(4))[0]
        return number

    def time(self) -> tuple[int, int]:
        """Return seconds and nanoseconds of a Time or a Duration."""
        self.align(4)
        sec, nanosec = _STAMP[self.order].unpack_from(self.data, self._advance(8))
        if nanosec > MOST_NANOSECONDS:
            raise CdrError(f'it holds a time with {nanosec} nanoseconds')
        return sec, nanosec

    def text(self) -> str:
        """Return a string."""
        length = self.count()
        begin = self._advance(length)
        if length and self.data[begin + length - 1] != 0:
            raise CdrError('it holds a text without an end')
        return bytes(self.data[begin : begin + max(length - 1, 0)]).decode(errors='replace')

    def texts(self, spans: list[tuple[int, int]] | None = None) -> list[str]:
        """Return a sequence of strings; where each lies is appended to `spans`."""
        count = self.count()
        if 4 * count > len(self.data) - self.place:
            raise CdrError(f'it announces {count} names, for which it is too short')
        texts = []
        for _ in range(count):
            begin = self.align(4)
            texts.append(self.text())
            if spans is not None:
                spans.append((begin, self.place))
        return texts

    def doubles(self) -> NDArray[np.float64]:
        """Return a sequence of doubles, which may be a view on the bytes."""
        count = self.count()
        if count:
            self.align(_DOUBLE)
        begin = self._advance(_DOUBLE * count)
        values = np.frombuffer(self.data, self.order + 'f8', count, begin)
        return values.astype(np.float64, copy=False)


class _Layout(NamedTuple):
    """Where the values of messages with these constant bytes lie."""

    length: int
    start: bytes  # the encapsulation header
    head: bytes  # from behind the stamp up to the first position, padding as it was
    constant: tuple[tuple[int, int, bytes], ...]  # the same without its padding, and the counts
    counts: tuple[tuple[int, int, bytes], ...]  # between the arrays
    begin: int  # of the doubles
    doubles: int  # up to the last array's end; a count and its padding take the room of one
    order: NDArray[np.int_]  # of positions, velocities and efforts (if any), in joint order
    n: int
    byte_order: str


class RawJointStateReader:
    """
    Reads serialized joint states; same results and errors as JointStateReader.

    Parameters
    ----------
    joint_names : sequence of str
        The arm's joints, in joint order.

    """

    def __init__(self, joint_names: Sequence[str]) -> None:
        self._decoded = JointStateReader(joint_names)
        self._layout: _Layout | None = None

    def read(self, data: bytes) -> JointReading:
        """
        Return the arm's part of a serialized sensor_msgs/JointState.

        Raises
        ------
        JointStateError
            As JointStateReader.read, and if the bytes are no such message.

        """
        layout = self._layout
        if layout is None or not _fits(layout, data):
            try:
                return self._read_anew(data)
            except CdrError as error:
                raise JointStateError(f'The joint state cannot be read: {error}.') from error
        sec, nanosec = _STAMP[layout.byte_order].unpack_from(data, BODY)
        if nanosec > MOST_NANOSECONDS:
            raise JointStateError(
                f'The joint state cannot be read: it holds a time with {nanosec} nanoseconds.'
            )
        n = layout.n
        values = np.frombuffer(data, layout.byte_order + 'f8', layout.doubles, layout.begin)[
            layout.order
        ].astype(np.float64, copy=False)
        return JointReading(
            sec,
            nanosec,
            values[:n],
            values[n : 2 * n],
            measured(values[2 * n :]) if len(values) > 2 * n else None,
        )

    def _read_anew(self, data: bytes) -> JointReading:
        reader = CdrReader(data, MOST_STATE_BYTES)
        stamp = reader.time()
        begin = reader.align(4)
        reader.text()
        spans = [(begin, reader.place)]
        begin = reader.align(4)
        spans.append((begin, begin + 4))  # the count of names
        names = reader.texts(spans)
        arrays, places = [], []
        for _ in range(3):
            place = reader.align(4)
            arrays.append(reader.doubles())
            places.append((place, reader.place - _DOUBLE * len(arrays[-1])))
        reading = self._decoded.arrange(stamp, names, *arrays)
        self._layout = _layout_of(
            data, reader.order, spans, places, len(names), self._decoded.order, len(arrays[2]) > 0
        )
        return reading


def _layout_of(
    data: bytes,
    byte_order: str,
    spans: Sequence[tuple[int, int]],
    places: Sequence[tuple[int, int]],
    count: int,
    pick: Sequence[int],
    effort: bool,
) -> _Layout | None:
    """
    Return where the values of a message that was just read lie, or None if not in one row.

    `places` are those of each array's count and of its first value.
    """
    # The three arrays are read as one row of doubles: between two of them there must be just the
    # eight bytes of a count and its padding.
    step = count + 1
    if places[1][1] - places[0][1] != _DOUBLE * step or (
        effort and places[2][1] - places[1][1] != _DOUBLE * step
    ):
        return None
    order = [np.asarray(pick) + k * step for k in range(2 + effort)]

    def kept(begin: int, end: int) -> tuple[int, int, bytes]:
        return begin, end, bytes(data[begin:end])

    counts = [(place, place + 4) for place, _ in places]
    first = places[0][1]
    return _Layout(
        len(data),
        bytes(data[:BODY]),
        bytes(data[_AFTER_STAMP:first]),
        tuple(kept(*span) for span in (*spans, counts[0])),
        tuple(kept(*span) for span in counts[1:]),
        first,
        (2 + effort) * step - 1,
        np.concatenate(order),
        len(pick),
        byte_order,
    )


def _fits(layout: _Layout, data: bytes) -> bool:
    """
    Return whether a message's values lie where another's did.

    Padding is whatever the serializer's memory held, and mostly the same as before.
    """
    return (
        len(data) == layout.length
        and data.startswith(layout.start)
        and (
            data[_AFTER_STAMP : layout.begin] == layout.head
            or all(data[begin:end] == kept for begin, end, kept in layout.constant)
        )
        and all(data[begin:end] == kept for begin, end, kept in layout.counts)
    )


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
        self._head = whole[: len(whole) - _DOUBLE * n]
        again = deserialize_message(self._head + marked.tobytes(), Float64MultiArray)
        self.direct = again.data == marked and not again.layout.dim

    def serialize(self, torque: NDArray[np.float64]) -> bytes:
        """Return the message that carries a torque, shape (n,)."""
        if not self.direct:
            return serialize_message(Float64MultiArray(data=doubles(torque)))
        return self._head + np.ascontiguousarray(torque, dtype='<f8').tobytes()
