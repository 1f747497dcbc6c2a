# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The parameters with which `sim` starts its nodes, and how it ends."""

import shlex
import subprocess

import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from franka_dynamics.cli.main import main
from franka_dynamics.ros.node_group import end_of, NodeGroup

HELD = {'simulator_node': '[simulator]: the brakes are open', 'feedforward_node': ''}
FAULT = '[ERROR] [17.1] [feedforward]: fault: braking: fer_joint2 is astray\n'
CLEARED = (
    '[INFO] [17.2] [feedforward]: the fault was cleared\n'
    '[INFO] [17.3] [feedforward]: ~/clear_fault: cleared\n'
)


@pytest.fixture
def started(monkeypatch):
    """Run `sim` without its nodes, given their logs; return the parameters that each had got."""
    nodes = {}
    # `sim` itself would set it for the whole process.
    monkeypatch.setenv('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')

    def run(*options, status=0, logs=HELD):
        def start(group, module, parameters, remappings=None):
            (group._folder / f'{module}.log').write_text(logs[module])
            nodes[module] = parameters

        monkeypatch.setattr(NodeGroup, 'start', start)
        assert main(['sim', '--no-view', '--duration', '0.01', *options]) == status
        return nodes

    return run


@pytest.mark.parametrize(
    ('said', 'status'), [(FAULT, 1), (FAULT + CLEARED, 0), (FAULT + CLEARED + FAULT, 1)]
)
def test_a_fault_that_is_not_cleared_exits_with_1(said, status, started, capsys):
    started(status=status, logs={**HELD, 'feedforward_node': said})
    assert ('the node has a fault' in capsys.readouterr().out) == (status == 1)


def test_the_commands_shown_name_the_arm_as_it_was_given(started, capsys):
    # No motion is shipped for joints named panda_joint1, ...: the user must plan one first.
    arm = '--arm panda --hand none --payload 0.3,0,0,0.05'.split()
    started(*arm)
    shown = [shlex.split(line) for line in capsys.readouterr().out.splitlines()]
    (words,) = (line for line in shown if 'plan' in line)
    at = words.index('plan') + 1
    # The suggested command names the hand and payload, or it would judge the arm wrongly.
    assert words[at : at + len(arm)] == arm


def test_an_arm_that_was_never_held_exits_with_1_without_suggestions(started, capsys):
    started(status=1, logs=dict.fromkeys(HELD, ''))
    said = capsys.readouterr()
    assert 'node play' not in said.out
    assert 'was not held within 0.01 s' in said.err


def test_a_node_that_ends_is_quoted_without_its_logger(tmp_path):
    (tmp_path / 'log').write_text('[ERROR] [17.1] [left.simulator]: The topic [x] is taken.\n')
    process = subprocess.Popen(['false'])
    process.wait()
    assert end_of(process, tmp_path / 'log') == 'ended with exit status 1: The topic [x] is taken.'


def test_the_arm_waits_for_torques_and_a_factor_slows_its_steps(started):
    simulator = started()['simulator_node']
    assert simulator['pacing'] == 'lockstep'
    # The arm steps a thousand times per second of its own time.
    assert float(simulator['lockstep_rate']) == 1000.0
    slow = started('--real-time-factor', '0.25')
    assert float(slow['simulator_node']['lockstep_rate']) == 250.0
