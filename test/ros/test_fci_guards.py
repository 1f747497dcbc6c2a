# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
What the FCI node refuses, seen from the robot's side of the protocol.

Robots here are `measured`: their tau_J includes the gravity torque that MuJoCo computes, as a
real robot's sensors do, and it is that of what is really there.
"""

import os
import re
import signal
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip('pylibfranka', reason="libfranka's bindings are not installed")

from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import SetBool

from franka_dynamics.ros.fci_node import FciNode

from .conftest import ROOT
from .fci_robots import assert_safe, Commander, FCI, MODEL, pairs, robots, start_fci

__all__ = ['robots', 'start_fci']  # fixtures
AT_REST, ERROR = 'fci: Check at rest', 2
BALL = '[3.0, 0.0, 0.0, 0.0, 0.00192, 0.0, 0.0, 0.00192, 0.0, 0.00192]'
# On the joint with the most inertia: a busy machine lets franka-sim's arm move on between two of
# its states, and what moves fast then seems to jump.
SMALL = 0.5 * np.eye(7)[0]


def states_pass(probe, states, count):
    """Wait for more states of the robot."""
    begin = len(states)
    probe.until(lambda: len(states) >= begin + count, f'{count} states')


UPSIDE_DOWN = {'gravity_vector': '[0.0, 0.0, 9.81]'}
# Two guards see this one; the controller's own may be earlier than the check at rest.
UPSIDE_DOWN_SENTENCE = (
    r'gravity_vector would have this node command .* but tau_J shows|'
    r'gravity_vector is \[0.0, 0.0, 9.81\], but of the gravity torque it stands'
)


# The check at rest is one for both kinds of control: what it sees is tried with one of them.
@pytest.mark.parametrize(
    ('control', 'parameters', 'sentence'),
    [
        ('command', UPSIDE_DOWN, UPSIDE_DOWN_SENTENCE),
        (
            'feedforward',
            {'payload': BALL, 'payload_known_to_robot': False},
            'payload would have this node command .* with no payload it would fit',
        ),
        (
            'command',
            {'hand': 'franka_hand'},
            'the robot was told of 0 kg on its flange .* hand franka_hand',
        ),
    ],
)
def test_settings_that_are_not_so_are_refused_before_any_torque(
    robots, start_fci, probe, control, parameters, sentence
):
    robot = robots(measured=True)
    node = start_fci(robot, control=control, **parameters)
    commander = Commander(probe)
    states = probe.collect(JointState, 'joint_states')
    commander.until(
        np.zeros(7),
        lambda: probe.diagnostics.get(FCI, (0,))[0] == ERROR and 'call ~/enable' in node.text,
        'refusal',
    )
    assert re.search(sentence, node.text), node.text
    states_pass(probe, states, 100)
    assert robot.cycles == 0


@pytest.mark.parametrize(
    ('world', 'parameters'),
    [
        ({'payload': 3.0}, {'payload': BALL, 'payload_known_to_robot': False}),
        ({'gravity': [0.0, 6.9, -6.9734]}, {'gravity_vector': '[0.0, 6.9, -6.9734]'}),
    ],
)
def test_settings_that_are_so_pass_and_control_begins(robots, start_fci, probe, world, parameters):
    robot = robots(measured=True, **world)
    node = start_fci(robot, control='feedforward', autostart=False, **parameters)
    states = probe.collect(JointState, 'joint_states')
    # franka-sim's hold swings at first and after a stall, and on a busy machine its states are
    # then not those of their stamps and its torques not those of gravity, which are faults to be
    # acknowledged.
    probe.until(
        lambda: (
            len(states) > 200
            and all(np.abs(state.velocity).max() < 0.02 for state in states[-200:])
        ),
        'rest',
    )

    def controlling():
        level, message, _ = probe.diagnostics.get(FCI, (0, '', {}))
        stalled = level == ERROR and re.search('contradict|jumped|% is measured', message)
        if message == 'not enabled' or stalled:
            probe.diagnostics.clear()
            assert probe.call(SetBool, 'fci/enable', SetBool.Request(data=True)).success
        return probe.says(FCI, 'controlling') or 'refused' in node.text

    probe.until(controlling, 'control')
    assert 'refused' not in node.text
    # MuJoCo's g(q) against ours while franka-sim's hold still swings (0.41 N m was seen after a
    # stall). The loads and the mount that are told here change g by more than 10 N m.
    assert float(pairs(probe, AT_REST)['largest |tau_J - g| [N m]']) < 1.0
    assert node.end() == 0
    assert_safe(robot.torques())


def test_nothing_is_commanded_before_it_is_asked_for(robots, start_fci, probe):
    robot = robots(measured=True)
    # The node's own default.
    node = start_fci(robot, control='feedforward', autostart=None)
    states = probe.collect(JointState, 'joint_states')
    probe.until(lambda: len(states) > 500 and probe.says(FCI, 'not enabled'), 'states')
    assert robot.cycles == 0
    assert probe.call(SetBool, 'fci/enable', SetBool.Request(data=True)).success
    probe.until(lambda: probe.says(FCI, 'controlling'), 'control')
    assert node.end() == 0


def test_a_command_out_of_range_is_refused_not_clipped(robots, start_fci, probe):
    robot = robots(measured=True)
    node = start_fci(robot)
    commander = Commander(probe)
    commander.until_controlling()
    refusal = 'it is not followed in part either; call ~/enable'
    for torque in ([1e300] * 7, [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 13.0]):
        commander.until(SMALL, lambda: robot.torques()[-1, 0] == 0.5, 'a torque')
        # The node keeps the newest command alone, so until it has seen this one no other is sent.
        refused = node.text.count(refusal)
        commander.until(
            torque, lambda before=refused: node.text.count(refusal) > before, 'the refusal'
        )
        # Good ones follow at once, and are not taken until somebody has looked.
        commander.until(SMALL, lambda: probe.says(FCI, 'idle'), 'the stop')
        torques = robot.torques()
        assert np.abs(torques).max() == 0.5
        np.testing.assert_allclose(torques[-1], 0.0, rtol=0.0, atol=0.0)
        assert_safe(torques)
        assert probe.call(SetBool, 'fci/enable', SetBool.Request(data=True)).success
        commander.until(SMALL, lambda: robot.torques()[-1, 0] == 0.5, 'again')
        probe.diagnostics.clear()  # so that the next stop is told anew


def test_a_second_publisher_of_commands_stops(robots, start_fci, probe):
    robot = robots(measured=True)
    node = start_fci(robot)
    commander = Commander(probe)
    commander.until_controlling()
    second = probe.create_publisher(Float64MultiArray, 'fci/command', 1)
    probe.until(lambda: second.get_subscription_count() > 0, 'the second is connected')

    def both():
        second.publish(Float64MultiArray(data=[0.25] * 7))
        return probe.says(FCI, 'idle') and 'more than one publisher' in node.text

    commander.until(np.zeros(7), both, 'the stop')
    assert 'stop all but one; call ~/enable' in node.text
    assert_safe(robot.torques())


def test_gravity_is_not_changed_while_torques_are_commanded(robots, start_fci, probe):
    robot = robots(measured=True)
    start_fci(robot, control='feedforward')
    probe.until(lambda: probe.says(FCI, 'controlling'), 'control')
    ball = [float(value) for value in BALL.strip('[]').split(',')]
    answer = probe.set_parameters('fci', payload=ball, payload_known_to_robot=False)
    assert not answer.successful
    assert 'cannot change while torques are commanded' in answer.reason
    # What leaves gravity alone may change.
    assert probe.set_parameters('fci', scale=0.5).successful
    assert probe.call(SetBool, 'fci/enable', SetBool.Request(data=False)).success
    probe.until(lambda: probe.says(FCI, 'idle'), 'the stop')
    heavy = probe.set_parameters('fci', payload=[100.0, *ball[1:]])
    assert not heavy.successful
    assert 'payload.mass is 100 kg, more than the rated load of fr3 (3 kg)' in heavy.reason
    assert probe.set_parameters('fci', payload=ball, payload_known_to_robot=False).successful
    # And then the check at rest finds that it is not so.
    assert probe.call(SetBool, 'fci/enable', SetBool.Request(data=True)).success
    probe.until(lambda: probe.says(AT_REST, 'with no payload it would fit'), 'refusal')


def test_other_gravity_used_as_torques_begin_ends_them_first():
    # Judged while nothing was commanded; torques began before it was used.
    done = []
    node = SimpleNamespace(
        _commanding=True,
        _loop=SimpleNamespace(disable=done.append),
        _controller=SimpleNamespace(use=done.append),
        _note_model=done.append,
    )
    FciNode._use(node, 'law', 'difference')
    assert done == ['gravity was set otherwise as torques began', 'law', 'difference']
    done.clear()
    FciNode._use(node, 'law', None)
    assert done == ['law']


def test_the_running_cross_check_runs_inside_the_loop(robots, start_fci, probe):
    start_fci(robots(measured=True), control='feedforward', crosscheck_period=0.2)
    checks = 'running cross-check: checks'
    probe.until(lambda: int(pairs(probe, MODEL).get(checks, 0)) > 2, 'checks')
    assert float(pairs(probe, MODEL)['running cross-check: largest difference [N m]']) < 1e-9


def test_collision_thresholds_reach_the_robot(robots, start_fci, probe):
    robot = robots(measured=True)
    start_fci(robot, lower_torque_thresholds='[1.0,2.0,3.0,4.0,5.0,6.0,7.0]')
    probe.until(lambda: 'upper_force: ' in robot.log, 'thresholds')
    assert 'lower_torque: [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]' in robot.log
    assert 'upper_torque: [20.0, 20.0, 18.0, 18.0, 16.0, 14.0, 12.0]' in robot.log
    assert 'upper_force: [20.0, 20.0, 20.0, 25.0, 25.0, 25.0]' in robot.log


# Raises where it is told to, on the first SIGUSR1.
FAILING = """
import functools, signal, sys
from franka_dynamics.fci.sources import CommandSource
from franka_dynamics.ros import fci_node
holder, name = {'publish': (fci_node.FciNode, '_publish'),
                'torque': (CommandSource, 'torque')}[sys.argv[1]]
