# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The monitor's data: what diagnostics say, as numbers, rates, faults and JSON."""

import json
import math

from builtin_interfaces.msg import Time
import pytest
from sensor_msgs.msg import JointState

from franka_dynamics.ros.monitor_feed import at_fault, NodeView
from franka_dynamics.ros.statuses import Status


def told(subject, level, message, values):
    return Status('left/feedforward', subject, level, message, values)


def command(published, level='OK', message='torques are published'):
    return told(
        'Command', level, message, {'published': str(published), 'latency p50 [us]': '103.5'}
    )


def arm(now=10.0):
    view = NodeView('left/feedforward')
    view.take(told('Joint states', 'OK', 'fresh', {'rate [Hz]': '1000', 'age [ms]': 'nan'}), now)
    view.take(command(500), now)
    view.take(
        told('Arm', 'OK', 'fer', {'torque limit, a [N m]': '87', 'torque limit, b [N m]': '12'}),
        now,
    )
    torques = JointState(name=('a', 'b'), effort=(1.5, float('nan')))
    torques.header.stamp = Time(sec=3, nanosec=250_000_000)
    view.torques['gravity'] = torques
    return view


def test_the_command_rate_is_the_counts_difference_over_time():
    view = arm(now=10.0)
    assert math.isnan(view.command_rate)
    view.take(command(1500), 11.0)
    assert view.command_rate == pytest.approx(1000.0)
    view.take(told('Contact', 'OK', 'no contact', {}), 11.2)  # out of turn; no new count
    view.take(command(2500), 12.0)
    assert view.command_rate == pytest.approx(1000.0)


def test_a_views_json_has_numbers_and_null_for_unknown():
    data = json.loads(json.dumps(arm().as_dict(10.5), allow_nan=False))
    assert data['node'] == 'left/feedforward'
    assert data['torque_limits'] == {'a': 87.0, 'b': 12.0}
    assert data['torques']['gravity'] == {'stamp': 3.25, 'effort': {'a': 1.5, 'b': None}}
    assert data['statuses']['Joint states']['values'] == {'rate [Hz]': 1000, 'age [ms]': None}
    assert data['command_rate_hz'] is None
    assert data['silent'] is False


def test_a_silent_node_and_an_error_are_each_told():
    silent, broken, fine = arm(now=1.0), arm(), arm()
    broken.take(command(1, 'ERROR', 'somebody else commands'), 10.0)
    assert at_fault([fine, broken, silent], 10.0) == [
        'left/feedforward: Command: somebody else commands',
        'left/feedforward has been silent for 9.0 s.',
    ]


def test_nodes_of_others_are_not_taken_for_ours():
    other = NodeView('controller_manager')
    other.take(told('Controllers Activity', 'OK', 'all active', {}), 1.0)
    simulator = NodeView('simulator')
    simulator.take(told('Simulated arm', 'OK', 'open', {}), 1.0)
    assert (other.is_ours, simulator.is_ours, arm().is_ours) == (False, True, True)
    assert (simulator.is_arm, arm().is_arm) == (False, True)
    assert (simulator.namespace, arm().namespace) == ('', 'left')
