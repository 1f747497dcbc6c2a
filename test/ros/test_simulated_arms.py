# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A simulated arm: one for a command topic, and in lockstep patient, but not for ever."""

import signal
import time

import numpy as np
import pytest
from sensor_msgs.msg import JointState

from franka_dynamics.arm import load

pytest.importorskip('mujoco')


def test_a_second_arm_behind_one_topic_ends_and_names_the_first(start_arm, probe):
    first = start_arm()
    probe.until(lambda: 'simulator: Simulated arm' in probe.diagnostics, 'the first')
    second = start_arm()
    assert second.wait() == 2
    assert 'another simulated arm (process ' in second.text
    assert 'takes torques from /effort_controller/commands in ROS domain' in second.text
    assert first.running
    # One in a namespace of its own is no second.
    beside = start_arm(remaps={'__ns': '/beside'})
    probe.until(lambda: 'beside/simulator: Simulated arm' in probe.diagnostics, 'one beside it')
    first.kill()
    third = start_arm()
    probe.diagnostics.clear()
    probe.until(lambda: 'simulator: Simulated arm' in probe.diagnostics, 'one after it')
    assert third.running and beside.running


def test_in_lockstep_a_stalled_node_is_waited_for_until_time_goes_on(probe, start_arm, start_node):
    start_arm(lockstep_timeout=0.7)
    node = start_node(target='mujoco')
    probe.until(lambda: probe.says('simulator: Simulated arm', 'False'), 'brakes open')
    states = probe.collect(JointState, 'joint_states')
    node.signal_again(signal.SIGSTOP)
    probe.until(lambda: len(states) > 0, 'a state')
    count = -1

    def stands():
        nonlocal count
        before, count = count, len(states)
        quiet = time.monotonic() + 0.3
        while time.monotonic() < quiet:
            probe.spin()
        return before == len(states)

    probe.until(stands, 'simulated time standing still')
    # At 0.7 s a step these would take longer than is waited for here.
    probe.until(lambda: len(states) > count + 400, 'time goes on without a node')
    node.signal_again(signal.SIGCONT)
    probe.until(lambda: probe.says('feedforward: Command', 'torques are published'), 'torques')
    np.testing.assert_allclose(states[-1].position, load('fer').home, rtol=0, atol=1e-6)
