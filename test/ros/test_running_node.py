# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Running nodes: wrong joint states, real drivers, parameters, models from robot_description."""

from itertools import pairwise
from random import Random
import time

from diagnostic_msgs.msg import DiagnosticStatus
import numpy as np
import pytest
from rcl_interfaces.srv import SetParameters
from rclpy.event_handler import PublisherEventCallbacks
from rclpy.parameter import Parameter
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from trajectory_msgs.msg import JointTrajectory

import franka_dynamics as fd
from franka_dynamics.demo.multisine import multisine
from franka_dynamics.errors import DescriptionError, NotActiveError, SettingsError
from franka_dynamics.ros.clients.node_client import NodeClient
from franka_dynamics.ros.node import controller_factory, robot_description
from franka_dynamics.ros.node.feedforward_node import FeedforwardNode
from franka_dynamics.ros.parameter_tables import parameter_specs
from franka_dynamics.ros.status import StatusKey
from franka_dynamics.ros.topics import DESCRIPTION_QOS
from franka_dynamics.ros.trajectory_messages import reference_message
from franka_dynamics.urdf.writer import urdf_text

from .conftest import ArmStream, FER, FER_GRAVITY
from ..agreement import refuses

NAMES = list(FER.joint_names)
HOME = list(FER.home)
NODE = 'feedforward'
STATES = 'feedforward: Joint states'
COMMANDS = 'feedforward: Command'
LOAD = [3.0, 0.0, 0.0, 0.05, 3e-3, 0.0, 0.0, 3e-3, 0.0, 3e-3]
LOADED = fd.NewtonEulerModel(fd.load('fer', payload=LOAD)).gravity(FER.home)
# After the end of the ramp only rounding remains.
ATOL_NM = 1e-12


FR3 = fd.load('fr3')
FINGERS = ('fr3_finger_joint1', 'fr3_finger_joint2')
LEFT = [f'left_{name}' for name in FR3.joint_names]
BEST_EFFORT = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)


@pytest.mark.parametrize(
    ('extra', 'effort', 'milliseconds', 'qos'),
    [(FINGERS, [np.nan] * 9, 2, BEST_EFFORT), (LEFT, [0.0] * 14, 2, 1), ((), [], 5, 1)],
    ids=['fingers, NaN, best effort', 'two prefixes, zero effort', 'no effort'],
)
def test_states_of_drivers_suffice(extra, effort, milliseconds, qos, probe, commands, start_node):
    start_node(robot_type='fr3', target='fci')
    q = [*FR3.home, *[0.035] * len(extra)]
    arm = ArmStream(probe, [*FR3.joint_names, *extra], q, qos=qos)
    draw = Random(1)

    def come():
        rows = list(zip(arm.names, arm.q))
        draw.shuffle(rows)  # some drivers put joints into another order each time
        arm.names, arm.q = map(list, zip(*rows))
        arm.send(step_ns=milliseconds * 10**6, effort=effort)
        return len(commands) > 200

    probe.until(come, 'torques')
    # The robot adds the gravity torque itself, and nothing else acts on an arm that stands still.
    assert not any(np.any(one.data) for one in commands)


@pytest.mark.parametrize(
    ('names', 'changes', 'reason'),
    [
        ([f'fer_joint{k}' for k in range(1, 8)], {}, 'lacks fr3_joint1'),
        (LEFT, {}, 'it has left_fr3_joint1'),
        (FR3.joint_names, {'velocity': []}, '0 of velocity'),
        (
            FR3.joint_names,
            {'step_ns': 0},
            'header.stamp of the joint states is not set',
        ),
    ],
    ids=['another arm', 'prefix', 'no velocity', 'no stamp'],
)
def test_the_reason_for_silence_is_in_log_status_and_answer(
    names, changes, reason, probe, commands, start_node
):
    node = start_node(robot_type='fr3', target='fci')
    arm = ArmStream(probe, names, FR3.home)
    arm.stamp_ns = 0
    arm.wait_for_listener()

    def told():
        arm.send(**changes)
        logged = 'no torque yet: ' in node.text and reason in node.text
        return logged and probe.says('feedforward', reason)

    probe.until(told, reason)
    with NodeClient('feedforward', 20.0, lambda: arm.send(**changes)) as client:
        assert reason in client.status_sentence()
    assert not commands


