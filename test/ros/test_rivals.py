# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Others on the node's topics, noticed while it commands; and a moving arm braked on SIGINT."""

import signal

import numpy as np
import pytest
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory

from franka_dynamics.arm import load
from franka_dynamics.control.braking import REST_SPEED
from franka_dynamics.control.multisine import multisine
from franka_dynamics.ros.messages import trajectory_message

from .conftest import COMMAND

FER = load('fer')
COMMANDS = 'feedforward: Command'
INCLINED = {'gravity_vector': '[4.0,0.0,-8.9]'}


def test_a_second_publisher_of_joint_states_is_noticed(arm, probe, start_node, commands):
    start_node(target='fci', **INCLINED)
    arm.until(lambda: len(commands) > 100, 'commands')
    second = probe.create_publisher(JointState, 'joint_states', 1)
    arm.until(lambda: probe.says(COMMANDS, '2 nodes publish /joint_states'), 'two are counted')
    arm.until(lambda: probe.says(COMMANDS, 'silent'), 'silence')
    np.testing.assert_array_equal(commands[-1].data, np.zeros(7))
    probe.destroy_publisher(second)
    answer = probe.clear_fault('feedforward')
    assert not answer.success
    assert 'deactivate and activate the node' in answer.message


def test_one_foreign_command_is_enough(arm, probe, start_node, commands):
    start_node(target='fci', **INCLINED)
    arm.until(lambda: len(commands) > 100, 'commands')
    rival = probe.create_publisher(Float64MultiArray, COMMAND, 1)
    # Long enough for its discovery: a publisher alone is none that commands.
    arm.send(500)
    assert not probe.says(COMMANDS, 'somebody else commands')
    # One is enough, but one may be lost before its publisher is known to the node.
    for _ in range(30):
        rival.publish(Float64MultiArray(data=[0.5] * 7))
        arm.send(1500)
        if probe.says(COMMANDS, 'messages that are not ours)'):
            break
    assert probe.says(COMMANDS, '(1 messages that are not ours)')


@pytest.mark.parametrize(('target', 'compensation'), [('fci', True), ('mujoco', False)])
def test_a_moving_arm_is_at_rest_when_the_node_has_ended(
    probe, start_arm, start_node, target, compensation
):
    states = probe.collect(JointState, 'joint_states')
    start_arm(gravity_compensation=compensation, lockstep_timeout=0.1)
    node = start_node(
        target=target,
        kp='[60.0,60.0,60.0,60.0,15.0,15.0,10.0]',
        kd='[6.0,6.0,6.0,6.0,1.0,1.0,0.5]',
    )
    probe.until(lambda: probe.says('simulator: Simulated arm', 'False'), 'brakes open')
    reference = probe.create_publisher(JointTrajectory, 'feedforward/reference', 10)
    probe.until(lambda: reference.get_subscription_count() > 0, 'a listener')
    motion = multisine(FER, 20.0, 0.4)
    reference.publish(
        trajectory_message(
            list(FER.joint_names),
            motion.times,
            motion.positions,
            motion.velocities,
            motion.accelerations,
        )
    )
    probe.until(lambda: np.abs(states[-1].velocity).max() > 0.4, 'motion')
    count = len(states)
    node.send(signal.SIGINT)
    while node.running:
        probe.spin(0.001)
    assert node.wait() == 0
    ended = len(states)
    probe.until(lambda: len(states) > ended + 3, 'states after the end')
    fastest = [np.abs(state.velocity).max() for state in states[count:]]
    # Let go at rest; what is left is what drifts, and no arm that coasts at 0.4 rad/s.
    assert min(fastest) < 1.5 * REST_SPEED
    assert fastest[-1] < 0.1
    assert 'not braked to rest' not in node.text
    assert 'shut down' in node.text
