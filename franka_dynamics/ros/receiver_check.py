# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Checks which nodes receive the torques, and whether another node sends torques, too.

The node asks who subscribes to its command topic before it sends anything: the receivers whether
they declare themselves as simulated arms, and the controller managers in their namespaces which
controllers they have. Who is neither is unknown.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from enum import Enum
import time
from typing import Any

from rclpy.event_handler import SubscriptionEventCallbacks
from rclpy.node import NodeNameNonExistentError
from rclpy.qos import qos_check_compatible
from std_msgs.msg import Float64MultiArray

from .controller_managers import ControllerManagers, idle_reason, wrong_claim
from .receivers import (
    DECLARATION_SERVICES,
    declared_kind,
    declared_targets,
    EXPECTED_RECEIVERS,
    Receiver,
    ReceiverKind,
    receivers_idle,
    refusal_reason,
)
from .topics import node_name_of, publisher_names, STATE_QOS, UNKNOWN_NAME

_CLOCK_TYPE = 'rosgraph_msgs/msg/Clock'
_TORQUE_TYPE = 'std_msgs/msg/Float64MultiArray'
_MIN_LISTEN_S = 0.5  # listening for other senders after the first joint state
# A node that gets little processor time sees only some of the states. At 100 Hz 0.5 s have 50.
_MIN_LISTEN_STATE_COUNT = 50
# How long a receiver must be wrong until it is refused, because its topics are discovered singly:
# while torques flow, before the first one, and if a controller that is certainly wrong appears.
_DISCOVERY_TIMEOUT_S = 2.0
_FIRST_TIMEOUT_S = 10.0
_CONTROLLER_TIMEOUT_S = 0.2
_LOOK_PERIOD_S = 1.0  # between two looks why nobody receives torques


# Sequence numbers of two publishers fall again and again, those of a restarted publisher once.
# Without this the row states of benchmarks/receivers.py is bad.
_MAX_MESSAGES_BETWEEN_FALLS = 2000


