# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`node`, `sim` and `demo`: what they send and start, the view at every width, and their ends."""

from io import StringIO
from types import SimpleNamespace

import numpy as np
import pytest
import rclpy
from rclpy.context import Context
from rich.console import Console
from sensor_msgs.msg import JointState

from franka_dynamics.arm import load
from franka_dynamics.arm_io import write_urdf
from franka_dynamics.cli import demo as command
from franka_dynamics.cli import sim
from franka_dynamics.cli.main import main
from franka_dynamics.cli.node_requests import parse_payload, send_motion
from franka_dynamics.cli.state_view import state_view
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel
from franka_dynamics.ros.clients.node_group import NodeEndedError, NodeGroup
from franka_dynamics.ros.messages import stamp_to_seconds
from franka_dynamics.ros.status import (
    NodeSnapshot,
    NodeStatus,
    TERM_HEADINGS,
)
from franka_dynamics.ros.topic_listener import TopicListener


def test_a_node_that_is_not_there_is_told_within_its_timeout(capsys):
    assert main('node state --node nowhere --timeout 0.5'.split()) == 1
    said = capsys.readouterr().err
    assert '/nowhere' in said and '0.5 s' in said


class Client:
    """A node that takes every value and keeps the times of a motion [s]."""

    def set(self, name, value):
        return name, value

    def follow_trajectory(self, motion):
        self.times = np.array([stamp_to_seconds(point.time_from_start) for point in motion.points])


@pytest.mark.parametrize(
    'given, sent',
    [
        ('0.2,0,0,0.05', [0.2, 0.0, 0.0, 0.05, *6 * [0.0]]),
        ('3,0,0,0.1', [3.0, 0.0, 0.0, 0.1, *6 * [0.0]]),  # not 0.10000000000000002
        *((nothing, 10 * [0.0]) for nothing in ('none', 'None')),
    ],
)
def test_a_payload_is_taken_as_the_other_verbs_take_it(given, sent):
    assert parse_payload(given) == sent


def test_play_leads_the_arm_to_the_beginning_of_a_motion():
    plain = Client()
    led = Client()
    send_motion('fr3', 0.0, plain)
    send_motion('fr3', 2.5, led)
    assert plain.times[0] == 0.0
    np.testing.assert_allclose(led.times, plain.times + 2.5, rtol=0, atol=1e-9)


JOINTS = tuple(f'left_fer_joint{i}' for i in range(1, 8))
EFFORT = (-80.5, 3.25, 0.0, 18.57, 0.63, -11.9, 0.01)


def told(view, subject, level, message, **values):
    view.store_status(NodeStatus(view.name, subject, level, message, values), 10.0)


def limits(joints, numbers):
    return {f'torque limit, {joint} [N m]': one for joint, one in zip(joints, numbers)}


def arm(age='0.31'):
    view = NodeSnapshot('left/feedforward')
    latency = {'latency p50 [us]': '103.5', 'latency p99 [us]': '159.2'}
    told(view, 'Joint states', 'OK', 'fresh', **{'rate [Hz]': '999.6', 'age [ms]': age})
    told(view, 'Command', 'ERROR', 'somebody else commands', published='500', **latency)
    told(view, 'Arm', 'OK', 'fer', **limits(JOINTS, 4 * ['87'] + 3 * ['12']))
    for term in TERM_HEADINGS:
        view.torques[term] = JointState(name=JOINTS, effort=EFFORT)
    return view


def rendered(renderable, width):
    console = Console(file=StringIO(), width=width, color_system=None)
    console.print(renderable)
    return console.file.getvalue()


def test_a_slow_simulation_is_not_shown_as_old_states():
    shown = rendered(state_view([arm('10944.5')], 10.5), 200)
    assert '10.9 s' in shown and 'ms old' not in shown


@pytest.mark.parametrize(
    'joints',
    [
        ['shoulder_pan_joint', 'elbow_joint'],
        ['lift'],
        ['turn', 'turn_2'],
        ['a_1', 'a_2'],
    ],
)
def test_every_joint_has_a_label_of_its_own_whatever_its_name(joints):
    view = NodeSnapshot('feedforward')
    told(view, 'Arm', 'OK', 'ur10e', **limits(joints, ['87'] * len(joints)))
    told(view, 'Command', 'OK', 'torques are sent')
    rows = [line.split() for line in rendered(state_view([view], 1.0), 80).splitlines()]
    labels = [row[0] for row in rows if row[1:] == ['87']]
    assert len(set(labels)) == len(joints)
    assert all(joint.endswith(label) for joint, label in zip(joints, labels))


@pytest.mark.parametrize('width', [60, 80, 120])
def test_every_torque_and_fault_is_drawn_in_full_at_any_width(width):
    view = arm()
    told(view, 'Guard', 'OK', 'the arm does what the model says')
    told(view, 'Cross-check', 'OK', 'the two models agree')
    lines = rendered(state_view([view], 10.5), width).splitlines()
    assert len(lines) <= 18 and max(map(len, lines)) <= width
    text = ' '.join('\n'.join(lines).split())
    said = '1000 Hz,0.3 ms old,p50 104 us,p99 159 us,somebody else commands,ext.,left_fer_joint'
    for figure in (*said.split(','), *(f'{value:.2f}' for value in EFFORT)):
        assert figure in text, figure
    # Every row has all of its five terms, none of them cut.
    rows = [line.split() for line in lines if ' 12 ' in line]
    assert all(len(row) == 2 + len(TERM_HEADINGS) for row in rows) and rows
    assert '…' not in text


