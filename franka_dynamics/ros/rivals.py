# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Who else publishes? Told by messages, since a dead publisher stays listed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
import time
from typing import Any

from rclpy.callback_groups import CallbackGroup
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from .messages import taken
from .qos import WATCH_QOS
from ..control.rivals import OwnMessages, PublisherCounts

_LISTENING_STEP_S = 1e-3


def publisher_names(node: Any, topic: str) -> list[str]:
    """Return the nodes that DDS lists as publishers of a topic; one that died stays for 20 s."""
    found = node.get_publishers_info_by_topic(topic)
    return sorted({f'{one.node_namespace.rstrip("/")}/{one.node_name}' for one in found})


class RivalWatch(ABC):
    """
    Takes the messages of a topic while more than one publisher is listed, and says what they are.

    While the graph shows one nothing is subscribed and nothing is paid.

    Parameters
    ----------
    node : Node
        Whose graph is asked.
    group : CallbackGroup
        That no executor serves: the messages are taken here, with their publishers' counts.

    """

    kind: type

    def __init__(self, node: Any, group: CallbackGroup) -> None:
        self._node, self._group = node, group
        self._subscription: Any = None

    def begin(self, topic: str) -> None:
        """Watch a topic, by its full name, from now on."""
        self.close()
        self.topic = topic

    @property
    def heard_publishers(self) -> int:
        """How many publishers are heard; 1 while no second was found."""
        subscription = self._subscription
        return 1 if subscription is None else int(subscription.get_publisher_count())

    def check(self) -> str:
        """Return who publishes besides, or an empty text; to be called many times per second."""
        listed = self._node.count_publishers(self.topic)
        if listed <= 1:
            self.close()
            return ''
        self._listen()
        return self._rival(listed)

    def close(self) -> None:
        """Stop listening."""
        if self._subscription is not None:
            self._node.destroy_subscription(self._subscription)
            self._subscription = None

    def _listen(self) -> None:
        if self._subscription is None:
            self._forget()
            self._subscription = self._node.create_subscription(
                self.kind,
                self.topic,
                lambda _: None,
                WATCH_QOS,
                raw=True,
                callback_group=self._group,
            )

    def _taken(self) -> Iterator[tuple[bytes, int]]:
        """Yield what has come, with its publisher's count."""
        while (waiting := taken(self._subscription)) is not None:
            yield waiting[0], waiting[1]['publication_sequence_number']

    @abstractmethod
    def _forget(self) -> None:
        """Forget what was heard before."""

    @abstractmethod
    def _rival(self, listed: int) -> str:
        """Return what the messages that came since say, of so many publishers listed."""


class CommandWatch(RivalWatch):
    """
    Watches our command topic.

    What comes back must be ours, in the order in which it was sent: anything else, an old command
    repeated too, is a living competitor's.
    """

    kind = Float64MultiArray

    def __init__(self, node: Any, group: CallbackGroup, topic: str) -> None:
        super().__init__(node, group)
        self.begin(topic)
        self._own = OwnMessages()
        self._foreign = 0
        self.rivals_seen = 0

    def listen(self, seconds: float) -> str:
        """Return who commands within this time before our activation, or an empty text."""
        began = time.monotonic()
        self._listen()
        heard = False
        while not heard and time.monotonic() - began < seconds:
            heard = any(True for _ in self._taken())
            time.sleep(_LISTENING_STEP_S)
        self.close()
        if not heard:
            return ''
        return (
            f'somebody else commands {self.topic} (heard after '
            f'{1e3 * (time.monotonic() - began):.0f} ms); two sources of torque would '
            'take turns. Stop the other one, or remap ~/command'
        )

    def sent(self, data: bytes) -> None:
        """Remember a command of ours, before it is published."""
        self._own.note(data)

    def _forget(self) -> None:
        self._foreign = 0

    def _rival(self, listed: int) -> str:
        foreign = sum(not self._own.answers(data) for data, _ in self._taken())
        self._foreign += foreign
        self.rivals_seen += foreign
        if not self._foreign:
            return ''
        return (
            f'somebody else commands {self.topic} ({self._foreign} messages that are not ours); '
            'stop the other one, then activate this node again'
        )


class StateWatch(RivalWatch):
    """Finds a second publisher of joint states by the counts that publishers send along."""

    kind = JointState

    def _forget(self) -> None:
        self._publishers = PublisherCounts()

    def _rival(self, listed: int) -> str:
        if not any(self._publishers.add(number) for _, number in self._taken()):
            return ''
        return (
            f'{listed} nodes publish {self.topic}; states of two arms, or of one twice, cannot '
            'be told apart. Stop or remap the other one, then activate this node again'
        )
