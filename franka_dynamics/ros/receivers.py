# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
The check of who gets the torques, before the first one and while they flow.

A torque for a simulation contains gravity: a real arm, which compensates its gravity itself, would
rise with it. A controller of positions would take 20 N m for 20 rad. So nothing is sent until each
receiver is known:

1. `ReceiverFinder` finds the nodes that receive the torques, and what each of them is. Simulated
   arms declare themselves by a service, and controllers are listed by a controller manager. Of a
   node that ROS's graph does not show completely this is not known yet.
2. `refusal_reason` says which kinds of receivers a target sends to.
3. `ReceiverCheck` listens for other senders, waits for what is not known, and gives or refuses the
   permission to send.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence, Set
from enum import Enum
import math
import time
from typing import Any, NamedTuple

from rclpy.event_handler import SubscriptionEventCallbacks
from rclpy.node import NodeNameNonExistentError
from rclpy.qos import qos_check_compatible
from std_msgs.msg import Float64MultiArray

from .topics import (
    NO_NODE_NAME,
    node_name_of,
    publisher_names,
    STATE_QOS,
    UNKNOWN_NODE_NAME,
)
from ..errors import list_text

try:
    from controller_manager_msgs.srv import ListControllers
except ImportError:
    ListControllers = None

TORQUE_TYPE = 'std_msgs/msg/Float64MultiArray'
TRAJECTORY_TOPIC = '~/feedforward_trajectory'  # of whole motions with their torques
TRIGGER_TYPE = 'std_srvs/srv/Trigger'
ServiceTypes = Mapping[str, Sequence[str]]  # a node's services with their types


# Kinds of receivers ------------------------------------------------------------------------------
class ReceiverKind(Enum):
    """Kind of node that receives the torques; the value describes it in log and error texts."""

    SIMULATED_ARM = 'a simulated arm of this package'
    COMPENSATED_ARM = 'a simulated arm of this package that compensates its gravity'
    SIMULATED_CONTROLLER = 'a controller in simulated time'
    REAL_CONTROLLER = 'a controller in real time'
    OTHER_CONTROLLER = 'a controller of something else'
    OTHER_TARGET = 'a controller for another target'
    UNRECOGNISED = 'neither a simulated arm of this package nor a controller of a manager'
    UNDETERMINED = 'not known yet'  # who it is, is asked
    UNSEEN = 'not seen completely yet'


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
# The service by which a controller declares the only target whose torques it takes.
TARGET_DECLARATION_SERVICE = '~/franka_dynamics/takes_torques_for_{}'

# Receivers that the node expects by its parameter `target`. Under fci it commands no gravity, so
# that an unknown receiver, such as a driver without ros2_control, may take its torques.
EXPECTED_KINDS = {
    'fci': (
        ReceiverKind.REAL_CONTROLLER,
        ReceiverKind.COMPENSATED_ARM,
        ReceiverKind.UNRECOGNISED,
    ),
    'franka_gazebo': (ReceiverKind.SIMULATED_CONTROLLER,),
    'gz_ros2_control': (ReceiverKind.SIMULATED_CONTROLLER, ReceiverKind.SIMULATED_ARM),
    'mujoco': (ReceiverKind.SIMULATED_CONTROLLER, ReceiverKind.SIMULATED_ARM),
}
# Kinds of receivers that are certainly wrong if the target does not expect them.
_CERTAINLY_WRONG_KINDS = (
    ReceiverKind.REAL_CONTROLLER,
    ReceiverKind.OTHER_CONTROLLER,
    ReceiverKind.OTHER_TARGET,
    ReceiverKind.UNDETERMINED,
)


def wrong_receivers(target: str, receivers: Mapping[str, Receiver]) -> dict[str, Receiver]:
    """
    Return those receivers, by name, that must not get torques for a target such as fci.

    Unrecognised subscribers, such as `ros2 topic echo`, are accepted beside an expected receiver.
    """
    expected = EXPECTED_KINDS[target]
    present = any(receiver.kind in expected for receiver in receivers.values())
    accepted = (*expected, ReceiverKind.UNRECOGNISED) if present else expected
    return {name: one for name, one in sorted(receivers.items()) if one.kind not in accepted}


