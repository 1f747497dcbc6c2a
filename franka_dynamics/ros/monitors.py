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
from ..control.contact import ContactLimits, ContactMonitor
from ..control.external_torque import friction_in_effort
from ..control.feedforward import Cycle, FeedforwardController
from ..control.terms import TermModel

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


class ContactWatch:
    """
    Runs a contact monitor on the controller's cycles.

    Parameters
    ----------
    controller : FeedforwardController
        Whose cycles are watched; a change of its payload or gravity starts the monitor anew.
    limits : ContactLimits
        When it is a contact.
    effort_friction : str
        One of control.external_torque.EFFORT_FRICTION.

    Raises
    ------
    SettingsError
        If friction is said to be included that the arm file does not hold.

    """

    def __init__(self, controller: FeedforwardController, limits: ContactLimits,
                 effort_friction: str) -> None:
        self._controller = controller
        self._limits = limits
        self._effort_friction = effort_friction
        self._terms: TermModel | None = None
        self.monitor = self._new_monitor()
        self.listening = False
        self.effort_seen = False

    def _new_monitor(self) -> ContactMonitor:
        controller = self._controller
        friction = friction_in_effort(self._effort_friction, controller.description,
                                      controller.settings.profile)
        self._terms = controller.terms
        self.friction = friction is not None
        return ContactMonitor(controller.terms.true, self._limits, friction)

    def listen(self, wanted: bool) -> None:
        """Watch from now on, or no longer; nothing is computed while nobody listens."""
        if wanted and not self.listening:
            self.monitor.restart()
        self.listening = wanted

    def run(self, cycle: Cycle) -> bool:
        """Take a cycle while listening; return whether the contact flag changed."""
        self.effort_seen = cycle.effort is not None
        if cycle.effort is None:
            return False
        if self._controller.terms is not self._terms:
            contacts = self.monitor.contacts
            self.monitor = self._new_monitor()
            self.monitor.contacts = contacts
        return self.monitor.update(cycle.stamp, cycle.q, cycle.dq, cycle.effort)
