# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What a listener finds in a system: `node state`, the live view, and each line of `doctor`."""

import json
import math
import os
import shutil
import subprocess
import sys
import time
from types import SimpleNamespace

import numpy as np
import pytest
from rclpy.node import Node
from rclpy.serialization import serialize_message
from rosbags.rosbag2 import Reader
from sensor_msgs.msg import JointState

from franka_dynamics.arm import load
from franka_dynamics.cli import doctor
from franka_dynamics.cli.main import main
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel
from franka_dynamics.errors import SettingsError
from franka_dynamics.report.json_types import json_text
from franka_dynamics.ros import status
from franka_dynamics.ros.clients import machine_checks as machine
from franka_dynamics.ros.clients import system_checks as system
from franka_dynamics.ros.clients.machine_checks import GOOD, NOTE, TO_DO
from franka_dynamics.ros.clients.recording_session import record_bag, Recorder, RecordingProgress
from franka_dynamics.ros.messages import seconds_to_stamp
from franka_dynamics.ros.status import fault_sentences, NodeSnapshot, NodeStatus
from franka_dynamics.ros.topic_listener import (
    ArmPositionListener,
    full_name,
    TopicListener,
)

from .conftest import FER, LOCKSTEP, PATIENT
from ..processes import TIMEOUT_S

ARM = load('fer', prefix='left_')
NAMED = {'robot_type': 'fer', 'arm_prefix': 'left_'}


def test_json_of_an_arm_in_a_namespace_has_torques_and_limits(launch, probe, capsys, monkeypatch):
    # Often a node was silent for longer than this: then `state` waits until it is heard again.
    # Both nodes, which speak once per second, must be heard within it at once.
    monkeypatch.setattr(status, 'SILENCE_TIMEOUT_S', 0.6)
    remap = {'__ns': '/left'}
    launch('simulator_node', **LOCKSTEP | NAMED, remaps=remap)
    more = {'remaps': remap | PATIENT['remaps'], 'target': 'mujoco', 'kp': [-1.0]}
    launch('feedforward_node', **PATIENT | NAMED | more)
    probe.until_status('left/feedforward', state='running')
    asked = [
        'node',
        'state',
        '--json',
        f'--timeout={TIMEOUT_S}',
        '--node=/left/feedforward',
    ]
    expected = NewtonEulerModel(ARM).gravity(ARM.home)
    answer = {}
    node = {}

    def told():
        assert main(asked) == 0
        answer.update(json.loads(capsys.readouterr().out))
        node.update(*(one for one in answer['nodes'] if one['node'] == 'left/feedforward'))
        gravity = node['torques']['gravity']['effort']
        actual = [gravity[joint] for joint in ARM.joint_names]
        # A state that is late on a busy machine comes without what is measured.
        is_measured = node['statuses']['Joint states']['values']['effort'] == 'measured'
        return is_measured and np.allclose(actual, expected, rtol=0, atol=1e-6)

    probe.until(told, 'the torque that holds')
    assert answer['state'] == 'active'
    assert node['torque_limits'] == dict(zip(ARM.joint_names, ARM.limit('effort')))
    # The rate of received states: on a busy machine some are lost.
    assert 0.0 < node['statuses']['Joint states']['values']['rate [Hz]'] < 1001.0
    assert node['statuses']['Command']['values']['state'] == 'running'
    assert node['statuses']['Command']['values']['rate [Hz]'] > 0.0


def test_the_json_of_a_view_has_null_for_unknown():
    def view(heard, level='OK', message='as it should be'):
        one = NodeSnapshot('left/feedforward')
        values = {'published': '500', 'latency p50 [us]': '103.5', 'age [ms]': 'nan'}
        one.store_status(NodeStatus(one.name, 'Command', level, message, values), heard)
        return one

    shown = view(10.0)
    shown.torques['gravity'] = JointState(name=('a', 'b'), effort=(1.5, float('nan')))
    data = json.loads(json_text(shown.as_dict(10.5)))
    assert data['torques']['gravity']['effort'] == {'a': 1.5, 'b': None}
    values = data['statuses']['Command']['values']
    assert values == {'published': 500, 'latency p50 [us]': 103.5, 'age [ms]': None}
    assert data['silent'] is False
    broken = view(10.0, 'ERROR', 'somebody else commands')
    assert fault_sentences([shown, broken, view(1.0)], 10.0) == [
        'left/feedforward: Command: somebody else commands',
        'left/feedforward has been silent for 9.0 s.',
    ]