def refusal_reason(target: str, topic: str, receivers: Mapping[str, Receiver]) -> str:
    """
    Return why receivers must not get torques for a target such as fci, or '' if they may.

    `receivers` has a topic's subscribers by their full names.
    """
    expected = EXPECTED_KINDS[target]
    wrong = wrong_receivers(target, receivers)
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


# What the graph shows of a node ------------------------------------------------------------------
# Services that every node has which has parameters, whatever its client library.
_PARAMETER_SERVICE_TYPES = frozenset(
    f'rcl_interfaces/srv/{name}'
    for name in (
        'DescribeParameters',
        'GetParameterTypes',
        'GetParameters',
        'ListParameters',
        'SetParameters',
    )
)
# For so long a receiver that is no simulated arm and no controller is watched before it counts as
# that: Fast DDS repeats lost announcements, such as a controller manager's, after 3 s.
WATCHING_TIME_S = 3.5
_GRAPH_ADVICE = (
    'if that lasts, with a Fast DDS discovery server set ROS_SUPER_CLIENT=TRUE where this node '
    'starts'
)


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


def unseen_reason(node_name: str, services: ServiceTypes) -> str:
    """
    Return why the graph does not show all of a node's services, '' if it seems to.

    A client of a Fast DDS discovery server sees none: it learns only of what matches its own
    publishers and subscriptions. While nodes are discovered the services come one by one. From
    ROS 2 Jazzy on nodes without parameters have a service, too.
    """
    if not services:
        return f'{node_name} shows no service, so it is not known what it is; {_GRAPH_ADVICE}'
    missing = _PARAMETER_SERVICE_TYPES.difference(*services.values())
    if missing and missing != _PARAMETER_SERVICE_TYPES:
        return f'{node_name} does not show all of its services yet; {_GRAPH_ADVICE}'
    return ''


def process_of(endpoint: Any) -> bytes:
    """
    Return what the gids of all endpoints of a process have in common.

    It is the GUID prefix of the process's DDS participant (RTPS 2.5, 8.2.4): all nodes of a
    context share one.
    """
    return bytes(endpoint.endpoint_gid)[:12]


# Controller managers -----------------------------------------------------------------------------
_CLOCK_TYPE = 'rosgraph_msgs/msg/Clock'
_LIST_CONTROLLERS = 'list_controllers'
_LIST_CONTROLLERS_TYPE = 'controller_manager_msgs/srv/ListControllers'
_BROADCASTER_TYPE = 'joint_state_broadcaster/JointStateBroadcaster'
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


class ControllerManagerClient:
    """
    A client that asks one controller manager for its controllers, and keeps the latest answer.

    `controllers` maps names to controller_manager_msgs/ControllerState; None before an answer.
    `problem` says why there is none, or no new one, '' otherwise. `client` is None if the package
    controller_manager_msgs is missing, so that none can come. `process` is that of the manager, as
    `process_of` gives it.
    """

    def __init__(self, node: Any, manager_name: str) -> None:
        """Make the client of the manager with a full name, if it can be asked; ask nothing yet."""
        self.name = manager_name
        self.client = None
        self.process = b''
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
            answer = self._request.result()
            self._request = None
            self.controllers = {found.name: found for found in answer.controller}
            self._wait_start = now
            self.problem = ''
        if self.client is None:
            return
        if now > self._wait_start + poll_period + _ANSWER_TIMEOUT_S:
            waited = now - self._wait_start
            self.problem = f'{self.name}/{_LIST_CONTROLLERS} has not answered for {waited:.0f} s'
        if now >= self._asked_at + (poll_period if self._request is None else _ANSWER_TIMEOUT_S):
            if self._request is not None:
                self.client.remove_pending_request(self._request)
            self._request = self.client.call_async(ListControllers.Request())
            self._asked_at = now


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