# The numbers in the URDF have finitely many decimals.
URDF_ATOL_NM = 1e-6


@pytest.fixture
def describe(probe):
    publisher = probe.create_publisher(String, 'robot_description', DESCRIPTION_QOS)
    return lambda text: publisher.publish(String(data=text))


def test_a_late_description_begins_and_a_change_stops(probe, arm, start_node, describe, commands):
    node = start_node(target='mujoco', model_source='robot_description')
    gravity = probe.collect(JointState, '/feedforward/gravity')
    probe.until(lambda: probe.count_subscribers('robot_description') > 0, 'it is waited for')
    assert node.running
    urdf = urdf_text(FER)
    describe(urdf)
    arm.until(lambda: gravity, 'a gravity torque')
    np.testing.assert_allclose(gravity[-1].effort, FER_GRAVITY, rtol=0, atol=URDF_ATOL_NM)
    describe(urdf)  # the same text once more is no change
    arm.until(lambda: len(commands) > 100, 'commands')
    describe(urdf.replace('<robot ', '<!-- another --><robot ', 1))
    arm.until_says('feedforward: Command', 'robot_description has changed')
    arm.until_says('feedforward: Command', 'silent')


@pytest.mark.parametrize(
    ('target', 'before', 'after', 'named'),
    [
        (
            'mujoco',
            f'{FER.links[3].mass:.6f}',
            '4.587895',
            'fer_joint4',
        ),  # another arm's mass
        ('fci', 'rpy="0 0 0"', 'rpy="0 0.5 0"', 'mount_tilt_compensated_by'),
    ],
)
def test_an_unusable_description_is_refused_by_what_is_wrong(
    target, before, after, named, start_node, describe, commands
):
    urdf = urdf_text(FER)
    assert before in urdf
    describe(urdf.replace(before, after, 1))
    node = start_node(target=target, model_source='robot_description')
    node.wait(status=1)
    assert named in node.text and 'Traceback' not in node.text
    assert not commands


@pytest.mark.parametrize('target', ['fci', 'franka_gazebo'])
def test_a_tilt_by_gravity_vector_is_asked_about(target, start_node, commands):
    node = start_node(target=target, gravity_vector='[9.81,0.0,0.0]')
    node.wait(status=1)
    assert 'mount_tilt_compensated_by' in node.text and 'Traceback' not in node.text
    assert not commands


def test_a_description_published_volatile_is_named(probe, monkeypatch):
    matched = []
    incompatible = []
    events = PublisherEventCallbacks(
        matched=matched.append,
        incompatible_qos=lambda one: incompatible.append(one.total_count),
    )
    with probe.neighbour('publisher') as other:
        options = {'event_callbacks': events}
        other.create_publisher(String, 'robot_description', QoSProfile(depth=1), **options)
        values = {spec.name: spec.default for spec in parameter_specs('feedforward')}
        monkeypatch.setattr(robot_description, 'ROBOT_DESCRIPTION_TIMEOUT_S', 2.0)
        probe.until(lambda: probe.count_publishers('robot_description'), 'the publisher')
        with refuses(DescriptionError, '/publisher', 'volatile'):
            values['model_source'] = 'robot_description'
            controller_factory.arm_and_urdf_from_parameters(probe, values, lambda: False)
        for _ in range(20):
            other.spin()
    assert not matched and incompatible and incompatible[-1] == 1


@pytest.mark.parametrize('robot_type', ['fr3', 'rpr'])
def test_the_model_of_a_simulated_arm_has_its_drives(robot_type, make_node):
    given = {
        'target': 'mujoco',
        'model_source': 'simulated_arm',
        'robot_type': robot_type,
    }
    given['terms.friction'] = 'true' if robot_type == 'fr3' else 'false'
    words = [word for name, value in given.items() for word in ('-p', f'{name}:={value}')]
    node = make_node(FeedforwardNode, *words)
    node.trigger_configure()
    found = node.controller.description
    listed = fd.load(robot_type)
    assert found.friction == (listed.friction or listed.simulated_friction)
    drives = listed.simulated_armature
    more = 0.0 if drives is None else drives
    mass = fd.NewtonEulerModel(found).mass_matrix(listed.home)
    expected = fd.NewtonEulerModel(listed).mass_matrix(listed.home) + np.eye(listed.n) * more
    np.testing.assert_allclose(mass, expected, rtol=0.0, atol=1e-12)


