# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Plain CDR, the bytes of ROS 2's messages, read within bounds.

Whatever a publisher sends reaches a raw subscription. rclpy's own conversion raises an error of
its own for some of it, and builds objects for all of it, however many.
"""

from __future__ import annotations

import struct

import numpy as np
from numpy.typing import NDArray

from ..errors import FrankaDynamicsError

# The representation identifier and options (OMG DDS-XTypes 1.3, 7.4.1.2); alignment counts from
# behind them.
BODY = 4
_BYTE_ORDERS = {b'\x00\x01': '<', b'\x00\x00': '>'}
_COUNT = {order: struct.Struct(order + 'I') for order in '<>'}
_TIME = {order: struct.Struct(order + 'iI') for order in '<>'}
_DOUBLE = 8
MOST_NANOSECONDS = 10**9 - 1


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
        sec, nanosec = _TIME[self.order].unpack_from(self.data, self._advance(8))
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
