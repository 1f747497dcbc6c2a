# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Matches messages of several topics by the stamp of the joint state they belong to."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from franka_dynamics.ros.topics import STATE_QOS

_REMEMBERED = 10  # largest number of incomplete stamps that are kept


class StampMatcher:
    """
    Calls a function once per stamp for which all topics delivered a message.

    The node's terms have exactly the stamp of the joint state they were computed from. This class
    does what message_filters.TimeSynchronizer does, but needs no message_filters.

    `topics` maps names of your choice to (message type, topic). The callback gets the stamp [s]
    and the messages by name; the stamps increase from call to call unless the clock is set back.
    A stamp for which a topic has no message is dropped as soon as a later stamp is complete.
    `pending` are the messages of incomplete stamps, by stamp and name.
    """

    def __init__(
        self,
        node: Any,
        topics: Mapping[str, tuple[type, str]],
        callback: Callable[[float, dict[str, Any]], None],
    ) -> None:
        self._names = set(topics)
        self._callback = callback
        self.pending: dict[tuple[int, int], dict[str, Any]] = {}
        self._latest = (-1, 0)
        for name, (kind, topic) in topics.items():
            node.create_subscription(kind, topic, partial(self.add, name), STATE_QOS)

    def add(self, name: str, message: Any) -> None:
        """Take one message; called by the subscriptions."""
        stamp = (message.header.stamp.sec, message.header.stamp.nanosec)
        if stamp <= self._latest:
            # A stamp whose field sec is at least 2 lower shows that the clock was set back, and
            # matching starts again; a message that is less late is ignored.
            if self._latest[0] - stamp[0] <= 1:
                return
            self.pending.clear()
            self._latest = (-1, 0)
        messages = self.pending.setdefault(stamp, {})
        messages[name] = message
        if messages.keys() == self._names:
            self._latest = stamp
            self.pending = {key: rest for key, rest in self.pending.items() if key > stamp}
            self._callback(stamp[0] + 1e-9 * stamp[1], messages)
        elif len(self.pending) > _REMEMBERED:
            del self.pending[min(self.pending)]
