# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Checks who receives the node's torques and whether another node publishes, before the first torque.

A torque for a simulation contains gravity. A real arm, which compensates its gravity itself, would
rise with it. So the node looks up who subscribes to its command topic before it sends anything.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
import time
from typing import Any

from rclpy.node import NodeNameNonExistentError
from std_msgs.msg import Float64MultiArray

from .messages import full_name, publisher_names, STATE_QOS, UNKNOWN_NAME

_CLOCK_TYPE = 'rosgraph_msgs/msg/Clock'
# How long to listen for other senders after the first joint state [s], and to how many states at
# least: a node that gets little processor time sees only some of them. At 100 Hz 0.5 s have 50.
_LISTEN_S, _LISTEN_STATES = 0.5, 50
# How long a receiver must be found wrong, because its topics are discovered singly: before the
# first torque, or if it is no real arm's; and if a real arm's comes later [s].
_DISCOVERY_S, _SOON_S = 2.0, 0.2


class Receiver(Enum):
    """What kind of node receives the torques; the value is its name in messages."""

    ARM = 'a simulated arm of this package'
    LIGHT_ARM = 'a simulated arm of this package that compensates its gravity'
    SIMULATED = 'a controller in simulated time'
    REAL = 'a controller in real time'
    UNKNOWN = 'neither a simulated arm of this package nor a controller of a controller manager'


# The service (std_srvs/Trigger) by which a simulated arm of this package declares what it is. Not
# the topics: a dashboard may publish any status, too.
DECLARATIONS = {
    Receiver.ARM: '~/franka_dynamics/takes_torques_with_gravity',
    Receiver.LIGHT_ARM: '~/franka_dynamics/takes_torques_without_gravity',
}
_TRIGGER_TYPE = 'std_srvs/srv/Trigger'

# Receivers that each target expects. Under fci the node commands no gravity, so that an unknown
# receiver, such as a driver without ros2_control, may take its torques.
EXPECTED = {
    'fci': (Receiver.REAL, Receiver.LIGHT_ARM, Receiver.UNKNOWN),
    'franka_gazebo': (Receiver.SIMULATED,),
    'gz_ros2_control': (Receiver.SIMULATED, Receiver.ARM),
    'mujoco': (Receiver.SIMULATED, Receiver.ARM),
}


def refusal(target: str, topic: str, found: Mapping[str, Receiver]) -> str:
    """
    Return why torques for a target may not go to the receivers found, or ''.

    `found` maps the full names of a topic's subscribers to their kinds. Unknown subscribers, such
    as `ros2 topic echo`, are accepted beside an expected receiver.
    """
    expected = EXPECTED[target]
    present = any(kind in expected for kind in found.values())
    wrong = [
        f'{name} ({kind.value})'
        for name, kind in sorted(found.items())
        if kind not in expected and not (present and kind is Receiver.UNKNOWN)
    ]
    if not wrong:
        return ''
    return (
        f'{", ".join(wrong)} receives the torques on {topic}, which are for target {target}: '
        f'{" or ".join(kind.value for kind in expected)}. Set target to what receives them, or '
        'remap ~/command'
    )


# Within how many messages two falls of their numbers are taken for two publishers: those of one
# that was restarted fall once.
_TWICE_WITHIN = 2000


class PublisherCounts:
    """Detects two publishers by the sequence numbers of their messages."""

    def __init__(self) -> None:
        self._last, self._since_fall = 0, _TWICE_WITHIN

    def add(self, number: int) -> bool:
        """Take a message's number; return whether the numbers are those of two publishers."""
        falls, self._last = number <= self._last, number
        self._since_fall += 1
        if not falls:
            return False
        since, self._since_fall = self._since_fall, 0
        return since <= _TWICE_WITHIN


class Clearance(Enum):
    """Whether the node may send torques."""

    LISTENING = 'listening'  # before the first torque
    CLEAR = 'clear'
    REFUSED = 'refused'


