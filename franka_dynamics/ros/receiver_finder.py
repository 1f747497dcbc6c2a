# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Finds the nodes that receive torques, and classifies them by services that they offer.

Receivers declare themselves as simulated arms, or the controller managers in their namespaces list
them as controllers. The kind of any other node is unknown.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
import time
from typing import Any

from rclpy.node import NodeNameNonExistentError

from .receivers import (
    DECLARATION_SERVICES,
    declared_kind,
    declared_targets,
    EXPECTED_RECEIVERS,
    Receiver,
    ReceiverKind,
    ServiceTypes,
)
from .topics import node_name_of, UNKNOWN_NODE_NAME
from ..errors import name_list

try:
    from controller_manager_msgs.srv import ListControllers
except ImportError:
    ListControllers = None

TORQUE_TYPE = 'std_msgs/msg/Float64MultiArray'
_CLOCK_TYPE = 'rosgraph_msgs/msg/Clock'
_LIST_CONTROLLERS = 'list_controllers'
_LIST_CONTROLLERS_TYPE = 'controller_manager_msgs/srv/ListControllers'
_REQUEST_PERIOD_S = 1.0
_QUICK_REQUEST_PERIOD_S = 0.2  # while torques wait for an answer, or for a controller's activation
# A manager answers late while it loads a controller, or not at all if it has not discovered the
# node that asks.
_ANSWER_TIMEOUT_S = 1.0
_NOT_INSTALLED_TEXT = (
    'cannot be asked for its controllers, because controller_manager_msgs is not installed here '
    '(apt install ros-$ROS_DISTRO-controller-manager-msgs)'
)
# Controllers that write a message's k-th number to their k-th command interface, whatever it is.
_FORWARDING_TYPES = (
    'effort_controllers/JointGroupEffortController',
    'forward_command_controller/ForwardCommandController',
    'forward_command_controller/MultiInterfaceForwardCommandController',
)


class ControllerManagerClient:
    """
    A client of one controller manager, with the manager's latest answer.

    `controllers` maps names to controller_manager_msgs/ControllerState; None before an answer.
    `problem` says why there is none, or no new one, '' otherwise. `client` is None if the package
    controller_manager_msgs is missing, so that none can come.
    """

    def __init__(self, node: Any, name: str) -> None:
        """Make the client of the manager with a full name; it asks nothing yet."""
        self.name, self.client = name, None
        self.problem = f'{name} {_NOT_INSTALLED_TEXT}'
        if ListControllers is not None:
            self.problem = f'{name}/{_LIST_CONTROLLERS} has not answered yet'
            self.client = node.create_client(ListControllers, f'{name}/{_LIST_CONTROLLERS}')
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
            self.controllers = {found.name: found for found in answer.controller}
            self._waits_since, self.problem = now, ''
        if self.client is None:
            return
        if now > self._waits_since + period + _ANSWER_TIMEOUT_S:
            waited = now - self._waits_since
            self.problem = f'{self.name}/{_LIST_CONTROLLERS} has not answered for {waited:.0f} s'
        if now >= self._asked_at + (period if self._request is None else _ANSWER_TIMEOUT_S):
            if self._request is not None:
                self.client.remove_pending_request(self._request)
            self._request, self._asked_at = self.client.call_async(ListControllers.Request()), now