def test_what_another_program_sends_as_a_number_is_read_as_nan():
    snapshot = NodeSnapshot('driver')
    snapshot.store_status(NodeStatus('driver', 'Joint states', 'OK', '', {'rate [Hz]': 'fast'}), 0)
    limits = {'torque limit, j1 [N m]': 'none'}
    snapshot.store_status(NodeStatus('driver', 'Arm', 'OK', '', limits), 0)
    assert math.isnan(snapshot.value_of('Joint states', 'rate [Hz]'))
    assert math.isnan(snapshot.torque_limits['j1'])


def test_stamps_that_begin_at_zero_or_anew_span_the_recording():
    connect = lambda topic, *_, **__: SimpleNamespace(topic=topic)  # noqa: E731
    writer = SimpleNamespace(add_connection=connect, write=lambda *_: None)
    progress = RecordingProgress(state_topic='/states')
    with Recorder(['a'], writer, None) as recorder:
        recorder.add_topic('/states', JointState)
        (subscription,) = recorder.node.subscriptions
        for stamp in (1000.0, 0.0, 0.5, 1.5):
            message = JointState(name=['a'], position=[0.0], velocity=[0.0])
            message.header.stamp = seconds_to_stamp(stamp)
            subscription.callback(serialize_message(message))
            recorder.write_messages(progress)
    assert progress.state_count == 4
    assert progress.stamp_span == 1.5


LEFT = '/sim/left/feedforward'
RIGHT = '/sim/right/feedforward'
ROOT = '/feedforward'


@pytest.mark.parametrize(
    ('name', 'present', 'full'),
    [
        ('feedforward', {LEFT}, LEFT),
        ('feedforward', {LEFT, ROOT}, ROOT),
        ('feedforward', set(), ROOT),
        ('feedforward', {'/feedforward_of_another'}, ROOT),
        ('left/feedforward', {LEFT, RIGHT}, LEFT),
        (RIGHT, {LEFT}, RIGHT),
    ],
)
def test_a_name_is_of_the_root_or_the_only_other_namespace(name, present, full):
    assert full_name(name, present, 'node') == full


def test_a_topic_of_a_nodes_own_name_is_not_taken_for_the_node(make_node):
    node = make_node(Node, node_name='feedforward', namespace='/sim/left')
    # The feedforward node has a topic of its own name.
    node.create_publisher(JointState, '~/feedforward', 1)
    node.create_publisher(JointState, 'joint_states', 1)
    with TopicListener('finder') as listener:
        assert listener.find_node_name('feedforward', TIMEOUT_S) == LEFT
        topics = listener.find_topic_names(['joint_states'], TIMEOUT_S)
    assert topics == ['/sim/left/joint_states']


def test_an_environment_in_which_ros_starts_nothing_is_named(monkeypatch):
    monkeypatch.setenv('ROS_DOMAIN_ID', 'lab')
    with pytest.raises(SettingsError, match='ROS_DOMAIN_ID'):
        TopicListener('anything')


def test_positions_are_read_by_name_or_told_missing(arm, probe):
    with ArmPositionListener(FER.joint_names, 'joint_states') as listener:
        assert listener.read_position() is None and 'waiting for' in listener.problem
        arm.wait_for_listener()
        seen = []

        def comes(**changes):
            arm.send(2, **changes)
            seen.append(listener.read_position())
            return (seen[-1] is None) == bool(changes) and (not changes or listener.problem)

        probe.until(comes, 'positions')
        np.testing.assert_array_equal(seen[-1], FER.home)
        others = list(FER.joint_names)[::-1]
        probe.until(lambda: comes(name=['other', *others[1:]]), 'a refusal')
        assert FER.joint_names[-1] in listener.problem
        probe.until(lambda: comes(position=[np.nan] * 7), 'a refusal of NaN')
        arm.names = others
        arm.q = list(FER.home[::-1])
        probe.until(comes, 'positions in another order')
        np.testing.assert_array_equal(seen[-1], FER.home)


