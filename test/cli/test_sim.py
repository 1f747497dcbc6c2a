# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`sim` and `demo`: what they start their nodes with, and how they end."""

from types import SimpleNamespace

import numpy as np
import pytest
import rclpy
from rclpy.context import Context

from franka_dynamics.arm import load
from franka_dynamics.arm_io import write_urdf
from franka_dynamics.cli import demo as command
from franka_dynamics.cli import sim
from franka_dynamics.cli.main import main
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel
from franka_dynamics.ros.node_group import NodeEndedError, NodeGroup
from franka_dynamics.ros.status import NodeStatus
from franka_dynamics.ros.topic_listener import TopicListener

SIMULATOR, NODE = '/simulation/simulator', '/simulation/feedforward'
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

        def start(group, module, parameters, remappings=None):
            nodes[module] = parameters

        now = 0.0  # --duration is over once every status has been read

        def wait(feed, seconds):
            nonlocal now
            if len(left) == 1:
                now = 1.0
            else:
                left.pop(0)

        monkeypatch.setattr(sim, 'time', SimpleNamespace(monotonic=lambda: now))
        monkeypatch.setattr(NodeGroup, 'start', start)
        monkeypatch.setattr(TopicListener, 'wait', wait)
        monkeypatch.setattr(TopicListener, 'status', lambda _, node: left[0].get(node))
        assert main(['sim', '--no-view', '--duration', '0.05', *options]) == status
        return nodes

    return run


@pytest.mark.parametrize(
    ('told', 'status'), [([FAULT], 1), ([FAULT, CLEARED], 0), ([FAULT, CLEARED, FAULT], 1)]
)
def test_a_fault_that_is_not_cleared_exits_with_1(told, status, started, capsys):
    started(status=status, statuses=[HELD, *({**HELD, NODE: one} for one in told)])
    assert 'the node has a fault' in capsys.readouterr().out


def test_an_arm_that_was_never_held_exits_with_1_without_suggestions(started, capsys):
    started(status=1, statuses=[{}])
    said = capsys.readouterr()
    assert 'node play' not in said.out
    assert 'was not held within 0.05 s' in said.err


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
    slow = started('--real-time-factor', '0.25')
    assert float(slow['simulator_node']['lockstep_rate']) == 250.0


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
    output = str(tmp_path / 'out')
    assert main(['demo', '--arm', arm, '--output', output]) == NodeEndedError.status
    assert capsys.readouterr().err.split()[-1] == hand
