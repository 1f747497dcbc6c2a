# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""No torque goes to a receiver of another target, or beside another sender."""

from contextlib import closing, ExitStack
from functools import partial
from itertools import cycle
import re
import time
from types import SimpleNamespace

from diagnostic_msgs.msg import DiagnosticStatus
import numpy as np
import pytest
from rclpy.utilities import get_rmw_implementation_identifier
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import SetBool, Trigger
from trajectory_msgs.msg import JointTrajectory

from franka_dynamics.control.settings import RECEIVER_PROFILES
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel
from franka_dynamics.ros.node.state_sources import SecondPublisherDetector
from franka_dynamics.ros.receivers import receiver_finder, receiver_kinds, receivers
from franka_dynamics.ros.receivers.receiver_kinds import (
    all_idle_reason,
    Receiver,
    ReceiverKind,
    refusal_reason,
)
from franka_dynamics.ros.receivers.receivers import ReceiverCheck, TorquePermission
from franka_dynamics.ros.topics import DESCRIPTION_QOS, STATE_QOS

from .conftest import COMMAND, FER, FER_GRAVITY, INCLINED, PATIENT

COMMANDS = 'feedforward: Command'
TORQUES = '/effort_controller/commands'
ARM = ReceiverKind.SIMULATED_ARM
LIGHT_ARM = ReceiverKind.COMPENSATED_ARM
SIMULATED = ReceiverKind.SIMULATED_CONTROLLER
REAL = ReceiverKind.REAL_CONTROLLER
OTHER = ReceiverKind.OTHER_CONTROLLER
UNSURE = ReceiverKind.UNDETERMINED
UNKNOWN = ReceiverKind.UNRECOGNISED
UNSEEN = ReceiverKind.UNSEEN
CHECKING, GRANTED, REFUSED = TorquePermission
TYPE = 'std_msgs/msg/Float64MultiArray'
HAS_MESSAGE_NUMBERS = get_rmw_implementation_identifier() != 'rmw_cyclonedds_cpp'
EVERY_S = 0.2  # a look by `judged` makes and destroys a publisher and a subscription


@pytest.mark.parametrize(
    ('target', 'found', 'wrong'),
    [
        *[(target, [], None) for target in RECEIVER_PROFILES],
        ('mujoco', [ARM], None),
        ('mujoco', [SIMULATED, UNKNOWN], None),  # such as `ros2 topic echo`
        ('mujoco', [UNKNOWN], 0),
        ('mujoco', [ARM, REAL], 1),
        ('gz_ros2_control', [SIMULATED], None),
        ('gz_ros2_control', [ARM], None),
        ('gz_ros2_control', [REAL], 0),
        ('franka_gazebo', [ARM], 0),
        ('franka_gazebo', [REAL], 0),
        ('fci', [REAL], None),
        ('fci', [UNKNOWN], None),  # a driver without ros2_control
        ('fci', [LIGHT_ARM], None),
        ('fci', [ARM], 0),  # it would fall
        ('mujoco', [LIGHT_ARM], 0),  # it would rise
        ('fci', [SIMULATED], 0),
        *[(target, [kind], 0) for target in RECEIVER_PROFILES for kind in (OTHER, UNSURE, UNSEEN)],
        ('mujoco', [ARM, OTHER], 1),
    ],
)
def test_a_receiver_is_refused_unless_the_target_expects_it(target, found, wrong):
    nodes = {f'/node{i}': Receiver(kind) for i, kind in enumerate(found)}
    said = refusal_reason(target, TORQUES, nodes)
    own_simulator = 'takes_torques_with_gravity of type std_srvs/srv/Trigger'
    assert (own_simulator in said) == (found == [UNKNOWN] and target == 'mujoco')
    for i in range(len(found)):
        assert (f'/node{i}' in said) == (i == wrong)
    assert set(receiver_kinds.EXPECTED_KINDS) == set(RECEIVER_PROFILES)


