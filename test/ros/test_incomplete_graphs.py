# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""While ROS's graph does not show what receives the torques, nothing is sent."""

from contextlib import closing
from dataclasses import dataclass, field
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from rclpy.node import NodeNameNonExistentError

from franka_dynamics.ros import topics
from franka_dynamics.ros.node import state_sources
from franka_dynamics.ros.node.state_sources import StateSources
from franka_dynamics.ros.receivers import (
    controller_managers,
    receiver_finder,
    receivers,
    torque_delivery,
)
from franka_dynamics.ros.receivers.receivers import ReceiverCheck, TorquePermission
from franka_dynamics.ros.topics import NO_NODE_NAME

TOPIC = '/torques'
STATES = '/joint_states'
OWN = '/feedforward'
JOINTS = [f'joint{i}' for i in range(1, 8)]
UNNAMED = '/_NODE_NAME_UNKNOWN_'
PARAMETERS = (
    'describe_parameters',
    'get_parameter_types',
    'get_parameters',
    'list_parameters',
    'set_parameters',
    'set_parameters_atomically',
)
LIST_CONTROLLERS = 'controller_manager_msgs/srv/ListControllers'
STEP_S = 0.05  # between two looks of the check


def parameter_services(name, count=6):
    """Return the first parameter services of a node with their types."""
    words = (one.title().replace('_', '') for one in PARAMETERS)
    kinds = (f'rcl_interfaces/srv/{word}' for word in words)
    return {f'{name}/{one}': [kind] for one, kind in zip(PARAMETERS[:count], kinds)}


def declared(name, how='takes_torques_with_gravity'):
    return {f'{name}/franka_dynamics/{how}': ['std_srvs/srv/Trigger']}


@dataclass
class Shown:
    """What the graph shows of a node that exists."""

    services: dict = field(default_factory=dict)
    process: int = 1
    subscribes: bool = True  # to torques
    is_listed: bool = True  # its subscription is; it is matched nevertheless
    listed_as: str = ''  # the name by which its subscription is listed, if not by its own
    has_name: bool = True  # in the list of nodes
    count: int = 1  # how many nodes have the name
    message_type: str = topics.TORQUE_TYPE  # of its subscription; of another none is matched


class Graph:
    """What rclpy's node and publisher say of a graph; `nodes` are the others by full names."""

    topic_name = TOPIC

    def __init__(self):
        self.now = 100.0
        self.nodes = {}
        self.subscriptions = []
        self.controllers = {}  # answers of managers: controllers by manager's name, None: silent
        self.state_publishers = 1

    # The publisher.
    def get_subscription_count(self):
        matched = [
            shown
            for shown in self.nodes.values()
            if shown.subscribes and shown.message_type == topics.TORQUE_TYPE
        ]
        return len(matched) + len(self.subscriptions)

    # The node.
    def get_fully_qualified_name(self):
        return OWN

    def get_fully_qualified_node_names(self):
        return [OWN] + [
            name for name, one in self.nodes.items() for _ in range(one.count) if one.has_name
        ]

    def get_service_names_and_types(self):
        return [pair for one in self.nodes.values() for pair in one.services.items()]

    def get_service_names_and_types_by_node(self, name, space):
        full = f'{space.rstrip("/")}/{name}'
        if full not in self.nodes or not self.nodes[full].has_name:
            raise NodeNameNonExistentError(name)
        return [*self.nodes[full].services.items()]

    def get_topic_names_and_types(self):
        return []

    def get_subscriptions_info_by_topic(self, topic, no_mangle=False):
        if no_mangle:
            manager = topic.removeprefix('rq').removesuffix('/list_controllersRequest')
            found = {manager: self.nodes[manager]}
        else:
            found = {
                one.listed_as or name: one
                for name, one in self.nodes.items()
                if one.subscribes and one.is_listed
            }
        own = [OWN] if self.subscriptions and not no_mangle else []
        return [
            self._endpoint(name, 0)
            if name == OWN
            else self._endpoint(name, found[name].process, found[name].message_type)
            for name in (*own, *found)
        ]

    def get_publishers_info_by_topic(self, topic):
        names = [OWN] if topic == TOPIC else [f'/driver{i}' for i in range(self.state_publishers)]
        return [self._endpoint(name, 0) for name in names]

    def _endpoint(self, name, process, message_type=topics.TORQUE_TYPE):
        space, _, own = name.rpartition('/')
        return SimpleNamespace(
            node_name=own,
            # rmw_fastrtps gives such a name for the namespace, too, which is no valid one.
            node_namespace=name if name == NO_NODE_NAME else space or '/',
            topic_type=message_type,
            endpoint_gid=[process] * 12 + [0, 0, 0, 4],
            qos_profile=None,
        )

    def resolve_topic_name(self, topic):
        return topic.replace('~', OWN)

    def count_publishers(self, topic):
        return self.state_publishers

    def create_subscription(self, kind, topic, *_, **__):
        self.subscriptions.append(SimpleNamespace(topic_name=topic))
        return self.subscriptions[-1]

    def destroy_subscription(self, one):
        self.subscriptions.remove(one)

    def create_client(self, kind, service):
        manager = service.rpartition('/')[0]

        def call_async(_):
            answer = SimpleNamespace(controller=self.controllers.get(manager))
            return SimpleNamespace(
                done=lambda: answer.controller is not None, result=lambda: answer
            )

        return SimpleNamespace(call_async=call_async, remove_pending_request=lambda _: None)

    def destroy_client(self, client):
        pass


