# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
The check of which nodes receive the torques, and whether another node sends torques, too.

The node asks who subscribes to its command topic before it sends anything.
"""

from collections.abc import Sequence
from enum import Enum
import time
from typing import Any

from rclpy.event_handler import SubscriptionEventCallbacks
from rclpy.qos import qos_check_compatible
from std_msgs.msg import Float64MultiArray

from . import receivers as torque_receivers
from .receivers import Receiver, ReceiverKind, TORQUE_TYPE
from .topics import node_name_of, publisher_names, STATE_QOS

_MIN_LISTENING_TIME_S = 0.5  # listening for other senders after the first joint state
# A node that gets little processor time sees only some of the states. At 100 Hz 0.5 s have 50.
_MIN_HEARD_STATE_COUNT = 50
# How long a receiver must be wrong until it is refused, because its topics are discovered singly:
# while torques flow, before the first one, and if a controller that is certainly wrong appears.
_REFUSAL_DELAY_S = 2.0
_REFUSAL_DELAY_AT_START_S = 10.0
_CERTAIN_REFUSAL_DELAY_S = 0.2
# Kinds of receivers that are certainly wrong if the target expects another.
_CERTAINLY_WRONG_KINDS = (
    ReceiverKind.REAL_CONTROLLER,
    ReceiverKind.OTHER_CONTROLLER,
    ReceiverKind.OTHER_TARGET,
    ReceiverKind.UNDETERMINED,
)
_DELIVERY_CHECK_PERIOD_S = 1.0  # between two looks why nobody receives torques
# Sequence numbers of two publishers fall again and again, those of a restarted publisher once.
# Without this the row states of benchmarks/receivers.py is bad.
_MAX_MESSAGES_BETWEEN_DROPS = 2000


class SecondPublisherDetector:
    """
    A detector of a second publisher of a topic by falling sequence numbers of messages.

    `has_dropped` says whether the latest number is lower than the one before: it is the first of a
    publisher that was restarted, or of a second one.
    """

    def __init__(self) -> None:
        """Begin with no sequence number received."""
        self._last_number, self._count_since_drop = 0, _MAX_MESSAGES_BETWEEN_DROPS
        self.has_dropped = False

    def add_sequence_number(self, sequence_number: int) -> bool:
        """Add a message's sequence number; return whether the latest ones show two publishers."""
        self.has_dropped, self._last_number = sequence_number <= self._last_number, sequence_number
        self._count_since_drop += 1
        if not self.has_dropped:
            return False
        since, self._count_since_drop = self._count_since_drop, 0
        return since <= _MAX_MESSAGES_BETWEEN_DROPS


class TorquePermission(Enum):
    """Permission to send torques: CHECKING first, while receivers are idle or of unsure kind."""

    CHECKING = 'checking'
    GRANTED = 'granted'
    REFUSED = 'refused'