def test_a_controller_may_declare_its_only_target():
    service = {'/one/franka_dynamics/takes_torques_for_mujoco': ['std_srvs/srv/Trigger']}
    assert receiver_finder.declared_targets('/one', service) == ['mujoco']
    assert not receiver_finder.declared_targets('/two', service)
    assert receiver_finder.declared_kind('/one', service) is UNKNOWN


def test_torques_wait_for_a_controller_that_is_not_idle():
    idle = Receiver(SIMULATED, idle_reason='is inactive')
    works = Receiver(SIMULATED)
    echo = Receiver(UNKNOWN)
    assert f'/a {idle.idle_reason}' in all_idle_reason('mujoco', {'/a': idle, '/echo': echo})
    assert not all_idle_reason('mujoco', {'/a': idle, '/b': works})
    assert not all_idle_reason('mujoco', {}) and not all_idle_reason('fci', {'/driver': echo})


def test_a_receiver_that_carries_its_arm_follows_the_next_node(probe, arm, start_node, commands):
    """It has a PD of its own, or goes on with the torque of a killed node: both are measured."""
    for _ in range(2):
        node = start_node(target='mujoco')
        before = len(commands)

        def comes(before=before):
            arm.send(2, effort=FER_GRAVITY.tolist())
            return len(commands) > before + 50

        arm.wait_for_listener()
        probe.until(comes, 'torques')
        np.testing.assert_allclose(commands[-1].data, FER_GRAVITY, rtol=0, atol=1e-9)
        node.kill()


def test_a_receiver_that_is_found_late_clears_no_fault(probe, arm, start_node):
    start_node(target='fci', **INCLINED)
    arm.until_says(COMMANDS, 'running')  # nobody gets its torques
    for _ in range(300):
        arm.q[6] += 2e-3
        arm.send(velocity=[0.0] * 6 + [2.0])
    # It rests at a new position: the former one once more would be an old state.
    arm.q[6] += 1e-4
    arm.until_says('feedforward', 'fer_joint7 moves at')
    held = lambda: probe.told('feedforward', 'state') == 'holding'  # noqa: E731
    arm.until(held, 'the arm is held, and the fault latched')
    commands = probe.collect(Float64MultiArray, COMMAND)
    arm.until_says(COMMANDS, '/probe')
    arm.send(100)
    assert held() and not commands


@pytest.mark.parametrize('kind', [JointState, Float64MultiArray])
def test_beside_another_sender_there_is_no_first_torque(probe, arm, start_node, commands, kind):
    other = probe.create_publisher(kind, 'joint_states' if kind is JointState else COMMAND, 1)

    def speak():
        other.publish(arm.message() if kind is JointState else Float64MultiArray(data=[0.5] * 7))

    start_node(target='fci', **INCLINED)
    arm.wait_for_listener()
    # Of torques the probe collects its own, too.
    listeners = 1 if kind is JointState else 2
    probe.until(lambda: other.get_subscription_count() >= listeners, 'the node as a listener')
    said = 'a second node publishes' if kind is JointState else 'somebody else commands'

    # In turn, because a node that waits for the processor gets the newest state alone.
    turn = cycle((speak, lambda: arm.send(2)))

    def told():
        next(turn)()
        return probe.says(COMMANDS, said)

    probe.until(told, said)
    if kind is Float64MultiArray:  # of joint states the name may be discovered too late
        probe.until_says(COMMANDS, 'publishers listed: /probe')
    # The other one goes on, in turn: a source not seen for some seconds is taken to be gone.
    for _ in range(150):
        next(turn)()
        time.sleep(0.01)
    assert all(np.array_equal(one.data, [0.5] * 7) for one in commands)