@pytest.fixture
def graph(monkeypatch):
    made = Graph()
    for module in (receivers, receiver_finder, controller_managers, state_sources):
        monkeypatch.setattr(module, 'time', SimpleNamespace(monotonic=lambda: made.now))
    asked = SimpleNamespace(Request=lambda: None)
    monkeypatch.setattr(controller_managers, 'ListControllers', asked)
    monkeypatch.setattr(torque_delivery, 'qos_check_compatible', lambda *_: (None, ''))
    return made


def sent(graph, target, script=(), seconds=20.0):
    """
    Run a check; return the times [s] at which torques were sent, and the last reason.

    `script` has times at which what the graph shows changes, and functions that change it.
    """
    begun = graph.now
    times = []
    steps = sorted(script, key=lambda one: one[0])
    with closing(ReceiverCheck(graph, graph)) as check:
        check.on_activation(target, JOINTS)
        while graph.now < begun + seconds:
            for _ in range(10):
                check.count_state()
            while steps and graph.now >= begun + steps[0][0]:
                steps.pop(0)[1]()
            check.update_permission()
            if check.permission is TorquePermission.GRANTED and check.has_receiver:
                times.append(graph.now - begun)
            graph.now += STEP_S
        return times, check.reason


def whole(name, process=1, **shown):
    return Shown(parameter_services(name), process, **shown)


def manager(name='/controller_manager', process=1):
    services = {
        **parameter_services(name),
        f'{name}/list_controllers': [LIST_CONTROLLERS],
    }
    return Shown(services, process, subscribes=False)


def controller(name, interface, state='active'):
    claims = [f'{joint}/{interface}' for joint in JOINTS]
    kind = 'forward_command_controller/ForwardCommandController'
    return SimpleNamespace(
        name=name,
        type=kind,
        state=state,
        is_chained=False,
        claimed_interfaces=claims,
        required_command_interfaces=claims,
    )


def unnamed(graph):
    """Add a subscription whose node is not known, as of a program without ROS."""
    graph.nodes['/one'] = whole('/one', listed_as=UNNAMED)


def without_ros(graph):
    """Add the subscription of a program that uses Fast DDS or Cyclone DDS without ROS."""
    graph.nodes['/one'] = whole('/one', listed_as=NO_NODE_NAME)


