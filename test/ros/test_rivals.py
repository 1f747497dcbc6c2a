# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Others on the node's topics, noticed while it commands; and a moving arm braked on SIGINT."""

import signal
import time

from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
import numpy as np
from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory

from franka_dynamics.arm import load
from franka_dynamics.control.braking import REST_SPEED
from franka_dynamics.control.multisine import multisine
from franka_dynamics.control.rivals import OwnMessages
from franka_dynamics.ros.messages import request_message
from franka_dynamics.ros.rivals import CommandWatch

from .conftest import COMMAND, TIMEOUT_S

FER = load('fer')
COMMANDS = 'feedforward: Command'
INCLINED = {'gravity_vector': '[4.0,0.0,-8.9]'}


def test_a_second_publisher_of_joint_states_is_noticed(arm, probe, start_node, commands):
    start_node(target='fci', **INCLINED)
    arm.until(lambda: len(commands) > 100, 'commands')
    second = probe.create_publisher(JointState, 'joint_states', 1)
    count = len(commands)
    arm.until(lambda: len(commands) > count + 300, 'commands, while the second says nothing')
    assert probe.says(COMMANDS, 'running')

    def both():
        second.publish(arm.message())
        return probe.says(COMMANDS, '2 nodes publish /joint_states')

    arm.until(both, 'two are counted')
    arm.until(lambda: probe.says(COMMANDS, 'silent'), 'silence')
    # Diagnostics may overtake the last of them; nothing comes after it.
    probe.until(lambda: not any(commands[-1].data), 'zero')
    probe.destroy_publisher(second)
    answer = probe.clear_fault('feedforward')
    assert not answer.success
    assert 'deactivate and activate the node' in answer.message


def test_one_foreign_command_takes_the_torque_back(arm, probe, start_node, commands):
    start_node(target='fci', **INCLINED)
    arm.until(lambda: len(commands) > 100, 'commands')
    rival = probe.create_publisher(Float64MultiArray, COMMAND, 1)
    # A publisher alone is none that commands; from here on a message of it reaches the node.
    arm.until(lambda: says_pair(probe, 'publishers of commands heard', '2'), 'the rival is heard')
    probe.until(lambda: rival.get_subscription_count() == 2, 'both sides know of each other')
    assert not probe.says(COMMANDS, 'somebody else commands')
    ours = np.array(commands[-1].data)
    assert np.abs(ours).max() > 1.0
    commands.clear()
    rival.publish(Float64MultiArray(data=[0.5] * 7))
    arm.until(lambda: any(taken_back(command, ours) for command in commands), 'the stop')
    arm.until(lambda: probe.says(COMMANDS, '(1 messages that are not ours)'), 'why it stopped')


def test_a_relay_that_repeats_commands_50_ms_later_takes_the_torque_back(
    arm, probe, start_node, commands
):
    # They were known by their bytes, and so a repeated one was taken for ours.
    ours = probe.collect(JointState, 'feedforward/feedforward')
    start_node(target='fci', kp='[300.0]', **INCLINED)
    arm.until(lambda: len(ours) > 100, 'commands')
    relay = probe.create_publisher(Float64MultiArray, COMMAND, 1)
    arm.until(lambda: says_pair(probe, 'publishers of commands heard', '2'), 'the relay is heard')
    steps, relayed = [], []

    def noticed():
        for _ in range(10):
            probe.spin(0.0)
        old, new = ours[-50].effort, ours[-1].effort
        # Once the arm moves and they are old: while it stands all commands are alike.
        steps.append(np.abs(np.subtract(new, old)).max())
        if steps[-1] > 1.0 and len(relayed) < 100:
            relayed.append(old)
            relay.publish(Float64MultiArray(data=old))
        speed = 0.2 if len(steps) % 400 < 200 else -0.2
        arm.q[1] += 1e-3 * speed
        arm.send(velocity=[0.0, speed, *[0.0] * 5])
        return probe.says(COMMANDS, 'messages that are not ours')

    probe.until(noticed, 'the relay is noticed')
    assert relayed
    probe.until(lambda: not any(commands[-1].data), 'zero')


def taken_back(command, ours):
    """Return whether a command is on its way to zero; the rival's own 0.5 N m is not ours."""
    torque = np.array(command.data)
    return not (torque == 0.5).all() and bool((np.abs(torque) < np.abs(ours) - 0.5).any())


def test_lost_and_equal_messages_of_ours_are_ours():
    own = OwnMessages()
    for _ in range(3):
        for message in (b'a', b'a', b'b', b'c'):
            own.note(message)
        assert own.answers(b'a')
        assert own.answers(b'c')
    # One that is heard more often than it was sent is not.
    own.note(b'a')
    assert own.answers(b'a')
    assert not own.answers(b'a')