class SecondPublisherDetector:
    """
    Detects a second publisher of a topic by falling sequence numbers of messages.

    `fell` says whether the latest number did: it is the first of a publisher that was restarted,
    or of a second one.
    """

    def __init__(self) -> None:
        self._last, self._since_fall = 0, _MAX_MESSAGES_BETWEEN_FALLS
        self.fell = False

    def add(self, number: int) -> bool:
        """Add a message's sequence number; return whether two publishers send the messages."""
        self.fell, self._last = number <= self._last, number
        self._since_fall += 1
        if not self.fell:
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
    `reason` why not. `found` has the receivers by name. `delivery_problem` says who else commands,
    or why nobody, or one of them, gets or applies the torques that are sent; '' if all do.
    `is_open` says whether there is a receiver: without one nothing is published, so that an
    unknown one which comes later gets nothing before it is known.
    """

    def __init__(self, node: Any, publisher: Any) -> None:
        self._node, self._publisher = node, publisher
        self._managers = ControllerManagers(node)
        self.topic: str = publisher.topic_name
        self._subscription: Any = None
        self.state, self.reason = TorquePermission.CHECKING, ''
        self.found: dict[str, Receiver] = {}
        self.delivery_problem, self.is_open = '', False

    def begin(self, target: str, state_topic: str, joints: Sequence[str]) -> None:
        """Begin an activation with torques for a target's joints and joint states on a topic."""
        self.close()
        self._target, self._state_topic, self._joints = target, state_topic, joints
        self.state = TorquePermission.CHECKING
        self.reason = (
            f'looking for {_MIN_LISTEN_S:g} s whether another node publishes on {self.topic}, '
            'and who receives it'
        )
        self._detector, self._state_count = SecondPublisherDetector(), 0
        self._heard_until = 0.0
        self._heard_at = 0.0  # when a torque of another sender came
        self._count, self._wrong_since = -1, 0.0
        self._next_look, self.delivery_problem = 0.0, ''
        # Without rclpy's handlers of events: when they are destroyed with their subscription, a
        # MultiThreadedExecutor that waits for them raises an error (rclpy, issue 1206).
        without = SubscriptionEventCallbacks(use_default_callbacks=False)
        self._subscription = self._node.create_subscription(
            Float64MultiArray,
            self.topic,
            self._on_torque,
            STATE_QOS,
            raw=True,
            event_callbacks=without,
        )

    def _on_torque(self, _: bytes) -> None:
        """Note when the first torque of another sender came."""
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

    @property
    def is_first_of_another(self) -> bool:
        """Whether the latest joint state is the first of another or of a restarted publisher."""
        return self._detector.fell

    def poll(self) -> None:
        """Update `state` and `reason` from the present senders and receivers, every 50 ms."""
        now, waits = time.monotonic(), self.state is TorquePermission.CHECKING
        if self.state is TorquePermission.REFUSED or (waits and self._is_listening(now)):
            return
        count, due = self._publisher.get_subscription_count(), now >= self._next_look
        changed = count != self._count or self._managers.have_answered
        if not (waits or due or self._wrong_since or changed):
            return
        found, unsure = self.receivers()
        if due and not waits:
            self._next_look = now + _LOOK_PERIOD_S
            self.delivery_problem = self._find_delivery_problem(found)
        if waits and unsure:
            self.reason = unsure
            return
        self._count, self.found = count, found
        wrong = refusal_reason(self._target, self.topic, found)
        if wrong:
            self._wrong_since = self._wrong_since or now
            self.reason = unsure or wrong  # torques that do not flow yet do not begin
            if now >= self._wrong_since + self._refusal_delay():
                state = TorquePermission.CHECKING if unsure else TorquePermission.REFUSED
                self._set_permission(state, self.reason)
            return
        self._wrong_since = 0.0
        idle = receivers_idle(self._target, found)
        self._set_permission(TorquePermission.CHECKING if idle else TorquePermission.GRANTED, idle)
        self.is_open = bool(found)

    def _refusal_delay(self) -> float:
        """Return how long receivers must be wrong until they are refused [s]."""
        certain = {one.kind for one in self.found.values()}.intersection(
            (ReceiverKind.REAL, ReceiverKind.OTHER, ReceiverKind.UNSURE)
        )
        if self.state is not TorquePermission.GRANTED or not self.is_open:
            return _FIRST_TIMEOUT_S
        return _CONTROLLER_TIMEOUT_S if certain else _DISCOVERY_TIMEOUT_S

    def _is_listening(self, now: float) -> bool:
        """Return whether to go on listening for other senders; refuse torques beside one."""
        if self._subscription is None:
            return False
        if not self._heard_at:
            return now < self._heard_until or self._state_count < _MIN_LISTEN_STATE_COUNT
        names = ', '.join(publisher_names(self._node, self.topic))
        if names or now >= self._heard_at + _DISCOVERY_TIMEOUT_S:
            # A name is discovered later than its messages.
            self._set_permission(
                TorquePermission.REFUSED,
                f'somebody else commands {self.topic}, and two sources of torque would take turns '
                f'(publishers listed: {names}); stop the other one, or remap ~/command',
            )
        return True

    @property
    def listed(self) -> str:
        """The receivers with their kinds."""
        return ', '.join(f'{name} ({one})' for name, one in self.found.items()) or 'none'

    def _find_delivery_problem(self, found: Mapping[str, Receiver]) -> str:
        """Return which node also sends torques, or gets or applies none; '' if all is well."""
        rivals = publisher_names(self._node, self.topic)
        if rivals:
            return (
                f'{", ".join(rivals)} publishes on {self.topic}, too, and two sources of torque '
                'take turns; stop the other one, or remap ~/command'
            )
        own = self._node.get_fully_qualified_name()
        listed = self._node.get_publishers_info_by_topic(self.topic)
        # As the middleware knows it, with its defaults.
        publisher = next((one for one in listed if node_name_of(one) == own), None)
        for one in self._node.get_subscriptions_info_by_topic(self.topic):
            name, kind = node_name_of(one), one.topic_type
            if name == own:
                continue
            if kind != _TORQUE_TYPE:
                return f'{name} takes {kind} on {self.topic}, and torques are a {_TORQUE_TYPE}'
            if publisher is None:  # the node is not listed yet, nor are its settings known
                continue
            _, why = qos_check_compatible(publisher.qos_profile, one.qos_profile)
            if 'ERROR: ' in why:
                why = why.replace('ERROR: ', '').rstrip(';')
                return f'{name} gets no torque on {self.topic}: {why}'
        for name, known in found.items():
            if known.idle:
                return f'{name} applies no torque: it {known.idle}'
        if found:
            return self._managers.problem
        return f'nobody receives the torques on {self.topic}; remap ~/command to the receiver'

    def _set_permission(self, state: TorquePermission, reason: str) -> None:
        """Set whether torques may be sent, and why not; stop listening for other senders."""
        self.stop_listening()
        self.state, self.reason = state, reason

    def stop_listening(self) -> None:
        """Stop listening for other senders."""
        if self._subscription is not None:
            self._node.destroy_subscription(self._subscription)
            self._subscription = None

    def close(self) -> None:
        """Stop listening for other senders, and forget what controller managers have answered."""
        self.stop_listening()
        self._managers.close()

    def receivers(self) -> tuple[dict[str, Receiver], str]:
        """Return each receiver by its node's full name, and why one cannot be told yet, or ''."""
        node, found, unsure = self._node, dict[str, Receiver](), ''
        listed = {
            node_name_of(one): one
            for one in node.get_subscriptions_info_by_topic(self.topic)
            if one.topic_type == _TORQUE_TYPE
        }
        listed.pop(node.get_fully_qualified_name(), None)
        quick = self.state is TorquePermission.CHECKING or listed.keys() != self.found.keys()
        self._managers.update({one.node_namespace for one in listed.values()}, quick=quick)
        simulated = self._nodes_in_simulated_time()
        nodes = Counter(node.get_fully_qualified_node_names())
        for name, one in listed.items():
            services = self._services(one)
            if services is None:
                # Names are discovered after topics, seconds later if the machine is busy.
                unsure = unsure or f'it is not known yet which node receives {self.topic}'
            found[name], sources = self._receiver(name, services or {}, simulated)
            twice = next((one for one in sources if nodes[one] > 1), '')
            why = twice and (
                f'two nodes called {twice} are there; end or rename one (a killed node stays '
                'listed for up to 20 s)'
            )
            if twice and found[name].kind not in DECLARATION_SERVICES:
                # Nobody can tell which of them answers, or takes torques. Of a declared arm the
                # other one is that which was killed before it.
                found[name] = Receiver(ReceiverKind.UNSURE, why)
            if found[name].kind is ReceiverKind.UNSURE:
                why = found[name].words
            unsure = unsure or why
        return found, unsure

    def _nodes_in_simulated_time(self) -> set[str]:
        """Return the full names of nodes with use_sim_time, which subscribe to a clock."""
        return {
            node_name_of(one)
            for topic, kinds in self._node.get_topic_names_and_types()
            if _CLOCK_TYPE in kinds
            for one in self._node.get_subscriptions_info_by_topic(topic)
        }

    def _services(self, receiver: Any) -> dict[str, list[str]] | None:
        """Return the types of a node's services by name; None while the node is not known."""
        if receiver.node_name == UNKNOWN_NAME:
            return None
        name, space = receiver.node_name, receiver.node_namespace
        try:
            return dict(self._node.get_service_names_and_types_by_node(name, space))
        except NodeNameNonExistentError:
            return None

    def _receiver(
        self, name: str, services: dict[str, list[str]], simulated: set[str]
    ) -> tuple[Receiver, list[str]]:
        """Return what a node is, and the nodes this relies on, of which there must be one each."""
        declared = declared_kind(name, services)
        if declared is not ReceiverKind.UNKNOWN:
            return Receiver(declared), [name]
        receiver, sources = self._receiver_by_managers(name, services, simulated)
        if ReceiverKind.UNKNOWN not in EXPECTED_RECEIVERS[self._target]:
            sources = sources or [name]  # the declaration may be the other one's
        return receiver, sources

    def _receiver_by_managers(
        self, name: str, services: dict[str, list[str]], simulated: set[str]
    ) -> tuple[Receiver, list[str]]:
        """
        Return what a node is by the controller managers in its namespace, as `_receiver` does.

        The nodes are none if no manager there has a controller of that name.
        """
        unknown = Receiver(ReceiverKind.UNKNOWN)
        for manager in self._managers.in_namespace_of(name):
            if manager.controllers is None:
                kind = ReceiverKind.UNSURE if manager.can_answer else ReceiverKind.UNKNOWN
                unknown = Receiver(kind, manager.problem)
                continue
            controller = manager.controllers.get(name.rpartition('/')[2])
            if controller is None:
                continue
            wrong, kind = wrong_claim(controller, self._joints), ReceiverKind.OTHER
            targets = declared_targets(name, services)
            if targets and self._target not in targets:
                wrong = wrong or f'a controller for target {", ".join(targets)}'
            if not wrong:
                own_time = simulated.isdisjoint((name, manager.name))
                kind = ReceiverKind.REAL if own_time else ReceiverKind.SIMULATED
            return Receiver(kind, wrong, idle_reason(controller)), [name, manager.name]
        return unknown, []
