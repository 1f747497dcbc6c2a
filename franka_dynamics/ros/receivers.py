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
import time
from typing import Any, NamedTuple

from rclpy.event_handler import SubscriptionEventCallbacks
from rclpy.node import NodeNameNonExistentError
from std_msgs.msg import Float64MultiArray

# Names that are not used here were in this module once, and still come from it.
from .controller_managers import (  # noqa: F401
    controller_idle_reason,
    ControllerManagerClient,
    ControllerManagers,
    wrong_claim_text,
)
from .state_sources import (  # noqa: F401
    MAX_JOINT_SETS,
    SecondPublisherDetector,
    StatePublisherCounter,
)
from .topics import (  # noqa: F401
    NO_NODE_NAME,
    node_name_of,
    process_of,
    publisher_names,
    STATE_QOS,
    TORQUE_TYPE,
    TRAJECTORY_TOPIC,
    UNKNOWN_NODE_NAME,
)
from .torque_delivery import delivery_problem, matching_subscriptions, other_senders_text

TRIGGER_TYPE = 'std_srvs/srv/Trigger'
ServiceTypes = Mapping[str, Sequence[str]]  # a node's services with their types
_CLOCK_TYPE = 'rosgraph_msgs/msg/Clock'


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
        self.managers.update(listed.values(), ask_often)
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
        # Only what can get torques is counted: a logger of other messages on the topic must not
        # make up for a receiver that nobody sees.
        matching_count = len(matching_subscriptions(node, topic))
        if matched > matching_count:
            others = matched - own_count
            seen = matching_count - own_count
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
        for manager in self.managers:
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

    @property
    def has_new_answer(self) -> bool:
        """Whether a manager's answer has come that `find_receivers` has not read yet."""
        return self.managers.has_new_answer

    def close(self) -> None:
        """Discard all answers of controller managers."""
        self.managers.close()


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
    The check of a node's receivers of torques.

    Before the first torque it also listens for other senders of torques.

    `torque_publisher` is the node's. `permission` says whether torques may be sent, `reason` why
    not. `receivers` has them by name. `delivery_problem` says who else commands, or why nobody, or
    one of them, gets or applies the torques that are sent; '' if all do. `has_receiver` says
    whether there is a receiver: without one nothing is published, so that an unknown one which
    comes later gets nothing before it is known.
    """

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
        self._target = target
        self._finder.target = target
        self._finder.joint_names = joint_names
        self.permission = TorquePermission.CHECKING
        seconds = f'{MIN_LISTENING_TIME_S:g} s'
        self.reason = f'looking for {seconds} who else sends on {self.topic}, and who receives it'
        self._state_count = 0
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

    def count_state(self) -> None:
        """Count a joint state; with the first one the listening for other senders begins."""
        self._state_count += 1
        self._listen_until = self._listen_until or time.monotonic() + MIN_LISTENING_TIME_S

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
            idle_reasons = {name: one.idle_reason for name, one in found.items()}
            self.delivery_problem = delivery_problem(
                self._node, self.topic, idle_reasons, self._finder.managers.problem
            )
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
            reason = other_senders_text(self.topic, names)
            self._set_permission(TorquePermission.REFUSED, reason)
        return True

    @property
    def receivers_text(self) -> str:
        """The names of the nodes that receive torques, with their kinds, as text, or 'none'."""
        return ', '.join(f'{name} ({one})' for name, one in self.receivers.items()) or 'none'

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
