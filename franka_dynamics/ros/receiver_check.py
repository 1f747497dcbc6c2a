# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Checks which nodes receive the torques, and whether another node sends torques, too.

A torque for a simulation contains gravity. A real arm, which compensates its gravity itself, would
rise with it. So the node looks up who subscribes to its command topic before it sends anything.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
import time
from typing import Any

from rclpy.node import NodeNameNonExistentError
from rclpy.qos import qos_check_compatible
from std_msgs.msg import Float64MultiArray

from .messages import node_name_of, publisher_names, STATE_QOS, UNKNOWN_NAME

_CLOCK_TYPE = 'rosgraph_msgs/msg/Clock'
_MIN_LISTEN_S = 0.5  # listening for other senders after the first joint state
# A node that gets little processor time sees only some of the states. At 100 Hz 0.5 s have 50.
_MIN_LISTEN_STATE_COUNT = 50
# How long a receiver must be wrong until it is refused, because its topics are discovered singly;
# and how long, if a real arm's receiver appears after the first torque.
_DISCOVERY_TIMEOUT_S = 2.0
_REAL_ARM_TIMEOUT_S = 0.2
_LOOK_PERIOD_S = 1.0  # between two looks why nobody receives torques


class ReceiverKind(Enum):
    """Kind of node that receives the torques; the value describes it in log and error texts."""

    ARM = 'a simulated arm of this package'
    LIGHT_ARM = 'a simulated arm of this package that compensates its gravity'
    SIMULATED = 'a controller in simulated time'
    REAL = 'a controller in real time'
    UNKNOWN = 'neither a simulated arm of this package nor a controller of a controller manager'


# The service (std_srvs/Trigger) by which a simulated arm of this package declares its kind. Not
# the topics: a dashboard may publish any status, too.
DECLARATION_SERVICES = {
    ReceiverKind.ARM: '~/franka_dynamics/takes_torques_with_gravity',
    ReceiverKind.LIGHT_ARM: '~/franka_dynamics/takes_torques_without_gravity',
}
_TRIGGER_TYPE, _TORQUE_TYPE = 'std_srvs/srv/Trigger', 'std_msgs/msg/Float64MultiArray'

# Receivers that the node expects by its parameter `target`. Under fci it commands no gravity, so
# that an unknown receiver, such as a driver without ros2_control, may take its torques.
EXPECTED_RECEIVERS = {
    'fci': (ReceiverKind.REAL, ReceiverKind.LIGHT_ARM, ReceiverKind.UNKNOWN),
    'franka_gazebo': (ReceiverKind.SIMULATED,),
    'gz_ros2_control': (ReceiverKind.SIMULATED, ReceiverKind.ARM),
    'mujoco': (ReceiverKind.SIMULATED, ReceiverKind.ARM),
}


def refusal_reason(target: str, topic: str, receivers: Mapping[str, ReceiverKind]) -> str:
    """
    Return why receivers must not get torques for a target such as fci, or '' if they may.

    `receivers` maps the full names of a topic's subscribers to their kinds. Unknown subscribers,
    such as `ros2 topic echo`, are accepted beside an expected receiver.
    """
    expected = EXPECTED_RECEIVERS[target]
    present = any(kind in expected for kind in receivers.values())
    wrong = [
        f'{name} ({kind.value})'
        for name, kind in sorted(receivers.items())
        if kind not in expected and not (present and kind is ReceiverKind.UNKNOWN)
    ]
    if not wrong:
        return ''
    how = 'Set target to what receives them, or remap ~/command'
    declared = [DECLARATION_SERVICES[kind] for kind in expected if kind in DECLARATION_SERVICES]
    if declared and all(kind is ReceiverKind.UNKNOWN for kind in receivers.values()):
        how = f'A simulator of your own offers a service {declared[0]} of type {_TRIGGER_TYPE}'
    return (
        f'{", ".join(wrong)} receives {topic}, and target {target} sends to '
        f'{" or ".join(kind.value for kind in expected)}. {how}'
    )