def test_a_view_of_an_ambiguous_name_leaves_no_node_behind(probe):
    topics = [f'{space}/joint_states' for space in ('one', 'two')]
    publishers = [probe.create_publisher(JointState, topic, 1) for topic in topics]
    with pytest.raises(SettingsError, match='joint_states may be topics') as refusal:
        ArmPositionListener(FER.joint_names, 'joint_states')
    probe.until(lambda: 'view' not in probe.get_node_names(), 'the end of its node')
    assert len(publishers) == 2 and refusal  # which holds what the view has made


JOINT_STATES = '/joint_states'
COMMAND = '/effort_controller/commands'


class Graph:
    """A node's view of topics and their publishers."""

    def __init__(self, listeners=0, **publishers):
        self.publishers = {f'/{topic}': names for topic, names in publishers.items()}
        self.listeners = listeners

    def get_fully_qualified_name(self):
        return '/doctor'

    def get_publishers_info_by_topic(self, topic):
        names = self.publishers.get(topic, ())
        return [SimpleNamespace(node_namespace='/', node_name=name) for name in names]

    def get_topic_names_and_types(self):
        return [(topic, [system.JOINT_STATE_TYPE]) for topic in self.publishers]

    def count_publishers(self, topic):
        return len(self.publishers.get(topic, ()))

    def count_subscribers(self, _topic):
        return self.listeners


def heard(count=300, rate=1000.0, start=None, effort=True, groups=1):
    """Return received joint states, 1 ms old, or stamped from `start` on."""
    now = time.time()
    age = 1e-3 if start is None else now - start
    stamps = [now - age + k / rate for k in range(count)]
    arrivals = [stamp + age for stamp in stamps]
    joints = {frozenset([f'joint{i}']) for i in range(groups)}
    return system.StatesSeen(arrivals, stamps, effort, joints)


# A node's own torques are not proposed as joint states.
OWN = {f'feedforward/{one}': ['feedforward'] for one in ('gravity', 'mass_matrix')}
LISTED = Graph(**{'f/joint_states': ['d'], 'other': ['o'], 'a/states': ['a']}, **OWN)
DRIVER = Graph(joint_states=['driver'])
TWINS = Graph(joint_states=['simulator', 'simulator'])
SLOW = heard(count=50, start=3.0)
SLOW.arrivals = [k / 49.0 for k in range(50)]  # stamped 1 ms apart


def says(level, said, state='running'):
    return NodeStatus('', '/ff', level, said, {'state': state})


def states(graph, what, is_simulated=False):
    return system.joint_state_checks(graph, JOINT_STATES, what, is_simulated=is_simulated)


def stamps(what, is_simulated=False):
    return system.stamp_checks(what, is_simulated=is_simulated)


def commands(listeners, *names):
    graph = Graph(listeners)
    graph.publishers[COMMAND] = names
    return system.command_checks(graph, COMMAND)


def node(status):
    return system.node_checks('/ff', status)


def arm(status):
    return system.arm_checks('/simulator', status)


MINUTE_AGO = time.time() - 60.0