def without_its_node(graph):
    """Add a subscription whose node is named, but not listed."""
    graph.nodes['/one'] = whole('/one', has_name=False)


def without_services(graph):
    """Add a node as a client of a discovery server sees every node."""
    graph.nodes['/one'] = Shown()


def with_a_part_of_its_services(graph):
    graph.nodes['/one'] = Shown(parameter_services('/one', 3))


def matched_and_not_listed(graph):
    graph.nodes['/one'] = whole('/one', is_listed=False)


def beside_one_that_is_not_listed(graph):
    graph.nodes['/arm'] = Shown({**parameter_services('/arm'), **declared('/arm')})
    graph.nodes['/one'] = whole('/one', is_listed=False)


def beside_a_subscription_to_other_messages(graph):
    """Add one that is not listed, and a listed one that is never matched: as many of both."""
    beside_one_that_is_not_listed(graph)
    graph.nodes['/log'] = whole('/log', message_type='std_msgs/msg/String')


def twice(graph):
    graph.nodes['/one'] = whole('/one', count=2)


def called_as_the_sender(graph):
    graph.nodes[OWN] = whole(OWN, count=1)


def of_a_silent_manager(graph):
    graph.nodes['/controller_manager'] = manager()
    graph.nodes['/one'] = whole('/one')


def elsewhere_in_a_silent_managers_process(graph):
    graph.nodes['/controller_manager'] = manager(process=5)
    graph.nodes['/else/where/one'] = whole('/else/where/one', process=5)


def unlisted_in_a_managers_process(graph):
    of_a_silent_manager(graph)
    graph.controllers['/controller_manager'] = [controller('another', 'effort')]


def a_position_controller_elsewhere(graph):
    elsewhere_in_a_silent_managers_process(graph)
    graph.controllers['/controller_manager'] = [controller('one', 'position')]


def of_two_managers_of_one_name(graph):
    of_a_silent_manager(graph)
    graph.controllers['/controller_manager'] = [controller('one', 'effort')]
    graph.nodes['/controller_manager'].count = 2


def one_of_fifty(graph):
    """Add fifty nodes, and one that receives torques and is not seen."""
    for i in range(50):
        graph.nodes[f'/node{i}'] = whole(f'/node{i}', process=i, subscribes=False)
    graph.nodes['/one'] = Shown(process=60)


UNKNOWN = [
    (unnamed, 'not known yet which node'),
    (without_its_node, 'not known yet which node'),
    (without_ros, 'a program without ROS receives'),
    (without_services, '/one shows no service'),
    (with_a_part_of_its_services, 'does not show all'),
    (matched_and_not_listed, 'are listed'),
    (beside_one_that_is_not_listed, 'are listed'),
    (beside_a_subscription_to_other_messages, 'are listed'),
    (twice, 'two nodes called /one'),
    (called_as_the_sender, 'two nodes called /feedforward'),
    (of_a_silent_manager, '/controller_manager/list_controllers has not answered'),
    (elsewhere_in_a_silent_managers_process, 'list_controllers has not answered'),
    (unlisted_in_a_managers_process, 'does not list it'),
    (a_position_controller_elsewhere, 'joint1/position'),
    (of_two_managers_of_one_name, 'two nodes called /controller_manager'),
    (one_of_fifty, '/one shows no service'),
]


@pytest.mark.parametrize('target', ['fci', 'mujoco'])
@pytest.mark.parametrize(('begin', 'named'), UNKNOWN, ids=lambda one: getattr(one, '__name__', ''))
def test_nothing_is_sent_to_who_is_not_known(graph, target, begin, named):
    begin(graph)
    times, reason = sent(graph, target)
    assert not times
    assert named in reason


@pytest.mark.parametrize('target', ['fci', 'mujoco'])
@pytest.mark.parametrize(('begin', 'named'), UNKNOWN, ids=lambda one: getattr(one, '__name__', ''))
def test_nor_if_it_comes_when_nobody_receives(graph, target, begin, named):
    times, reason = sent(graph, target, [(5.0, lambda: begin(graph))])
    assert not times
    assert named in reason