function = getattr(holder, name)
failing = []
signal.signal(signal.SIGUSR1, lambda *_: failing.append(True))
@functools.wraps(function)
def replaced(self, *args):
    if failing and failing.pop():
        raise ZeroDivisionError('injected')
    return function(self, *args)
setattr(holder, name, replaced)
sys.exit(fci_node.main([sys.argv[0], *sys.argv[2:]]))
"""


@pytest.mark.parametrize('place', ['publish', 'torque'])
def test_after_an_exception_anywhere_the_torque_ramps_to_zero(robots, probe, tmp_path, place):
    robot = robots(measured=True)
    log = tmp_path / 'failing.log'
    with log.open('wb') as output:
        process = subprocess.Popen(
            [
                sys.executable,
                '-c',
                FAILING,
                place,
                '--ros-args',
                '-p',
                f'robot_ip:={robot.address}',
                '-p',
                'autostart:=true',
                '-p',
                'command_timeout:=1.0',
            ],
            stdout=output,
            stderr=output,
            env={**os.environ, 'PYTHONPATH': str(ROOT)},
        )
    try:
        commander = Commander(probe)
        commander.until_controlling()
        commander.until(10.0 * SMALL, lambda: robot.torques()[-1, 0] == 5.0, 'torque')
        process.send_signal(signal.SIGUSR1)
        commander.until(10.0 * SMALL, lambda: process.poll() is not None, 'the end')
        assert process.returncode == 1
    finally:
        process.kill()
        process.wait()
    assert 'ZeroDivisionError: injected' in log.read_text()
    torques = robot.torques()
    np.testing.assert_allclose(torques[-1], 0.0, rtol=0.0, atol=0.0)
    assert_safe(torques)