# The search --------------------------------------------------------------------------------------
class ReceiverFinder:
    """
    A finder of the nodes that receive torques on a topic, and of each receiver's kind.

    `target` and `joint_names` are those of the torques. There is a client of each controller
    manager in the namespaces and in the processes of these nodes.
    """

    target: str
    joint_names: Sequence[str]

    def __init__(self, node: Any, torque_publisher: Any) -> None:
        """Store the node that queries the ROS graph, and its publisher of torques."""
        self._node = node
        self._publisher = torque_publisher
        self._topic: str = torque_publisher.topic_name
        self._managers = dict[str, ControllerManagerClient]()
        self._last_names: Set[str] = set()  # names of the nodes that were found last
        # Since when the nodes that were found last show the services that they show [s].
        self._since = dict[str, tuple[Set[str], float]]()

    def find_receivers(self, *, ask_often: bool = True) -> dict[str, Receiver]:
        """
        Return the other nodes that subscribe to torques, as Receivers by full node name.

        Managers are asked more often if `ask_often`, and if the nodes are not those found before.
        """
        node = self._node
        topic = self._topic
        matched = self._publisher.get_subscription_count()
        endpoints = node.get_subscriptions_info_by_topic(topic)
        taking = [one for one in endpoints if one.topic_type == TORQUE_TYPE]
        listed = {node_name_of(one): one for one in taking}
        nodes = Counter(node.get_fully_qualified_node_names())
        own = node.get_fully_qualified_name()
        own_count = sum(one.topic_name == topic for one in node.subscriptions)
        if nodes[own] <= 1 or sum(node_name_of(one) == own for one in taking) <= own_count:
            listed.pop(own, None)  # else it is another node of this name
        ask_often = ask_often or listed.keys() != self._last_names
        self._last_names = listed.keys()
        self._update_managers(listed.values(), ask_often)
        simulated = self._nodes_in_simulated_time()
        before = self._since
        self._since = {}
        found = dict[str, Receiver]()
        for name, endpoint in listed.items():
            services = self._services_of(endpoint)
            if services is None:
                # Names are discovered after topics, seconds later if the machine is busy.
                why = f'it is not known yet which node receives {topic}'
                if endpoint.node_name == NO_NODE_NAME:
                    why = f'{name} receives {topic}, and offers nothing that says what it is'
                found[name] = Receiver(ReceiverKind.UNSEEN, uncertainty=why)
                continue
            shown, since = before.get(name, (None, 0.0))
            since = since if shown == services.keys() else time.monotonic()
            self._since[name] = services.keys(), since
            found[name] = self._classify_receiver(name, endpoint, services, simulated, nodes)
            is_unrecognised = found[name].kind is ReceiverKind.UNRECOGNISED
            if is_unrecognised and time.monotonic() < since + WATCHING_TIME_S:
                why = f'{name} is watched for {WATCHING_TIME_S:g} s: whether it is a controller'
                found[name] = found[name]._replace(uncertainty=why)
        if matched > len(endpoints):
            others = matched - own_count
            seen = len(endpoints) - own_count
            why = f'{others} receive {topic}, of which {seen} are listed; {_GRAPH_ADVICE}'
            found['somebody'] = Receiver(ReceiverKind.UNSEEN, uncertainty=why)
        return found

    def _nodes_in_simulated_time(self) -> set[str]:
        """Return the full names of nodes that subscribe to a clock, as use_sim_time makes them."""
        topics = self._node.get_topic_names_and_types()
        clocks = [topic for topic, kinds in topics if _CLOCK_TYPE in kinds]
        subscribers = map(self._node.get_subscriptions_info_by_topic, clocks)
        return {node_name_of(endpoint) for each in subscribers for endpoint in each}

    def _services_of(self, endpoint: Any) -> ServiceTypes | None:
        """Return an endpoint's node's services, types by name; None unless it is discovered."""
        name = endpoint.node_name
        space = endpoint.node_namespace
        if name in (UNKNOWN_NODE_NAME, NO_NODE_NAME):
            return None
        try:
            return dict(self._node.get_service_names_and_types_by_node(name, space))
        except NodeNameNonExistentError:
            return None

    def _classify_receiver(
        self,
        name: str,
        endpoint: Any,
        services: ServiceTypes,
        sim_nodes: set[str],
        name_counts: Counter[str],
    ) -> Receiver:
        """Return the Receiver that node `name` is; `name_counts` says how many have a name."""
        if why := unseen_reason(name, services):
            return Receiver(ReceiverKind.UNSEEN, uncertainty=why)
        receiver = Receiver(declared_kind(name, services))
        manager = ''
        if receiver.kind is ReceiverKind.UNRECOGNISED:
            receiver, manager = self._classify_by_managers(name, endpoint, services, sim_nodes)
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
        self, name: str, endpoint: Any, services: ServiceTypes, sim_nodes: set[str]
    ) -> tuple[Receiver, str]:
        """
        Return a receiver classified by its controller manager, and the name of that manager.

        A controller's manager is in the same process and, unless the controller was given another
        one, in the same namespace. The name is '' if none of these has such a controller.
        """
        answer = Receiver(ReceiverKind.UNRECOGNISED)
        space, _, own_name = name.rpartition('/')
        for manager in self._managers.values():
            together = manager.process == process_of(endpoint)
            if not together and manager.name.rpartition('/')[0] != space:
                continue
            if own_name in (manager.controllers or ()):
                controller = manager.controllers[own_name]  # type: ignore[index]
                return self._classify_controller(
                    controller,
                    declared_targets(name, services),
                    {name, manager.name} & sim_nodes,
                ), manager.name
            if manager.controllers is not None and together:
                why = f'{name} is in the process of {manager.name}, which does not list it'
                answer = Receiver(ReceiverKind.UNDETERMINED, uncertainty=why)
            elif manager.controllers is None and (together or manager.client is not None):
                answer = Receiver(ReceiverKind.UNDETERMINED, uncertainty=manager.problem)
            elif manager.controllers is None:
                answer = answer._replace(description=manager.problem)
        return answer, ''

    def _classify_controller(
        self, controller: Any, targets: Sequence[str], simulated: Collection[str]
    ) -> Receiver:
        """Return a listed controller as Receiver; `simulated`: those of it and its manager."""
        kind = ReceiverKind.SIMULATED_CONTROLLER if simulated else ReceiverKind.REAL_CONTROLLER
        wrong = wrong_claim_text(controller, self.joint_names)
        if wrong:
            kind = ReceiverKind.OTHER_CONTROLLER
        elif targets and self.target not in targets:
            kind = ReceiverKind.OTHER_TARGET
            wrong = f'a controller for target {", ".join(targets)}'
        return Receiver(kind, wrong, controller_idle_reason(controller))

    def _update_managers(self, endpoints: Collection[Any], ask_often: bool) -> None:
        """
        Update which managers may have the receivers; ask each when due, more often if `ask_often`.

        A manager is known by the type of its service, whatever its name.
        """
        spaces = {one.node_namespace.rstrip('/') for one in endpoints}
        processes = {process_of(one) for one in endpoints}
        seen = dict[str, bytes]()
        for service, kinds in self._node.get_service_names_and_types():
            name, _, last = service.rpartition('/')
            if _LIST_CONTROLLERS_TYPE not in kinds or last != _LIST_CONTROLLERS:
                continue
            # Of which the graph lists the topic of its requests.
            requests = self._node.get_subscriptions_info_by_topic(
                f'rq{service}Request', no_mangle=True
            )
            process = next((one for one in map(process_of, requests) if one in processes), b'')
            if process or name.rpartition('/')[0] in spaces:
                seen[name] = process
        self._remove_managers(self._managers.keys() - seen.keys())
        for name, process in sorted(seen.items()):
            if name not in self._managers:
                self._managers[name] = ControllerManagerClient(self._node, name)
            self._managers[name].process = process
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

    @property
    def broadcaster_problem(self) -> str:
        """Which broadcaster of joint states a manager has that is not active; '' if none is."""
        for manager in self._managers.values():
            for one in (manager.controllers or {}).values():
                if one.type == _BROADCASTER_TYPE and one.state != 'active':
                    return (
                        f'{one.name} of {manager.name} is {one.state}, as after a reflex: recover '
                        'the robot, activate its hardware component, and then the controllers '
                        f'(ros2 control switch_controllers --activate {one.name} ... '
                        f'-c {manager.name})'
                    )
        return ''

    def close(self) -> None:
        """Destroy the clients of all managers, with their answers."""
        self._remove_managers(set(self._managers))

    def _remove_managers(self, manager_names: Set[str]) -> None:
        """Destroy the clients of the managers with these names, with their answers."""
        for name in manager_names:
            if (client := self._managers.pop(name).client) is not None:
                self._node.destroy_client(client)


