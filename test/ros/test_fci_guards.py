# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
What the FCI node refuses, seen from the robot's side of the protocol.

Robots here are `measured`: their tau_J includes the gravity torque that MuJoCo computes, as a
real robot's sensors do, and it is that of what is really there.
"""

import os
import signal
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip('pylibfranka', reason="libfranka's bindings are not installed")

from rcl_interfaces.srv import SetParameters
from rclpy.parameter import Parameter
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


def test_a_command_out_of_range_and_a_second_publisher_stop(robots, start_fci, probe):
    robot = robots(measured=True)
    # By the node's own default nothing is commanded by itself.
    node = start_fci(
        robot, autostart=None, lower_torque_thresholds='[1.0,2.0,3.0,4.0,5.0,6.0,7.0]'
    )
    commander = Commander(probe)
    commander.until(np.zeros(7), lambda: probe.says(FCI, 'not enabled'), 'the node waits')
    assert robot.cycles == 0
    assert probe.call(SetBool, 'fci/enable', SetBool.Request(data=True)).success
    commander.until_controlling()
    # The collision thresholds have reached the robot, those given and the defaults.
    assert 'lower_torque: [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]' in robot.log
    assert 'upper_force: [20.0, 20.0, 20.0, 25.0, 25.0, 25.0]' in robot.log
    commander.until(SMALL, lambda: robot.is_given(0, 0.5), 'a torque')
    refusal = 'it is not followed in part either; call ~/enable'
    commander.until([0.0] * 6 + [13.0], lambda: refusal in node.text, 'the refusal')
    # Good ones follow at once, and are not taken until somebody has looked.
    commander.until(SMALL, lambda: probe.says(FCI, 'idle'), 'the stop')
    torques = robot.torques()
    assert np.abs(torques).max() == 0.5
    np.testing.assert_allclose(torques[-1], 0.0, rtol=0.0, atol=0.0)
    assert probe.call(SetBool, 'fci/enable', SetBool.Request(data=True)).success
    commander.until(SMALL, lambda: robot.is_given(0, 0.5), 'again')
    probe.diagnostics.clear()  # so that the next stop is told anew
    second = probe.create_publisher(Float64MultiArray, 'fci/command', 1)
    probe.until(lambda: second.get_subscription_count() > 0, 'the second is connected')

    def both():
        second.publish(Float64MultiArray(data=[0.25] * 7))
        return probe.says(FCI, 'idle') and 'stop all but one; call ~/enable' in node.text

    commander.until(np.zeros(7), both, 'the stop')
    assert_safe(robot.torques())


def test_gravity_is_not_changed_while_torques_are_commanded(robots, start_fci, probe):
    robot = robots(measured=True)
    node = start_fci(robot, control='feedforward', crosscheck_period=0.2)
    ball = [float(value) for value in BALL.strip('[]').split(',')]
    for _ in range(5):
        probe.until(lambda: probe.says(FCI, 'controlling'), 'control')
        answer = probe.set_parameters('fci', payload=ball, payload_known_to_robot=False)
        if not answer.successful:
            break
        # Where a busy machine let control end before.
        probe.set_parameters('fci', payload=[0.0] * 10, payload_known_to_robot=True)
        probe.diagnostics.clear()
        probe.call(SetBool, 'fci/enable', SetBool.Request(data=True))
    assert 'cannot change while torques are commanded' in answer.reason
    begun = node.text.count('controlling: torques are commanded')
    # What leaves gravity alone may change, a thousand times in one request.
    cycles = robot.cycles
    entries = [Parameter('scale', value=1.0 - 1e-4 * k).to_parameter_msg() for k in range(1, 1001)]
    many = probe.call(
        SetParameters, 'fci/set_parameters', SetParameters.Request(parameters=entries)
    )
    assert all(result.successful for result in many.results)
    probe.until(lambda: 'now: scale = 0.9\n' in node.text, 'the last of them, applied once')
    probe.until(lambda: robot.cycles > cycles + 100, 'torques')
    assert node.text.count('controlling: torques are commanded') == begun
    # The models are compared inside the loop.
    checks = 'running cross-check: checks'
    probe.until(lambda: int(pairs(probe, MODEL).get(checks, 0)) > 2, 'checks')
    assert float(pairs(probe, MODEL)['running cross-check: largest difference [N m]']) < 1e-9
    assert probe.call(SetBool, 'fci/enable', SetBool.Request(data=False)).success
    probe.until(lambda: probe.says(FCI, 'idle'), 'the stop')
    heavy = probe.set_parameters('fci', payload=[100.0, *ball[1:]])
    assert not heavy.successful
    assert 'payload.mass is 100 kg, more than the rated load of fr3 (3 kg)' in heavy.reason
    assert probe.set_parameters('fci', payload=ball, payload_known_to_robot=False).successful
    # And then the check at rest, which test/fci tries, finds that it is not so.
    cycles = robot.cycles
    states = probe.collect(JointState, 'joint_states')
    assert probe.call(SetBool, 'fci/enable', SetBool.Request(data=True)).success
    probe.until(lambda: probe.says(AT_REST, 'payload would have this node command'), 'refusal')
    probe.until(lambda: probe.diagnostics[FCI][0] == ERROR, 'an error')
    count = len(states)
    probe.until(lambda: len(states) >= count + 100, 'more states')
    assert robot.cycles == cycles
    assert 'call ~/enable' in node.text


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


# Raises outside the loop, which test/fci tries from within, on the first SIGUSR1.
FAILING = """
import signal, sys
from franka_dynamics.ros.fci_node import FciNode, main
publish, failing = FciNode._publish, []
signal.signal(signal.SIGUSR1, lambda *_: failing.append(True))
def replaced(self, *args):
    if failing and failing.pop():
        raise ZeroDivisionError('injected')
    publish(self, *args)
FciNode._publish = replaced
sys.exit(main())
"""


def test_after_an_exception_the_torque_ramps_to_zero(robots, probe, tmp_path):
    robot = robots(measured=True)
    log = tmp_path / 'failing.log'
    given = f'-p robot_ip:={robot.address} -p autostart:=true -p command_timeout:=1.0'
    with log.open('wb') as output:
        process = subprocess.Popen(
            [sys.executable, '-c', FAILING, '--ros-args', *given.split()],
            stdout=output,
            stderr=output,
            env={**os.environ, 'PYTHONPATH': str(ROOT)},
        )
    try:
        commander = Commander(probe)
        commander.until_controlling()
        commander.until(10.0 * SMALL, lambda: robot.is_given(0, 5.0), 'torque')
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
