# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
The search for nodes that receive torques, and rules on which torques each kind may get.

Receivers declare themselves as simulated arms, or the controller managers in their namespaces list
them as controllers. The kind of any other node is unknown. A torque for a simulation contains
gravity. A real arm, which compensates its gravity itself, would rise with it.
"""

from collections import Counter
from collections.abc import Mapping, Sequence, Set
from enum import Enum
import time
from typing import Any, NamedTuple

from rclpy.node import NodeNameNonExistentError

from .topics import node_name_of, UNKNOWN_NODE_NAME
from ..errors import list_text

try:
    from controller_manager_msgs.srv import ListControllers
except ImportError:
    ListControllers = None

TORQUE_TYPE = 'std_msgs/msg/Float64MultiArray'
# The service by which a controller declares the only target whose torques it takes.
TARGET_DECLARATION_SERVICE = '~/franka_dynamics/takes_torques_for_{}'
TRIGGER_TYPE = 'std_srvs/srv/Trigger'
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
_FORWARDING_CONTROLLER_TYPES = (
    'effort_controllers/JointGroupEffortController',
    'forward_command_controller/ForwardCommandController',
    'forward_command_controller/MultiInterfaceForwardCommandController',
)
ServiceTypes = Mapping[str, Sequence[str]]  # a node's services with their types


class ReceiverKind(Enum):
    """Kind of node that receives the torques; the value describes it in log and error texts."""

    SIMULATED_ARM = 'a simulated arm of this package'
    COMPENSATED_ARM = 'a simulated arm of this package that compensates its gravity'
    SIMULATED_CONTROLLER = 'a controller in simulated time'
    REAL_CONTROLLER = 'a controller in real time'
    OTHER_CONTROLLER = 'a controller of something else'
    OTHER_TARGET = 'a controller for another target'
    UNDETERMINED = 'not known yet'
    UNRECOGNISED = 'neither a simulated arm of this package nor a controller of a manager'


class Receiver(NamedTuple):
    """
    A receiver of torques: its kind, more about that, why it is idle, why the kind is uncertain.

    `description` says more than its kind, if more is known. `idle_reason` says why it applies no
    torque now, '' if it does. `uncertainty` says why its kind is not known for certain, '' if it
    is.
    """

    kind: ReceiverKind
    description: str = ''
    idle_reason: str = ''
    uncertainty: str = ''

    def __str__(self) -> str:
        """Return why the kind is uncertain, or else the description, or else the kind's text."""
        return self.uncertainty or self.description or self.kind.value


# The service (std_srvs/Trigger) by which a simulated arm of this package declares its kind. Not
# the topics: a dashboard may publish any status, too.
DECLARATION_SERVICES = {
    ReceiverKind.SIMULATED_ARM: '~/franka_dynamics/takes_torques_with_gravity',
    ReceiverKind.COMPENSATED_ARM: '~/franka_dynamics/takes_torques_without_gravity',
}

# Receivers that the node expects by its parameter `target`. Under fci it commands no gravity, so
# that an unknown receiver, such as a driver without ros2_control, may take its torques.
EXPECTED_KINDS = {
    'fci': (ReceiverKind.REAL_CONTROLLER, ReceiverKind.COMPENSATED_ARM, ReceiverKind.UNRECOGNISED),
    'franka_gazebo': (ReceiverKind.SIMULATED_CONTROLLER,),
    'gz_ros2_control': (ReceiverKind.SIMULATED_CONTROLLER, ReceiverKind.SIMULATED_ARM),
    'mujoco': (ReceiverKind.SIMULATED_CONTROLLER, ReceiverKind.SIMULATED_ARM),
}


def declared_kind(node_name: str, services: ServiceTypes) -> ReceiverKind:
    """Return the kind of receiver that a node declares by its services, else UNRECOGNISED."""
    for kind, service in DECLARATION_SERVICES.items():
        if TRIGGER_TYPE in services.get(service.replace('~', node_name), ()):
            return kind
    return ReceiverKind.UNRECOGNISED