# Other senders -----------------------------------------------------------------------------------
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
        self._last_number = 0
        self._count_since_drop = _MAX_MESSAGES_BETWEEN_DROPS
        self.has_dropped = False

    def add_sequence_number(self, sequence_number: int) -> bool:
        """Add a message's sequence number; return whether the latest ones show two publishers."""
        self.has_dropped = sequence_number <= self._last_number
        self._last_number = sequence_number
        self._count_since_drop += 1
        if not self.has_dropped:
            return False
        since = self._count_since_drop
        self._count_since_drop = 0
        return since <= _MAX_MESSAGES_BETWEEN_DROPS


# While torques flow, a publisher that is new shows within it which joints it has: as long as an
# unknown receiver may stay.
_SHOW_JOINTS_TIME_S = 2.0
MAX_JOINT_SETS = 100  # that are remembered, so that no publisher fills the memory


class StatePublisherCounter:
    """
    A counter of publishers of joint states that may be an arm's, where messages have no numbers.

    Nothing in a message says which publisher it is of. So each group of joints that comes in
    messages without the arm's joints, such as a gripper's, counts as a publisher of its own, and
    more than one publisher beside these is a second source of the arm's states. One publisher of
    several such groups may hide a second source; what tells two arms apart then is that positions
    jump.
    """

    def __init__(self) -> None:
        """Begin with one publisher, the arm's."""
        self._count = 1  # of publishers
        self._since = -math.inf  # when the count began to hold [s]
        # When a message of each group of joints came last [s].
        self._heard = dict[frozenset[str], float]()

    def add_other_joints(self, joint_names: Sequence[str], now: float) -> None:
        """Add a message at the time `now` [s] that has none of the arm's joints."""
        group = frozenset(joint_names)
        for other in [one for one in self._heard if one & group and one != group]:
            group |= other  # of one publisher, which does not send all of its joints each time
            del self._heard[other]
        if group in self._heard or len(self._heard) < MAX_JOINT_SETS:
            self._heard[group] = now

    def has_second_source(self, publisher_count: int, now: float, *, acts: bool) -> bool:
        """
        Return whether, of so many publishers at the time `now` [s], two may be the arm's.

        Before torques flow (`acts`) one whose joints are not known counts at once, later after
        _SHOW_JOINTS_TIME_S.
        """
        if publisher_count != self._count:
            self._count = publisher_count
            self._since = now
        is_settled = now >= self._since + _SHOW_JOINTS_TIME_S
        if is_settled:
            # Whoever was heard before may have left.
            self._heard = {one: at for one, at in self._heard.items() if at >= self._since}
        return self._count - len(self._heard) > 1 and (is_settled or not acts)


