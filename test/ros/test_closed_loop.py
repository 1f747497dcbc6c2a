# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Simulated arm and node as processes, joined by DDS: the main job in small."""

import numpy as np
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from franka_dynamics.arm import load
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel

from .conftest import COMMAND
from ..messages import stamp

FER = load('fer')
# A run of two simulated seconds: without feedback an error of rounding grows to 1e-12 rad, and
# the requirement on ten seconds is 1e-3.
DRIFT_RAD = 1e-6


def test_given_a_simulated_arm_when_fed_forward_then_it_is_held(probe, start_arm, start_node):
    states = probe.collect(JointState, 'joint_states')
    start_arm()
    start_node(target='mujoco')
    probe.until(lambda: states and probe.says('simulator: Simulated arm', 'False'), 'brakes open')
    opened = stamp(states[-1])
    probe.until(lambda: stamp(states[-1]) > opened + 2.0, 'two seconds of simulated time')
    held = np.array([message.position for message in states])
    np.testing.assert_allclose(held, np.tile(FER.home, (len(held), 1)), rtol=0, atol=DRIFT_RAD)
    np.testing.assert_allclose(
        states[-1].effort, NewtonEulerModel(FER).gravity(FER.home), rtol=0, atol=1e-9
    )
    # Diagnostics come once per second, after the probe has been found.
    probe.until(lambda: probe.says('feedforward: Command', 'torques are published'), 'command')
    probe.until(
        lambda: probe.says('feedforward: Gravity compensation', 'uncompensated'),
        'who adds gravity',
    )


def test_an_arm_in_lockstep_steps_no_faster_than_it_is_told(probe, start_arm):
    rate, count = 100.0, 60  # unbounded, so many steps take some 0.03 s
    states = probe.collect(JointState, 'joint_states', times=True)
    publisher = probe.create_publisher(Float64MultiArray, COMMAND, 1)
    start_arm(lockstep_rate=rate, gravity_compensation=True)

    def answer(done):
        publisher.publish(Float64MultiArray(data=[0.0] * 7))
        return done()

    def commanded():
        _, _, pairs = probe.diagnostics.get('simulator: Simulated arm', (0, '', {}))
        return int(pairs.get('steps commanded', 0))

    # Until the first command it goes by the clock.
    probe.until(lambda: answer(commanded), 'the first command')
    states.clear()
    probe.until(lambda: answer(lambda: len(states) > count), 'states')
    elapsed = 1e-9 * (states.sent[-1] - states.sent[0])
    steps = round((stamp(states[-1]) - stamp(states[0])) / 1e-3)
    # After a pause of the machine, up to 0.05 s are caught up with.
    assert steps <= rate * (elapsed + 0.05) + 2
