# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
The kinds of nodes that receive torques, which of them a target expects, and their controllers.

A torque for a simulation contains gravity. A real arm, which compensates its gravity itself, would
rise with it.
"""

from collections.abc import Iterable, Mapping, Sequence, Set
from enum import Enum
import time
from typing import Any, NamedTuple

from ..errors import name_list

try:
    from controller_manager_msgs.srv import ListControllers
except ImportError:
    ListControllers = None


class ReceiverKind(Enum):
    """Kind of node that receives the torques; the value describes it in log and error texts."""

    ARM = 'a simulated arm of this package'
    LIGHT_ARM = 'a simulated arm of this package that compensates its gravity'
    SIMULATED = 'a controller in simulated time'
    REAL = 'a controller in real time'
    OTHER = 'a controller of something else'
    UNSURE = 'not known yet'
    UNKNOWN = 'neither a simulated arm of this package nor a controller of a controller manager'


class Receiver(NamedTuple):
    """
    What is known of a node that receives the torques.

    `words` describe it where those of its kind do not suffice. `idle` says why it applies no
    torque now, '' if it does.
    """

    kind: ReceiverKind
    words: str = ''
    idle: str = ''

    def __str__(self) -> str:
        """Return the receiver's description, by default that of its kind."""
        return self.words or self.kind.value


# The service (std_srvs/Trigger) by which a simulated arm of this package declares its kind. Not
# the topics: a dashboard may publish any status, too.
DECLARATION_SERVICES = {
    ReceiverKind.ARM: '~/franka_dynamics/takes_torques_with_gravity',
    ReceiverKind.LIGHT_ARM: '~/franka_dynamics/takes_torques_without_gravity',
}
# The service by which a controller declares the only target whose torques it takes.
TARGET_SERVICE = '~/franka_dynamics/takes_torques_for_{}'
TRIGGER_TYPE = 'std_srvs/srv/Trigger'

# Receivers that the node expects by its parameter `target`. Under fci it commands no gravity, so
# that an unknown receiver, such as a driver without ros2_control, may take its torques.
EXPECTED_RECEIVERS = {
    'fci': (ReceiverKind.REAL, ReceiverKind.LIGHT_ARM, ReceiverKind.UNKNOWN),
    'franka_gazebo': (ReceiverKind.SIMULATED,),
    'gz_ros2_control': (ReceiverKind.SIMULATED, ReceiverKind.ARM),
    'mujoco': (ReceiverKind.SIMULATED, ReceiverKind.ARM),
}


def declared_kind(name: str, services: Mapping[str, Sequence[str]]) -> ReceiverKind:
    """Return the kind that a node declares by its services, given with their types by name."""
    for kind, service in DECLARATION_SERVICES.items():
        if TRIGGER_TYPE in services.get(service.replace('~', name), ()):
            return kind
    return ReceiverKind.UNKNOWN


