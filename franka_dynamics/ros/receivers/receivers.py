# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
The check of who gets the torques, before the first one and while they flow.

A torque for a simulation contains gravity: a real arm, which compensates its gravity itself, would
rise with it. A controller of positions would take 20 N m for 20 rad. So nothing is sent until each
receiver is known:

1. `receiver_finder.ReceiverFinder` finds the nodes that receive the torques, and what each is.
2. `receiver_kinds.refusal_reason` says which kinds of receivers a target sends to.
3. `ReceiverCheck` listens for other senders, waits for what is not known, and gives or refuses the
   permission to send.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
import time
from typing import Any

from rclpy.event_handler import SubscriptionEventCallbacks
from std_msgs.msg import Float64MultiArray

from .receiver_finder import ReceiverFinder
from .receiver_kinds import (
    all_idle_reason,
    CERTAINLY_WRONG_KINDS,
    Receiver,
    refusal_reason,
    wrong_receivers,
)
from .torque_delivery import delivery_problem, other_senders_text
from ..topics import publisher_names, STATE_QOS

MIN_LISTENING_TIME_S = 0.5  # listening for other senders after the first joint state
# A node that gets little processor time sees only some of the states. At 100 Hz 0.5 s have 50.
MIN_HEARD_STATE_COUNT = 50
# How long a receiver must be wrong until it is refused, because its topics are discovered singly:
# while torques flow, before the first one, and if a controller that is certainly wrong appears.
REFUSAL_DELAY_S = 2.0
REFUSAL_DELAY_AT_START_S = 10.0
_CERTAIN_REFUSAL_DELAY_S = 0.2
_DELIVERY_CHECK_PERIOD_S = 1.0  # between two looks why nobody receives torques


class TorquePermission(Enum):
    """
    Permission to send torques.

    CHECKING comes first, and again while a receiver is not known or all receivers are idle.
    REFUSED stays until the next activation.
    """

    CHECKING = 'checking'
    GRANTED = 'granted'
    REFUSED = 'refused'


@dataclass
class _Watch:
    """What a check has seen since it began; times are of the steady clock [s], None: not yet."""

    target: str
    state_count: int = 0
    listening_end: float | None = None  # of listening for other senders, by the first joint state
    other_sender_time: float | None = None  # when a torque of another sender came first
    are_all_known: bool = True  # whether the receivers that were found last are all known
    wrong_since: float | None = None  # since when there is a wrong receiver
    subscriber_count: int | None = None  # when the receivers were judged last
    next_delivery_check: float = 0.0