class ReceiverCheck:
    """
    The check of a node's receivers of torques and the publishers of its joint states.

    Before the first torque it also listens for other senders of torques.

    `torque_publisher` is the node's. `permission` says whether torques may be sent,
    `reason` why not. `receivers` has them by name. `delivery_problem` says who else commands,
    or why nobody, or one of them, gets or applies the torques that are sent; '' if all do.
    `has_receiver` says whether there is a receiver: without one nothing is published, so that an
    unknown one which comes later gets nothing before it is known.
    """

    def __init__(self, node: Any, torque_publisher: Any) -> None:
        """Store the node and its publisher of torques; `on_activation` begins the check."""
        self._node, self._publisher = node, torque_publisher
        self.topic: str = torque_publisher.topic_name
        self._finder = torque_receivers.ReceiverFinder(node, self.topic)
        self._subscription: Any = None
        self.permission, self.reason = TorquePermission.CHECKING, ''
        self.receivers: dict[str, Receiver] = {}
        self.delivery_problem, self.has_receiver = '', False

    def on_activation(self, target: str, state_topic: str, joint_names: Sequence[str]) -> None:
        """Begin to check who sends and receives torques for a target, a state topic and joints."""
        self.close()
        self._target, self._state_topic = target, state_topic
        self._finder.target, self._finder.joint_names = target, joint_names
        self.permission = TorquePermission.CHECKING
        seconds = f'{_MIN_LISTENING_TIME_S:g} s'
        self.reason = f'looking for {seconds} who else sends on {self.topic}, and who receives it'
        self._detector, self._state_count = SecondPublisherDetector(), 0
        self._listen_until = 0.0
        self._heard_time = 0.0  # when a torque of another sender came
        self._subscriber_count, self._wrong_since = -1, 0.0
        self._next_check, self.delivery_problem = 0.0, ''
        # Without rclpy's handlers of events: when they are destroyed with their subscription, a
        # MultiThreadedExecutor that waits for them raises an error (rclpy, issue 1206).
        without = SubscriptionEventCallbacks(use_default_callbacks=False)
        kind, topic = Float64MultiArray, self.topic
        self._subscription = self._node.create_subscription(
            kind, topic, self._on_torque, STATE_QOS, raw=True, event_callbacks=without
        )

    def _on_torque(self, _: bytes) -> None:
        """Store the time of the first torque that another node sent."""
        self._heard_time = self._heard_time or time.monotonic()

    def check_sequence_number(self, sequence_number: int | None) -> str:
        """
        Return an error text if a joint state's sequence number shows a second publisher, else ''.

        The number is None if the middleware does not number messages.
        """
        self._state_count += 1
        self._listen_until = self._listen_until or time.monotonic() + _MIN_LISTENING_TIME_S
        if sequence_number is None or not self._detector.add_sequence_number(sequence_number):
            return ''
        names = ', '.join(publisher_names(self._node, self._state_topic))
        return (
            f'a second node publishes {self._state_topic}, and states of two arms cannot be told '
            f'apart; stop or remap the other one (publishers listed: {names})'
        )

    @property
    def has_new_state_publisher(self) -> bool:
        """Whether the latest joint state is the first of another, or restarted, publisher."""
        return self._detector.has_dropped

    def update_permission(self) -> None:
        """Unless REFUSED, when due update permission, reason, receivers and delivery problem."""
        now, waits = time.monotonic(), self.permission is TorquePermission.CHECKING
        refused = self.permission is TorquePermission.REFUSED
        if refused or (waits and self._must_keep_listening(now)):
            return
        count, due = self._publisher.get_subscription_count(), now >= self._next_check
        changed = count != self._subscriber_count or self._finder.has_new_answer
        if not (waits or due or self._wrong_since or changed):
            return
        found = self._finder.find_receivers(ask_often=waits)
        unsure = next((one.uncertainty for one in found.values() if one.uncertainty), '')
        if due and not waits:
            self._next_check = now + _DELIVERY_CHECK_PERIOD_S
            self.delivery_problem = self._find_delivery_problem(found)
        if waits and unsure:
            self.reason = unsure
            return
        self._subscriber_count, self.receivers = count, found
        wrong = torque_receivers.refusal_reason(self._target, self.topic, found)
        if wrong:
            self._wrong_since = self._wrong_since or now
            self.reason = unsure or wrong  # torques that do not flow yet do not begin
            if now >= self._wrong_since + self._refusal_delay_s():
                state = TorquePermission.CHECKING if unsure else TorquePermission.REFUSED
                self._set_permission(state, self.reason)
            return
        self._wrong_since = 0.0
        idle = torque_receivers.all_idle_reason(self._target, found)
        self._set_permission(TorquePermission.CHECKING if idle else TorquePermission.GRANTED, idle)
        self.has_receiver = bool(found)

    def _refusal_delay_s(self) -> float:
        """Return how long [s] wrong receivers must be present before torques are refused."""
        if self.permission is not TorquePermission.GRANTED or not self.has_receiver:
            return _REFUSAL_DELAY_AT_START_S
        certain = any(one.kind in _CERTAINLY_WRONG_KINDS for one in self.receivers.values())
        return _CERTAIN_REFUSAL_DELAY_S if certain else _REFUSAL_DELAY_S

    def _must_keep_listening(self, now: float) -> bool:
        """Return whether to keep listening for other senders; refuse torques if one is heard."""
        if self._subscription is None:
            return False
        if not self._heard_time:
            return now < self._listen_until or self._state_count < _MIN_HEARD_STATE_COUNT
        names = publisher_names(self._node, self.topic)
        if names or now >= self._heard_time + _REFUSAL_DELAY_S:
            # A name is discovered later than its messages.
            self._set_permission(TorquePermission.REFUSED, self._other_senders_text(names))
        return True

    def _other_senders_text(self, senders: Sequence[str]) -> str:
        """Return text that says that other nodes send torques, with the nodes' names."""
        return (
            f'somebody else commands {self.topic}, and two sources of torque take turns '
            f'(publishers listed: {", ".join(senders)}); stop the other one, or remap ~/command'
        )

    @property
    def receivers_text(self) -> str:
        """The names of the nodes that receive torques, with their kinds, as text, or 'none'."""
        return ', '.join(f'{name} ({one})' for name, one in self.receivers.items()) or 'none'

    def _find_delivery_problem(self, receivers: dict[str, Receiver]) -> str:
        """Return why torques are not received or applied, or who else sends them; else ''."""
        if rivals := publisher_names(self._node, self.topic):
            return self._other_senders_text(rivals)
        own = self._node.get_fully_qualified_name()
        listed = self._node.get_publishers_info_by_topic(self.topic)
        # As the middleware knows it, with its defaults.
        publisher = next((endpoint for endpoint in listed if node_name_of(endpoint) == own), None)
        for endpoint in self._node.get_subscriptions_info_by_topic(self.topic):
            name, kind = node_name_of(endpoint), endpoint.topic_type
            if name == own:
                continue
            if kind != TORQUE_TYPE:
                return f'{name} takes {kind} on {self.topic}, and torques are a {TORQUE_TYPE}'
            if publisher is None:  # the node is not listed yet, nor are its settings known
                continue
            _, why = qos_check_compatible(publisher.qos_profile, endpoint.qos_profile)
            if 'ERROR: ' in why:
                why = why.replace('ERROR: ', '').rstrip(';')
                return f'{name} gets no torque on {self.topic}: {why}'
        for name, known in receivers.items():
            if known.idle_reason:
                return f'{name} applies no torque: it {known.idle_reason}'
        if receivers:
            return self._finder.manager_problem
        return f'nobody receives the torques on {self.topic}; remap ~/command to the receiver'

    def _set_permission(self, permission: TorquePermission, reason: str) -> None:
        """Set `permission` and `reason`, and stop listening for other senders."""
        self.stop_listening()
        self.permission, self.reason = permission, reason

    def stop_listening(self) -> None:
        """Destroy the subscription, if there is one, that detects other senders of torques."""
        if self._subscription is not None:
            self._node.destroy_subscription(self._subscription)
            self._subscription = None

    def close(self) -> None:
        """Stop listening for other senders, and discard all answers of controller managers."""
        self.stop_listening()
        self._finder.close()