# The check ---------------------------------------------------------------------------------------
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
    """Permission to send torques: CHECKING first, while receivers are idle or of unsure kind."""

    CHECKING = 'checking'
    GRANTED = 'granted'
    REFUSED = 'refused'


class ReceiverCheck:
    """
    The check of a node's receivers of torques and the publishers of its joint states.

    Before the first torque it also listens for other senders of torques.

    `torque_publisher` is the node's, and `state_subscription` its subscription to joint states.
    `permission` says whether torques may be sent,
    `reason` why not. `receivers` has them by name. `delivery_problem` says who else commands,
    or why nobody, or one of them, gets or applies the torques that are sent; '' if all do.
    `has_receiver` says whether there is a receiver: without one nothing is published, so that an
    unknown one which comes later gets nothing before it is known.
    """

    state_subscription: Any

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

    def on_activation(self, target: str, state_topic: str, joint_names: Sequence[str]) -> None:
        """Begin to check who sends and receives torques for a target, a state topic and joints."""
        self.close()
        self._target = target
        self._state_topic = state_topic
        self._finder.target = target
        self._finder.joint_names = joint_names
        self.permission = TorquePermission.CHECKING
        seconds = f'{MIN_LISTENING_TIME_S:g} s'
        self.reason = f'looking for {seconds} who else sends on {self.topic}, and who receives it'
        self._detector = SecondPublisherDetector()
        self._state_count = 0
        self._state_publishers = StatePublisherCounter()
        self._next_naming = 0.0
        self._two_sources = ''
        self._listen_until = 0.0
        self._heard_time = 0.0  # when a torque of another sender came
        # Whether the receivers that were found last are all known, and since when one is wrong.
        self._are_known = True
        self._wrong_since = 0.0
        self._subscriber_count = -1
        self._next_check = 0.0
        self.delivery_problem = ''
        # Without rclpy's handlers of events: when they are destroyed with their subscription, a
        # MultiThreadedExecutor that waits for them raises an error (rclpy, issue 1206).
        without = SubscriptionEventCallbacks(use_default_callbacks=False)
        kind = Float64MultiArray
        topic = self.topic
        self._subscription = self._node.create_subscription(
            kind, topic, self._on_torque, STATE_QOS, raw=True, event_callbacks=without
        )

    def _on_torque(self, _: bytes) -> None:
        """Store the time of the first torque that another node sent."""
        self._heard_time = self._heard_time or time.monotonic()

    def add_other_joints(self, joint_names: Sequence[str]) -> None:
        """Add the joints of a joint state that has none of the arm's."""
        self._state_publishers.add_other_joints(joint_names, time.monotonic())

    def check_sequence_number(self, sequence_number: int | None, *, acts: bool = False) -> str:
        """
        Return an error text if a joint state's sequence number shows a second publisher, else ''.

        The number is None if the middleware does not number messages, as Cyclone DDS: then the
        publishers that it has connected are counted, without those of other joints. A killed one
        counts for some seconds. `acts` says whether torques flow.
        """
        self._state_count += 1
        self._listen_until = self._listen_until or time.monotonic() + MIN_LISTENING_TIME_S
        if sequence_number is None:
            count = self.state_subscription.get_publisher_count()
            is_second = self._state_publishers.has_second_source(
                count, time.monotonic(), acts=acts
            )
        else:
            is_second = self._detector.add_sequence_number(sequence_number)
        return self._two_state_sources_text() if is_second else ''

    def _two_state_sources_text(self) -> str:
        """Return text that says that two nodes publish joint states, with the nodes' names."""
        now = time.monotonic()
        if now >= self._next_naming:  # which takes longer than a control cycle
            self._next_naming = now + _DELIVERY_CHECK_PERIOD_S
            names = ', '.join(publisher_names(self._node, self._state_topic))
            self._two_sources = (
                f'a second node publishes {self._state_topic}, and states of two arms cannot be '
                f'told apart; stop or remap the other one (publishers listed: {names})'
            )
        return self._two_sources

    @property
    def has_new_state_publisher(self) -> bool:
        """Whether the latest joint state is the first of another, or restarted, publisher."""
        return self._detector.has_dropped

    def update_permission(self) -> None:
        """Unless REFUSED, when due update permission, reason, receivers and delivery problem."""
        now = time.monotonic()
        waits = self.permission is TorquePermission.CHECKING
        if self.permission is TorquePermission.REFUSED:
            return
        if waits and self._must_keep_listening(now):
            self._finder.find_receivers()  # which are watched meanwhile
            return
        count = self._publisher.get_subscription_count()
        due = now >= self._next_check
        changed = count != self._subscriber_count or self._finder.has_new_answer
        if not (waits or due or changed or self._wrong_since or not self._are_known):
            return
        found = self._finder.find_receivers(ask_often=waits)
        unsure = next((one.uncertainty for one in found.values() if one.uncertainty), '')
        self._are_known = not unsure
        if due and not waits:
            self._next_check = now + _DELIVERY_CHECK_PERIOD_S
            self.delivery_problem = self._find_delivery_problem(found)
        if unsure and (waits or not self.has_receiver):
            # Nothing is sent now, and nothing is before all are known.
            if waits:
                self.reason = unsure
            else:
                self._set_permission(TorquePermission.CHECKING, unsure)
            return
        self._subscriber_count = count
        self.receivers = found
        wrong = refusal_reason(self._target, self.topic, found)
        if wrong:
            self._wrong_since = self._wrong_since or now
            self.reason = unsure or wrong  # torques that do not flow yet do not begin
            if now >= self._wrong_since + self._refusal_delay_s():
                state = TorquePermission.CHECKING if unsure else TorquePermission.REFUSED
                self._set_permission(state, self.reason)
            return
        self._wrong_since = 0.0
        idle = all_idle_reason(self._target, found)
        self._set_permission(TorquePermission.CHECKING if idle else TorquePermission.GRANTED, idle)
        self.has_receiver = bool(found)

    def _refusal_delay_s(self) -> float:
        """Return how long [s] wrong receivers must be present before torques are refused."""
        if self.permission is not TorquePermission.GRANTED or not self.has_receiver:
            return REFUSAL_DELAY_AT_START_S
        wrong = wrong_receivers(self._target, self.receivers).values()
        certain = any(one.kind in _CERTAINLY_WRONG_KINDS for one in wrong)
        return _CERTAIN_REFUSAL_DELAY_S if certain else REFUSAL_DELAY_S

    def _must_keep_listening(self, now: float) -> bool:
        """Return whether to keep listening for other senders; refuse torques if one is heard."""
        if self._subscription is None:
            return False
        if not self._heard_time:
            return now < self._listen_until or self._state_count < MIN_HEARD_STATE_COUNT
        names = publisher_names(self._node, self.topic)
        if names or now >= self._heard_time + REFUSAL_DELAY_S:
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

    def _is_moved_by_trajectories(self) -> bool:
        """Return whether a controller takes the node's whole motions, with their torques."""
        # A recorder listens on the node's own topic; a controller has its own, to which the
        # node's is remapped.
        own = f'{self._node.get_fully_qualified_name()}/{TRAJECTORY_TOPIC.removeprefix("~/")}'
        topic = self._node.resolve_topic_name(TRAJECTORY_TOPIC)
        return topic != own and self._node.count_subscribers(topic) > 0

    @property
    def broadcaster_problem(self) -> str:
        """Which broadcaster of joint states beside the receivers is not active; '' if none is."""
        return self._finder.broadcaster_problem

    def _find_delivery_problem(self, receivers: dict[str, Receiver]) -> str:
        """Return why torques are not received or applied, or who else sends them; else ''."""
        if rivals := publisher_names(self._node, self.topic):
            return self._other_senders_text(rivals)
        own = self._node.get_fully_qualified_name()
        listed = self._node.get_publishers_info_by_topic(self.topic)
        # As the middleware knows it, with its defaults.
        publisher = next((endpoint for endpoint in listed if node_name_of(endpoint) == own), None)
        for endpoint in self._node.get_subscriptions_info_by_topic(self.topic):
            name = node_name_of(endpoint)
            kind = endpoint.topic_type
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
        if self._is_moved_by_trajectories():
            return ''
        return f'nobody receives the torques on {self.topic}; remap ~/command to the receiver'

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
