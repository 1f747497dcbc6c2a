# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Joint states read from their bytes, and commands written as theirs.

Turning a JointState into Python objects costs more than the dynamics. Its values lie where the
first message has them, as long as the bytes between them (frame id, names, counts) stay the same.
Whatever is no such message is refused in one sentence; rclpy's own conversion raises errors of
several kinds, and builds objects however many are announced.
"""

from __future__ import annotations

from collections.abc import Sequence
import struct
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .messages import JointReading
from ..errors import FrankaDynamicsError, JointStateError, listed

# The representation identifier and options (OMG DDS-XTypes 1.3, 7.4.1.2); alignment counts from
# behind them.
BODY = 4
_LITTLE_ENDIAN = b'\x00\x01'
_COUNT, _STAMP, _FLOAT64 = struct.Struct('<I'), struct.Struct('<iI'), np.dtype('<f8')
_COMMAND_HEAD = struct.Struct('<2sxxIIIxxxx')
MOST_NANOSECONDS = 10**9 - 1
# Hundreds of joints with long names; beyond that somebody sends something else.
MOST_STATE_BYTES = 1 << 16
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
        if bytes(data[:2]) != _LITTLE_ENDIAN or len(data) < BODY:
            raise CdrError(
                f'its first bytes are {bytes(data[:BODY]).hex() or "missing"}, which '
                'is not plain CDR, little-endian'
            )
        self.data, self.place = data, BODY
        self.spans: list[tuple[int, int]] = []  # of what is no padding

    def align(self, size: int) -> int:
        """Go to the next multiple of a size, and return the place."""
        self.place += (BODY - self.place) % size
        return self.place

    def _advance(self, size: int) -> int:
        begin = self.place
        if size > len(self.data) - begin:
            raise CdrError(f'it ends after {len(self.data)} bytes, in the middle of a value')
        self.place = begin + size
        self.spans.append((begin, self.place))
        return begin

    def count(self) -> int:
        """Return the number of elements of a sequence, or of bytes of a text."""
        self.align(4)
        number: int = _COUNT.unpack_from(self.data, self._advance(4))[0]
        return number

    def time(self) -> tuple[int, int]:
        """Return seconds and nanoseconds of a Time or a Duration."""
        self.align(4)
        sec, nanosec = _STAMP.unpack_from(self.data, self._advance(8))
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

    def texts(self) -> list[str]:
        """Return a sequence of strings."""
        count = self.count()
        if 4 * count > len(self.data) - self.place:
            raise CdrError(f'it announces {count} names, for which it is too short')
        return [self.text() for _ in range(count)]

    def doubles(self) -> NDArray[np.float64]:
        """Return a sequence of doubles, which may be a view on the bytes."""
        count = self.count()
        if count:
            self.align(_DOUBLE)
        begin = self._advance(_DOUBLE * count)
        return np.frombuffer(self.data, _FLOAT64, count, begin)


class _Layout(NamedTuple):
    """Where the values of messages that have these bytes in common lie."""

    length: int
    start: bytes  # the encapsulation header
    constant: tuple[tuple[int, int, bytes], ...]  # all but stamp, values and padding
    begin: int  # of the first value; all lie whole doubles behind it
    doubles: int  # up to the last value
    places: NDArray[np.int_]  # of positions, velocities and efforts (if any), in joint order

    def fits(self, data: bytes) -> bool:
        """Return whether a message's values lie where another's did."""
        return (
            len(data) == self.length
            and data.startswith(self.start)
            and all(data[begin:end] == kept for begin, end, kept in self.constant)
        )


class JointStateReader:
    """
    Reads serialized joint states by name, joints in any order and among others.

    Parameters
    ----------
    joint_names : sequence of str
        The arm's joints, in joint order.

    """

    def __init__(self, joint_names: Sequence[str]) -> None:
        self._expected = tuple(joint_names)
        self._layout: _Layout | None = None

    def read(self, data: bytes) -> JointReading:
        """
        Return the arm's part of a serialized sensor_msgs/JointState.

        Raises
        ------
        JointStateError
            If the bytes are no such message, if one of the arm's joints is missing or doubled,
            or an array has another length than the names. Values are not judged here.

        """
        layout = self._layout
        if layout is None or not layout.fits(data):
            try:
                layout = self._layout = self._layout_of(CdrReader(data, MOST_STATE_BYTES))
            except CdrError as error:
                raise JointStateError(f'The joint state cannot be read: {error}.') from error
        sec, nanosec = _STAMP.unpack_from(data, BODY)
        if nanosec > MOST_NANOSECONDS:
            raise JointStateError(
                f'The joint state cannot be read: it holds a time with {nanosec} nanoseconds.'
            )
        values = np.frombuffer(data, _FLOAT64, layout.doubles, layout.begin)[layout.places]
        position, velocity, *effort = values
        return JointReading(
            sec, nanosec, position, velocity, _measured(effort[0]) if effort else None
        )

    def _layout_of(self, reader: CdrReader) -> _Layout:
        """Read a message; return where its values lie, if they are all there."""
        data = reader.data
        reader.time()
        reader.text()
        names = reader.texts()
        counts = [len(reader.doubles()) for _ in range(3)]
        order = self._find(names)
        for field, count in zip(('position', 'velocity'), counts):
            if count != len(names):
                raise JointStateError(
                    f'The joint state has {len(names)} names but {count} values of {field}; '
                    'both must be given for every joint.'
                )
        if counts[2] not in (0, len(names)):
            raise JointStateError(
                f'The joint state has {len(names)} names but {counts[2]} values of effort; '
                'give one for every joint, or none.'
            )
        arrays = reader.spans[-5::2]  # before each its count
        kept = [span for span in reader.spans[1:] if span not in arrays]
        begin, end = arrays[0][0], arrays[2 if counts[2] else 1][1]
        return _Layout(
            len(data),
            bytes(data[:BODY]),
            tuple((*span, bytes(data[slice(*span)])) for span in kept),
            begin,
            (end - begin) // _DOUBLE,
            np.array(
                [
                    [(first - begin) // _DOUBLE + k for k in order]
                    for (first, _), count in zip(arrays, counts)
                    if count
                ]
            ),
        )

    def _find(self, names: Sequence[str]) -> list[int]:
        given = list(names)
        missing = [name for name in self._expected if name not in given]
        if missing:
            raise JointStateError(
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


def _measured(effort: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """
    Return efforts, or None if all are exactly zero: then nobody measures them.

    Drivers without torque sensors, Gazebo's among them, fill the field with zeros. An arm that
    is at rest under gravity never measures nothing at every joint.
    """
    # Of plain numbers, because numpy warns of some patterns of NaN, which a message may hold.
    return effort if any(effort.tolist()) else None


def command_bytes(torque: NDArray[np.float64]) -> bytes:
    """Return the serialized std_msgs/Float64MultiArray that carries a torque, shape (n,)."""
    # No dimensions, offset zero, n values. The padding is always the same, so that what comes
    # back on the topic can be known by its bytes.
    head = _COMMAND_HEAD.pack(_LITTLE_ENDIAN, 0, 0, len(torque))
    return head + np.ascontiguousarray(torque, _FLOAT64).tobytes()