@pytest.mark.parametrize(
    ('found', 'subject', 'level', 'text'),
    [
        (states(DRIVER, heard()), 'joint states', GOOD, '1000 Hz on /joint_states from /driver'),
        (states(Graph(), heard(0)), 'joint states', TO_DO, '/joint_states'),
        (states(LISTED, heard(0)), 'joint states', TO_DO, '/f/joint_states, /a/states, /other'),
        (states(DRIVER, heard(9, 30.0)), 'joint states', TO_DO, 'a command needs 200 Hz'),
        (states(TWINS, heard()), 'joint states', TO_DO, '2 nodes publish on one topic'),
        (states(DRIVER, SLOW), 'joint states', TO_DO, '49 Hz'),
        (states(DRIVER, SLOW, True), 'joint states', GOOD, '1000 Hz of simulated time'),
        (states(DRIVER, heard()), 'measured torque', GOOD, 'effort is there'),
        (states(DRIVER, heard(effort=False)), 'measured torque', NOTE, 'missing, zero or NaN'),
        (stamps(heard()), 'clock', GOOD, 'stamps are 1 ms old'),
        (stamps(heard(start=MINUTE_AGO)), 'clock', TO_DO, 'chrony'),
        (stamps(heard(start=5.0)), 'clock', TO_DO, 'set max_state_age to 0'),
        (stamps(heard(start=5.0), True), 'clock', GOOD, 'simulated time'),
        (commands(0), 'commands', NOTE, 'nobody publishes'),
        (commands(1, 'feedforward'), 'commands', GOOD, '/feedforward publishes on'),
        (commands(0, 'feedforward'), 'commands', NOTE, '0 listen'),
        (commands(1, 'a', 'b'), 'commands', TO_DO, '/a, /b all publish'),
        (node(says('OK', 'torques are sent')), 'node', GOOD, '/ff: running: torques are sent'),
        (node(says('WARN', 'nobody receives')), 'node', NOTE, '/ff: running: nobody receives'),
        (node(says('ERROR', 'twice')), 'node', TO_DO, '/ff: running: twice'),
        (node(says('WARN', 'it brakes', 'braking')), 'node', TO_DO, '/ff: braking: it brakes'),
        (node(says('STALE', 'no state', 'silent')), 'node', TO_DO, '/ff: silent: no state'),
        (node(None), 'node', TO_DO, '/ff runs, but'),
        (arm(says('OK', '', 'following')), 'simulated arm', GOOD, '/simulator: following'),
        (arm(says('STALE', '', 'waiting')), 'simulated arm', NOTE, '/simulator: waiting'),
        (arm(says('ERROR', '', 'fault')), 'simulated arm', TO_DO, '/simulator: fault'),
    ],
)
def test_each_line_about_a_system_has_its_level(found, subject, level, text):
    assert any(line[:2] == (subject, level) and text in line[2] for line in found)


@pytest.mark.parametrize(
    ('start', 'clocks', 'simulators', 'simulated'),
    [
        (MINUTE_AGO, ['gazebo'], [], False),  # somebody else's
        (5.0, ['gazebo'], [], True),
        (5.0, [], [], False),
        (MINUTE_AGO, [], ['/simulator'], True),
    ],
    ids=('of another', 'Gazebo', 'no clock', 'simulated arm'),
)
def test_a_real_arm_beside_a_simulation_is_not_simulated(start, clocks, simulators, simulated):
    graph = Graph(clock=clocks)
    assert system.is_time_simulated(graph, heard(start=start), simulators) is simulated


def test_a_gripper_on_the_topic_of_the_arm_is_no_second_source():
    found = list(states(TWINS, heard(groups=2)))
    assert not any(one.level == TO_DO for one in found)


@pytest.mark.parametrize(
    'variables, level, text',
    [
        (
            {},
            GOOD,
            'domain 0, discovery SUBNET by default (sim uses LOCALHOST, and is heard only',
        ),
        ({}, NOTE, 'rmw_fastrtps_cpp, the default, is known for overruns'),
        ({'ROS_DOMAIN_ID': ''}, GOOD, 'domain 0, discovery SUBNET'),
        ({'ROS_LOCALHOST_ONLY': '1'}, NOTE, 'overrules the discovery range'),
        ({'ROS_DISCOVERY_SERVER': 'a:1'}, GOOD, 'discovery server a:1'),
        (
            {'ROS_DISCOVERY_SERVER': 'a:1', 'ROS_SUPER_CLIENT': '0'},
            TO_DO,
            'hides nodes',
        ),
        ({'ROS_DOMAIN_ID': '162'}, NOTE, 'any program may take a port'),
        ({'ROS_DOMAIN_ID': '215'}, GOOD, 'domain 215'),
        ({'ROS_DOMAIN_ID': '233'}, TO_DO, 'choose one from 0 to 101'),
        ({'ROS_DOMAIN_ID': '²'}, TO_DO, 'choose one from 0 to 101'),
        (
            {'FASTDDS_DEFAULT_PROFILES_FILE': '/no'},
            TO_DO,
            'which does not exist; unset it',
        ),
    ],
)
def test_settings_of_the_network_are_told(variables, level, text):
    assert any(one.level == level and text in one.text for one in machine.dds_checks(variables))


