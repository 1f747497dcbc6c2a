# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The action in front of a trajectory controller, over DDS, with a stand-in for the controller."""

from pathlib import Path

import pytest

pytest.importorskip('control_msgs', reason='control_msgs is not installed')

from action_msgs.msg import GoalStatus
from control_msgs.action import FollowJointTrajectory
from control_msgs.msg import JointTolerance
import numpy as np
from rclpy.action import ActionClient
from trajectory_msgs.msg import JointTrajectory

from franka_dynamics.arm import load
from franka_dynamics.control.multisine import multisine
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel
from franka_dynamics.ros.messages import trajectory_message

from .fake_trajectory_controller import ABORT, REJECT, SUCCEED, UNTIL_CANCELLED

FER = load('fer')
NAMES = list(FER.joint_names)
CONTROLLER = 'feedforward_trajectory_controller'
Result = FollowJointTrajectory.Result


class World:
    """An arm, the node, perhaps a controller behind it, and a client."""

    def __init__(self, probe, arm, launch, controller=True):
        self.probe, self.arm = probe, arm
        self.received = probe.collect(JointTrajectory, f'{CONTROLLER}/received', reliable=True)
        self.controller = (
            launch(str(Path(__file__).with_name('fake_trajectory_controller.py')))
            if controller
            else None
        )
        self.node = launch('trajectory_action_node', robot_type='fer', wait=5.0)
        self.client = ActionClient(
            probe, FollowJointTrajectory, 'trajectory_action/follow_joint_trajectory'
        )
        self.feedback = []
        probe.until(self.client.server_is_ready, 'the action')
        if controller:
            theirs = ActionClient(
                probe, FollowJointTrajectory, f'{CONTROLLER}/follow_joint_trajectory'
            )
            probe.until(theirs.server_is_ready, "the controller's action")

    def send(self, goal):
        """Send a goal; return its handle once it is answered."""
        answer = self.client.send_goal_async(goal, self.feedback.append)
        self.arm.until(answer.done, 'an answer to the goal')
        return answer.result()

    def end(self, handle):
        result = handle.get_result_async()
        self.arm.until(result.done, 'the end of the goal')
        return result.result()


@pytest.fixture
def make_world(probe, arm, launch):
    return lambda **options: World(probe, arm, launch, **options)


def goal(wish=SUCCEED, **changes):
    motion = multisine(FER, 2.0, 0.2)
    fields = {
        'positions': motion.positions,
        'velocities': motion.velocities,
        'accelerations': motion.accelerations,
        **changes,
    }
    message = FollowJointTrajectory.Goal(
        trajectory=trajectory_message(NAMES, motion.times, **fields),
        path_tolerance=[JointTolerance(name='passed on', position=0.1)],
    )
    message.goal_time_tolerance.sec = wish
    return message


def test_a_goal_goes_on_with_torques_and_its_result_comes_back(make_world):
    world = make_world()
    handle = world.send(goal())
    assert handle.accepted
    end = world.end(handle)
    assert end.status == GoalStatus.STATUS_SUCCEEDED
    # The stand-in returns the tolerance of the goal.
    assert (end.result.error_code, end.result.error_string) == (Result.SUCCESSFUL, 'passed on')
    world.probe.until(lambda: world.received and world.feedback, 'the goal and feedback')
    assert list(world.feedback[0].feedback.actual.positions) == [0.25] * 7
    assert world.received[0].header.stamp.sec == 0  # zero: start on arrival, as requested
    weightless = NewtonEulerModel(FER, (0.0, 0.0, 0.0))
    efforts = [list(point.effort) for point in world.received[0].points]
    expected = [
        weightless.inverse_dynamics(point.positions, point.velocities, point.accelerations)
        for point in world.received[0].points
    ]
    np.testing.assert_allclose(efforts, expected, rtol=0.0, atol=1e-9)
    assert np.abs(efforts).max() > 0.5


