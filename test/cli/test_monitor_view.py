# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The monitor's picture: what must be readable on it, at every width."""

from io import StringIO

import pytest
from rich.console import Console

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from sensor_msgs.msg import JointState

from franka_dynamics.cli._monitor_view import monitor_view
from franka_dynamics.ros.monitor_feed import NodeView, TORQUE_TERMS
from franka_dynamics.ros.statuses import Status

JOINTS = tuple(f'left_fer_joint{i}' for i in range(1, 8))
EFFORT = (-80.5, 3.25, 0.0, 18.57, 0.63, -11.9, 0.01)


def told(view, subject, level, message, **values):
    view.take(Status(view.name, subject, level, message, values), 10.0)


def arm(age='0.31'):
    view = NodeView('left/feedforward')
    ages = {'rate [Hz]': '999.6', 'age [ms]': age}
    latency = {'latency p50 [us]': '103.5', 'latency p99 [us]': '159.2'}
    limits = {
        f'torque limit, {joint} [N m]': '87' if i < 4 else '12' for i, joint in enumerate(JOINTS)
    }
    told(view, 'Joint states', 'OK', 'states are fresh', **ages)
    told(view, 'Command', 'ERROR', 'somebody else commands', published='500', **latency)
    told(view, 'Arm', 'OK', 'fer', **limits)
    for term in TORQUE_TERMS:
        view.torques[term] = JointState(name=JOINTS, effort=EFFORT)
    return view


def rendered(renderable, width):
    console = Console(file=StringIO(), width=width, color_system=None)
    console.print(renderable)
    return console.file.getvalue()


@pytest.mark.parametrize('width', [80, 120])
def test_every_figure_is_drawn_in_full_at_any_width(width):
    text = rendered(monitor_view([arm()], 10.5), width)
    for figure in (
        '1000 Hz',
        '0.3 ms old',
        'p50 104 us',
        'p99 159 us',
        'somebody else commands',
        'external',
        '87',
        *JOINTS,
        *(f'{value:.2f}' for value in EFFORT),
    ):
        assert figure in text, figure
    assert '…' not in text
    assert max(map(len, text.splitlines())) <= width


def test_a_simulated_arm_behind_the_clock_is_not_shown_as_old():
    simulator = NodeView('left/simulator')
    told(simulator, 'Simulated arm', 'OK', 'open')
    late = arm('10944.5')
    # Its simulator may not have been heard yet.
    alone = rendered(monitor_view([late], 10.5), 200)
    assert 'stamps 10.9 s behind the clock' in alone and 'ms old' not in alone
    shown = rendered(monitor_view([late, simulator], 10.5), 200)
    assert 'simulated time, 10.9 s behind the clock' in shown
    assert 'ms old' not in shown


def test_a_terminal_of_60_columns_and_15_lines_shows_every_torque_and_fault():
    view = arm()
    told(view, 'Guard', 'OK', 'The robot carries itself; we add nothing.')
    told(view, 'Cross-check', 'OK', 'the two models agree')
    lines = rendered(monitor_view([view], 10.5, 60, 15), 60).splitlines()
    assert len(lines) <= 15
    text = '\n'.join(lines)
    for figure in (*(f'{value:.2f}' for value in EFFORT), 'somebody else commands', 'ext.'):
        assert figure in text, figure
    # Every row has all of its five terms, none of them cut.
    rows = [line.split() for line in lines if line.startswith('│ ') and ' 12 ' in line]
    assert all(len(row) == 2 + 2 + len(TORQUE_TERMS) for row in rows) and rows
    assert '…' not in text
    assert 'left_fer_joint' in text