def test_a_later_sender_is_shown_a_later_source_of_states_stops(probe, arm, start_node, commands):
    node = start_node(target='fci', **INCLINED)
    arm.until(lambda: len(commands) > 100, 'commands')
    other = probe.create_publisher(Float64MultiArray, COMMAND, 1)
    said = f'somebody else commands {TORQUES}'
    arm.until_says(COMMANDS, said)
    arm.until_says('feedforward', 'publishers listed: /probe)')
    assert probe.status('feedforward').level == 'WARN' and said in node.text
    second = probe.create_publisher(JointState, 'joint_states', 1)
    arm.until(second.get_subscription_count, 'a listener')
    if HAS_MESSAGE_NUMBERS:  # else nothing tells a message of a new publisher from the arm's
        second.publish(arm.message(position=[5.0] * 7))  # of one that might have been restarted
        count = len(commands)
        arm.until(lambda: len(commands) > count + 150, 'commands, before the second says more')
        probe.until_status('feedforward', state='running')
    probe.destroy_publisher(other)

    def node_names_two_sources():
        second.publish(arm.message(position=[5.0] * 7))  # where no FER can be
        return probe.says(COMMANDS, 'a second node publishes /joint_states')

    arm.until(node_names_two_sources, 'the node names the second source of joint states')
    assert probe.says(COMMANDS, ': /probe, /probe)')
    arm.until_says(COMMANDS, 'silent')
    # Diagnostics may arrive before the last command.
    probe.until(lambda: not any(commands[-1].data), 'zero')
    probe.destroy_publisher(second)
    # Its last states may still be on their way.
    probe.client.clear_fault()
    arm.until(lambda: probe.told('feedforward', 'state') == 'running', 'torques')


@pytest.mark.parametrize(
    ('numbers', 'found'),
    [
        ([*range(1, 500)], False),
        ([1, 2, 3, 50, 51, 52], False),  # lost messages
        ([*range(400, 500), *range(1, 1000)], False),  # killed and restarted at once
        ([1, 2, 1, 3, 2, 4, 3, 5], True),  # started together
        ([900, 901, 1, 902], False),  # one message, such as of one that ended
        ([900, 901, 1, 902, 2], True),
        # Two started together, of which a slow reader takes 300 messages each in turn.
        ([*range(1, 301), *range(1, 301)] + [*range(201, 501)], True),
        ([100, 101, 5000, 102, 5001, 103], True),  # one that has sent more
        ([100, 300, 301, 500, 501], False),  # a reader that pauses
        ([5000, 1, 2, 3], False),  # restarted before its second message came
    ],
)
def test_two_publishers_are_told_from_one_that_was_restarted(numbers, found):
    counts = SecondPublisherDetector()
    assert any(counts.add_sequence_number(number) for number in numbers) == found


def test_a_node_that_sees_few_states_listens_longer(probe, monkeypatch):
    monkeypatch.setattr(receivers, 'MIN_LISTENING_TIME_S', 0.0)
    publisher = probe.create_publisher(Float64MultiArray, COMMAND, 1)
    with closing(ReceiverCheck(probe, publisher)) as looking:
        looking.on_activation('fci', FER.joint_names)
        for _ in range(49):
            looking.count_state()
        looking.update_permission()
        assert looking.permission is CHECKING and looking.reason
        looking.count_state()
        # Nobody receives torques here, which is found out once it listens no longer.
        looking.update_permission()
        assert looking.permission is GRANTED and not looking.reason


def test_a_node_not_yet_in_the_graph_looks_for_receivers(probe, monkeypatch):
    with probe.neighbour('driver') as driver:
        driver.collect(Float64MultiArray, COMMAND)
        publisher = probe.create_publisher(Float64MultiArray, COMMAND, 1)
        probe.until(publisher.get_subscription_count, 'the driver')
        looking = ReceiverCheck(probe, publisher)
        monkeypatch.setattr(probe, 'get_publishers_info_by_topic', lambda _: [])
        monkeypatch.setattr(receivers, 'MIN_LISTENING_TIME_S', 0.0)
        monkeypatch.setattr(receivers, 'MIN_HEARD_STATE_COUNT', 0)
        monkeypatch.setattr(receiver_finder, 'WATCHING_TIME_S', 0.0)
        with closing(looking):
            looking.on_activation('fci', FER.joint_names)
            looking.count_state()
            probe.until(
                lambda: looking.update_permission() or looking.permission is GRANTED,
                'the receiver',
            )
            looking.update_permission()  # looks why torques do not arrive
            assert looking.receivers and not looking.delivery_problem