def test_a_controller_that_cannot_be_asked_about_gets_nothing(graph, monkeypatch):
    monkeypatch.setattr(controller_managers, 'ListControllers', None)
    of_a_silent_manager(graph)
    times, reason = sent(graph, 'fci')
    assert not times and 'controller_manager_msgs' in reason


@pytest.mark.parametrize('begins', [0.0, 5.0])
def test_a_graph_that_fills_slowly_is_waited_for(graph, begins):
    """First come the subscription and the node's name, last the manager and its answer."""
    full = whole('/one')
    script = [
        (
            0.0,
            lambda: graph.nodes.update({'/one': Shown(listed_as=UNNAMED, has_name=False)}),
        ),
        (0.5, lambda: graph.nodes.update({'/one': Shown()})),
        (
            1.0,
            lambda: graph.nodes.update({'/one': Shown(parameter_services('/one', 2))}),
        ),
        (1.5, lambda: graph.nodes.update({'/one': full})),
        (4.5, lambda: graph.nodes.update({'/controller_manager': manager()})),
        (5.0, lambda: graph.controllers.update({'/controller_manager': []})),
        (
            5.5,
            lambda: graph.controllers.update(
                {'/controller_manager': [controller('one', 'position')]}
            ),
        ),
    ]
    times, reason = sent(graph, 'fci', [(begins + at, change) for at, change in script], 30.0)
    assert not times and 'joint1/position' in reason


def known(graph):
    """Add a simulated arm of which everything is seen."""
    graph.nodes['/one'] = Shown({**parameter_services('/one'), **declared('/one')})


def driver(graph):
    graph.nodes['/one'] = whole('/one', process=4)


@pytest.mark.parametrize(
    ('target', 'begin', 'wait'),
    [('mujoco', known, 0.6), ('fci', driver, receiver_finder.WATCHING_TIME_S + 0.1)],
)
def test_who_is_known_gets_torques(graph, target, begin, wait):
    """A receiver that may be a controller whose manager is not seen yet is watched before."""
    begin(graph)
    times, _ = sent(graph, target)
    assert wait - 0.3 <= times[0] <= wait
    assert times[-1] > 19.9


@pytest.mark.parametrize(('begin', 'named'), UNKNOWN, ids=lambda one: getattr(one, '__name__', ''))
def test_torques_cease_once_somebody_unknown_has_stayed(graph, begin, named):
    """Torques that flow to an arm flow to who comes later, too: they end."""
    driver(graph)
    graph.nodes['/driver'] = graph.nodes.pop('/one')
    times, reason = sent(graph, 'fci', [(10.0, lambda: begin(graph))], 25.0)
    assert 9.9 < times[-1] < 10.0 + receivers.REFUSAL_DELAY_S + 0.2
    assert named in reason


def test_a_listener_beside_the_receiver_ends_nothing(graph):
    """As `ros2 topic echo`, whose node has no parameters: from its first moment to its last."""
    known(graph)
    echo = Shown({'/_ros2cli_1/get_type_description': ['type_description_interfaces/srv/Get']})
    times, _ = sent(
        graph,
        'mujoco',
        [
            (
                10.0,
                lambda: graph.nodes.update({'/_ros2cli_1': Shown(listed_as=UNNAMED)}),
            ),
            (10.5, lambda: graph.nodes.update({'/_ros2cli_1': Shown()})),
            (11.0, lambda: graph.nodes.update({'/_ros2cli_1': echo})),
            (15.0, lambda: graph.nodes.pop('/_ros2cli_1')),
        ],
    )
    assert len(times) > (19.9 - times[0]) / STEP_S - 1


GRIPPER = ('finger1', 'finger2')
OTHER_GRIPPER = ('left_finger1',)