class ReceiverCheck:
    """
    Looks up who receives the torques; before the first one, also listens for other senders.

    `publisher` is the node's publisher of torques. `state` says whether torques may be sent,
    `reason` why not.
    """

    def __init__(self, node: Any, publisher: Any) -> None:
        self._node, self._publisher = node, publisher
        self._topic: str = publisher.topic_name
        self._subscription: Any = None
        self.state, self.reason = Clearance.LISTENING, ''

    def begin(self, target: str, states: str) -> None:
        """Begin an activation with torques for `target` and joint states on the topic `states`."""
        self.close()
        self._target, self._states, self.state = target, states, Clearance.LISTENING
        self.reason = (
            f'looking for {_LISTEN_S:g} s whether another node publishes on {self._topic}, and '
            'who receives it'
        )
        self._senders, self._states_taken = PublisherCounts(), 0
        self._heard_until = 0.0
        self._heard_at = 0.0  # when a torque of another sender came
        self._count, self._wrong_since = -1, 0.0
        self._subscription = self._node.create_subscription(
            Float64MultiArray, self._topic, self._on_torque, STATE_QOS, raw=True
        )

    def _on_torque(self, _: bytes) -> None:
        self._heard_at = self._heard_at or time.monotonic()

    def note_state(self, number: int | None) -> str:
        """
        Take a joint state's message number; return a sentence if two nodes publish, else ''.

        `number` is None if the middleware does not number messages.
        """
        self._states_taken += 1
        self._heard_until = self._heard_until or time.monotonic() + _LISTEN_S
        if number is None or not self._senders.add(number):
            return ''
        names = ', '.join(publisher_names(self._node, self._states))
        return (
            f'a second node publishes {self._states}, and states of two arms cannot be told '
            f'apart; stop or remap the other one (publishers listed: {names})'
        )

    def poll(self) -> None:
        """Judge senders and receivers anew; called every 20 ms."""
        now, count = time.monotonic(), self._publisher.get_subscription_count()
        if self.state is Clearance.LISTENING:
            if self._heard_at:
                names = ', '.join(publisher_names(self._node, self._topic))
                if names or now >= self._heard_at + _DISCOVERY_S:
                    # A name is discovered later than its messages.
                    self._settle(
                        Clearance.REFUSED,
                        f'somebody else commands {self._topic}, and two sources of torque would '
                        f'take turns (publishers listed: {names}); stop the other one, or remap '
                        '~/command',
                    )
                return
            if now < self._heard_until or self._states_taken < _LISTEN_STATES:
                return
        elif self.state is Clearance.REFUSED or (count == self._count and not self._wrong_since):
            return
        found = self.receivers()
        if found is None:
            return
        self._count = count
        wrong = refusal(self._target, self._topic, found)
        self._wrong_since = (self._wrong_since or now) if wrong else 0.0
        later = Receiver.REAL in found.values() and self.state is Clearance.CLEAR
        if not wrong:
            self._settle(Clearance.CLEAR, '')
        elif now >= self._wrong_since + (_SOON_S if later else _DISCOVERY_S):
            self._settle(Clearance.REFUSED, wrong)

    def _settle(self, state: Clearance, reason: str) -> None:
        self.close()
        self.state, self.reason = state, reason

    def close(self) -> None:
        """Listen no longer."""
        if self._subscription is not None:
            self._node.destroy_subscription(self._subscription)
            self._subscription = None

    def receivers(self) -> dict[str, Receiver] | None:
        """Return the kind of each receiver by full name; None while one is not known yet."""
        node, found = self._node, {}
        managers = {name for name, _ in node.get_service_names_and_types()}
        # A node with use_sim_time subscribes to a clock.
        simulated = {
            full_name(one)
            for topic, kinds in node.get_topic_names_and_types()
            if _CLOCK_TYPE in kinds
            for one in node.get_subscriptions_info_by_topic(topic)
        }
        listed = node.get_subscriptions_info_by_topic(self._topic)
        names = [full_name(one) for one in listed]
        for name, one in zip(names, listed):
            if one.node_name == UNKNOWN_NAME:
                return None  # names are discovered after topics, seconds later if busy
            manager = f'{name.rpartition("/")[0]}/controller_manager'
            if f'{manager}/list_controllers' in managers:
                own_time = simulated.isdisjoint((name, manager))
                found[name] = Receiver.REAL if own_time else Receiver.SIMULATED
            elif name != node.get_fully_qualified_name():
                try:
                    services = dict(
                        node.get_service_names_and_types_by_node(one.node_name, one.node_namespace)
                    )
                except NodeNameNonExistentError:
                    return None
                found[name] = Receiver.UNKNOWN
                for kind, service in DECLARATIONS.items():
                    if _TRIGGER_TYPE in services.get(service.replace('~', name), ()):
                        found[name] = kind
                if found[name] in DECLARATIONS and names.count(name) > 1:
                    # Nobody can tell which of them declares it.
                    if self.state is Clearance.LISTENING:
                        self.reason = (
                            f'two nodes called {name} take torques; end or rename one (a killed '
                            'node stays listed for up to 20 s)'
                        )
                    return None
        return found