def judged(probe, name, target='mujoco'):
    """Return a check that waits for the name of receivers, which it then finds out."""
    of = {'node_namespace': '/', 'topic_type': TYPE, 'endpoint_gid': [7] * 16}
    of['qos_profile'] = STATE_QOS
    there = [SimpleNamespace(node_name='_NODE_NAME_UNKNOWN_', **of)]
    publisher = probe.create_publisher(Float64MultiArray, COMMAND, 1)
    looking = ReceiverCheck(probe, publisher)
    with closing(looking), pytest.MonkeyPatch.context() as patch:
        delays = 'MIN_LISTENING_TIME_S', 'REFUSAL_DELAY_AT_START_S'
        for one in (*delays, 'MIN_HEARD_STATE_COUNT'):
            patch.setattr(receivers, one, 0)
        patch.setattr(receiver_finder, 'WATCHING_TIME_S', 0)
        patch.setattr(probe, 'get_subscriptions_info_by_topic', lambda _, **options: there)
        looking.on_activation(target, FER.joint_names)
        looking.count_state()
        looking.update_permission()
        assert looking.permission is CHECKING
        there[0].node_name = name
        looking.update_permission()
    probe.destroy_publisher(publisher)  # asked again and again, they would delay discovery
    return looking


def test_only_a_declared_simulated_arm_is_one(probe):
    declared = receiver_kinds.DECLARATION_SERVICES[ARM].removeprefix('~/')
    with probe.neighbour('dashboard') as other:
        other.create_publisher(DiagnosticStatus, '~/status', DESCRIPTION_QOS)
        for kind, name in (
            (Trigger, f'/simulator/{declared}'),  # of another node's name
            (SetBool, f'~/{declared}'),
            (Trigger, '~/takes_torques_with_gravity'),
        ):
            other.create_service(kind, name, lambda _, answer: answer)
        known = partial(probe.get_service_names_and_types_by_node, 'dashboard', '/')
        probe.until(lambda: f'/dashboard/{declared}' in dict(known()), 'its services')
        for target in ('mujoco', 'gz_ros2_control'):
            assert judged(probe, 'dashboard', target).permission is REFUSED
            # No such node is there.
            assert judged(probe, 'simulator', target).permission is CHECKING


def test_a_declared_arm_is_taken_unless_its_name_is_anothers(probe):
    with probe.neighbour('arm') as arm:
        arm.declare(ARM)
        probe.until(
            lambda: judged(probe, 'arm').permission is not REFUSED,
            'the service',
            EVERY_S,
        )
        both = 'two nodes called /arm'
        with probe.neighbour('arm'):
            probe.until(lambda: both in judged(probe, 'arm').reason, 'both nodes', EVERY_S)
        probe.until(lambda: judged(probe, 'arm').permission is GRANTED, 'the arm alone', EVERY_S)
    both = 'two nodes called /again'
    with ExitStack() as ends:
        with probe.neighbour('again'):  # killed, and still listed
            ends.enter_context(probe.neighbour('again')).declare(ARM)
            probe.until(lambda: both in judged(probe, 'again').reason, 'both nodes', EVERY_S)
            assert judged(probe, 'again').permission is CHECKING
        probe.until(
            lambda: judged(probe, 'again').permission is GRANTED,
            'the arm alone',
            EVERY_S,
        )
    with probe.neighbour('light') as arm:
        arm.declare(LIGHT_ARM)
        granted = lambda: judged(probe, 'light', 'fci').permission is GRANTED  # noqa: E731
        probe.until(granted, 'the service', EVERY_S)
        assert judged(probe, 'light').permission is REFUSED