SIMULATOR = '/simulation/simulator'
NODE = '/simulation/feedforward'
HELD = {SIMULATOR: NodeStatus('', SIMULATOR, 'OK', 'following', {'held': 'True'})}
FAULT = NodeStatus('', NODE, 'ERROR', 'the arm moves away', {'state': 'braking'})
CLEARED = NodeStatus('', NODE, 'OK', 'commanding', {'state': 'running'})


@pytest.fixture
def started(monkeypatch):
    """Run `sim` without its nodes, given their statuses; return the parameters of each."""
    nodes = {}
    # `sim` itself would set it for the whole process.
    monkeypatch.setenv('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')

    def run(*options, status=0, statuses=(HELD,)):
        left = list(statuses)

        def start(group, module, parameters, remappings=None, realtime=None):
            nodes[module] = parameters
            nodes[f'remappings of {module}'] = remappings

        now = 0.0  # --duration is over once every status has been read

        def wait(feed, seconds):
            nonlocal now
            if len(left) == 1:
                now = 1.0
            else:
                left.pop(0)

        monkeypatch.setattr(sim, 'time', SimpleNamespace(monotonic=lambda: now))
        monkeypatch.setattr(NodeGroup, 'start_node', start)
        monkeypatch.setattr(TopicListener, 'poll_for', wait)
        monkeypatch.setattr(TopicListener, 'latest_status', lambda _, node: left[0].get(node))
        assert main(['sim', '--no-view', '--duration', '0.05', *options]) == status
        return nodes

    return run


@pytest.mark.parametrize(
    ('told', 'status'),
    [([FAULT], 1), ([FAULT, CLEARED], 0), ([FAULT, CLEARED, FAULT], 1)],
)
def test_a_fault_that_is_not_cleared_exits_with_1(told, status, started, capsys):
    started(status=status, statuses=[HELD, *({**HELD, NODE: one} for one in told)])
    assert FAULT.message in capsys.readouterr().out


def test_an_arm_that_was_never_held_exits_with_1(started, capsys):
    started(status=1, statuses=[{}])
    said = capsys.readouterr()
    assert 'node play' not in said.out and '0.05 s' in said.err


def test_a_second_simulated_arm_is_refused(started, capsys):
    context = Context()
    rclpy.init(context=context)
    other = rclpy.create_node('simulator', namespace='simulation', context=context)
    try:
        assert not started(status=1)
    finally:
        other.destroy_node()
        context.try_shutdown()
    assert 'ROS_DOMAIN_ID' in capsys.readouterr().err


def test_the_arm_waits_for_torques_and_a_factor_slows_its_steps(started):
    simulator = started()['simulator_node']
    # The arm steps a thousand times per second of its own time.
    assert float(simulator['lockstep_rate']) == 1000.0
    assert float(started('--real-time-factor', '0.25')['simulator_node']['lockstep_rate']) == 250.0


def test_with_a_clock_both_nodes_keep_simulated_time(started):
    nodes = started('--clock')
    simulator, node = nodes['simulator_node'], nodes['feedforward_node']
    assert simulator['publish_clock'] and node['use_sim_time'] and node['terms.friction']
    assert node['model_source'] == 'simulated_arm'
    assert nodes['remappings of simulator_node'] == {'clock': '/clock'}
    assert 'model_source' not in started('--clock', '--realistic')['feedforward_node']
    assert 'publish_clock' not in started()['simulator_node']


def paced(factor):
    view = NodeSnapshot('simulation/simulator')
    told(view, 'Simulated arm', 'OK', 'open', **{'simulated per real time': f'{factor}'})
    return view


def test_a_simulation_slower_than_real_time_is_shown():
    assert '0.55' in rendered(state_view([paced(0.55)], 10.5), 80)
    assert '0.99' not in rendered(state_view([paced(0.99)], 10.5), 80)


@pytest.mark.parametrize(
    ('factor', 'options', 'said'),
    [(0.55, [], True), (0.99, [], False), (0.25, ['--real-time-factor', '0.25'], False)],
)
def test_sim_says_once_that_it_is_slower_than_asked(
    factor, options, said, started, capsys, monkeypatch
):
    heard = {'simulation/simulator': paced(factor)}
    monkeypatch.setattr(TopicListener, 'heard_nodes', lambda _: heard)
    started(*options, statuses=[HELD, HELD, HELD])
    assert capsys.readouterr().out.count(f'{factor}') == int(said)


def test_the_nodes_of_a_urdfs_arm_get_its_arm_file(started, tmp_path):
    arm = load('rpr')
    write_urdf(arm, tmp_path / 'own.urdf')
    nodes = started('--arm', str(tmp_path / 'own.urdf'), '--output', str(tmp_path / 'logs'))
    q, dq, ddq = np.arange(0.1, 1.0, 0.1).reshape(3, 3)
    for one in ('simulator_node', 'feedforward_node'):
        file = load(nodes[one]['robot_type'])
        torque, expected = (NewtonEulerModel(k).inverse_dynamics(q, dq, ddq) for k in (file, arm))
        np.testing.assert_allclose(torque, expected, rtol=1e-12)


@pytest.mark.parametrize(('arm', 'hand'), [('fr3', 'franka_hand'), ('rpr', 'none')])
def test_only_a_franka_arm_carries_frankas_hand(arm, hand, monkeypatch, tmp_path, capsys):
    def stop(plan, folder, show, note):
        raise NodeEndedError(plan.arm.hand)

    monkeypatch.setattr(command, 'run_demo', stop)
    assert main(['demo', '--arm', arm, '--output', str(tmp_path / 'out')]) == NodeEndedError.status
    assert capsys.readouterr().err.split()[-1] == hand
