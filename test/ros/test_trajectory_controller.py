# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
The node before joint_trajectory_controller itself, in ros2_control_node on mock hardware.

It needs ros2_control (ros2_control_prefix.py) and the Python messages of its control_msgs and
controller_manager_msgs; elsewhere it is skipped.
"""

import pytest

pytest.importorskip('control_msgs', reason='control_msgs is not installed')
pytest.importorskip('controller_manager_msgs', reason='controller_manager_msgs is not installed')

from action_msgs.msg import GoalStatus
from control_msgs.action import FollowJointTrajectory
from controller_manager_msgs.srv import ConfigureController, LoadController, SwitchController
import numpy as np
from sensor_msgs.msg import JointState

from franka_dynamics.arm import load
from franka_dynamics.demo.multisine import multisine
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel
from franka_dynamics.ros.messages import trajectory_message
from franka_dynamics.ros.node_client import NodeClient

from .goals import GoalClient
from ..processes import TIMEOUT_S

ARM = load('fr3')
NAMES = list(ARM.joint_names)
WEIGHT = NewtonEulerModel(ARM).gravity(ARM.home)
PARAMETERS = f"""
/controller_manager:
  ros__parameters:
    update_rate: 200
    joint_state_broadcaster.type: joint_state_broadcaster/JointStateBroadcaster
    trajectory.type: joint_trajectory_controller/JointTrajectoryController
    effort_controller.type: forward_command_controller/ForwardCommandController
/trajectory:
  ros__parameters:
    joints: {NAMES}
    command_interfaces: [effort]
    state_interfaces: [position, velocity]
/effort_controller:
  ros__parameters:
    joints: {NAMES}
    interface_name: effort
"""


class Stack:
    """A running controller manager, and a probe beside it."""

    def __init__(self, probe):
        self.probe = probe
        self.states = probe.collect(JointState, 'joint_states')
        self.activate('joint_state_broadcaster')
        probe.until(lambda: self.states, 'a joint state')

    def ask(self, kind, service, **fields):
        with NodeClient('/controller_manager', TIMEOUT_S, self.probe.spin) as client:
            assert client.call_service(kind, service, kind.Request(**fields)).ok, (service, fields)

    def activate(self, name):
        self.ask(LoadController, 'load_controller', name=name)
        self.ask(ConfigureController, 'configure_controller', name=name)
        strict = SwitchController.Request.STRICT
        self.ask(
            SwitchController, 'switch_controller', activate_controllers=[name], strictness=strict
        )

    def efforts(self, since=0):
        """Return the commands in the states from number `since` on, shape (k, 7) [N m]."""
        rows = [dict(zip(state.name, state.effort)) for state in self.states[since:]]
        return np.array([[row[name] for name in NAMES] for row in rows])

    def held(self):
        """Return the command that stays the same in twenty states [N m]."""
        before = len(self.states)
        self.probe.until(lambda: len(self.states) > before + 40, 'more states')
        efforts = self.efforts(before + 20)
        np.testing.assert_array_equal(efforts, np.tile(efforts[0], (len(efforts), 1)))
        return efforts[0]


@pytest.fixture
def stack(probe, tmp_path, run_manager):
    parameters = tmp_path / 'parameters.yaml'
    parameters.write_text(PARAMETERS)
    run_manager(ARM, '--ros-args', '--params-file', parameters)
    return Stack(probe)


@pytest.fixture
def client(stack, start_node):
    """Return a client of the node, which passes goals on to the trajectory controller."""
    stack.activate('trajectory')
    action = 'trajectory/follow_joint_trajectory'
    start_node(robot_type='fr3', target='mujoco', controller_action=action)
    stack.probe.until_status('/feedforward', state='running')
    return GoalClient(stack.probe, stack.probe.until)


MOTION = multisine(ARM, 3.0, 0.2)


def goal(stretch=1.0):
    rows = MOTION.positions, MOTION.velocities / stretch, MOTION.accelerations / stretch**2
    message = trajectory_message(NAMES, MOTION.times * stretch, *rows)
    return FollowJointTrajectory.Goal(trajectory=message)


def away_from_lines(efforts, corners):
    """Return the distance of each effort, (k, 7), from the polygon through the corners [N m]."""
    start, step = corners[:-1], np.diff(corners, axis=0)
    length = np.maximum((step**2).sum(axis=1), 1e-30)
    share = ((efforts[:, None] - start) * step).sum(axis=2) / length
    nearest = start + np.clip(share, 0.0, 1.0)[..., None] * step
    return np.abs(efforts[:, None] - nearest).max(axis=2).min(axis=1)


def test_a_goal_is_followed_with_our_torques(client, stack):
    begun = len(stack.states)
    assert client.end(client.send(goal()))[:2] == (GoalStatus.STATUS_SUCCEEDED, 0)
    assert client.feedback
    efforts = stack.efforts(begun)
    expected = NewtonEulerModel(ARM).inverse_dynamics(
        MOTION.positions, MOTION.velocities, MOTION.accelerations
    )
    followed = efforts[np.abs(efforts).max(axis=1) > 0.0]
    assert len(followed) > 100
    # The controller interpolates efforts linearly; its gains are 0.
    assert away_from_lines(followed, expected).max() < 1e-9
    assert np.ptp(followed, axis=0).max() > 1.0


def braking_goal():
    """Return a goal as MoveIt's time parametrisation ends one: at rest, still decelerating."""
    t = np.linspace(0.0, 1.0, 11)
    s = np.where(t < 0.5, 2.0 * t**2, 1.0 - 2.0 * (1.0 - t) ** 2)
    ds = np.where(t < 0.5, 4.0 * t, 4.0 * (1.0 - t))
    dds = np.where(t < 0.5, 4.0, -4.0)
    motion = (np.outer(one, np.full(7, 0.2)) for one in (s, ds, dds))
    message = trajectory_message(NAMES, t, next(motion) + ARM.home, *motion)
    return FollowJointTrajectory.Goal(trajectory=message)


def test_what_the_controller_holds_the_arm_with(client, stack):
    # The controller's rules, on which the added last point and the pages rely.
    def cancelled():
        handle = client.followed(goal(stretch=20.0))
        client.cancel(handle)
        assert client.end(handle)[0] == GoalStatus.STATUS_CANCELED

    np.testing.assert_array_equal(stack.held(), np.zeros(7))
    cancelled()
    np.testing.assert_array_equal(stack.held(), np.zeros(7))
    braking = braking_goal()
    assert client.end(client.send(braking))[0] == GoalStatus.STATUS_SUCCEEDED
    weight = NewtonEulerModel(ARM).gravity(np.array(braking.trajectory.points[-1].positions))
    np.testing.assert_allclose(stack.held(), weight, rtol=0.0, atol=1e-9)
    # After a later cancel the controller applies the effort of the last success.
    cancelled()
    np.testing.assert_allclose(stack.held(), weight, rtol=0.0, atol=1e-9)


def test_the_nodes_torques_reach_the_joints(stack, probe, start_node):
    stack.activate('effort_controller')
    np.testing.assert_array_equal(stack.efforts(-1), np.zeros((1, 7)))
    node = start_node(robot_type='fr3', target='mujoco', min_input_rate=50.0)
    probe.until(
        lambda: np.abs(stack.efforts(-1) - WEIGHT).max() < 1e-12, 'the arm carried by the node'
    )
    node.end()
    # The controller keeps the last command, which holds the arm.
    np.testing.assert_allclose(stack.held(), WEIGHT, rtol=0.0, atol=1e-12)