@pytest.mark.parametrize(
    ('robot_type', 'target', 'free'),
    [
        ('fr3', 'gz_ros2_control', ['fr3_joint7']),
        ('fr3', 'mujoco', []),  # with rotors
        ('fer', 'gz_ros2_control', []),
    ],
)
def test_a_joint_that_default_gains_leave_free_is_told(robot_type, target, free, make_node, capfd):
    given = {'target': target, 'kp': '[-1.0]', 'robot_type': robot_type}
    words = [word for name, value in given.items() for word in ('-p', f'{name}:={value}')]
    node = make_node(FeedforwardNode, *words)
    node.trigger_configure()
    warned = [line for line in capfd.readouterr().err.splitlines() if '[WARN]' in line]
    assert [f'{", ".join(free)} ' in line for line in warned] == [True] * len(free)
    # One radian off, its spring does not overcome the friction of a wrist, 2 % of its limit.
    weak = np.array(node.get_parameter('kp').value) < 0.02 * fd.load(robot_type).limit('effort')
    assert list(np.array(fd.load(robot_type).joint_names)[weak]) == free


# The last of this file, because the node of `world` ends with it.
@pytest.fixture(scope='module')
def world(node_world):
    world = node_world(target='mujoco')
    world.arm.until(lambda: len(world.commands) > 50, 'commands')
    return world


MISSING = {'name': NAMES[:6], 'position': HOME[:6], 'velocity': [0.0] * 6, 'effort': []}


@pytest.mark.parametrize(
    ('changes', 'sentence'),
    [
        (MISSING, 'lacks fer_joint7; it has fer_joint1'),
        ({'position': [*HOME[:2], np.nan, *HOME[3:]]}, 'fer_joint3 is nan'),
    ],
)
def test_a_state_at_fault_is_named_and_the_arm_stopped(world, changes, sentence):
    world.commands_come()
    # Forget the diagnostics of the previous test, which may contain the same sentence.
    world.probe.forget()

    def told(subject, text):
        # As fast as possible: a stop that waits for a pause of states would never end.
        world.arm.send(20, pause=0.0, **changes)
        return world.probe.says(subject, text)

    world.probe.until(lambda: told(STATES, sentence), f'diagnostics say: {sentence}')
    # The stop sequence ends at the torque that holds the arm.
    world.probe.until(lambda: told(COMMANDS, 'silent'), 'the node is silent')
    # Diagnostics may arrive before the last command, which was sent earlier.
    commands = world.commands
    world.probe.until(lambda: np.allclose(commands[-1].data, FER_GRAVITY, 0, 1e-9), 'its end')
    count = len(world.commands)
    world.arm.send(50, **changes)
    for one in world.commands[count:]:
        np.testing.assert_allclose(one.data, FER_GRAVITY, rtol=0, atol=1e-9)


def test_a_gripper_on_the_arms_topic_does_not_stop_the_arm(world):
    second = world.probe.create_publisher(JointState, 'joint_states', 1)
    world.probe.until(second.get_subscription_count, 'the node listens')
    gripper = {
        'name': ['finger_joint1'],
        'position': [0.01],
        'velocity': [0.0],
        'effort': [],
    }
    # Where messages have no numbers, a publisher whose joints are not known may be a second arm's.
    second.publish(world.arm.message(**gripper))
    world.commands_come()
    stops = world.probe.told(COMMANDS, 'stops')
    before = len(world.commands)
    for _ in range(200):
        world.arm.send(1, effort=[np.nan] * 7)  # no measurement
        second.publish(world.arm.message(**gripper))
    world.arm.until(lambda: len(world.commands) > before + 100, 'commands go on')
    world.probe.until(lambda: world.probe.told(COMMANDS, 'stops') == stops, 'no stop')
    world.probe.destroy_publisher(second)


def settle(world, expected):
    """Publish states until the command is the expected torque."""
    world.arm.until(
        lambda: np.allclose(world.commands[-1].data, expected, rtol=0, atol=ATOL_NM),
        f'a command of {expected}',
    )