def declared_targets(name: str, services: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the only targets whose torques a node declares to take; [] if it declares none."""
    own = TARGET_SERVICE.replace('~', name)
    return [one for one in EXPECTED_RECEIVERS if TRIGGER_TYPE in services.get(own.format(one), ())]


def refusal_reason(target: str, topic: str, receivers: Mapping[str, Receiver]) -> str:
    """
    Return why receivers must not get torques for a target such as fci, or '' if they may.

    `receivers` has a topic's subscribers by their full names. Unknown subscribers, such as
    `ros2 topic echo`, are accepted beside an expected receiver.
    """
    expected = EXPECTED_RECEIVERS[target]
    present = any(one.kind in expected for one in receivers.values())
    wrong = {
        name: one
        for name, one in sorted(receivers.items())
        if one.kind not in expected and not (present and one.kind is ReceiverKind.UNKNOWN)
    }
    if not wrong:
        return ''
    kinds = {one.kind for one in wrong.values()}
    declared = [DECLARATION_SERVICES[kind] for kind in expected if kind in DECLARATION_SERVICES]
    how = 'Set target to what receives them, or remap ~/command'
    if kinds == {ReceiverKind.OTHER} and not any('target' in one.words for one in wrong.values()):
        how = "Remap ~/command to a controller of the effort of the arm's joints, in their order"
    elif declared and all(one == (ReceiverKind.UNKNOWN, '', '') for one in wrong.values()):
        how = f'A simulator of your own offers a service {declared[0]} of type {TRIGGER_TYPE}'
    return (
        f'{", ".join(f"{name} ({one})" for name, one in wrong.items())} receives {topic}, and '
        f'target {target} sends to {" or ".join(kind.value for kind in expected)}. {how}'
    )


def all_idle_reason(target: str, receivers: Mapping[str, Receiver]) -> str:
    """Return why none of a target's receivers applies torques now; '' if one does."""
    expected = [
        (name, one.idle)
        for name, one in receivers.items()
        if one.kind in EXPECTED_RECEIVERS[target] and one.kind is not ReceiverKind.UNKNOWN
    ]
    if not expected or not all(why for _, why in expected):
        return ''
    return ', '.join(f'{name} {why}' for name, why in expected)


_LIST_SERVICE = 'list_controllers'
_LIST_SERVICE_TYPE = 'controller_manager_msgs/srv/ListControllers'
_REQUEST_PERIOD_S = 1.0
_QUICK_REQUEST_PERIOD_S = 0.2  # while torques wait for an answer, or for a controller's activation
# A manager answers late while it loads a controller, or not at all if it has not discovered the
# node that asks.
_ANSWER_TIMEOUT_S = 1.0
_NO_MESSAGES_INSTALLED = (
    'cannot be asked for its controllers, because controller_manager_msgs is not installed here '
    '(apt install ros-$ROS_DISTRO-controller-manager-msgs)'
)
# Controllers that write a message's k-th number to their k-th command interface, whatever it is.
_FORWARDING_TYPES = (
    'effort_controllers/JointGroupEffortController',
    'forward_command_controller/ForwardCommandController',
    'forward_command_controller/MultiInterfaceForwardCommandController',
)


class ControllerManager:
    """
    A client of one controller manager, with the manager's latest answer.

    `controllers` maps names to controller_manager_msgs/ControllerState; None before an answer.
    `problem` says why there is none, or no new one, '' otherwise. `can_answer` is whether one may
    still come.
    """

    def __init__(self, node: Any, name: str) -> None:
        """Make the client of the manager with a full name; it asks nothing yet."""
        self.name, self.can_answer = name, ListControllers is not None
        self.problem = f'{name} {_NO_MESSAGES_INSTALLED}'
        self.client: Any = None
        if self.can_answer:
            self.problem = f'{name}/{_LIST_SERVICE} has not answered yet'
            self.client = node.create_client(ListControllers, f'{name}/{_LIST_SERVICE}')
        self.controllers: Mapping[str, Any] | None = None
        self._request: Any = None
        self._asked_at = -_REQUEST_PERIOD_S
        self._waits_since = time.monotonic()

    @property
    def has_new_answer(self) -> bool:
        """Whether an answer has come that `update_controllers` has not read yet."""
        return self._request is not None and bool(self._request.done())

    def update_controllers(self, period: float) -> None:
        """Store the manager's answer if it has come; send a new request after `period` [s]."""
        now = time.monotonic()
        if self.has_new_answer:
            answer, self._request = self._request.result(), None
            self.controllers = {one.name: one for one in answer.controller}
            self._waits_since, self.problem = now, ''
        elif self.can_answer and now > self._waits_since + period + _ANSWER_TIMEOUT_S:
            waited = now - self._waits_since
            self.problem = f'{self.name}/{_LIST_SERVICE} has not answered for {waited:.0f} s'
        waits = _ANSWER_TIMEOUT_S if self._request is not None else period
        if self.can_answer and now >= self._asked_at + waits:
            if self._request is not None:
                self.client.remove_pending_request(self._request)
            self._request, self._asked_at = self.client.call_async(ListControllers.Request()), now


class ControllerManagers:
    """Clients of all controller managers in the namespaces of the nodes that receive torques."""

    def __init__(self, node: Any) -> None:
        """Store the node that asks; no manager is known yet."""
        self._node, self._known = node, dict[str, ControllerManager]()

    def update_managers(self, namespaces: Iterable[str], *, quick: bool) -> None:
        """
        Find the managers in namespaces, and ask each for its controllers, more often if `quick`.

        A manager is known by the type of its service, whatever its name.
        """
        spaces = {one.rstrip('/') for one in namespaces}
        seen = {
            name
            for service, kinds in self._node.get_service_names_and_types()
            if _LIST_SERVICE_TYPE in kinds and service.endswith(f'/{_LIST_SERVICE}')
            if (name := service.rpartition('/')[0]).rpartition('/')[0] in spaces
        }
        self._forget_managers(self._known.keys() - seen)
        for name in sorted(seen):
            manager = self._known.get(name) or ControllerManager(self._node, name)
            self._known[name] = manager
            manager.update_controllers(_QUICK_REQUEST_PERIOD_S if quick else _REQUEST_PERIOD_S)

    def managers_in_namespace_of(self, node_name: str) -> list[ControllerManager]:
        """Return the managers in the namespace of a node, given by its full name."""
        space = node_name.rpartition('/')[0]
        return [one for one in self._known.values() if one.name.rpartition('/')[0] == space]

    @property
    def has_new_answer(self) -> bool:
        """Whether a manager's answer has come that `update_managers` has not read yet."""
        return any(one.has_new_answer for one in self._known.values())

    @property
    def problem(self) -> str:
        """Why the first manager without a new answer does not answer; '' if all answer."""
        return next((one.problem for one in self._known.values() if one.problem), '')

    def close(self) -> None:
        """Destroy the clients of all managers, with their answers."""
        self._forget_managers(set(self._known))

    def _forget_managers(self, names: Set[str]) -> None:
        """Destroy the clients of the managers with these names, with their answers."""
        for name in names:
            if (client := self._known.pop(name).client) is not None:
                self._node.destroy_client(client)


def controller_idle_reason(controller: Any) -> str:
    """Return why a ros2_control controller applies no torque from its topic; '' if it does."""
    if controller.state != 'active':
        return (
            f'is {controller.state}; activate it (ros2 control switch_controllers --activate '
            f'{controller.name})'
        )
    return 'is chained: it takes commands from another controller' if controller.is_chained else ''


def wrong_claim_text(controller: Any, joints: Sequence[str]) -> str:
    """
    Return which interfaces a controller claims, if not the efforts of these joints, else ''.

    An inactive controller claims no interface yet, and says which ones it requires.
    """
    claims = list(controller.required_command_interfaces or controller.claimed_interfaces)
    # One that commands another controller claims CONTROLLER/JOINT/effort.
    taken = [one.split('/')[-2] for one in claims if one.endswith('/effort') and '/' in one]
    if controller.type in _FORWARDING_TYPES:
        right = len(taken) == len(claims) and taken == list(joints)
    else:  # it may command a gripper, too
        right = [joint for joint in taken if joint in joints] == list(joints)
    return '' if right else f'a controller of {name_list(claims)}'
