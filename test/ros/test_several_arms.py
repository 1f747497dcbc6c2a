# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Two arms in one message of fourteen joints (in namespaces of their own: test_monitor.py)."""

from itertools import count

import numpy as np
from sensor_msgs.msg import JointState

from franka_dynamics.arm import load
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel

from .conftest import PATIENT


def test_each_of_two_nodes_takes_its_own_arm_from_one_message(probe, launch):
    left, right = load('fer', prefix='left_'), load('fr3', prefix='right_')
    torques = {}
    for side, arm in (('left', 'fer'), ('right', 'fr3')):
        torques[side] = probe.collect(JointState, f'/{side}_ff/feedforward')
        launch(
            'feedforward_node',
            robot_type=arm,
            arm_prefix=f'{side}_',
            target='mujoco',
            **{**PATIENT, 'remaps': {'__node': f'{side}_ff'}},
        )
    stream_names = [*right.joint_names, *left.joint_names]
    publisher = probe.create_publisher(JointState, 'joint_states', 1)
    probe.until(lambda: publisher.get_subscription_count() == 2, 'both nodes listen')
    steps = count(1)

    def both():
        nanoseconds = 10**6 * next(steps)
        message = JointState(
            name=stream_names,
            position=[*right.home, *left.home],
            velocity=[0.0] * 14,
            effort=[0.0] * 14,
        )
        message.header.stamp.sec = 100 + nanoseconds // 10**9
        message.header.stamp.nanosec = nanoseconds % 10**9
        publisher.publish(message)
        probe.spin(1e-3)
        return all(len(messages) > 20 for messages in torques.values())

    probe.until(both, 'torques of both')
    for side, arm in (('left', left), ('right', right)):
        assert tuple(torques[side][-1].name) == arm.joint_names
        np.testing.assert_allclose(
            torques[side][-1].effort, NewtonEulerModel(arm).gravity(arm.home), rtol=0, atol=1e-9
        )
