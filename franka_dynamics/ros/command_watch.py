# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Does anybody else command this arm? Told by messages, since a dead publisher stays listed."""

from __future__ import annotations

from collections import deque
import time
from typing import Any

from rclpy.wait_for_message import wait_for_message
from std_msgs.msg import Float64MultiArray

from .qos import STATE_QOS

_REMEMBERED = 256  # commands of ours that may still come back to us
# One or two may be ours, from before we listened. They need not come fast: ros2 topic pub sends
# one a second.
_RIVAL_MESSAGES = 3


class CommandWatch:
    """
    Watches the command topic.

    While the graph shows one publisher (us) nothing is subscribed and nothing is paid. When it
    shows more, messages that are not ours tell a living competitor from a dead one.

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
        self._sent: deque[bytes] = deque(maxlen=_REMEMBERED)
        self._subscription: Any = None
        self._foreign = 0
        self.rivals_seen = 0

    def listen(self, seconds: float) -> str:
        """Return who commands within this time before our activation, or an empty text."""
        began = time.monotonic()
        heard, message = wait_for_message(
            Float64MultiArray, self._node, self._publisher.topic_name, qos_profile=STATE_QOS,
            time_to_wait=seconds) if seconds > 0.0 else (False, None)
        if not heard or message is None:
            return ''
        return (f'somebody else commands {self._publisher.topic_name} (heard after '
                f'{1e3 * (time.monotonic() - began):.0f} ms); two sources of torque would '
                'take turns. Stop the other one, or remap ~/command')

    def sent(self, data: bytes) -> None:
        """Remember a command of ours."""
        if self._subscription is not None:
            self._sent.append(data)

    def check(self) -> str:
        """Return who commands beside us, or an empty text; called about once per second."""
        publishers = self._node.count_publishers(self._publisher.topic_name)
        if publishers <= 1:
            self.close()
            return ''
        if self._subscription is None:
            self._sent.clear()
            self._foreign = 0
            self._subscription = self._node.create_subscription(
                Float64MultiArray, self._publisher.topic_name, self._on_command, STATE_QOS,
                raw=True)
            return ''
        if self._foreign < _RIVAL_MESSAGES:
            return ''
        return (f'somebody else commands {self._publisher.topic_name} ({self._foreign} messages '
                'that are not ours); stop the other one, then activate this node again')

    def close(self) -> None:
        """Stop watching."""
        if self._subscription is not None:
            self._node.destroy_subscription(self._subscription)
            self._subscription = None

    def _on_command(self, data: bytes) -> None:
        if data not in self._sent:
            self._foreign += 1
            self.rivals_seen += 1
