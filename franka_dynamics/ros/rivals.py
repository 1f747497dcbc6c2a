# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Detects a second publisher on a topic by the numbers of the topic's messages.

The list of publishers by DDS does not suffice, because it also holds publishers that have died.
"""

from __future__ import annotations

from collections import deque
from typing import Any

# Message numbers return if they fall and later exceed the number before the fall. Two publishers
# are reported if the numbers return by a jump of more than _LOST_AT_MOST from one message to the
# next, or twice within _TWICE_WITHIN messages. The numbers of one restarted publisher return once,
# without such a jump.
_TWICE_WITHIN = 2000
_LOST_AT_MOST = 100  # a larger jump of the numbers comes from another publisher


def publisher_names(node: Any, topic: str) -> list[str]:
    """
    Return the full names of the nodes that publish on a topic, without one publisher of `node`.

    Another node of the same name stays listed; a dead node stays listed for up to 20 s.
    """
    found = node.get_publishers_info_by_topic(topic)
    names = sorted(f'{one.node_namespace.rstrip("/")}/{one.node_name}' for one in found)
    own = node.get_fully_qualified_name()
    if own in names:
        names.remove(own)
    return names


class PublisherCounts:
    """
    Detects two publishers by the numbers that each publisher gives its own messages.

    The message numbers of two publishers alternate between a lower and a higher count; those of
    one publisher that was restarted fall once.
    """

    def __init__(self) -> None:
        self._last: int | None = None
        self._highest: int | None = None  # number before the numbers fell last
        # The counts of messages received when the numbers rose above `_highest`, for the last two
        # rises.
        self._returns: deque[int] = deque(maxlen=2)
        self._taken = 0

    def add(self, number: int) -> bool:
        """Take a message's number; return whether the numbers are those of two publishers."""
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
