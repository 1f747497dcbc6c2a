# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A simulated arm: steps in lockstep, and senders that it does not follow."""

from itertools import cycle
import time

from diagnostic_msgs.msg import DiagnosticArray
import numpy as np
import pytest
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from franka_dynamics.dynamics.newton_euler import NewtonEulerModel
from franka_dynamics.ros.status import NodeStatus

from .conftest import COMMAND, FER
from ..messages import stamp

pytest.importorskip('mujoco')


def test_a_signal_ends_an_arm_that_waits_for_a_torque(probe, start_arm):
    publisher = probe.create_publisher(Float64MultiArray, COMMAND, 1)
    states = probe.collect(JointState, 'joint_states')
    simulator = start_arm(lockstep_timeout=60.0, gravity_compensation=True)
    probe.until(publisher.get_subscription_count, 'the arm listens')
    publisher.publish(Float64MultiArray(data=[0.0] * 7))
    probe.until_status('simulator', state='following')
    # The state of the step in which it waits may have come before that status.
    before, looks = len(states), iter(range(100))
    probe.until(lambda: len(states) > before or next(looks, None) is None, 'a state or none')
    began = time.monotonic()
    simulator.end()
    assert time.monotonic() - began < 30.0  # it does not wait for the torque to the end


def test_an_arm_in_lockstep_steps_no_faster_than_it_is_told(probe, start_arm):
    rate = 100.0  # without the bound, about 2000 steps per second
    publisher = probe.create_publisher(Float64MultiArray, COMMAND, 1)
    start_arm(lockstep_rate=rate, gravity_compensation=True)
    told = []

    def note(message):
        for one in map(NodeStatus.from_message, message.status):
            # Until the first command the arm runs in real time.
            if one.subject == 'Simulated arm' and int(one.values['steps commanded']):
                told.append((stamp(message), float(one.values['simulated time [s]'])))

    probe.create_subscription(DiagnosticArray, '/diagnostics', note, 10)

    def answered():
        publisher.publish(Float64MultiArray(data=[0.0] * 7))
        return len(told) > 2

    probe.until(answered, 'diagnostics')
    elapsed, simulated = np.subtract(told[-1], told[0])
    # After a pause of the machine, up to 0.05 s are caught up.
    assert 1 < simulated / 1e-3 <= rate * (elapsed + 0.05) + 2


def test_a_second_sender_is_not_followed_but_named(probe, start_arm):
    first, second = (probe.create_publisher(Float64MultiArray, COMMAND, 1) for _ in range(2))
    states = probe.collect(JointState, 'joint_states')
    arm = start_arm(gravity_compensation=True, brake_release_after=0.0)

    def send(torques, publisher):
        publisher.publish(Float64MultiArray(data=torques))

    def followed():
        send([0.0] * 7, first)
        return probe.told('simulator', 'state') == 'following'

    probe.until(followed, 'the first followed')
    # The message numbers of the second sender begin at 1, far from those of the first.
    before = len(states)
    probe.until(lambda: followed() and len(states) > before + 400, 'many steps')

    def until_refused(torques, publisher, reason):
        # In turn, because an arm that waits for the processor gets the newest torque alone, and
        # does not know its sender again after a hundred lost ones.
        turn = cycle((([0.0] * 7, first), (torques, publisher)))

        def counted():
            send(*next(turn))
            return int(probe.told('simulator', f'refused: {reason}')) > 0

        probe.until(counted, f'refused: {reason}')

    until_refused([10.0] * 7, second, 'other publisher')
    # It is logged before it is counted.
    assert 'publishers listed there: /probe, /probe\n' in arm.text
    until_refused([1.0] * 6, first, 'wrong size')
    # Of 0 and 10 N m the sensors show none, only the arm's gravity compensation.
    last = states[-1]
    gravity = NewtonEulerModel(FER).gravity(np.array(last.position))
    np.testing.assert_allclose(last.effort - gravity, 0.0, rtol=0, atol=0.5)
