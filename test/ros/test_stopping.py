# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The end of the node by signals, transitions and kills; another node that commands."""

import os
import signal
import time

from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
import numpy as np
import pytest
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory

from franka_dynamics.control.terms import MAX_REST_SPEED_RAD_S
from franka_dynamics.demo.multisine import multisine
from franka_dynamics.ros.trajectory_messages import reference_message

from .conftest import FER, FER_GRAVITY, HELD_RAD, INCLINED

ZERO = np.zeros(7)
NODE, COMMAND = 'feedforward', 'feedforward: Command'


def settled(commands):
    """Return whether a torque is sent that has risen to its full value."""
    return len(commands) > 1 and any(commands[-1].data) and commands[-1].data == commands[-2].data


@pytest.mark.parametrize(
    ('signals', 'target', 'parameters', 'resting'),
    [
        # A terminal that closes signals every process of its group; launch signals each again.
        ((signal.SIGHUP, signal.SIGINT), 'fci', INCLINED, ZERO),
        ((signal.SIGTERM,), 'mujoco', {}, FER_GRAVITY),
    ],
)
def test_signals_end_at_the_resting_torque_and_exit_zero(
    arm, probe, start_node, commands, signals, target, parameters, resting
):
    node = start_node(target=target, **parameters)
    arm.until(lambda: settled(commands), 'torques')
    full, count = np.array(commands[-1].data), len(commands)
    node.send(signals[0])

    def ended():
        for number in signals[1:]:
            node.send(number)
        return not node.running

    probe.until(ended, 'the end of the node')
    node.wait()
    probe.until(
        lambda: np.allclose(commands[-1].data, resting, rtol=0, atol=1e-12), 'the resting torque'
    )
    # Some may be lost, but all are on the way there.
    low, high = np.sort([full, resting], axis=0) + [[-1e-9], [1e-9]]
    assert all((low <= one.data).all() and (one.data <= high).all() for one in commands[count:])


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
    reference.publish(reference_message(multisine(FER, 8.0, 0.4)))
    probe.until(lambda: states and np.abs(states[-1].velocity).max() > 0.4, 'motion')
    if simulated:
        request = ChangeState.Request()
        request.transition.id = Transition.TRANSITION_DEACTIVATE
        change.call_async(request)  # whose answer may be lost
        probe.until(lambda: probe.client.state() == 'inactive', 'the transition')
        assert node.running
    else:
        node.send(signal.SIGINT)
        probe.until(lambda: not node.running, 'the end of the node')
        node.wait()

    # The arm comes to rest, and does not coast at 0.4 rad/s, which is 20 times
    # MAX_REST_SPEED_RAD_S. States of the motion may still wait for a probe that was kept waiting.
    def rests():
        return np.abs([state.velocity for state in states[-5:]]).max() < 3.0 * MAX_REST_SPEED_RAD_S

    probe.until(rests, 'the arm at rest')
    assert 'not braked to rest' not in node.text


def test_transitions_begin_stop_and_bring_back(arm, probe, start_node, commands):
    node = start_node(target='fci', autostart=False, **INCLINED)

    def transit(transition, state):
        assert probe.client.change_state(transition) == state

    assert probe.client.state() == 'unconfigured'
    transit('configure', 'inactive')
    probe.until_says(COMMAND, 'not activated')
    transit('activate', 'active')
    probe.until_says('feedforward: Joint states', 'no joint state on /joint_states for')
    assert not commands
    arm.until(lambda: settled(commands), 'commands')
    transit('deactivate', 'inactive')
    probe.until(lambda: np.array_equal(commands[-1].data, ZERO), 'zero torque')
    count = len(commands)
    arm.send(100)
    assert not any(np.any(message.data) for message in commands[count:])
    probe.until_says(COMMAND, 'deactivated')
    probe.until_says('feedforward: Joint states', 'reads no joint states')
    transit('cleanup', 'unconfigured')
    transit('configure', 'inactive')
    transit('activate', 'active')
    count = len(commands)
    arm.until(lambda: len(commands) > count + 50, 'commands after cleanup')
    transit('shutdown', 'finalized')
    node.end()


def test_an_arm_waits_for_a_stalled_node_and_is_held_until_it_or_a_new_one_commands(
    probe, start_arm, start_node
):
    states = probe.collect(JointState, 'joint_states')
    waits_s = 0.3
    start_arm(lockstep_timeout=waits_s)
    node = start_node(target='mujoco', kp=[-1.0])
    probe.until_status('simulator', held='True')
    probe.until(
        lambda: np.allclose(states[-1].effort, FER_GRAVITY, rtol=0, atol=1e-9), 'it is carried'
    )

    def counted(key):
        return int(probe.told('simulator: Simulated arm', key))

    def missed():
        return counted('steps without a new command')

    def answered():
        return counted('steps commanded') - missed()

    probe.until_says('simulator: Simulated arm', 'the brakes are open')
    before = missed()
    # A short stall: after 20 s without a word DDS would take the node for gone.
    os.kill(node.pid, signal.SIGSTOP)
    probe.until(lambda: missed() > before, 'a step without a torque')
    os.kill(node.pid, signal.SIGCONT)
    count = answered()
    probe.until(lambda: answered() > count + 100, 'the node is followed again')
    before, killed = missed(), time.monotonic()
    node.kill()
    # At 0.3 s per step, these steps would exceed the time-out of the test.
    probe.until(lambda: missed() > before + 1000, 'time goes on without a node')
    assert time.monotonic() - killed > 5.0 * waits_s, 'the first steps did not wait'
    probe.until_status('simulator', state='holding', held='True')
    # DDS still lists the dead node for 20 s.
    start_node(target='mujoco', kp=[-1.0])
    probe.forget()
    probe.until_status('simulator', state='following')
    probe.until_status(NODE, state='running')
    probe.until(lambda: probe.status(COMMAND), 'diagnostics')
    assert probe.told(COMMAND, 'faults latched') == '0'
    count = len(states)
    probe.until(lambda: len(states) > count + 200, 'two hundred states')
    np.testing.assert_allclose(states[-1].position, FER.home, rtol=0, atol=HELD_RAD)