def test_a_payload_put_on_and_taken_off_leaves_torques_the_same(world):
    settle(world, FER_GRAVITY)
    before = list(world.commands[-1].data)
    world.probe.client.set_parameters({'payload': LOAD})
    settle(world, LOADED)
    world.probe.client.set_parameters({'payload': [0.0] * 10})
    settle(world, FER_GRAVITY)
    world.arm.send(100)
    assert list(world.commands[-1].data) == before


@pytest.mark.parametrize(
    ('values', 'reason'),
    [
        ({'scale': 0.5, 'kd': [-1.0]}, 'kd must be within 0'),
        ({'robot_type': 'fr3'}, 'read-only'),
        ({'kp': [250.0] * 7}, 'swing'),
        ({'terms.no_such': 1.0}, 'terms.no_such: no such parameter'),
        ({'target': 'x' * 10**6}, 'target'),
        ({'scale': np.nan}, 'scale'),
        ({'payload': [np.nan] * 10}, 'payload'),
        ({'scale': True}, 'type bool; it must be double'),
    ],
    ids=lambda one: ' '.join(one) if isinstance(one, dict) else one,
)
def test_of_values_at_fault_none_is_taken_and_the_reason_is_told(world, values, reason):
    settle(world, FER_GRAVITY)
    client = world.probe.client
    with refuses(SettingsError, reason):
        client.set_parameters(values)
    if len(values) == 1:  # one by one, as `ros2 param set` does
        ((name, value),) = values.items()
        given = [Parameter(name, value=value).to_parameter_msg()]
        (result,) = client.call_service(SetParameters, 'set_parameters', parameters=given).results
        assert not result.successful and reason in result.reason
    world.arm.send(100)
    np.testing.assert_allclose(world.commands[-1].data, FER_GRAVITY, rtol=0, atol=ATOL_NM)


def test_changes_that_need_each_other_are_taken_together(world):
    # Stiffness without damping would swing; with it, it may even be late on a busy machine.
    stiff = {'kp': [250.0] * 4 + [25.0, 25.0, 5.0]}
    with refuses(SettingsError, 'swing'):
        world.probe.client.set_parameters(stiff)
    world.probe.client.set_parameters({**stiff, 'kd': [4.0] * 4 + [0.5, 0.5, 0.1]})
    world.probe.client.set_parameters({'kp': [0.0], 'kd': [0.0]})
    settle(world, FER_GRAVITY)


@pytest.mark.parametrize(
    ('parameters', 'step_ns', 'clock', 'began', 'words'),
    [
        ({'period': 0.005}, 33 * 10**6, False, 100, ('30 Hz', 'franka/joint_states')),
        (
            {'use_sim_time': True},
            10**6,
            False,
            100,
            ('use_sim_time is', 'nobody publishes /clock'),
        ),
        ({}, 10**6, True, 100, ('/clock comes from /probe', 'set use_sim_time true')),
        ({}, 10**6, False, 100, ('chrony', 'max_state_age')),
        # A real arm whose clock is off, beside somebody's simulation.
        ({}, 10**6, True, None, ('chrony', 'max_state_age')),
    ],
)
def test_the_cause_of_rare_or_misdated_states_is_named(
    parameters, step_ns, clock, began, words, probe, arm, start_node
):
    arm.stamp_ns = int(1e9 * (began or time.time() - 3600.0))
    if clock:
        probe.create_publisher(Clock, '/clock', 1)
    start_node(**{'max_state_age': 0.1, **parameters})
    arm.wait_for_listener()

    def told():
        arm.send(step_ns=step_ns)
        one = probe.status(STATES)
        return one and all(word in one.message for word in words) and 'loop' not in one.message

    probe.until(told, str(words))


def test_an_unchanged_status_is_published_again(world, start_arm):
    """`ros2 topic echo` then subscribes without durability, as here."""
    start_arm(robot_type='fr3', remaps={'__ns': '/other'})
    world.commands_come()
    told = {NODE: [], 'other/simulator': []}
    for name, statuses in told.items():
        world.probe.create_subscription(DiagnosticStatus, f'{name}/status', statuses.append, 1)

    def comes_again(statuses):  # one may change in between
        said = [(one.level, one.message) for one in statuses]
        return any(one == following for one, following in pairwise(said))

    world.arm.until(lambda: all(map(comes_again, told.values())), 'the same status again')


