# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A push on the simulated arm, as the node's topics and diagnostics show it."""

from geometry_msgs.msg import WrenchStamped
import numpy as np
from sensor_msgs.msg import JointState

from franka_dynamics.arm import load
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel

from ..messages import stamp

FER = load('fer')
FORCE = np.array([0.0, 6.0, -8.0])  # 10 N at the flange


def test_the_torques_and_the_wrench_of_a_push_are_published(probe, start_arm, start_node):
    begun, given_way = 3.0, 4.5
    states = probe.collect(JointState, 'joint_states', depth=1)
    torques = probe.collect(JointState, '/feedforward/external_torque', depth=1)
    wrenches = probe.collect(WrenchStamped, '/feedforward/external_wrench', depth=1)
    covariances = probe.collect(JointState, '/feedforward/external_wrench_covariance', depth=1)
    bounds = {'guard.joint_factors': [5.0]}  # the push must not stop the arm
    # Held by a stiff PD, so that the arm yields little and soon rests again.
    start_node(target='mujoco', kp=[300.0] * 4 + [80.0] * 3, kd=[20.0] * 4 + [1.0] * 3, **bounds)
    push = {'push.force': FORCE.tolist(), 'push.start': begun, 'push.duration': 60.0}
    start_arm(publish_clock=True, **push)
    probe.until(
        lambda: all(
            messages and stamp(messages[-1]) > given_way
            for messages in (states, wrenches, covariances, torques)
        ),
        'the arm gave way',
    )
    jacobian = NewtonEulerModel(FER).jacobian(np.array(states[-1].position))
    # The arm creeps by 1e-3 rad/s at most, which hardly changes the levers of the force.
    np.testing.assert_allclose(torques[-1].effort, -jacobian[:3].T @ FORCE, rtol=0, atol=0.02)
    # The arm exerts the opposite of the force that acts on it, in the axes of its base.
    assert wrenches[-1].header.frame_id == 'fer_link0'
    force, moment = wrenches[-1].wrench.force, wrenches[-1].wrench.torque
    np.testing.assert_allclose([force.x, force.y, force.z], -FORCE, rtol=0, atol=0.1)
    np.testing.assert_allclose([moment.x, moment.y, moment.z], np.zeros(3), rtol=0, atol=0.05)
    assert covariances[-1].name[:2] == ['fx/fx', 'fx/fy']
    covariance = np.array(covariances[-1].effort).reshape(6, 6)
    np.testing.assert_allclose(covariance, covariance.T, rtol=1e-12, atol=1e-15)
    assert (np.linalg.eigvalsh(covariance) > 0.0).all()
    _, message, pairs = probe.diagnostics['feedforward: External wrench']
    assert message.startswith('standard deviation at most')
    assert pairs['singular'] == 'False'
