# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The monitor's picture: what must be readable on it, at every width."""

from io import StringIO

import pytest
from rich.console import Console

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from sensor_msgs.msg import JointState

from franka_dynamics.cli._monitor_view import monitor_view
from franka_dynamics.ros.observer import NodeView, Status, TORQUE_TERMS

JOINTS = tuple(f'left_fer_joint{i}' for i in range(1, 8))
EFFORT = (-80.5, 3.25, 0.0, 18.57, 0.63, -11.9, 0.01)


def told(view, subject, level, message, **values):
    view.take(Status(view.name, subject, level, message, values), 10.0)


def arm(age='0.31'):
    view = NodeView('left/feedforward')
    latency = {'latency p50 [us]': '103.5', 'latency p99 [us]': '159.2'}
    limits = [f'torque limit, {joint} [N m]' for joint in JOINTS]
    told(view, 'Joint states', 'OK', 'fresh', **{'rate [Hz]': '999.6', 'age [ms]': age})
    told(view, 'Command', 'ERROR', 'somebody else commands', published='500', **latency)
    told(view, 'Arm', 'OK', 'fer', **dict(zip(limits, 4 * ['87'] + 3 * ['12'])))
    for term in TORQUE_TERMS:
        view.torques[term] = JointState(name=JOINTS, effort=EFFORT)
    return view


def rendered(renderable, width):
    console = Console(file=StringIO(), width=width, color_system=None)
    console.print(renderable)
    return console.file.getvalue()


def test_a_slow_simulation_is_not_shown_as_old_states():
    shown = rendered(monitor_view([arm('10944.5')], 10.5), 200)
    assert 'stamps 10.9 s late' in shown and 'ms old' not in shown


@pytest.mark.parametrize('width', [60, 80, 120])
def test_every_torque_and_fault_is_drawn_in_full_at_any_width(width):
    view = arm()
    told(view, 'Guard', 'OK', 'the arm does what the model says')
    told(view, 'Cross-check', 'OK', 'the two models agree')
    lines = rendered(monitor_view([view], 10.5), width).splitlines()
    assert len(lines) <= 18 and max(map(len, lines)) <= width
    text = ' '.join('\n'.join(lines).replace('│', ' ').split())
    said = '1000 Hz,0.3 ms old,p50 104 us,p99 159 us,somebody else commands,ext.,left_fer_joint'
    for figure in (*said.split(','), *(f'{value:.2f}' for value in EFFORT)):
        assert figure in text, figure
    # Every row has all of its five terms, none of them cut.
    rows = [line.split() for line in lines if line.startswith('│ ') and ' 12 ' in line]
    assert all(len(row) == 2 + 2 + len(TORQUE_TERMS) for row in rows) and rows
    assert '…' not in text