def watched_sources(graph):
    sources = StateSources(graph)
    sources.subscription = SimpleNamespace(get_publisher_count=lambda: graph.state_publishers)
    sources.on_activation(STATES)
    return sources


def named_sources(graph, script, begin=True):
    """
    Return the times [s] at which a second source of states without numbers is named, and the text.

    `script` has times, and numbers of publishers or the joints of a message that comes then.
    While no second source is named the arm acts, from the first time on unless not `begin`.
    """
    begun = graph.now
    times = []
    acts = begin
    said = ''
    sources = watched_sources(graph)
    for at, what in [*script, (script[-1][0] + 3.0, graph.state_publishers)]:
        while graph.now < begun + at:
            found = sources.check_sequence_number(None, acts=acts)
            acts = not found
            said = found or said
            if found:
                times.append(graph.now - begun)
            graph.now += STEP_S
        if isinstance(what, int):
            graph.state_publishers = what
        else:
            sources.add_other_joints(what)
    return times, said


@pytest.mark.parametrize(
    ('script', 'begin', 'named'),
    [
        ([(0.0, 2)], False, (0.0, 3.0)),
        ([(0.0, 2)], True, (2.0, 3.0)),
        ([(2.0, 2)], True, (4.0, 5.0)),
        # A gripper: from the beginning on, and one that comes later.
        ([(0.0, 2), (0.5, GRIPPER)], False, (0.0, 0.5)),
        ([(2.0, 2), (2.5, GRIPPER)], True, None),
        ([(0.0, 3), (0.2, GRIPPER), (0.5, OTHER_GRIPPER)], False, (0.0, 0.5)),
        # A part of its joints is no other publisher.
        ([(0.0, 3), (0.2, GRIPPER), (0.5, GRIPPER[:1])], False, (0.0, 3.5)),
        ([(0.0, 3), (0.2, GRIPPER[:1]), (0.4, GRIPPER), (0.5, GRIPPER[1:])], False, (0.0, 3.5)),
        # A second arm beside the gripper, and one that comes when the gripper has left.
        ([(0.0, 3), (0.5, GRIPPER)], False, (0.0, 3.5)),
        ([(0.0, 2), (0.1, GRIPPER), (2.0, 3), (2.1, GRIPPER)], True, (4.0, 5.1)),
        ([(0.0, 2), (0.1, GRIPPER), (4.0, 1), (6.0, 2)], True, (8.0, 9.0)),
        # One of two grippers leaves: the other one is heard again.
        ([(0.0, 3), (0.1, GRIPPER), (0.2, OTHER_GRIPPER), (4.0, 2), (4.5, GRIPPER)], True, None),
        ([(0.0, 3), (0.1, GRIPPER), (0.2, OTHER_GRIPPER), (4.0, 2)], True, (6.0, 7.0)),
    ],
)
def test_sources_of_states_are_told_from_grippers(graph, script, begin, named):
    """A middleware such as Cyclone DDS numbers no messages: the publishers are counted."""
    times, said = named_sources(graph, script, begin)
    if named is None:
        assert not times and not said
    else:
        # A change is seen a step later, and the last step ends before its time.
        np.testing.assert_allclose([times[0], times[-1]], named, rtol=0.0, atol=2.5 * STEP_S)
        assert STATES in said and '/driver0, /driver1' in said


def test_a_killed_driver_still_listed_is_no_second_source(graph):
    sources = watched_sources(graph)
    graph.state_publishers = 2
    assert sources.check_sequence_number(None)
    assert not sources.check_sequence_number(5)  # with numbers
    graph.state_publishers = 1
    assert not sources.check_sequence_number(None)


def test_names_without_end_do_not_fill_the_memory(graph):
    counter = state_sources.StatePublisherCounter()
    for i in range(1000):
        counter.add_other_joints([f'joint{i}'], graph.now)
    assert counter.has_second_source(state_sources.MAX_JOINT_SETS + 2, graph.now, acts=False)
