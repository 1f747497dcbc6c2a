# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
The search for the nodes that receive torques, and for what each of them is.

Simulated arms of this package declare themselves by a service. Controllers are those that a
controller manager lists. Of a node that ROS's graph does not show completely it is not known yet
what it is.
"""

from collections import Counter
from collections.abc import Mapping, Sequence, Set
import time
from typing import Any, NamedTuple

from rclpy.node import NodeNameNonExistentError

from .controller_managers import (
    controller_idle_reason,
    ControllerManagerClient,
    ControllerManagers,
    wrong_claim_text,
)
from .receiver_kinds import (
    DECLARATION_SERVICES,
    EXPECTED_KINDS,
    Receiver,
    ReceiverKind,
    TARGET_DECLARATION_SERVICE,
    TRIGGER_TYPE,
)
from .torque_delivery import matching_subscriptions
from ..topics import NO_NODE_NAME, node_name_of, process_of, TORQUE_TYPE, UNKNOWN_NODE_NAME

# For so long a receiver that is no simulated arm and no controller is watched before it counts as
# that: Fast DDS repeats lost announcements, such as a controller manager's, after 3 s.
WATCHING_TIME_S = 3.5
# The name, among full names of nodes, of receivers that are matched, but not listed by the graph.
UNLISTED_RECEIVERS = 'somebody'
_CLOCK_TYPE = 'rosgraph_msgs/msg/Clock'
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
_GRAPH_ADVICE = (
    'if that lasts, with a Fast DDS discovery server set ROS_SUPER_CLIENT=TRUE where this node '
    'starts'
)

ServiceTypes = Mapping[str, Sequence[str]]  # a node's services with their types


# What a node shows of itself ---------------------------------------------------------------------
def declared_kind(node_name: str, services: ServiceTypes) -> ReceiverKind:
    """Return the kind of receiver that a node declares by its services, else UNRECOGNISED."""
    for kind, service in DECLARATION_SERVICES.items():
        if TRIGGER_TYPE in services.get(service.replace('~', node_name), ()):
            return kind
    return ReceiverKind.UNRECOGNISED


def declared_targets(node_name: str, services: ServiceTypes) -> list[str]:
    """Return the only targets whose torques a node declares to accept; [] if undeclared."""
    service_format = TARGET_DECLARATION_SERVICE.replace('~', node_name)
    return [
        target
        for target in EXPECTED_KINDS
        if TRIGGER_TYPE in services.get(service_format.format(target), ())
    ]


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


class _ServiceHistory:
    """Since when nodes show the services that they show now."""

    def __init__(self) -> None:
        """Begin without any node."""
        self._services: dict[str, set[str]] = {}
        self._since: dict[str, float] = {}

    def update(self, services_by_node: Mapping[str, ServiceTypes | None]) -> Mapping[str, float]:
        """
        Store the services of nodes; return since when [s] each shows just these services.

        A node whose services are not known (None) is forgotten, and so is one that is not named.
        """
        now = time.monotonic()
        known = {
            name: set(services)
            for name, services in services_by_node.items()
            if services is not None
        }
        self._since = {
            name: self._since[name] if self._services.get(name) == shown else now
            for name, shown in known.items()
        }
        self._services = known
        return self._since


class _Graph(NamedTuple):
    """What a look at ROS's graph shows of all nodes."""

    node_counts: Counter[str]  # how many nodes have a full name: two may have one
    simulated_time_nodes: set[str]  # full names of nodes that subscribe to a clock


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
        self.managers = ControllerManagers(node)
        self._last_names: Set[str] = set()  # names of the nodes that were found last
        self._service_history = _ServiceHistory()

    def find_receivers(self, *, ask_often: bool = True) -> dict[str, Receiver]:
        """
        Return the other nodes that subscribe to torques, as Receivers by full node name.

        Managers are asked more often if `ask_often`, and if the nodes are not those found before.
        """
        # The count comes first: what is discovered between is then listed, and not missed.
        matched_count = self._publisher.get_subscription_count()
        subscriptions = self._node.get_subscriptions_info_by_topic(self._topic)
        graph = _Graph(
            Counter(self._node.get_fully_qualified_node_names()), self._nodes_in_simulated_time()
        )
        listed = self._subscriptions_of_others(subscriptions, graph)
        ask_often = ask_often or listed.keys() != self._last_names
        self._last_names = listed.keys()
        self.managers.update(listed.values(), ask_often)
        services = {name: self._services_of(endpoint) for name, endpoint in listed.items()}
        since = self._service_history.update(services)
        receivers = {}
        for name, endpoint in listed.items():
            shown = services[name]
            if shown is None:
                receivers[name] = self._undiscovered_receiver(name, endpoint)
                continue
            receiver = self._classify_receiver(name, endpoint, shown, graph)
            is_unrecognised = receiver.kind is ReceiverKind.UNRECOGNISED
            if is_unrecognised and time.monotonic() < since[name] + WATCHING_TIME_S:
                why = f'{name} is watched for {WATCHING_TIME_S:g} s: whether it is a controller'
                receiver = receiver._replace(uncertainty=why)
            receivers[name] = receiver
        # Only what can get torques is counted: a logger of other messages on the topic must not
        # make up for a receiver that nobody sees.
        listed_count = len(matching_subscriptions(self._node, self._topic, subscriptions))
        if matched_count > listed_count:
            receivers[UNLISTED_RECEIVERS] = self._unlisted_receiver(matched_count, listed_count)
        return receivers

    def _subscriptions_of_others(
        self, subscriptions: Sequence[Any], graph: _Graph
    ) -> dict[str, Any]:
        """
        Return subscriptions to torques by their nodes' full names, without those of this node.

        The node's own subscriptions, by which it listens for other senders, are no receivers. The
        name stays if another node has it, too, and subscribes.
        """
        taking = [endpoint for endpoint in subscriptions if endpoint.topic_type == TORQUE_TYPE]
        listed = {node_name_of(endpoint): endpoint for endpoint in taking}
        own_name = self._node.get_fully_qualified_name()
        count_by_name = sum(node_name_of(endpoint) == own_name for endpoint in taking)
        has_namesake = graph.node_counts[own_name] > 1
        if not has_namesake or count_by_name <= self._own_subscription_count():
            listed.pop(own_name, None)
        return listed

    def _own_subscription_count(self) -> int:
        """Return how many subscriptions to the torques this node has itself."""
        return sum(
            subscription.topic_name == self._topic for subscription in self._node.subscriptions
        )

    def _undiscovered_receiver(self, name: str, endpoint: Any) -> Receiver:
        """Return the Receiver for a subscription whose node is not discovered."""
        # Names are discovered after topics, seconds later if the machine is busy.
        why = f'it is not known yet which node receives {self._topic}'
        if endpoint.node_name == NO_NODE_NAME:
            why = f'{name} receives {self._topic}, and offers nothing that says what it is'
        return Receiver(ReceiverKind.UNSEEN, uncertainty=why)

    def _unlisted_receiver(self, matched_count: int, listed_count: int) -> Receiver:
        """Return the Receiver that stands for those that are matched, but not listed."""
        own_count = self._own_subscription_count()
        why = (
            f'{matched_count - own_count} receive {self._topic}, of which '
            f'{listed_count - own_count} are listed; {_GRAPH_ADVICE}'
        )
        return Receiver(ReceiverKind.UNSEEN, uncertainty=why)

    def _nodes_in_simulated_time(self) -> set[str]:
        """Return the full names of nodes that subscribe to a clock, as use_sim_time makes them."""
        topics = self._node.get_topic_names_and_types()
        clocks = [topic for topic, types in topics if _CLOCK_TYPE in types]
        return {
            node_name_of(endpoint)
            for topic in clocks
            for endpoint in self._node.get_subscriptions_info_by_topic(topic)
        }

    def _services_of(self, endpoint: Any) -> ServiceTypes | None:
        """Return an endpoint's node's services, types by name; None unless it is discovered."""
        name = endpoint.node_name
        namespace = endpoint.node_namespace
        if name in (UNKNOWN_NODE_NAME, NO_NODE_NAME):
            return None
        try:
            return dict(self._node.get_service_names_and_types_by_node(name, namespace))
        except NodeNameNonExistentError:
            return None

    def _classify_receiver(
        self, name: str, endpoint: Any, services: ServiceTypes, graph: _Graph
    ) -> Receiver:
        """Return the Receiver that the node with a full name is."""
        if why := unseen_reason(name, services):
            return Receiver(ReceiverKind.UNSEEN, uncertainty=why)
        receiver = Receiver(declared_kind(name, services))
        manager_name = ''
        if receiver.kind is ReceiverKind.UNRECOGNISED:
            receiver, manager_name = self._classify_by_managers(name, endpoint, services, graph)
        for source in (name, manager_name):
            if graph.node_counts[source] > 1:
                return _ambiguous_receiver(receiver.kind, source)
        return receiver

    def _classify_by_managers(
        self, name: str, endpoint: Any, services: ServiceTypes, graph: _Graph
    ) -> tuple[Receiver, str]:
        """
        Return a receiver classified by its controller manager, and the name of that manager.

        A controller's manager is in the same process, and in the same namespace unless the
        controller was given a namespace of its own. The name is '' if none of these managers has
        such a controller.
        """
        receiver = Receiver(ReceiverKind.UNRECOGNISED)
        namespace, _, controller_name = name.rpartition('/')
        for manager in self.managers:
            in_process = manager.process == process_of(endpoint)
            if not in_process and manager.name.rpartition('/')[0] != namespace:
                continue
            controllers = manager.controllers
            if controllers is not None and controller_name in controllers:
                is_simulated = bool({name, manager.name} & graph.simulated_time_nodes)
                targets = declared_targets(name, services)
                controller = controllers[controller_name]
                return self._classify_controller(controller, targets, is_simulated), manager.name
            receiver = _receiver_of_manager(name, manager, receiver, in_process=in_process)
        return receiver, ''

    def _classify_controller(
        self, controller: Any, targets: Sequence[str], is_simulated: bool
    ) -> Receiver:
        """
        Return the Receiver that a listed controller is.

        `targets` are those that it declares. `is_simulated` says whether the controller or its
        manager runs in simulated time.
        """
        idle_reason = controller_idle_reason(controller)
        if claim := wrong_claim_text(controller, self.joint_names):
            return Receiver(ReceiverKind.OTHER_CONTROLLER, claim, idle_reason)
        if targets and self.target not in targets:
            description = f'a controller for target {", ".join(targets)}'
            return Receiver(ReceiverKind.OTHER_TARGET, description, idle_reason)
        if is_simulated:
            return Receiver(ReceiverKind.SIMULATED_CONTROLLER, idle_reason=idle_reason)
        return Receiver(ReceiverKind.REAL_CONTROLLER, idle_reason=idle_reason)

    @property
    def has_new_answer(self) -> bool:
        """Whether a manager's answer has come that `find_receivers` has not read yet."""
        return self.managers.has_new_answer

    def close(self) -> None:
        """Discard all answers of controller managers."""
        self.managers.close()