class ReceiverCheck:
    """
    The check of a node's receivers of torques.

    Before the first torque it also listens for other senders of torques.

    `torque_publisher` is the node's. `permission` says whether torques may be sent, `reason` why
    not, or why a first receiver gets none. `receivers` has them by name. `delivery_problem` says
    who else commands, or why nobody, or one of them, gets or applies the torques that are sent; ''
    if all do. `has_receiver` says whether there is a receiver: without one nothing is published,
    so that an unknown one which comes later gets nothing before it is known. Both keep what was
    found before an activation until the receivers are found anew; nothing is sent meanwhile.
    """

    _watch: _Watch

    def __init__(self, node: Any, torque_publisher: Any) -> None:
        """Store the node and its publisher of torques; `on_activation` begins the check."""
        self._node = node
        self._publisher = torque_publisher
        self.topic: str = torque_publisher.topic_name
        self._finder = ReceiverFinder(node, torque_publisher)
        self._subscription: Any = None
        self.permission = TorquePermission.CHECKING
        self.reason = ''
        self.receivers: dict[str, Receiver] = {}
        self.delivery_problem = ''
        self.has_receiver = False

    def on_activation(self, target: str, joint_names: Sequence[str]) -> None:
        """Begin to check who sends and receives torques for a target and joints."""
        self.close()
        self._watch = _Watch(target)
        self._finder.target = target
        self._finder.joint_names = joint_names
        self.permission = TorquePermission.CHECKING
        self.reason = (
            f'looking for {MIN_LISTENING_TIME_S:g} s who else sends on {self.topic}, and who '
            'receives it'
        )
        self.delivery_problem = ''
        self._subscription = self._node.create_subscription(
            Float64MultiArray,
            self.topic,
            self._on_torque,
            STATE_QOS,
            raw=True,
            # Without rclpy's handlers of events: when they are destroyed with their subscription,
            # a MultiThreadedExecutor that waits for them raises an error (rclpy, issue 1206).
            event_callbacks=SubscriptionEventCallbacks(use_default_callbacks=False),
        )

    def _on_torque(self, _: bytes) -> None:
        """Store the time of the first torque that another node sent."""
        if self._watch.other_sender_time is None:
            self._watch.other_sender_time = time.monotonic()

    def count_state(self) -> None:
        """Count a joint state; with the first one the listening for other senders begins."""
        self._watch.state_count += 1
        if self._watch.listening_end is None:
            self._watch.listening_end = time.monotonic() + MIN_LISTENING_TIME_S

    def update_permission(self) -> None:
        """
        Look for receivers if that is due, and update permission, reason and delivery problem.

        A refusal stays until the next activation.
        """
        if self.permission is TorquePermission.REFUSED:
            return
        now = time.monotonic()
        is_checking = self.permission is TorquePermission.CHECKING
        if is_checking and self._must_keep_listening(now):
            self._finder.find_receivers()  # they are watched meanwhile
            return
        subscriber_count = self._publisher.get_subscription_count()
        is_delivery_due = not is_checking and now >= self._watch.next_delivery_check
        if not (is_delivery_due or self._is_look_due(subscriber_count)):
            return
        found = self._finder.find_receivers(ask_often=is_checking)
        if is_delivery_due:
            self._update_delivery_problem(found, now)
        self._judge(found, subscriber_count, now)

    def _is_look_due(self, subscriber_count: int) -> bool:
        """Return whether a receiver may have come, gone or become known since the last look."""
        watch = self._watch
        return (
            self.permission is TorquePermission.CHECKING
            or watch.wrong_since is not None
            or not watch.are_all_known
            or subscriber_count != watch.subscriber_count
            or self._finder.has_new_answer
        )

    def _update_delivery_problem(self, found: Mapping[str, Receiver], now: float) -> None:
        """Find out why torques are not received or applied, and set when to do so next."""
        self._watch.next_delivery_check = now + _DELIVERY_CHECK_PERIOD_S
        idle_reasons = {name: receiver.idle_reason for name, receiver in found.items()}
        manager_problem = self._finder.managers.problem
        problem = delivery_problem(self._node, self.topic, idle_reasons, manager_problem)
        if not problem and not self.has_receiver:
            problem = _first_uncertainty(found)  # of a first receiver, which gets nothing yet
        self.delivery_problem = problem

    def _judge(self, found: dict[str, Receiver], subscriber_count: int, now: float) -> None:
        """
        Set the permission by the receivers that were found. The first of these rules holds.

        1. A receiver is not known, and nothing is sent now: nothing is until all are known. A
           permission that nobody has used yet stays meanwhile, without a receiver.
        2. A receiver is wrong for some time: nothing is sent any more. That is a refusal unless a
           receiver is not known.
        3. All receivers of the expected kinds are idle: nothing is sent while they are.
        4. Torques may be sent.
        """
        watch = self._watch
        is_checking = self.permission is TorquePermission.CHECKING
        unsure = _first_uncertainty(found)
        watch.are_all_known = not unsure
        is_sending = not is_checking and self.has_receiver
        if unsure and not is_sending:
            self.reason = unsure  # listening for other senders goes on
            return
        watch.subscriber_count = subscriber_count
        self.receivers = found
        if wrong := refusal_reason(watch.target, self.topic, found):
            if watch.wrong_since is None:
                watch.wrong_since = now
            self.reason = unsure or wrong  # torques that do not flow yet do not begin
            if now >= watch.wrong_since + self._refusal_delay_s():
                state = TorquePermission.CHECKING if unsure else TorquePermission.REFUSED
                self._set_permission(state, self.reason)
            return
        watch.wrong_since = None
        if idle := all_idle_reason(watch.target, found):
            self._set_permission(TorquePermission.CHECKING, idle)
        else:
            self._set_permission(TorquePermission.GRANTED, '')
        self.has_receiver = bool(found)

    def _refusal_delay_s(self) -> float:
        """Return how long [s] wrong receivers must be present before torques are refused."""
        if self.permission is not TorquePermission.GRANTED or not self.has_receiver:
            return REFUSAL_DELAY_AT_START_S
        wrong = wrong_receivers(self._watch.target, self.receivers).values()
        is_certain = any(receiver.kind in CERTAINLY_WRONG_KINDS for receiver in wrong)
        return _CERTAIN_REFUSAL_DELAY_S if is_certain else REFUSAL_DELAY_S

    def _must_keep_listening(self, now: float) -> bool:
        """Return whether to keep listening for other senders; refuse torques if one is heard."""
        watch = self._watch
        if self._subscription is None:
            return False
        if watch.other_sender_time is None:
            is_listening = watch.listening_end is not None and now < watch.listening_end
            return is_listening or watch.state_count < MIN_HEARD_STATE_COUNT
        names = publisher_names(self._node, self.topic)
        if names or now >= watch.other_sender_time + REFUSAL_DELAY_S:
            # A name is discovered later than its messages.
            reason = other_senders_text(self.topic, names)
            self._set_permission(TorquePermission.REFUSED, reason)
        return True

    @property
    def receivers_text(self) -> str:
        """The names of the nodes that receive torques, with their kinds, as text, or 'none'."""
        named = [f'{name} ({receiver})' for name, receiver in self.receivers.items()]
        return ', '.join(named) or 'none'

    @property
    def broadcaster_problem(self) -> str:
        """Which broadcaster of joint states beside the receivers is not active; '' if none is."""
        return self._finder.managers.broadcaster_problem

    def _set_permission(self, permission: TorquePermission, reason: str) -> None:
        """Set `permission` and `reason`, and stop listening for other senders."""
        self.stop_listening()
        self.permission = permission
        self.reason = reason

    def stop_listening(self) -> None:
        """Destroy the subscription, if there is one, that detects other senders of torques."""
        if self._subscription is not None:
            self._node.destroy_subscription(self._subscription)
            self._subscription = None

    def close(self) -> None:
        """Stop listening for other senders, and discard all answers of controller managers."""
        self.stop_listening()
        self._finder.close()


def _first_uncertainty(receivers: Mapping[str, Receiver]) -> str:
    """Return why the kind of the first receiver that is not known is uncertain; '' if all are."""
    return next(filter(None, (receiver.uncertainty for receiver in receivers.values())), '')