def test_the_age_of_a_state_is_its_age_when_it_came():
    what = heard(0)
    message = JointState()
    message.header.stamp.sec = 100
    what.add_state(message, 100.005)  # whenever a reader looks
    (told,) = stamps(what)
    assert told.level == GOOD and '5 ms' in told.text


@pytest.mark.parametrize(('level', 'status'), [(GOOD, 0), (NOTE, 0), (TO_DO, 1)])
def test_something_to_do_in_a_running_system_is_exit_status_1(level, status, monkeypatch, capsys):
    found = [machine.CheckResult('node', level, 'so')]
    monkeypatch.setattr(system, 'system_checks', lambda *_: found)
    monkeypatch.setattr(doctor, 'machine_checks', lambda **_: ())
    assert main(['doctor']) == status and f'{level:5}' in capsys.readouterr().out


def test_a_nodes_own_topic_of_torques_is_taken(launch, probe, capsys, tmp_path):
    launch(
        'feedforward_node',
        **PATIENT | {'remaps': {'feedforward/command': '/arm/torques'}},
    )

    def examined():
        main(['doctor'])
        said.append(capsys.readouterr().out)
        return 'commands: /feedforward publishes on /arm/torques' in said[-1]

    said = []
    probe.until(examined, 'it is found')
    record_bag(
        tmp_path / 'bag',
        ['joint'],
        'joint_states',
        None,
        'feedforward',
        lambda _: False,
    )
    with Reader(tmp_path / 'bag') as reader:
        assert '/arm/torques' in reader.topics
    with TopicListener('listener') as listener:
        assert listener.command_topic_of('/nobody') == ''


def test_the_clock_of_an_arm_in_lockstep_is_found_good(start_arm, start_node, probe, capsys):
    start_arm()
    start_node(target='mujoco')
    probe.until_status('simulator', held='True')
    wanted = [
        'good  clock: stamps are simulated time',
        'good  joint states',
        'Hz of simulated time',
        'good  measured torque',
        'good  simulated arm: /simulator: following',
        'good  node: /feedforward: running: torques are sent',
    ]

    def examined():
        main(['doctor'])
        said.append(capsys.readouterr().out)
        return all(text in said[-1] for text in wanted)

    said = []
    probe.until(examined, 'both are good')


def chrt_may(*before):
    """Return whether util-linux's chrt may run a process under SCHED_FIFO."""
    asked = [*before, 'chrt', '--fifo', str(machine.REALTIME_PRIORITY), 'true']
    return subprocess.run(asked, capture_output=True).returncode == 0


WITHOUT = [
    'setpriv',
    '--bounding-set',
    '-sys_nice',
    '--inh-caps',
    '-sys_nice',
    'prlimit',
]


@pytest.mark.skipif(shutil.which('chrt') is None, reason='there is no chrt (util-linux)')
@pytest.mark.parametrize('limits', [[], [*WITHOUT, '--rtprio=0']], ids=['as it is', 'limited'])
def test_real_time_is_allowed_where_the_kernel_gives_it(limits):
    if limits and (shutil.which('setpriv') is None or os.geteuid() != 0):
        pytest.skip('only root with setpriv (util-linux) can give a capability up')
    asked = f'from {machine.__name__} import *; print(next(machine_checks(for_simulation=False)))'
    said = subprocess.check_output([*limits, sys.executable, '-c', asked], text=True)
    assert ('was refused' in said) == (not chrt_may(*limits))
    assert 'was refused' in said or not limits