def test_our_own_commands_do_not_push_out_a_rivals_one(probe):
    publisher = probe.create_publisher(Float64MultiArray, 'watched', 1)
    rival = probe.create_publisher(Float64MultiArray, 'watched', 1)
    watch = CommandWatch(probe, MutuallyExclusiveCallbackGroup(), publisher.topic_name)
    # By no executor, as in the node: the watch takes its messages itself.
    wait_for(lambda: watch.check() == '' and watch.heard_publishers == 2, 'both are heard')
    wait_for(lambda: publisher.get_subscription_count() == 1, 'ours is connected')
    wait_for(lambda: rival.get_subscription_count() == 1, 'the other is connected')
    # Given one message of the other and then a hundred of ours, before any is looked at.
    ours = bytes(serialize_message(Float64MultiArray(data=[1.0] * 7)))
    rival.publish(Float64MultiArray(data=[0.5] * 7))
    for _ in range(100):
        watch.sent(ours)
        publisher.publish(ours)
    wait_for(lambda: '(1 messages that are not ours)' in watch.check(), 'the other is found')
    watch.close()


def wait_for(done, what):
    """Look at the middleware alone, whose own threads go on, until something is true."""
    give_up = time.monotonic() + TIMEOUT_S
    while not done():
        time.sleep(0.01)
        assert time.monotonic() < give_up, f'never happened: {what}'


def says_pair(probe, key, value):
    return probe.diagnostics.get(COMMANDS, (0, '', {}))[2].get(key) == value


def start_motion(probe, start_arm, start_node, target, compensation, clock=False, **options):
    """Return a node whose simulated arm moves, and a list that grows by the arm's states."""
    states = probe.collect(JointState, 'joint_states')
    # Longer than a busy machine lets the node wait, so that no torque comes late to the arm.
    start_arm(gravity_compensation=compensation, lockstep_timeout=0.3, publish_clock=clock)
    node = start_node(
        target=target,
        kp='[60.0,60.0,60.0,60.0,15.0,15.0,10.0]',
        kd='[6.0,6.0,6.0,6.0,1.0,1.0,0.5]',
        **options,
    )
    probe.until(lambda: probe.says('simulator: Simulated arm', 'False'), 'brakes open')
    reference = probe.create_publisher(JointTrajectory, 'feedforward/reference', 10)
    probe.until(lambda: reference.get_subscription_count() > 0, 'a listener')
    motion = multisine(FER, 20.0, 0.4)
    reference.publish(request_message(motion))
    probe.until(lambda: states and np.abs(states[-1].velocity).max() > 0.4, 'motion')
    return node, states


def assert_stopped_at_rest(probe, node, states, since):
    """Assert that of the states from an index on one was at rest, and those after stay slow."""
    ended = len(states)
    probe.until(lambda: len(states) > ended + 3, 'states after the end')
    fastest = [np.abs(state.velocity).max() for state in states[since:]]
    # Let go at rest; what is left is what drifts, and no arm that coasts at 0.4 rad/s.
    assert min(fastest) < 1.5 * REST_SPEED
    assert fastest[-1] < 0.1
    assert 'not braked to rest' not in node.text


def test_a_moving_arm_is_at_rest_when_the_node_has_ended(probe, start_arm, start_node):
    node, states = start_motion(probe, start_arm, start_node, 'fci', True)
    count = len(states)
    node.send(signal.SIGINT)
    while node.running:
        probe.spin(0.001)
    assert node.wait() == 0
    assert_stopped_at_rest(probe, node, states, count)
    assert 'shut down' in node.text


def test_a_moving_arm_is_at_rest_when_the_node_is_deactivated(probe, start_arm, start_node):
    node, states = start_motion(
        probe, start_arm, start_node, 'mujoco', False, clock=True, use_sim_time=True
    )
    change = probe.create_client(ChangeState, 'feedforward/change_state')
    probe.until(change.service_is_ready, 'the service')
    probe.until(lambda: np.abs(states[-1].velocity).max() >= 0.3, 'motion')
    count = len(states)
    request = ChangeState.Request()
    request.transition.id = Transition.TRANSITION_DEACTIVATE
    change.call_async(request)  # its answer may get lost on the way; the log tells
    probe.until(lambda: ']: deactivated' in node.text, 'the transition')
    assert np.abs(states[count - 1].velocity).max() >= 0.3
    assert_stopped_at_rest(probe, node, states, count)
    assert node.running
