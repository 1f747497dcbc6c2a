# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Detects a second publisher on a topic by the topic's messages.

The list of publishers by DDS does not suffice, because it also holds publishers that have died.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
import time
from typing import Any

from rclpy.callback_groups import CallbackGroup
from std_msgs.msg import Float64MultiArray

from .messages import taken
from .qos import WATCH_QOS

_LISTENING_STEP_S = 1e-3
_REMEMBERED = 256  # number of our latest commands that are recognised
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


class CommandWatch:
    """
    Finds other publishers on the command topic.

    Messages received on the topic must be the node's own, in the order sent: the middleware may
    lose messages, but neither repeats nor reorders them. Any other message, even a repeated old
    command, comes from another sender. `check` subscribes only while DDS lists more than one
    publisher.

    `topic` is the command topic's full name. `group` is a callback group that no executor serves,
    because this class takes the messages itself.
    """

    def __init__(self, node: Any, group: CallbackGroup, topic: str) -> None:
        self._node, self._group, self.topic = node, group, topic
        self._subscription: Any = None
        self._own: deque[bytes] = deque(maxlen=_REMEMBERED)
        self._foreign = 0  # foreign messages since the subscription was created
        self.rivals_seen = 0

    @property
    def heard_publishers(self) -> int:
        """Number of publishers that the subscription receives from; 1 without subscription."""
        subscription = self._subscription
        return 1 if subscription is None else int(subscription.get_publisher_count())

    def sent(self, data: bytes) -> None:
        """Remember a command before it is published."""
        self._own.append(data)

    def is_own(self, data: bytes) -> bool:
        """Return whether a message is the node's own; if so, forget it and all older commands."""
        try:
            before = self._own.index(data)
        except ValueError:
            return False
        for _ in range(before + 1):
            self._own.popleft()
        return True

    def check(self) -> str:
        """
        Return a sentence if another node has sent commands and is still listed by DDS, else ''.

        ConfiguredArm calls `check` every 20 ms.
        """
        if self._node.count_publishers(self.topic) <= 1:
            self.close()
            return ''
        self._listen()
        foreign = 0
        while (waiting := taken(self._subscription)) is not None:
            foreign += not self.is_own(waiting[0])
        self._foreign += foreign
        self.rivals_seen += foreign
        if not self._foreign:
            return ''
        return (
            f'somebody else commands {self.topic} ({self._foreign} messages that are not ours); '
            'stop the other one'
        )

    def listen(self, seconds: float, should_stop: Callable[[], bool]) -> str:
        """
        Listen for at most `seconds`; return a sentence if a node sends commands, else ''.

        Listening also ends, with a sentence, when `should_stop` returns True.
        """
        began = time.monotonic()
        self._listen()
        heard = False
        while not heard and time.monotonic() - began < seconds:
            heard = taken(self._subscription) is not None
            if should_stop():
                self.close()
                return 'the node was asked to end'
            time.sleep(_LISTENING_STEP_S)
        self.close()
        if not heard:
            return ''
        return (
            f'somebody else commands {self.topic} (heard after '
            f'{1e3 * (time.monotonic() - began):.0f} ms); two sources of torque would '
            f'take turns (publishers listed: {", ".join(publisher_names(self._node, self.topic))})'
            '. Stop the other one, or remap ~/command'
        )

    def close(self) -> None:
        """Destroy the subscription."""
        if self._subscription is not None:
            self._node.destroy_subscription(self._subscription)
            self._subscription = None

    def _listen(self) -> None:
        if self._subscription is None:
            self._foreign = 0
            self._subscription = self._node.create_subscription(
                Float64MultiArray,
                self.topic,
                lambda _: None,
                WATCH_QOS,
                raw=True,
                callback_group=self._group,
            )
