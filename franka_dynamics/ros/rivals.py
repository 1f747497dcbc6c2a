# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Who else publishes? Told by messages, since a dead publisher stays listed."""

from __future__ import annotations

import time
from typing import Any

from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from .qos import STATE_QOS, WATCH_QOS
from ..control.rivals import OwnMessages, PublisherCounts

_LISTENING_STEP_S = 1e-3


class CommandWatch:
    """
    Watches the command topic.

    While the graph shows one publisher (us) nothing is subscribed and nothing is paid. When it
    shows more, what comes back must be ours, in the order in which it was sent: anything else,
    an old command repeated too, is a living competitor's.

    Parameters
    ----------
    node : Node
        Ours.
    publisher : Publisher
        Of our commands; its topic is watched.

    """

    def __init__(self, node: Any, publisher: Any) -> None:
        self._node = node
        self._publisher = publisher
        self._own = OwnMessages()
        self._subscription: Any = None
        self._foreign = 0
        self.rivals_seen = 0
        self.opened = False  # whether `check` has just begun to listen

    def listen(self, seconds: float) -> str:
        """Return who commands within this time before our activation, or an empty text."""
        began = time.monotonic()
        # In a group of its own, which no executor serves while this waits.
        subscription = self._node.create_subscription(
            Float64MultiArray,
            self._publisher.topic_name,
            lambda _: None,
            STATE_QOS,
            raw=True,
            callback_group=MutuallyExclusiveCallbackGroup(),
        )
        heard = False
        try:
            while not heard and time.monotonic() - began < seconds:
                with subscription.handle:
                    heard = subscription.handle.take_message(Float64MultiArray, True) is not None
                time.sleep(_LISTENING_STEP_S)
        finally:
            self._node.destroy_subscription(subscription)
        if not heard:
            return ''
        return (
            f'somebody else commands {self._publisher.topic_name} (heard after '
            f'{1e3 * (time.monotonic() - began):.0f} ms); two sources of torque would '
            'take turns. Stop the other one, or remap ~/command'
        )

    @property
    def heard_publishers(self) -> int:
        """How many publishers, ours among them, are heard; 1 while nobody else was found."""
        subscription = self._subscription
        return 1 if subscription is None else int(subscription.get_publisher_count())

    def sent(self, data: bytes) -> None:
        """Remember a command of ours, before it is published."""
        self._own.note(data)

    def check(self) -> str:
        """Return who commands beside us, or an empty text; called many times per second."""
        self.opened = False
        publishers = self._node.count_publishers(self._publisher.topic_name)
        if publishers <= 1:
            self.close()
            return ''
        if self._subscription is None:
            self._foreign, self.opened = 0, True
            self._subscription = self._node.create_subscription(
                Float64MultiArray,
                self._publisher.topic_name,
                self._on_command,
                WATCH_QOS,
                raw=True,
            )
            return ''
        if not self._foreign:
            return ''
        return (
            f'somebody else commands {self._publisher.topic_name} ({self._foreign} messages '
            'that are not ours); stop the other one, then activate this node again'
        )

    def close(self) -> None:
        """Stop watching."""
        if self._subscription is not None:
            self._node.destroy_subscription(self._subscription)
            self._subscription = None

    def _on_command(self, data: bytes) -> None:
        if not self._own.answers(data):
            self._foreign += 1
            self.rivals_seen += 1


class StatePublishers:
    """
    Finds a second publisher of joint states by its messages; one that is only listed does nothing.

    While the graph shows one publisher nothing is subscribed and nothing is paid.

    Parameters
    ----------
    node : Node
        Whose graph is asked.
    group : CallbackGroup
        That no executor serves: the messages are taken here, with their publishers' counts.

    """

    def __init__(self, node: Any, group: Any) -> None:
        self._node, self._group = node, group
        self._subscription: Any = None
        self.begin('joint_states')

    def begin(self, topic: str) -> None:
        """Count anew, on a topic by its full name."""
        self.close()
        self._topic = topic

    def check(self) -> str:
        """Return who publishes beside the arm's own driver, or an empty text."""
        listed = self._node.count_publishers(self._topic)
        if listed <= 1:
            self.close()
            return ''
        if self._subscription is None:
            self._publishers = PublisherCounts()
            self._subscription = self._node.create_subscription(
                JointState,
                self._topic,
                lambda _: None,
                WATCH_QOS,
                raw=True,
                callback_group=self._group,
            )
        handle = self._subscription.handle
        with handle:
            while (taken := handle.take_message(JointState, True)) is not None:
                if self._publishers.add(taken[1]['publication_sequence_number']):
                    return (
                        f'{listed} nodes publish {self._topic}; states of two arms, or of one '
                        'twice, cannot be told apart. Stop or remap the other one, then activate '
                        'this node again'
                    )
        return ''

    def close(self) -> None:
        """Stop listening."""
        if self._subscription is not None:
            self._node.destroy_subscription(self._subscription)
            self._subscription = None
