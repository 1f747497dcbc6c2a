# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`node`: no answer, payloads, transitions, lead-in; the view at every width."""

from io import StringIO

import numpy as np
import pytest
from rich.console import Console
from sensor_msgs.msg import JointState

from franka_dynamics.cli._state_view import state_view
from franka_dynamics.cli.main import main
from franka_dynamics.cli.node import parse_payload, send_motion
from franka_dynamics.ros.messages import seconds
from franka_dynamics.ros.status import DiagnosticSubject, NodeSnapshot, NodeStatus, TORQUE_TERMS


def test_a_node_that_is_not_there_is_told_within_its_timeout(capsys):
    assert main('node state --node nowhere --timeout 0.5'.split()) == 1
    assert '/nowhere does not answer within 0.5 s; is it running' in capsys.readouterr().err


class Client:
    """A node that takes every value and keeps the times of a motion [s]."""

    def set(self, name, value):
        return name, value

    def play(self, motion):
        self.times = np.array([seconds(point.time_from_start) for point in motion.points])


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
    plain, led = Client(), Client()
    send_motion('fr3', 0.0, plain)
    send_motion('fr3', 2.5, led)
    assert plain.times[0] == 0.0
    np.testing.assert_allclose(led.times, plain.times + 2.5, rtol=0, atol=1e-9)


JOINTS = tuple(f'left_fer_joint{i}' for i in range(1, 8))
EFFORT = (-80.5, 3.25, 0.0, 18.57, 0.63, -11.9, 0.01)


def told(view, subject, level, message, **values):
    view.store(NodeStatus(view.name, subject, level, message, values), 10.0)


def arm(age='0.31'):
    view = NodeSnapshot('left/feedforward')
    latency = {'latency p50 [us]': '103.5', 'latency p99 [us]': '159.2'}
    told(view, 'Joint states', 'OK', 'fresh', **{'rate [Hz]': '999.6', 'age [ms]': age})
    told(view, 'Command', 'ERROR', 'somebody else commands', published='500', **latency)
    told(
        view,
        DiagnosticSubject.TORQUE_LIMITS,
        'OK',
        'fer',
        **dict(zip(JOINTS, 4 * ['87'] + 3 * ['12'])),
    )
    for term in TORQUE_TERMS:
        view.torques[term] = JointState(name=JOINTS, effort=EFFORT)
    return view


def rendered(renderable, width):
    console = Console(file=StringIO(), width=width, color_system=None)
    console.print(renderable)
    return console.file.getvalue()


def test_a_slow_simulation_is_not_shown_as_old_states():
    shown = rendered(state_view([arm('10944.5')], 10.5), 200)
    assert 'stamps 10.9 s late' in shown and 'ms old' not in shown


@pytest.mark.parametrize(
    'joints', [['shoulder_pan_joint', 'elbow_joint'], ['lift'], ['turn', 'turn_2'], ['a_1', 'a_2']]
)
def test_every_joint_has_a_label_of_its_own_whatever_its_name(joints):
    view = NodeSnapshot('feedforward')
    told(view, DiagnosticSubject.TORQUE_LIMITS, 'OK', 'ur10e', **dict.fromkeys(joints, '87'))
    told(view, 'Command', 'OK', 'torques are sent')
    shown = rendered(state_view([view], 1.0), 80)
    rows = [line.strip('│ ').split() for line in shown.splitlines()]
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
    text = ' '.join('\n'.join(lines).replace('│', ' ').split())
    said = '1000 Hz,0.3 ms old,p50 104 us,p99 159 us,somebody else commands,ext.,left_fer_joint'
    for figure in (*said.split(','), *(f'{value:.2f}' for value in EFFORT)):
        assert figure in text, figure
    # Every row has all of its five terms, none of them cut.
    rows = [line.split() for line in lines if line.startswith('│ ') and ' 12 ' in line]
    assert all(len(row) == 2 + 2 + len(TORQUE_TERMS) for row in rows) and rows
    assert '…' not in text