class ReceiverFinder:
    """
    Finds the nodes that receive torques on a topic, and what kind of receiver each is.

    `target` and `joints` are those of the torques. There is a client of each controller manager in
    the namespaces of these nodes.
    """

    target: str
    joints: Sequence[str]

    def __init__(self, node: Any, topic: str) -> None:
        """Store the node that asks and the topic of torques; nothing is known yet."""
        self._node, self._topic = node, topic
        self._managers = dict[str, ControllerManagerClient]()
        self._listed: Set[str] = set()  # names of the nodes that were found last

    def find_receivers(self, *, quick: bool = True) -> tuple[dict[str, Receiver], str]:
        """
        Return all receivers by node name, and why the kind of one is not known yet, or ''.

        Managers are asked more often if `quick`, and if the nodes are not those found before.
        """
        node, found, unsure = self._node, dict[str, Receiver](), ''
        known = node.get_subscriptions_info_by_topic(self._topic)
        listed = {node_name_of(one): one for one in known if one.topic_type == TORQUE_TYPE}
        listed.pop(node.get_fully_qualified_name(), None)
        quick, self._listed = quick or listed.keys() != self._listed, listed.keys()
        self._update_managers({endpoint.node_namespace for endpoint in listed.values()}, quick)
        simulated = self._nodes_in_simulated_time()
        nodes = Counter(node.get_fully_qualified_node_names())
        for name, endpoint in listed.items():
            services = self._services_of(endpoint)
            if services is None:
                # Names are discovered after topics, seconds later if the machine is busy.
                unsure = unsure or f'it is not known yet which node receives {self._topic}'
            found[name], why = self._classify_receiver(name, services or {}, simulated, nodes)
            unsure = unsure or why
        return found, unsure

    def _nodes_in_simulated_time(self) -> set[str]:
        """Return the full names of nodes with use_sim_time, which subscribe to a clock."""
        topics = self._node.get_topic_names_and_types()
        clocks = [topic for topic, kinds in topics if _CLOCK_TYPE in kinds]
        subscribers = map(self._node.get_subscriptions_info_by_topic, clocks)
        return {node_name_of(endpoint) for each in subscribers for endpoint in each}

    def _services_of(self, receiver: Any) -> ServiceTypes | None:
        """Return the types of a node's services by name; None while the node is not discovered."""
        if receiver.node_name == UNKNOWN_NODE_NAME:
            return None
        name, space = receiver.node_name, receiver.node_namespace
        try:
            return dict(self._node.get_service_names_and_types_by_node(name, space))
        except NodeNameNonExistentError:
            return None

    def _classify_receiver(
        self, name: str, services: ServiceTypes, simulated: set[str], nodes: Mapping[str, int]
    ) -> tuple[Receiver, str]:
        """Return the kind of receiver that a node is, and why that is not known yet, or ''."""
        declared = declared_kind(name, services)
        receiver, sources = Receiver(declared), [name]
        if declared is ReceiverKind.UNRECOGNISED:
            receiver, sources = self._classify_by_managers(name, services, simulated)
            if ReceiverKind.UNRECOGNISED not in EXPECTED_RECEIVERS[self.target]:
                sources = sources or [name]  # the declaration may be the other one's
        twice = next((source for source in sources if nodes[source] > 1), '')
        why = twice and (
            f'two nodes called {twice} are there; end or rename one (a killed node stays '
            'listed for up to 20 s)'
        )
        if twice and receiver.kind not in DECLARATION_SERVICES:
            # Nobody can tell which of them answers, or takes torques. If an arm declares
            # what it is, the node of the same name was killed before.
            receiver = Receiver(ReceiverKind.UNDETERMINED, why)
        if receiver.kind is ReceiverKind.UNDETERMINED:
            why = receiver.description
        return receiver, why

    def _classify_by_managers(
        self, name: str, services: ServiceTypes, simulated: set[str]
    ) -> tuple[Receiver, list[str]]:
        """
        Return a receiver's kind as a controller manager lists it, and the names of both nodes.

        Receivers are looked up by controller managers in their own namespace. There is no name if
        none of these has a controller of the receiver's name.
        """
        unknown = Receiver(ReceiverKind.UNRECOGNISED)
        space, _, own_name = name.rpartition('/')
        beside = [one for one in self._managers.values() if one.name.rpartition('/')[0] == space]
        for manager in beside:
            if manager.controllers is None:
                kind = unknown.kind if manager.client is None else ReceiverKind.UNDETERMINED
                unknown = Receiver(kind, manager.problem)
                continue
            controller = manager.controllers.get(own_name)
            if controller is None:
                continue
            wrong, kind = wrong_claim_text(controller, self.joints), ReceiverKind.OTHER_CONTROLLER
            targets = declared_targets(name, services)
            if not wrong and targets and self.target not in targets:
                kind = ReceiverKind.OTHER_TARGET
                wrong = f'a controller for target {", ".join(targets)}'
            if not wrong:
                kinds = ReceiverKind.SIMULATED_CONTROLLER, ReceiverKind.REAL_CONTROLLER
                kind = kinds[simulated.isdisjoint((name, manager.name))]
            return Receiver(kind, wrong, controller_idle_reason(controller)), [name, manager.name]
        return unknown, []

    def _update_managers(self, namespaces: Iterable[str], quick: bool) -> None:
        """
        Find the managers in namespaces, and ask each for its controllers, more often if `quick`.

        A manager is known by the type of its service, whatever its name.
        """
        spaces = {space.rstrip('/') for space in namespaces}
        seen = {
            name
            for service, kinds in self._node.get_service_names_and_types()
            if _LIST_CONTROLLERS_TYPE in kinds and service.endswith(f'/{_LIST_CONTROLLERS}')
            if (name := service.rpartition('/')[0]).rpartition('/')[0] in spaces
        }
        self._remove_managers(self._managers.keys() - seen)
        for name in sorted(seen):
            if name not in self._managers:
                self._managers[name] = ControllerManagerClient(self._node, name)
            period = _QUICK_REQUEST_PERIOD_S if quick else _REQUEST_PERIOD_S
            self._managers[name].update_controllers(period)

    @property
    def has_new_answer(self) -> bool:
        """Whether a manager's answer has come that `find_receivers` has not read yet."""
        return any(client.has_new_answer for client in self._managers.values())

    @property
    def problem(self) -> str:
        """Why the first manager without a new answer does not answer; '' if all answer."""
        return next((client.problem for client in self._managers.values() if client.problem), '')

    def close(self) -> None:
        """Destroy the clients of all managers, with their answers."""
        self._remove_managers(set(self._managers))

    def _remove_managers(self, names: Set[str]) -> None:
        """Destroy the clients of the managers with these names, with their answers."""
        for name in names:
            if (client := self._managers.pop(name).client) is not None:
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
    taken = [name.split('/')[-2] for name in claims if name.endswith('/effort') and '/' in name]
    if controller.type in _FORWARDING_TYPES:
        right = len(taken) == len(claims) and taken == list(joints)
    else:  # it may command a gripper, too
        right = [joint for joint in taken if joint in joints] == list(joints)
    return '' if right else f'a controller of {name_list(claims)}'