def test_refusals_rejection_abort_and_cancel_are_passed_on(make_world):
    world = make_world()
    # A controller rejects without a reason; this node aborts with a sentence.
    end = world.end(world.send(goal(REJECT)))
    assert end.status == GoalStatus.STATUS_ABORTED
    assert end.result.error_code == Result.INVALID_GOAL
    assert 'rejected the goal' in end.result.error_string
    end = world.end(world.send(goal(ABORT)))
    assert end.status == GoalStatus.STATUS_ABORTED
    assert end.result.error_code == Result.PATH_TOLERANCE_VIOLATED
    assert end.result.error_string == 'fr3_joint4 is 0.3 rad off'
    seen = len(world.feedback)
    handle = world.send(goal(UNTIL_CANCELLED))
    world.arm.until(lambda: len(world.feedback) > seen, 'the goal at the controller')
    wish = handle.cancel_goal_async()
    world.arm.until(wish.done, 'an answer to the wish')
    assert len(wish.result().goals_canceling) == 1
    end = world.end(handle)
    assert end.status == GoalStatus.STATUS_CANCELED
    assert end.result.error_string == 'cancelled there'
    # A goal that is refused never reaches the controller.
    world.probe.until(lambda: len(world.received) == 2, 'the two goals that reached it')
    beyond = multisine(FER, 2.0, 0.2).positions.copy()
    beyond[len(beyond) // 2] += 3.0
    for bad, code, words in (
        (goal(positions=beyond), Result.INVALID_GOAL, 'its limits there are'),
        (goal(positions=beyond * np.nan), Result.INVALID_GOAL, 'not finite'),
        (goal(), Result.INVALID_JOINTS, 'must name exactly the joints'),
    ):
        if code == Result.INVALID_JOINTS:
            bad.trajectory.joint_names = ['a', *NAMES[1:]]
        end = world.end(world.send(bad))
        assert end.status == GoalStatus.STATUS_ABORTED
        assert (end.result.error_code, words in end.result.error_string) == (code, True)
        assert len(end.result.error_string) < 500
    assert len(world.received) == 2


def test_a_goal_takes_the_place_of_another(make_world):
    world = make_world()
    first = world.send(goal(UNTIL_CANCELLED))
    world.arm.until(lambda: world.feedback, 'the first goal at the controller')
    second = world.send(goal(UNTIL_CANCELLED))
    end = world.end(first)
    assert end.status == GoalStatus.STATUS_ABORTED
    assert (end.result.error_code, end.result.error_string) == (Result.INVALID_GOAL, 'preempted')
    world.probe.until(lambda: len(world.received) == 2, 'both goals at the controller')
    # Only the second goal, which is still followed, is cancelled.
    world.arm.until(second.cancel_goal_async().done, 'an answer to the wish')
    end = world.end(second)
    assert (end.status, end.result.error_string) == (GoalStatus.STATUS_CANCELED, 'cancelled there')
    for trajectory in world.received:
        assert np.abs([point.effort for point in trajectory.points]).max() > 0.5


def test_a_controller_that_is_killed_ends_the_goal(make_world):
    world = make_world()
    handle = world.send(goal(UNTIL_CANCELLED))
    world.arm.until(lambda: world.feedback, 'the goal at the controller')
    world.controller.kill()
    end = world.end(handle)
    assert end.status == GoalStatus.STATUS_ABORTED
    assert 'is gone' in end.result.error_string


def test_without_a_controller_the_goal_says_so(make_world):
    world = make_world(controller=False)
    end = world.end(world.send(goal()))
    assert end.status == GoalStatus.STATUS_ABORTED
    assert 'Nobody serves' in end.result.error_string


def test_interrupted_the_node_has_the_motion_cancelled(make_world):
    world = make_world()
    handle = world.send(goal(UNTIL_CANCELLED))
    world.arm.until(lambda: world.feedback, 'the goal at the controller')
    result = handle.get_result_async()
    world.node.send(2)
    world.arm.until(result.done, 'the end of the goal')
    assert result.result().result.error_string == 'cancelled there'
    assert world.node.wait() == 0
