# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The parameters with which `sim` starts its nodes, and how it ends."""

import shlex
import subprocess
from types import SimpleNamespace

import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from franka_dynamics.cli import sim
from franka_dynamics.cli.main import main
from franka_dynamics.ros.node_group import end_of, NodeGroup
from franka_dynamics.ros.observer import Observer, Status

SIMULATOR, NODE = '/simulation/simulator', '/simulation/feedforward'
HELD = {SIMULATOR: Status('', SIMULATOR, 'OK', 'following', {'held': 'True'})}
FAULT = Status('', NODE, 'ERROR', 'the arm moves away', {'mode': 'braking'})
CLEARED = Status('', NODE, 'OK', 'commanding', {'mode': 'running'})


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
        monkeypatch.setattr(Observer, 'wait', wait)
        monkeypatch.setattr(Observer, 'status', lambda _, node: left[0].get(node))
        assert main(['sim', '--no-view', '--duration', '0.05', *options]) == status
        return nodes

    return run


@pytest.mark.parametrize(
    ('told', 'status'), [([FAULT], 1), ([FAULT, CLEARED], 0), ([FAULT, CLEARED, FAULT], 1)]
)
def test_a_fault_that_is_not_cleared_exits_with_1(told, status, started, capsys):
    started(status=status, statuses=[HELD, *({**HELD, NODE: one} for one in told)])
    assert 'the node has a fault' in capsys.readouterr().out


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
    started(status=1, statuses=[{}])
    said = capsys.readouterr()
    assert 'node play' not in said.out
    assert 'was not held within 0.05 s' in said.err


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
