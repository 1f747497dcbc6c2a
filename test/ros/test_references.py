# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""References over DDS: followed, and passed on with efforts."""

import numpy as np
import pytest
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from franka_dynamics.arm import load
from franka_dynamics.control.multisine import multisine
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel
from franka_dynamics.ros.messages import request_message

FER = load('fer')
NAMES = list(FER.joint_names)


@pytest.fixture(scope='module')
def world(node_world):
    world = node_world(robot_type='fer', target='fci')
    world.arm.until(lambda: len(world.commands) > 50, 'commands')
    world.references = world.probe.create_publisher(JointTrajectory, '/feedforward/reference', 10)
    world.probe.until(lambda: world.references.get_subscription_count() > 0, 'a listener')
    return world


def test_a_set_point_with_acceleration_commands_m_ddq(world):
    ddq = np.array([0.5, -1.0, 0.8, 1.0, -2.0, 1.5, 3.0])
    point = JointTrajectoryPoint(
        positions=list(FER.home), velocities=[0.0] * 7, accelerations=list(ddq)
    )
    expected = NewtonEulerModel(FER).mass_matrix(FER.home) @ ddq

    def commanded():
        world.references.publish(JointTrajectory(joint_names=NAMES, points=[point]))
        world.arm.send(2)
        return np.allclose(world.commands[-1].data, expected, rtol=0, atol=1e-9)

    world.probe.until(commanded, 'M ddq')
    # A stream that stops is no wish any more: the torque goes back to zero.
    world.arm.until(lambda: not np.any(world.commands[-1].data), 'zero after the stream')


def test_a_trajectory_is_passed_on_with_inverse_dynamics(world):
    planned = world.probe.collect(
        JointTrajectory, '/feedforward/feedforward_trajectory', reliable=True
    )
    inertia = world.probe.collect(JointState, '/feedforward/inertia_torque')
    motion = multisine(FER, 2.0, 0.2)
    message = request_message(motion)

    def passed_on():
        if not planned:
            world.references.publish(message)
        world.arm.send(20)
        return planned

    world.probe.until(passed_on, 'the trajectory with efforts')
    weightless = NewtonEulerModel(FER, (0.0, 0.0, 0.0))
    for point in planned[0].points:
        expected = weightless.inverse_dynamics(
            point.positions, point.velocities, point.accelerations
        )
        np.testing.assert_allclose(point.effort, expected, rtol=0, atol=1e-9)
    assert planned[0].header.stamp.sec > 0
    world.arm.until(lambda: inertia and np.abs(inertia[-1].effort).max() > 0.1, 'M ddq of it')
    world.arm.until(lambda: not np.any(inertia[-1].effort), 'its end')
