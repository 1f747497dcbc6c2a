# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The direct way into Gazebo, against a stand-in that speaks its topics with MuJoCo's physics."""

import os

from builtin_interfaces.msg import Time
import numpy as np
import pytest
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64, Float64MultiArray

from franka_dynamics.arm import load
from franka_dynamics.simulation.gazebo import start_of, with_zero_at
from franka_dynamics.simulation.mujoco_model import build_mujoco

from .conftest import COMMAND

mujoco = pytest.importorskip('mujoco')
# Longer runs are for people: HOLD_SECONDS=10 pytest test/ros/test_gazebo_direct.py
HOLD_S = float(os.environ.get('HOLD_SECONDS', '0.4'))
DRIFT_RAD = 1e-6  # 1e-11 was seen over 10 s; a step without torque shows at once as 1e-5


class GazeboStandIn:
    """Physics that is fed by joint forces, applies the last for ever, and can be paused."""

    def __init__(self, probe, description) -> None:
        start = start_of(description)
        self._model = build_mujoco(with_zero_at(description, start.position))
        self._data = mujoco.MjData(self._model)
        mujoco.mj_forward(self._model, self._data)
        self._probe = probe
        self.names = description.joint_names
        self.forces = [
            probe.collect(Float64, f'gazebo/{name}/cmd_force', reliable=True)
            for name in self.names
        ]
        self._states = probe.create_publisher(JointState, 'gazebo/joint_states', 1)
        self.drift = 0.0

    def publish(self) -> None:
        """Tell the state, as Gazebo does after every iteration, paused or not."""
        nanoseconds = round(self._data.time * 1e9)
        message = JointState(
            name=list(self.names),
            position=list(self._data.qpos),
            velocity=list(self._data.qvel),
            effort=[0.0] * len(self.names),
        )
        message.header.stamp = Time(sec=nanoseconds // 10**9, nanosec=nanoseconds % 10**9)
        self._states.publish(message)

    def counts(self) -> int:
        return min(len(force) for force in self.forces)

    def step(self) -> None:
        """Advance by one step once every joint has a force that answers the last state."""
        before = self.counts()
        self.publish()
        self._probe.until(lambda: self.counts() > before, 'forces for a state')
        self._data.ctrl[:] = [force[-1].data for force in self.forces]
        mujoco.mj_step(self._model, self._data)
        self.drift = max(self.drift, float(np.abs(self._data.qpos).max()))

    @property
    def time(self) -> float:
        return self._data.time


@pytest.fixture
def gazebo(probe):
    return GazeboStandIn(probe, load('fr3', hand='franka_hand'))


@pytest.fixture
def direct(launch):
    return launch('gazebo_direct_node', robot_type='fr3', hand='franka_hand')


def until_holding(probe, gazebo, direct):
    def holding() -> bool:
        gazebo.publish()
        return 'holding the arm' in direct.text

    probe.until(holding, 'the direct node holding the arm')


def test_gravity_torque_is_held_in_paused_gazebo(probe, gazebo, direct):
    until_holding(probe, gazebo, direct)
    probe.until(lambda: all(gazebo.forces), 'a force on every joint')
    expected = start_of(load('fr3', hand='franka_hand')).torque
    np.testing.assert_array_equal([force[-1].data for force in gazebo.forces], expected)


def test_the_feedforward_node_holds_the_arm_in_unpaused_gazebo(
    probe, gazebo, direct, start_node, commands
):
    start_node(robot_type='fr3', hand='franka_hand', target='gz_ros2_control', take_over=True)
    until_holding(probe, gazebo, direct)
    # It is to be the feedforward node that holds the arm, not only the first torque.
    while gazebo.time < HOLD_S or len(commands) < 100:
        gazebo.step()
    assert gazebo.drift <= DRIFT_RAD


def test_the_start_pose_is_added_to_states_passed_on(probe, gazebo, direct):
    states = probe.collect(JointState, 'joint_states')
    gazebo.publish()
    probe.until(lambda: gazebo.publish() or states, 'joint states')
    assert tuple(states[-1].name) == gazebo.names
    np.testing.assert_array_equal(states[-1].position, load('fr3').home)


def test_a_malformed_command_leaves_the_last_forces(probe, gazebo, direct):
    until_holding(probe, gazebo, direct)
    publisher = probe.create_publisher(Float64MultiArray, COMMAND, 1)
    probe.until(lambda: publisher.get_subscription_count() > 0, 'the direct node listening')
    publisher.publish(Float64MultiArray(data=[1.0, 2.0]))
    probe.until(lambda: 'was refused' in direct.text, 'the refusal')
    publisher.publish(Float64MultiArray(data=[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]))
    # Seven topics: each force comes when it comes, and nothing but those two was sent to any.
    probe.until(
        lambda: all(force and force[-1].data == k for k, force in enumerate(gazebo.forces, 1)),
        'the next command on every joint',
    )
    held = start_of(load('fr3', hand='franka_hand')).torque
    for k, force in enumerate(gazebo.forces):
        assert {message.data for message in force} <= {held[k], 1.0 + k}


def test_another_arms_states_name_the_missing_joint(probe, gazebo, direct):
    gazebo.names = tuple(name.replace('fr3', 'fer') for name in gazebo.names)

    def told() -> bool:
        gazebo.publish()
        return 'fr3_joint1' in direct.text

    probe.until(told, 'an error naming the joint')
