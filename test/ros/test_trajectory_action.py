# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The action in front of a trajectory controller, over DDS, with a stand-in for the controller."""

from pathlib import Path
import signal

import pytest

pytest.importorskip('control_msgs', reason='control_msgs is not installed')

from action_msgs.msg import GoalStatus
from control_msgs.action import FollowJointTrajectory
from control_msgs.msg import JointTolerance
import numpy as np
from rclpy.action import ActionClient
from trajectory_msgs.msg import JointTrajectory

from franka_dynamics.control.multisine import multisine
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel
from franka_dynamics.ros.messages import trajectory_message

from .conftest import FER
from .fake_trajectory_controller import ABORT, REJECT, SUCCEED, UNTIL_CANCELLED
from .goals import GoalClient

NAMES = list(FER.joint_names)
CONTROLLER = 'feedforward_trajectory_controller'
Result = FollowJointTrajectory.Result
SUCCEEDED, CANCELED, ABORTED = (
    GoalStatus.STATUS_SUCCEEDED,
    GoalStatus.STATUS_CANCELED,
    GoalStatus.STATUS_ABORTED,
)
MOTION = multisine(FER, 2.0, 0.2)


class World:
    """An arm, the node, perhaps a controller behind it, and a client."""

    def __init__(self, probe, arm, launch, controller=True):
        self.probe = probe
        self.received = probe.collect(JointTrajectory, f'{CONTROLLER}/received', reliable=True)
        if controller:
            program = Path(__file__).with_name('fake_trajectory_controller.py')
            self.controller = launch(str(program))
            name = f'{CONTROLLER}/follow_joint_trajectory'
            theirs = ActionClient(probe, FollowJointTrajectory, name)
            probe.until(theirs.server_is_ready, 'the action of the controller')
        self.node = launch('trajectory_action_node', robot_type='fer', wait=5.0)
        self.client = GoalClient(probe, arm.until)

    def end_of(self, goal):
        """Return the status, error code and error sentence with which a goal ends."""
        return self.client.end(self.client.send(goal))


@pytest.fixture
def make_world(probe, arm, launch):
    return lambda **options: World(probe, arm, launch, **options)


def goal(wish=SUCCEED, names=NAMES, positions=MOTION.positions):
    rows = positions, MOTION.velocities, MOTION.accelerations
    message = FollowJointTrajectory.Goal(
        trajectory=trajectory_message(names, MOTION.times, *rows),
        path_tolerance=[JointTolerance(name='passed on', position=0.1)],
    )
    message.goal_time_tolerance.sec = wish
    return message


def test_a_goal_goes_on_with_torques_and_its_result_comes_back(make_world):
    world = make_world()
    # The stand-in returns the tolerance of the goal.
    assert world.end_of(goal()) == (SUCCEEDED, Result.SUCCESSFUL, 'passed on')
    world.probe.until(lambda: world.received and world.client.feedback, 'the goal and feedback')
    assert list(world.client.feedback[0].feedback.actual.positions) == [0.25] * 7
    assert world.received[0].header.stamp.sec == 0  # zero: start on arrival, as requested
    points = world.received[0].points
    expected = NewtonEulerModel(FER, (0.0, 0.0, 0.0)).inverse_dynamics(
        *(
            np.array([getattr(point, name) for point in points])
            for name in ('positions', 'velocities', 'accelerations')
        )
    )
    assert np.abs(expected).max() > 0.5
    efforts = [list(point.effort) for point in points]
    np.testing.assert_allclose(efforts, expected, rtol=0.0, atol=1e-9)


def test_refusals_rejection_abort_and_cancel_are_passed_on(make_world):
    world = make_world()
    # A controller rejects without a reason; this node aborts with a sentence.
    status, code, said = world.end_of(goal(REJECT))
    assert (status, code) == (ABORTED, Result.INVALID_GOAL)
    assert 'rejected the goal' in said
    violated = ABORTED, Result.PATH_TOLERANCE_VIOLATED, 'fr3_joint4 is 0.3 rad off'
    assert world.end_of(goal(ABORT)) == violated
    handle = world.client.followed(goal(UNTIL_CANCELLED))
    world.client.cancel(handle)
    assert world.client.end(handle)[::2] == (CANCELED, 'cancelled there')
    # A goal that is refused never reaches the controller.
    world.probe.until(lambda: len(world.received) == 2, 'the two goals that reached it')
    beyond = MOTION.positions.copy()
    beyond[len(beyond) // 2] += 3.0
    for bad, expected, words in (
        (goal(positions=beyond), Result.INVALID_GOAL, 'its limits there are'),
        (goal(positions=beyond * np.nan), Result.INVALID_GOAL, 'nan'),
        (goal(names=['a', *NAMES[1:]]), Result.INVALID_JOINTS, 'must name each of the joints'),
    ):
        status, code, said = world.end_of(bad)
        assert (status, code, words in said) == (ABORTED, expected, True)
        assert len(said) < 500
    assert len(world.received) == 2


def test_a_goal_takes_the_place_of_another(make_world):
    world = make_world()
    first = world.client.followed(goal(UNTIL_CANCELLED))
    second = world.client.send(goal(UNTIL_CANCELLED))
    assert world.client.end(first) == (ABORTED, Result.INVALID_GOAL, 'preempted')
    world.probe.until(lambda: len(world.received) == 2, 'both goals at the controller')
    # Only the second goal, which is still followed, is cancelled.
    world.client.cancel(second)
    assert world.client.end(second)[::2] == (CANCELED, 'cancelled there')
    for trajectory in world.received:
        assert np.abs([point.effort for point in trajectory.points]).max() > 0.5


def test_a_controller_that_is_killed_ends_the_goal(make_world):
    world = make_world()
    handle = world.client.followed(goal(UNTIL_CANCELLED))
    world.controller.kill()
    status, _, said = world.client.end(handle)
    assert (status, 'is gone' in said) == (ABORTED, True)


def test_without_a_controller_the_goal_says_so(make_world):
    world = make_world(controller=False)
    status, _, said = world.end_of(goal())
    assert (status, 'Nobody serves' in said) == (ABORTED, True)


def test_interrupted_the_node_has_the_motion_cancelled(make_world):
    world = make_world()
    handle = world.client.followed(goal(UNTIL_CANCELLED))
    world.node.send(signal.SIGINT)
    assert world.client.end(handle)[2] == 'cancelled there'
    world.node.wait()