# Sequence numbers of two publishers fall again and again, those of a restarted publisher once.
# Without this the row states of benchmarks/receivers.py is bad.
_MAX_MESSAGES_BETWEEN_FALLS = 2000


class SecondPublisherDetector:
    """Detects a second publisher of a topic by falling sequence numbers of messages."""

    def __init__(self) -> None:
        self._last, self._since_fall = 0, _MAX_MESSAGES_BETWEEN_FALLS

    def add(self, number: int) -> bool:
        """Add a message's sequence number; return whether two publishers send the messages."""
        falls, self._last = number <= self._last, number
        self._since_fall += 1
        if not falls:
            return False
        since, self._since_fall = self._since_fall, 0
        return since <= _MAX_MESSAGES_BETWEEN_FALLS


class TorquePermission(Enum):
    """Whether the node may send torques to the receivers, or not yet, or must not."""

    CHECKING = 'checking'  # before the first torque
    GRANTED = 'granted'
    REFUSED = 'refused'


class ReceiverCheck:
    """
    Finds out which nodes receive the torques and, before the first torque, if others send torques.

    `publisher` is the node's publisher of torques. `state` says whether torques may be sent,
    `reason` why not. `found` has the receivers' kinds by name, `unheard` says why nobody, or one
    of them, gets no torques that are sent; '' if all do.
    """

    def __init__(self, node: Any, publisher: Any) -> None:
        self._node, self._publisher = node, publisher
        self.topic: str = publisher.topic_name
        self._subscription: Any = None
        self.state, self.reason = TorquePermission.CHECKING, ''
        self.found: dict[str, ReceiverKind] = {}
        self.unheard = ''

    def begin(self, target: str, state_topic: str) -> None:
        """Begin an activation with torques for a target and joint states on a topic."""
        self.close()
        self._target, self._state_topic = target, state_topic
        self.state = TorquePermission.CHECKING
        self.reason = (
            f'looking for {_MIN_LISTEN_S:g} s whether another node publishes on {self.topic}, '
            'and who receives it'
        )
        self._detector, self._state_count = SecondPublisherDetector(), 0
        self._heard_until = 0.0
        self._heard_at = 0.0  # when a torque of another sender came
        self._count, self._wrong_since = -1, 0.0
        self._next_look, self.unheard = 0.0, ''
        self._subscription = self._node.create_subscription(
            Float64MultiArray, self.topic, self._on_torque, STATE_QOS, raw=True
        )

    def _on_torque(self, _: bytes) -> None:
        self._heard_at = self._heard_at or time.monotonic()

    def check_sequence_number(self, number: int | None) -> str:
        """
        Check a joint state's sequence number; return a sentence if two nodes publish, else ''.

        The number is None if the middleware does not number messages.
        """
        self._state_count += 1
        self._heard_until = self._heard_until or time.monotonic() + _MIN_LISTEN_S
        if number is None or not self._detector.add(number):
            return ''
        names = ', '.join(publisher_names(self._node, self._state_topic))
        return (
            f'a second node publishes {self._state_topic}, and states of two arms cannot be told '
            f'apart; stop or remap the other one (publishers listed: {names})'
        )

    def poll(self) -> None:
        """Look up senders and receivers again, and update `state` and `reason`; every 50 ms."""
        now, count = time.monotonic(), self._publisher.get_subscription_count()
        if now >= self._next_look and self.state is TorquePermission.GRANTED:
            self._next_look = now + _LOOK_PERIOD_S
            self.unheard = self._why_unheard(count)
        if self.state is TorquePermission.CHECKING:
            if self._heard_at:
                names = ', '.join(publisher_names(self._node, self.topic))
                if names or now >= self._heard_at + _DISCOVERY_TIMEOUT_S:
                    # A name is discovered later than its messages.
                    self._settle(
                        TorquePermission.REFUSED,
                        f'somebody else commands {self.topic}, and two sources of torque would '
                        f'take turns (publishers listed: {names}); stop the other one, or remap '
                        '~/command',
                    )
                return
            if now < self._heard_until or self._state_count < _MIN_LISTEN_STATE_COUNT:
                return
        elif self.state is TorquePermission.REFUSED or (
            count == self._count and not self._wrong_since
        ):
            return
        found = self.receivers()
        if found is None:
            return
        self._count, self.found = count, found
        wrong = refusal_reason(self._target, self.topic, found)
        self._wrong_since = (self._wrong_since or now) if wrong else 0.0
        later = ReceiverKind.REAL in found.values() and self.state is TorquePermission.GRANTED
        if not wrong:
            self._settle(TorquePermission.GRANTED, '')
        elif now >= self._wrong_since + (_REAL_ARM_TIMEOUT_S if later else _DISCOVERY_TIMEOUT_S):
            self._settle(TorquePermission.REFUSED, wrong)

    @property
    def listed(self) -> str:
        """The receivers with their kinds."""
        return ', '.join(f'{name} ({one.value})' for name, one in self.found.items()) or 'none'

    def _why_unheard(self, count: int) -> str:
        """Return which subscriber, or that none of `count`, gets the torques; '' if all do."""
        own = self._node.get_fully_qualified_name()
        (publisher, *_) = (
            one
            for one in self._node.get_publishers_info_by_topic(self.topic)
            if node_name_of(one) == own
        )
        for one in self._node.get_subscriptions_info_by_topic(self.topic):
            name, kind = node_name_of(one), one.topic_type
            if name == own:
                continue
            if kind != _TORQUE_TYPE:
                return f'{name} takes {kind} on {self.topic}, and torques are a {_TORQUE_TYPE}'
            _, why = qos_check_compatible(publisher.qos_profile, one.qos_profile)
            if 'ERROR: ' in why:
                why = why.replace('ERROR: ', '').rstrip(';')
                return f'{name} gets no torque on {self.topic}: {why}'
        if count or self._node.get_parameter('controller_action').value:
            return ''
        return f'nobody receives the torques on {self.topic}; remap ~/command to the receiver'

    def _settle(self, state: TorquePermission, reason: str) -> None:
        self.close()
        self.state, self.reason = state, reason

    def close(self) -> None:
        """Stop listening for other senders."""
        if self._subscription is not None:
            self._node.destroy_subscription(self._subscription)
            self._subscription = None

    def receivers(self) -> dict[str, ReceiverKind] | None:
        """Return each receiver's kind by its node's full name; None while a name is unknown."""
        node, found = self._node, {}
        managers = {name for name, _ in node.get_service_names_and_types()}
        # A node with use_sim_time subscribes to a clock.
        simulated = {
            node_name_of(one)
            for topic, kinds in node.get_topic_names_and_types()
            if _CLOCK_TYPE in kinds
            for one in node.get_subscriptions_info_by_topic(topic)
        }
        listed = node.get_subscriptions_info_by_topic(self.topic)
        names = [node_name_of(one) for one in listed]
        for name, one in zip(names, listed):
            if one.node_name == UNKNOWN_NAME:
                return None  # names are discovered after topics, seconds later if busy
            manager = f'{name.rpartition("/")[0]}/controller_manager'
            if f'{manager}/list_controllers' in managers:
                own_time = simulated.isdisjoint((name, manager))
                found[name] = ReceiverKind.REAL if own_time else ReceiverKind.SIMULATED
            elif name != node.get_fully_qualified_name():
                try:
                    services = dict(
                        node.get_service_names_and_types_by_node(one.node_name, one.node_namespace)
                    )
                except NodeNameNonExistentError:
                    return None
                found[name] = ReceiverKind.UNKNOWN
                for kind, service in DECLARATION_SERVICES.items():
                    if _TRIGGER_TYPE in services.get(service.replace('~', name), ()):
                        found[name] = kind
                if found[name] in DECLARATION_SERVICES and names.count(name) > 1:
                    # Nobody can tell which of them declares it.
                    if self.state is TorquePermission.CHECKING:
                        self.reason = (
                            f'two nodes called {name} take torques; end or rename one (a killed '
                            'node stays listed for up to 20 s)'
                        )
                    return None
        return found
