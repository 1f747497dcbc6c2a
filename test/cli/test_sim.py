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


def test_the_arm_waits_for_torques_and_a_factor_slows_its_steps(started):
    simulator = started()['simulator_node']
    assert simulator['pacing'] == 'lockstep'
    # The arm steps a thousand times per second of its own time.
    assert float(simulator['lockstep_rate']) == 1000.0
    slow = started('--real-time-factor', '0.25')
    assert float(slow['simulator_node']['lockstep_rate']) == 250.0
