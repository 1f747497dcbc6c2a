# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Detects a second publisher on a topic by the topic's messages."""

from __future__ import annotations

from collections import deque

_REMEMBERED = 256  # number of our latest commands that are recognised
# Two publishers are reported if, within this many messages, the numbers twice exceed a highest
# number from before a fall. Once may be a restarted publisher that has sent as many messages as
# its predecessor.
_TWICE_WITHIN = 2000
_LOST_AT_MOST = 100  # a larger jump of the numbers comes from another publisher


class OwnMessages:
    """
    Recognises our own messages when we receive them from the topic we publish on.

    The middleware may lose our messages, but neither repeats nor reorders them. So a repeated old
    message comes from another publisher.
    """

    def __init__(self) -> None:
        self._sent: deque[bytes] = deque(maxlen=_REMEMBERED)

    def note(self, data: bytes) -> None:
        """Remember one of our messages; to be called before it is sent."""
        self._sent.append(data)

    def answers(self, data: bytes) -> bool:
        """Take a received message; return whether it is ours, and forget our older ones."""
        try:
            before = self._sent.index(data)
        except ValueError:
            return False
        for _ in range(before + 1):
            self._sent.popleft()
        return True


class PublisherCounts:
    """
    Detects two publishers by the numbers that each publisher gives its own messages.

    With two publishers the numbers alternate between a lower and a higher count. With one
    publisher that was restarted they fall once.
    """

    def __init__(self) -> None:
        self._last: int | None = None
        self._highest: int | None = None  # number before the last fall
        # Count of messages at each return to the higher numbers
        self._returns: deque[int] = deque(maxlen=2)
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