@pytest.fixture(scope='module')
def requests(world):
    """Return a publisher of motions; `planned` and `inertia` are their torques and M ddq."""
    publisher = world.probe.create_publisher(JointTrajectory, f'{NODE}/reference', 10)
    world.probe.until(publisher.get_subscription_count, 'a listener')
    publisher.planned = world.probe.collect(
        JointTrajectory, f'{NODE}/feedforward_trajectory', reliable=True
    )
    publisher.inertia = world.probe.collect(JointState, f'{NODE}/inertia_torque')
    # Then the node knows the earlier subscriptions, too.
    world.arm.until(lambda: publisher.inertia, 'M ddq at rest')
    return publisher


def latest_report(world, key):
    """Return a value of the node's latest report about a motion, '' before the first."""
    reports = world.probe.references
    return reports[-1].values[key] if reports else ''


def reference_counts(world):
    """Return how many motions the node has counted, by what became of them."""
    states = 'accepted', 'finished', 'interrupted', 'refused'
    return {one: int(world.probe.told(COMMANDS, f'references {one}') or 0) for one in states}


def until_counted(world, before, **more):
    """Wait until the counts in diagnostics are those before and some more."""
    expected = {name: count + more.get(name, 0) for name, count in before.items()}
    world.arm.until(lambda: reference_counts(world) == expected, f'the counts {expected}')


def named_motion():
    """Return a motion, long enough for a busy machine, whose sender names it."""
    message = reference_message(multisine(FER, 20.0, 0.001))
    message.header.frame_id = 'x' * 100
    return message


def send_impossible_state(world):
    """Publish a state that may be another arm's, which is a fault."""
    world.arm.send(1, position=(np.array(HOME) + 0.3).tolist())


def test_a_motion_is_told_accepted_followed_and_finished(world, requests):
    world.commands_come()
    world.arm.until_says(COMMANDS, 'running')
    before = reference_counts(world)
    planned = len(requests.planned)
    world.probe.references.clear()
    requests.publish(reference_message(multisine(FER, 2.0, 0.2)))
    inertia = requests.inertia
    world.arm.until(lambda: np.abs(inertia[-1].effort).max() > 0.1, 'M ddq of it')
    world.arm.until(lambda: not np.any(inertia[-1].effort), 'its end')
    world.arm.until(lambda: latest_report(world, 'state') == 'finished', 'the report of its end')
    world.arm.until(lambda: len(requests.planned) > planned, 'its torques')
    states = [one.values['state'] for one in world.probe.references]
    assert states == ['accepted', 'following', 'finished']
    assert requests.planned[-1].header.stamp.sec > 0
    until_counted(world, before, accepted=1, finished=1)


def test_a_motion_that_a_fault_stops_is_told_with_its_reason(world, requests):
    world.commands_come()
    world.arm.until_says(COMMANDS, 'running')
    before = reference_counts(world)
    world.probe.references.clear()
    requests.publish(named_motion())
    world.arm.until(lambda: latest_report(world, 'state') == 'following', 'it is followed')

    def interrupted():
        send_impossible_state(world)
        return latest_report(world, 'state') == 'interrupted'

    world.probe.until(interrupted, 'the interruption')
    assert 'fer_joint1' in latest_report(world, 'reason')
    assert latest_report(world, 'frame_id') == 'x' * 64
    *others, remedy = [one.values[StatusKey.REMEDY] for one in world.probe.references]
    assert remedy and not any(others)
    until_counted(world, before, accepted=1, interrupted=1)


def test_a_motion_after_a_fault_is_refused_with_its_remedy(world, requests):
    world.commands_come()
    world.arm.until_says(COMMANDS, 'running')

    def faulty():
        send_impossible_state(world)
        return world.probe.status(COMMANDS).level == 'ERROR'

    world.probe.until(faulty, 'a fault')
    before = reference_counts(world)
    planned = len(requests.planned)
    requests.publish(named_motion())
    world.probe.until(lambda: latest_report(world, 'state') == 'refused', 'the refusal')
    assert latest_report(world, StatusKey.REFUSAL_ERROR_TYPE) == NotActiveError.__name__
    assert 'franka-dynamics node clear' in latest_report(world, 'reason')
    assert latest_report(world, 'frame_id') == 'x' * 64
    until_counted(world, before, refused=1)
    assert world.probe.told(COMMANDS, 'state') == 'silent'
    assert len(requests.planned) == planned
