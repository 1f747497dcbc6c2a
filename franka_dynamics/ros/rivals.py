# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Detects other senders of commands by their messages, because DDS also lists dead publishers."""

from __future__ import annotations

import time
from typing import Any

from rclpy.callback_groups import CallbackGroup
from std_msgs.msg import Float64MultiArray

from .messages import taken
from .qos import WATCH_QOS
from ..control.rivals import OwnMessages

_LISTENING_STEP_S = 1e-3


def publisher_names(node: Any, topic: str) -> list[str]:
    """Return the full name of each publisher's node; DDS lists dead ones for up to 20 s."""
    found = node.get_publishers_info_by_topic(topic)
    return sorted(f'{one.node_namespace.rstrip("/")}/{one.node_name}' for one in found)


class CommandWatch:
    """
    Finds other publishers on the command topic.

    Messages received on the topic must be the node's own, in the order sent. Any other message,
    even a repeated old command, comes from another sender. While DDS lists only one publisher
    there is no subscription and no cost.

    `topic` is the command topic's full name. `group` is a callback group that no executor serves,
    because this class takes the messages itself.
    """

    def __init__(self, node: Any, group: CallbackGroup, topic: str) -> None:
        self._node, self._group, self.topic = node, group, topic
        self._subscription: Any = None
        self._own = OwnMessages()
        self._foreign = 0  # foreign messages since the subscription was created
        self.rivals_seen = 0

    @property
    def heard_publishers(self) -> int:
        """Number of publishers on the topic; 1 while DDS lists no second one."""
        subscription = self._subscription
        return 1 if subscription is None else int(subscription.get_publisher_count())

    def sent(self, data: bytes) -> None:
        """Remember a command before it is published."""
        self._own.note(data)

    def check(self) -> str:
        """Return a sentence if another node sends commands, else ''; call it every 20 ms."""
        if self._node.count_publishers(self.topic) <= 1:
            self.close()
            return ''
        self._listen()
        foreign = 0
        while (waiting := taken(self._subscription)) is not None:
            foreign += not self._own.answers(waiting[0])
        self._foreign += foreign
        self.rivals_seen += foreign
        if not self._foreign:
            return ''
        return (
            f'somebody else commands {self.topic} ({self._foreign} messages that are not ours); '
            'stop the other one'
        )

    def listen(self, seconds: float) -> str:
        """Listen for at most `seconds`; return a sentence if a node sends commands, else ''."""
        began = time.monotonic()
        self._listen()
        heard = False
        while not heard and time.monotonic() - began < seconds:
            heard = taken(self._subscription) is not None
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
