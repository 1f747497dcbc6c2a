# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Other publishers on the node's topics; a moving arm is braked before its node ends."""

import signal

from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
import numpy as np
import pytest
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory

from franka_dynamics.control.braking import REST_SPEED
from franka_dynamics.control.multisine import multisine
from franka_dynamics.ros.clearance import PublisherCounts
from franka_dynamics.ros.messages import request_message

from .conftest import FER, INCLINED

COMMANDS = 'feedforward: Command'


def test_a_second_publisher_of_joint_states_is_noticed(arm, probe, start_node, commands):
    start_node(target='fci', **INCLINED)
    arm.until(lambda: commands, 'commands')
    second = probe.create_publisher(JointState, 'joint_states', 1)
    count = len(commands)
    arm.until(lambda: len(commands) > count + 150, 'commands, while the second says nothing')
    probe.until_status('feedforward', state='running')

    def both():
        second.publish(arm.message())
        return probe.says(COMMANDS, 'a second node publishes /joint_states')

    arm.until(both, 'two are told apart')
    assert probe.says(COMMANDS, 'publishers listed: /probe, /probe)')
    arm.until_says(COMMANDS, 'silent')
    # Diagnostics may arrive before the last command.
    probe.until(lambda: not any(commands[-1].data), 'zero')
    probe.destroy_publisher(second)
    # Its last states may still be on their way.
    probe.until(lambda: probe.clear_fault('feedforward').success, 'the other is gone')
    arm.until(lambda: probe.value('feedforward', 'state') == 'running', 'torques')


@pytest.mark.parametrize(
    ('numbers', 'found'),
    [
        ([*range(1, 500)], False),
        ([1, 2, 3, 50, 51, 52], False),  # lost messages
        ([*range(400, 500), *range(1, 1000)], False),  # killed and restarted at once
        ([1, 2, 1, 3, 2, 4, 3, 5], True),  # started together
        ([900, 901, 1, 902], True),  # one message of another
        ([100, 101, 5000, 102], True),  # one that has sent more
        ([100, 300, 301, 500, 501], False),  # a reader that pauses
        ([5000, 1, 2, 3], False),  # restarted before its second message came
    ],
)
def test_two_publishers_are_told_from_one_that_was_restarted(numbers, found):
    counts = PublisherCounts()
    assert any(counts.add(number) for number in numbers) == found


@pytest.mark.parametrize('by', ['signal', 'transition'])
def test_a_moving_arm_is_at_rest_when_its_node_has_stopped(probe, start_arm, start_node, by):
    # After a signal the control thread stops the node, at a transition the service thread, which
    # then does not receive simulated time.
    simulated = by == 'transition'
    states = probe.collect(JointState, 'joint_states')
    start_arm(gravity_compensation=not simulated, publish_clock=simulated)
    node = start_node(
        target='mujoco' if simulated else 'fci',
        use_sim_time=simulated,
        kp='[60.0,60.0,60.0,60.0,15.0,15.0,10.0]',
        kd='[6.0,6.0,6.0,6.0,1.0,1.0,0.5]',
    )
    probe.until_status('simulator', held='True')
    reference = probe.create_publisher(JointTrajectory, 'feedforward/reference', 10)
    change = probe.create_client(ChangeState, 'feedforward/change_state')
    probe.until(reference.get_subscription_count, 'the node')
    probe.until(change.service_is_ready, 'its service')
    reference.publish(request_message(multisine(FER, 8.0, 0.4)))
    probe.until(lambda: states and np.abs(states[-1].velocity).max() > 0.4, 'motion')
    if simulated:
        request = ChangeState.Request()
        request.transition.id = Transition.TRANSITION_DEACTIVATE
        change.call_async(request)  # whose answer may be lost
        probe.until(lambda: probe.lifecycle_state('feedforward') == 'inactive', 'the transition')
        assert node.running
    else:
        node.send(signal.SIGINT)
        probe.until(lambda: not node.running, 'the end of the node')
        node.wait()

    # The arm comes to rest, and does not coast at 0.4 rad/s, which is 20 times REST_SPEED. States
    # of the motion may still wait for a probe that was kept waiting.
    def rests():
        return np.abs([state.velocity for state in states[-5:]]).max() < 3.0 * REST_SPEED

    probe.until(rests, 'the arm at rest')
    assert 'not braked to rest' not in node.text