def _ambiguous_receiver(kind: ReceiverKind, node_name: str) -> Receiver:
    """
    Return the Receiver of a kind if two nodes are called as it, or as its manager.

    Nobody can tell which of the two answers, or takes torques. If an arm declares what it is, it
    is that: the node of the same name was killed before.
    """
    why = (
        f'two nodes called {node_name} are there; end or rename one (a killed node stays listed '
        'for up to 20 s)'
    )
    if kind in DECLARATION_SERVICES:
        return Receiver(kind, uncertainty=why)
    return Receiver(ReceiverKind.UNDETERMINED, uncertainty=why)


def _receiver_of_manager(
    name: str, manager: ControllerManagerClient, receiver: Receiver, *, in_process: bool
) -> Receiver:
    """
    Return what a manager near a node, which does not list it, makes of a Receiver of that node.

    `in_process` says whether the manager is in the node's process, not in its namespace alone.
    """
    if manager.controllers is not None:
        if not in_process:
            return receiver
        # Only a manager's own nodes and controllers are in its process.
        why = f'{name} is in the process of {manager.name}, which does not list it'
        return Receiver(ReceiverKind.UNDETERMINED, uncertainty=why)
    if in_process or manager.client is not None:
        return Receiver(ReceiverKind.UNDETERMINED, uncertainty=manager.problem)
    # It cannot be asked, and may have nothing to do with the node.
    return receiver._replace(description=manager.problem)
