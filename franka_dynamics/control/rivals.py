# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Whether more than one publisher sends, told from the messages of a topic."""

from __future__ import annotations

from collections import deque

_REMEMBERED = 256  # messages of ours that may still come back
# Two returns to a count that was left, within as many messages, are two publishers; one may be
# a restarted publisher that has come as far as the one before. So may a jump by a few, that were
# lost.
_RETURNS_WITHIN, _LOST_AT_MOST = 2000, 100


class OwnMessages:
    """
    Tells messages of our own, as they come back, from those of others.

    Some of ours may get lost on the way, but none comes twice and none overtakes another. So what
    comes back must be a part of what was sent, in the same order; an old one that is repeated is
    another's.
    """

    def __init__(self) -> None:
        self._sent: deque[bytes] = deque(maxlen=_REMEMBERED)

    def note(self, data: bytes) -> None:
        """Remember a message that is sent next."""
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
    Tells one publisher from two by the numbers that each gives its own messages.

    Two publishers count side by side: the numbers fall back to the lower count and return to the
    higher one. A publisher that was restarted falls back once, and needs as many messages to
    return.
    """

    def __init__(self) -> None:
        self._last: int | None = None
        self._left_at: int | None = None
        self._returns: deque[int] = deque(maxlen=2)
        self._taken = 0

    def add(self, number: int) -> bool:
        """Take a message's number; return whether more than one publisher counts."""
        last, self._last = self._last, number
        self._taken += 1
        if last is None:
            return False
        if number <= last:
            self._left_at = last
            return False
        if self._left_at is None or number <= self._left_at:
            return False
        self._left_at = None
        self._returns.append(self._taken)
        return number - last > _LOST_AT_MOST or (
            len(self._returns) == 2 and self._returns[1] - self._returns[0] <= _RETURNS_WITHIN
        )
