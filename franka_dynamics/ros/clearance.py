# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Decides whether the node may send its first torque: who receives it, and who else sends.

A torque for a simulation contains gravity. A real arm, which compensates its gravity itself, would
rise with it. So the node looks up who subscribes to its command topic before it sends anything.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
import time
from typing import Any

from rcl_interfaces.srv import GetParameters
from rclpy.callback_groups import CallbackGroup
from std_msgs.msg import Float64MultiArray

from .messages import publisher_names, response, STATE_QOS, taken

_STATUS_TYPE = 'diagnostic_msgs/msg/DiagnosticStatus'
_LIST_CONTROLLERS = 'controller_manager/list_controllers'
# A controller manager that has not answered for this time is taken for a real arm's [s].
_ANSWER_TIMEOUT_S, _ASKS_EVERY_S = 5.0, 0.5


class Receiver(Enum):
    """What kind of node receives the torques; the value is its name in messages."""

    ARM = 'a simulated arm of this package'
    SIMULATED = 'a controller in simulated time'
    REAL = 'a controller in real time'
    UNKNOWN = 'neither a simulated arm of this package nor a controller of a controller manager'
    ASKED = 'a controller whose controller manager has not said yet whether its time is simulated'


# Receivers that each target expects. Under fci the node commands no gravity, so that an unknown
# receiver, such as a driver without ros2_control, and a simulated arm may take its torques.
EXPECTED = {
    'fci': (Receiver.REAL, Receiver.ARM, Receiver.UNKNOWN),
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


# The numbers of two publishers fall again and again; those of a restarted one fall once.
_TWICE_WITHIN = 2000  # messages within which two falls are taken for two publishers


class PublisherCounts:
    """Detects two publishers by the numbers that each publisher gives its own messages."""

    def __init__(self) -> None:
        self._last = self._taken = 0
        self._fell: int | None = None  # how many messages had come when the numbers last fell

    def add(self, number: int) -> bool:
        """Take a message's number; return whether the numbers are those of two publishers."""
        last, self._last = self._last, number
        self._taken += 1
        if number > last:
            return False
        before, self._fell = self._fell, self._taken
        return before is not None and self._taken - before <= _TWICE_WITHIN


class Clearance:
    """
    Looks up who receives the torques; before the first one, also listens for other senders.

    `publisher` is the node's publisher of torques. `group` is a callback group that no executor
    serves, because this class takes the messages itself.
    """

    def __init__(self, node: Any, publisher: Any, group: CallbackGroup) -> None:
        self._node, self._publisher, self._group = node, publisher, group
        self._topic: str = publisher.topic_name
        self._times: dict[str, bool] = {}  # of controller managers: whether simulated
        self._asked: dict[str, tuple[Any, float]] = {}  # client, when it asked last [s]
        self._subscription: Any = None
        self.close()

    def begin(self, target: str, states: str, seconds: float) -> None:
        """
        Begin an activation with torques for `target`.

        It listens for `seconds` after the first joint state on the topic `states`.
        """
        self.close()
        self._target, self._states, self._seconds = target, states, seconds
        self._senders = PublisherCounts()
        self._heard_until: float | None = None
        self._refused, self.listens = '', True
        self._subscription = self._node.create_subscription(
            Float64MultiArray,
            self._topic,
            lambda _: None,
            STATE_QOS,
            raw=True,
            callback_group=self._group,
        )

    def note_state(self, number: int | None) -> str:
        """
        Take a joint state's message number; return a sentence if two nodes publish, else ''.

        `number` is None if the middleware does not number messages.
        """
        if self._heard_until is None:
            self._heard_until = time.monotonic() + self._seconds
        if number is None or not self._senders.add(number):
            return ''
        names = ', '.join(publisher_names(self._node, self._states))
        return (
            f'a second node publishes {self._states}, and states of two arms cannot be told '
            f'apart; stop or remap the other one (publishers listed: {names})'
        )

    def look(self) -> str:
        """
        Return why torques may not be sent, or ''. Called every 20 ms.

        `listens` is True until the first torque may be sent, or is refused. Later only a change of
        the receivers is looked up.
        """
        now = time.monotonic()
        if self.listens:
            self._refused = self._heard()
            if not self._refused:
                refused = self._judge()
                if self._heard_until is None or now < self._heard_until:
                    return ''
                if refused and self._pending and now < self._heard_until + _ANSWER_TIMEOUT_S:
                    return ''
                self._refused = refused
            self.close()
        elif self._publisher.get_subscription_count() != self._receivers or self._pending:
            refused = self._judge()
            if not self._pending:
                self._changed = now
            if refused and not (self._pending and now < self._changed + _ANSWER_TIMEOUT_S):
                self._refused = refused
        else:
            self._changed = now
        return self._refused

    def close(self) -> None:
        """Listen no longer."""
        self.listens, self._pending = False, False
        self._receivers, self._changed = -1, time.monotonic()
        if self._subscription is not None:
            self._node.destroy_subscription(self._subscription)
            self._subscription = None

    def _heard(self) -> str:
        if taken(self._subscription) is None:
            return ''
        names = ', '.join(publisher_names(self._node, self._topic))
        return (
            f'somebody else commands {self._topic}, and two sources of torque would take turns '
            f'(publishers listed: {names}); stop the other one, or remap ~/command'
        )

    def _judge(self) -> str:
        self._receivers = self._publisher.get_subscription_count()
        services = {name for name, _ in self._node.get_service_names_and_types()}
        own, found = self._node.get_fully_qualified_name(), {}
        for one in self._node.get_subscriptions_info_by_topic(self._topic):
            full_name = f'{one.node_namespace.rstrip("/")}/{one.node_name}'
            if full_name != own:
                found[full_name] = self._kind(full_name, services)
        # Discovery of a node's topics, or an answer, may take a moment.
        self._pending = not {Receiver.ASKED, Receiver.UNKNOWN}.isdisjoint(found.values())
        return refusal(self._target, self._topic, found)

    def _kind(self, full_name: str, services: set[str]) -> Receiver:
        if not full_name.startswith('/'):  # its name has not been discovered yet
            return Receiver.UNKNOWN
        manager = f'{full_name.rpartition("/")[0]}/{_LIST_CONTROLLERS}'
        if manager in services:
            simulated = self._simulated_time(manager.rpartition('/')[0])
            if simulated is None:
                return Receiver.ASKED
            return Receiver.SIMULATED if simulated else Receiver.REAL
        status = self._node.get_publishers_info_by_topic(f'{full_name}/status')
        simulated = any(one.topic_type == _STATUS_TYPE for one in status)
        return Receiver.ARM if simulated else Receiver.UNKNOWN

    def _simulated_time(self, manager: str) -> bool | None:
        """Return whether a controller manager's time is simulated; None until it answers."""
        if manager in self._times:
            return self._times[manager]
        if manager not in self._asked:
            service = f'{manager}/get_parameters'
            client = self._node.create_client(GetParameters, service, callback_group=self._group)
            self._asked[manager] = client, 0.0
        client, asked = self._asked[manager]
        for answer in response(client):
            self._times[manager] = bool(answer.values) and answer.values[0].bool_value
        if time.monotonic() - asked > _ASKS_EVERY_S and client.service_is_ready():
            client.handle.send_request(GetParameters.Request(names=['use_sim_time']))
            self._asked[manager] = client, time.monotonic()
        return self._times.get(manager)