def declared_targets(node_name: str, services: ServiceTypes) -> list[str]:
    """Return the only targets whose torques a node declares to accept; [] if undeclared."""
    own = TARGET_DECLARATION_SERVICE.replace('~', node_name)
    return [one for one in EXPECTED_KINDS if TRIGGER_TYPE in services.get(own.format(one), ())]


def refusal_reason(target: str, topic: str, receivers: Mapping[str, Receiver]) -> str:
    """
    Return why receivers must not get torques for a target such as fci, or '' if they may.

    `receivers` has a topic's subscribers by their full names. Unknown subscribers, such as
    `ros2 topic echo`, are accepted beside an expected receiver.
    """
    expected = EXPECTED_KINDS[target]
    present = any(receiver.kind in expected for receiver in receivers.values())
    accepted = (*expected, ReceiverKind.UNRECOGNISED) if present else expected
    wrong = {name: one for name, one in sorted(receivers.items()) if one.kind not in accepted}
    if not wrong:
        return ''
    kinds = {receiver.kind for receiver in wrong.values()}
    declared = [DECLARATION_SERVICES[kind] for kind in expected if kind in DECLARATION_SERVICES]
    how = 'Set target to what receives them, or remap ~/command'
    if kinds == {ReceiverKind.OTHER_CONTROLLER}:
        how = "Remap ~/command to a controller of the effort of the arm's joints, in their order"
    elif declared and all(one == Receiver(ReceiverKind.UNRECOGNISED) for one in wrong.values()):
        how = f'A simulator of your own offers a service {declared[0]} of type {TRIGGER_TYPE}'
    return (
        f'{", ".join(f"{name} ({one})" for name, one in wrong.items())} receives {topic}, and '
        f'target {target} sends to {" or ".join(kind.value for kind in expected)}. {how}'
    )


def all_idle_reason(target: str, receivers: Mapping[str, Receiver]) -> str:
    """Return why all receivers of the target's known kinds are idle; '' if one is not, or none."""
    kinds = {*EXPECTED_KINDS[target]} - {ReceiverKind.UNRECOGNISED}
    expected = [(name, one.idle_reason) for name, one in receivers.items() if one.kind in kinds]
    are_idle = all(why for _, why in expected)
    return ', '.join(f'{name} {why}' for name, why in expected) if are_idle else ''


class ControllerManagerClient:
    """
    A client that asks one controller manager for its controllers, and keeps the latest answer.

    `controllers` maps names to controller_manager_msgs/ControllerState; None before an answer.
    `problem` says why there is none, or no new one, '' otherwise. `client` is None if the package
    controller_manager_msgs is missing, so that none can come.
    """

    def __init__(self, node: Any, manager_name: str) -> None:
        """Make the client of the manager with a full name, if it can be asked; ask nothing yet."""
        self.name, self.client = manager_name, None
        self.problem = f'{manager_name} {_NOT_INSTALLED_TEXT}'
        if ListControllers is not None:
            self.problem = f'{self.name}/{_LIST_CONTROLLERS} has not answered yet'
            self.client = node.create_client(ListControllers, f'{self.name}/{_LIST_CONTROLLERS}')
        self.controllers: Mapping[str, Any] | None = None
        self._request: Any = None
        self._asked_at = -_REQUEST_PERIOD_S
        self._wait_start = time.monotonic()

    @property
    def has_new_answer(self) -> bool:
        """Whether an answer has come that `update_controllers` has not read yet."""
        return self._request is not None and bool(self._request.done())

    def update_controllers(self, poll_period: float) -> None:
        """Store a new answer, or why none came; request anew once `poll_period` [s] is over."""
        now = time.monotonic()
        if self.has_new_answer:
            answer, self._request = self._request.result(), None
            self.controllers = {found.name: found for found in answer.controller}
            self._wait_start, self.problem = now, ''
        if self.client is None:
            return
        if now > self._wait_start + poll_period + _ANSWER_TIMEOUT_S:
            waited = now - self._wait_start
            self.problem = f'{self.name}/{_LIST_CONTROLLERS} has not answered for {waited:.0f} s'
        if now >= self._asked_at + (poll_period if self._request is None else _ANSWER_TIMEOUT_S):
            if self._request is not None:
                self.client.remove_pending_request(self._request)
            self._request, self._asked_at = self.client.call_async(ListControllers.Request()), now


