# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Whether somebody else publishes on a topic, told from its messages."""

from __future__ import annotations

from collections import deque

_REMEMBERED = 256  # commands of ours that may still come back
# Messages within which the numbers overtake the highest one of the other publisher twice. Once
# may be a restarted publisher that has sent as many messages as its predecessor.
_TWICE_WITHIN = 2000
_LOST_AT_MOST = 100  # a jump over more messages than these is another publisher's


class OwnMessages:
    """
    Tells our own messages, as they come back, from those of others.

    Some of our messages may get lost on the way, but none comes twice and none overtakes another.
    So an old message that is repeated is somebody else's.
    """

    def __init__(self) -> None:
        self._sent: deque[bytes] = deque(maxlen=_REMEMBERED)

    def note(self, data: bytes) -> None:
        """Remember a message before it is sent."""
        self._sent.append(data)

    def answers(self, data: bytes) -> bool:
        """Take a message that came; return whether it is ours."""
        try:
            before = self._sent.index(data)
        except ValueError:
            return False
        for _ in range(before + 1):
            self._sent.popleft()
        return True


class PublisherCounts:
    """
    Tells one publisher from two by the numbers that each publisher gives its own messages.

    The numbers of two publishers alternate: they fall to the lower count and return to the higher
    one. The numbers of a publisher that was restarted fall once.
    """

    def __init__(self) -> None:
        self._last: int | None = None
        self._highest: int | None = None  # before the last fall
        self._returns: deque[int] = deque(maxlen=2)  # after how many messages
        self._taken = 0

    def add(self, number: int) -> bool:
        """Take a message's number; return whether two publishers send."""
        last, self._last = self._last, number
        self._taken += 1
        if last is None:
            return False
        if number <= last:
            self._highest = last
            return False
        if self._highest is None or number <= self._highest:
            return False
        self._highest = None
        self._returns.append(self._taken)
        return number - last > _LOST_AT_MOST or (
            len(self._returns) == 2 and self._returns[1] - self._returns[0] <= _TWICE_WITHIN
        )
