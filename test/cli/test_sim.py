# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What the verb `sim` starts its nodes with."""

import shlex

import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from franka_dynamics.cli.main import main
from franka_dynamics.ros.node_group import NodeGroup


@pytest.fixture
def started(monkeypatch):
    """Run `sim` without its nodes; return the parameters that each would have had."""
    nodes = {}

    def start(_group, module, parameters, remappings=None):
        nodes[module] = parameters

    monkeypatch.setattr(NodeGroup, 'start', start)
    monkeypatch.setattr(NodeGroup, 'has_said', lambda *_: True)
    monkeypatch.setenv('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')  # as the verb would for good

    def run(*options):
        assert main(['sim', '--no-view', '--duration', '0.01', *options]) == 0
        return nodes

    return run


def test_by_the_clock_the_arm_waits_for_a_late_torque(started):
    nodes = started()
    patience = float(nodes['simulator_node']['command_patience'])
    # An arm that goes on under the last torque falls on a busy machine, and one that waits for
    # longer than the node waits for states makes the node stop.
    assert 0.0 < patience < float(nodes['feedforward_node']['state_timeout'])


def test_the_commands_shown_name_the_arm_as_it_was_given(started, capsys):
    # No excitation is shipped for joints named panda_joint1 ...: one is to be planned first.
    arm = ['--arm', 'panda', '--hand', 'none', '--payload', '0.3,0,0,0.05']
    started(*arm)
    shown = [shlex.split(line) for line in capsys.readouterr().out.splitlines()]
    for verb in ('record', 'plan'):
        (words,) = (line for line in shown if verb in line)
        at = words.index(verb) + 1
        # A model without what the arm carries would judge it wrongly.
        assert words[at : at + len(arm)] == arm


def test_nothing_is_suggested_before_the_arm_is_held(started, capsys, monkeypatch):
    # As of a second one, which ends because the first has the command topic.
    monkeypatch.setattr(NodeGroup, 'has_said', lambda *_: False)
    started()
    assert 'bag record' not in capsys.readouterr().out


def test_in_lockstep_the_arm_waits_for_every_torque(started):
    assert started('--lockstep')['simulator_node']['pacing'] == 'lockstep'


def test_a_real_time_factor_slows_the_arms_steps(started):
    as_real = float(started('--lockstep')['simulator_node']['lockstep_rate'])
    slow = started('--lockstep', '--real-time-factor', '0.25')
    # The arm steps a thousand times per second of its own time.
    assert as_real == 1000.0
    assert float(slow['simulator_node']['lockstep_rate']) == 250.0