class ReceiverFinder:
    """
    A finder of the nodes that receive torques on a topic, and of each receiver's kind.

    `target` and `joint_names` are those of the torques. There is a client of each controller
    manager in the namespaces of these nodes.
    """

    target: str
    joint_names: Sequence[str]

    def __init__(self, node: Any, torque_topic: str) -> None:
        """Store the node that queries the ROS graph, and the topic of torques."""
        self._node, self._topic = node, torque_topic
        self._managers = dict[str, ControllerManagerClient]()
        self._last_names: Set[str] = set()  # names of the nodes that were found last

    def find_receivers(self, *, ask_often: bool = True) -> dict[str, Receiver]:
        """
        Return the other nodes that subscribe to torques, as Receivers by full node name.

        Managers are asked more often if `ask_often`, and if the nodes are not those found before.
        """
        node = self._node
        known = node.get_subscriptions_info_by_topic(self._topic)
        listed = {node_name_of(one): one for one in known if one.topic_type == TORQUE_TYPE}
        listed.pop(node.get_fully_qualified_name(), None)
        ask_often, self._last_names = ask_often or listed.keys() != self._last_names, listed.keys()
        self._update_managers({endpoint.node_namespace for endpoint in listed.values()}, ask_often)
        simulated = self._nodes_in_simulated_time()
        nodes = Counter(node.get_fully_qualified_node_names())
        found = dict[str, Receiver]()
        for name, endpoint in listed.items():
            services = self._services_of(endpoint)
            found[name] = self._classify_receiver(name, services or {}, simulated, nodes)
            if services is None:
                # Names are discovered after topics, seconds later if the machine is busy.
                why = f'it is not known yet which node receives {self._topic}'
                found[name] = found[name]._replace(uncertainty=why)
        return found

    def _nodes_in_simulated_time(self) -> set[str]:
        """Return the full names of nodes that subscribe to a clock, as use_sim_time makes them."""
        topics = self._node.get_topic_names_and_types()
        clocks = [topic for topic, kinds in topics if _CLOCK_TYPE in kinds]
        subscribers = map(self._node.get_subscriptions_info_by_topic, clocks)
        return {node_name_of(endpoint) for each in subscribers for endpoint in each}

    def _services_of(self, endpoint: Any) -> ServiceTypes | None:
        """Return an endpoint's node's services, types by name; None until it is discovered."""
        name, space = endpoint.node_name, endpoint.node_namespace
        if name == UNKNOWN_NODE_NAME:
            return None
        try:
            return dict(self._node.get_service_names_and_types_by_node(name, space))
        except NodeNameNonExistentError:
            return None

    def _classify_receiver(
        self, name: str, services: ServiceTypes, sim_nodes: set[str], name_counts: Counter[str]
    ) -> Receiver:
        """Return the Receiver that node `name` is; `name_counts` says how many have a name."""
        receiver, manager = Receiver(declared_kind(name, services)), ''
        if receiver.kind is ReceiverKind.UNRECOGNISED:
            receiver, manager = self._classify_by_managers(name, services, sim_nodes)
            if not manager and ReceiverKind.UNRECOGNISED in EXPECTED_KINDS[self.target]:
                return receiver  # whatever another node of its name declares
        twice = next((source for source in (name, manager) if name_counts[source] > 1), '')
        if not twice:
            return receiver
        # Nobody can tell which of them answers, or takes torques. If an arm declares what it is,
        # the node of the same name was killed before.
        kind = receiver.kind
        return Receiver(
            kind if kind in DECLARATION_SERVICES else ReceiverKind.UNDETERMINED,
            uncertainty=f'two nodes called {twice} are there; end or rename one (a killed node '
            'stays listed for up to 20 s)',
        )

    def _classify_by_managers(
        self, name: str, services: ServiceTypes, sim_nodes: set[str]
    ) -> tuple[Receiver, str]:
        """
        Return a receiver classified by its controller manager, and the name of that manager.

        Receivers are looked up by controller managers in their own namespace. The name is '' if
        none of these has a controller of the receiver's name.
        """
        unknown = Receiver(ReceiverKind.UNRECOGNISED)
        space, _, own_name = name.rpartition('/')
        for manager in self._managers.values():
            if manager.name.rpartition('/')[0] != space:
                continue
            if manager.controllers is None and manager.client is None:
                unknown = unknown._replace(description=manager.problem)
            elif manager.controllers is None:
                unknown = Receiver(ReceiverKind.UNDETERMINED, uncertainty=manager.problem)
            elif own_name in manager.controllers:
                controller = manager.controllers[own_name]
                real = sim_nodes.isdisjoint((name, manager.name))
                kinds = ReceiverKind.SIMULATED_CONTROLLER, ReceiverKind.REAL_CONTROLLER
                targets = declared_targets(name, services)
                kind, wrong = kinds[real], wrong_claim_text(controller, self.joint_names)
                if wrong:
                    kind = ReceiverKind.OTHER_CONTROLLER
                elif targets and self.target not in targets:
                    kind = ReceiverKind.OTHER_TARGET
                    wrong = f'a controller for target {", ".join(targets)}'
                return Receiver(kind, wrong, controller_idle_reason(controller)), manager.name
        return unknown, ''

    def _update_managers(self, namespaces: Set[str], ask_often: bool) -> None:
        """
        Update which managers the namespaces have; ask each when due, more often if `ask_often`.

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
            period = _QUICK_REQUEST_PERIOD_S if ask_often else _REQUEST_PERIOD_S
            self._managers[name].update_controllers(period)

    @property
    def has_new_answer(self) -> bool:
        """Whether a manager's answer has come that `find_receivers` has not read yet."""
        return any(client.has_new_answer for client in self._managers.values())

    @property
    def manager_problem(self) -> str:
        """Why a controller manager (the first of several) does not answer; '' if all answer."""
        return next((client.problem for client in self._managers.values() if client.problem), '')

    def close(self) -> None:
        """Destroy the clients of all managers, with their answers."""
        self._remove_managers(set(self._managers))

    def _remove_managers(self, manager_names: Set[str]) -> None:
        """Destroy the clients of the managers with these names, with their answers."""
        for name in manager_names:
            if (client := self._managers.pop(name).client) is not None:
                self._node.destroy_client(client)


def controller_idle_reason(controller: Any) -> str:
    """Return why a ros2_control controller applies no torque from its topic; '' if it does."""
    if controller.state != 'active':
        way = f'ros2 control switch_controllers --activate {controller.name}'
        return f'is {controller.state}; activate it ({way})'
    return 'is chained: it takes commands from another controller' if controller.is_chained else ''


def wrong_claim_text(controller: Any, joint_names: Sequence[str]) -> str:
    """
    Return what a controller claims as text, or '' if it is `joint_names`' efforts in order.

    An inactive controller claims no interface yet, and says which ones it requires.
    """
    claims = list(controller.required_command_interfaces or controller.claimed_interfaces)
    # One that commands another controller claims CONTROLLER/JOINT/effort.
    taken = [name.split('/')[-2] for name in claims if name.endswith('/effort') and '/' in name]
    right = [joint for joint in taken if joint in joint_names] == list(joint_names)  # and a hand
    if controller.type in _FORWARDING_CONTROLLER_TYPES:
        right = len(taken) == len(claims) and taken == list(joint_names)
    return '' if right else f'a controller of {list_text(claims)}'