def logged_at(node, words):
    """Return the time [s] at which a node logged some words first."""
    line = next(one for one in node.text.splitlines() if words in one)
    return float(re.search(r'\[(\d+\.\d+)\]', line)[1])


def test_torques_that_nobody_gets_are_a_warning_that_says_why(probe, arm, start_node):
    node = start_node(target='fci', **INCLINED)

    def until_told(level, words):
        def told():
            one = probe.status('feedforward')
            both = probe.status(COMMANDS)
            return (one and both and one.level == both.level == level) and words in one.message

        arm.until(told, f'{level}: {words}')

    until_told('WARN', 'nobody receives')
    # It is logged later, because a launch file may start the receiver after the node.
    arm.until(lambda: 'nobody receives' in node.text, 'the log')
    began, told = (logged_at(node, words) for words in ('commanding', 'nobody receives'))
    assert told - began > 2.5
    with probe.neighbour('planner') as other:  # one node cannot have both types on a topic
        other.create_subscription(JointTrajectory, COMMAND, print, 1)
        until_told('WARN', '/planner takes trajectory_msgs/msg/JointTrajectory')
    other = probe.create_subscription(Float64MultiArray, COMMAND, print, DESCRIPTION_QOS)
    until_told('WARN', '/probe gets no torque')
    probe.forget()
    probe.collect(Float64MultiArray, COMMAND)  # as `ros2 topic echo`, which hides nothing
    until_told('WARN', '/probe gets no torque')
    probe.destroy_subscription(other)
    until_told('OK', 'torques are sent')
    assert probe.told(COMMANDS, 'receivers').startswith('/probe (neither')


def test_a_controller_of_whole_motions_needs_no_receiver(probe, arm, start_node):
    topic = '/trajectory_controller/joint_trajectory'
    start_node(
        target='fci',
        **INCLINED,
        remaps={**PATIENT['remaps'], 'feedforward/feedforward_trajectory': topic},
    )
    arm.until_says(COMMANDS, 'nobody receives')
    probe.create_subscription(JointTrajectory, topic, print, 1)
    arm.until(lambda: probe.status(COMMANDS).level == 'OK', 'nothing is missed')


def test_a_first_receiver_gets_nothing_before_it_is_known(probe, arm, start_node):
    start_node(target='mujoco', kp='[40.0]')
    arm.wait_for_listener()
    arm.until_says(COMMANDS, 'nobody receives')
    with probe.neighbour('driver') as driver:
        torques = driver.collect(Float64MultiArray, COMMAND)
        arm.until_says(COMMANDS, '/driver (neither')
        driver.spin(0.1)
        assert not torques
    probe.client.clear_fault()
    arm.until_says(COMMANDS, 'nobody receives')
    # Meanwhile somebody moves the arm. It is held where it is when the simulation takes torques.
    for _ in range(100):
        arm.q[6] += 1e-3
        arm.send(1, step_ns=5 * 10**6, velocity=[0.0] * 6 + [0.2])
    probe.declare(ARM)
    torques = probe.collect(Float64MultiArray, COMMAND)
    arm.until(lambda: torques, 'a torque')
    expected = NewtonEulerModel(FER).gravity(np.array(arm.q))
    np.testing.assert_allclose(torques[0].data, expected, rtol=0.0, atol=1e-3)


def test_a_sender_that_came_while_the_node_was_inactive_is_heard(probe, arm, start_node, commands):
    start_node(target='fci', **INCLINED)
    arm.until(lambda: len(commands) > 50, 'commands')
    assert probe.client.trigger_transition('deactivate') == 'inactive'
    other = probe.create_publisher(Float64MultiArray, COMMAND, 1)
    assert probe.client.trigger_transition('activate') == 'active'
    turn = cycle((lambda: other.publish(Float64MultiArray(data=[0.5] * 7)), lambda: arm.send(2)))

    def told():
        next(turn)()
        return probe.says(COMMANDS, 'somebody else commands')

    probe.until(told, 'the other sender is named')
