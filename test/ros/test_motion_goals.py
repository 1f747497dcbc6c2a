# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
The node's action with goals as MoveIt 2 sends them: followed by a simulated arm, or passed on.

A stand-in for joint_trajectory_controller takes what is passed on.
"""

from pathlib import Path
import signal

import pytest

pytest.importorskip('control_msgs', reason='control_msgs is not installed')

from action_msgs.msg import GoalStatus
from builtin_interfaces.msg import Duration
from control_msgs.action import FollowJointTrajectory
from control_msgs.msg import JointTolerance
import numpy as np
from rclpy.action import ActionClient
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory

from franka_dynamics.demo.multisine import multisine
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel
from franka_dynamics.ros.messages import trajectory_message

from .conftest import FER
from .fake_trajectory_controller import ABORT, REJECT, SUCCEED, UNTIL_CANCELLED
from .goals import GoalClient

NAMES = list(FER.joint_names)
NODE = '/feedforward'
AWAY = FER.home + 0.2
Result = FollowJointTrajectory.Result
SUCCEEDED, CANCELED, ABORTED = (
    GoalStatus.STATUS_SUCCEEDED,
    GoalStatus.STATUS_CANCELED,
    GoalStatus.STATUS_ABORTED,
)


def goal(end=AWAY, duration=1.0, names=NAMES, start=FER.home, path=(), at_end=(), wait=0.0):
    """Return a goal as MoveIt's time parameterization makes it: from time zero, rest to rest."""
    share = np.linspace(0.0, 1.0, 11)[:, None]
    way = 10.0 * share**3 - 15.0 * share**4 + 6.0 * share**5
    slope = (30.0 * share**2 - 60.0 * share**3 + 30.0 * share**4) / duration
    bend = (60.0 * share - 180.0 * share**2 + 120.0 * share**3) / duration**2
    rows = start + way * (end - start), slope * (end - start), bend * (end - start)
    return FollowJointTrajectory.Goal(
        trajectory=trajectory_message(names, duration * share[:, 0], *rows),
        path_tolerance=[JointTolerance(name=name, **bounds) for name, bounds in path],
        goal_tolerance=[JointTolerance(name=name, **bounds) for name, bounds in at_end],
        goal_time_tolerance=Duration(sec=int(wait)),
    )


class World:
    """A simulated arm that the node holds, and a client of the node's action."""

    def __init__(self, probe, start_arm, start_node, **parameters):
        self.probe = probe
        self.states = probe.collect(JointState, 'joint_states')
        start_arm()
        self.node = start_node(target='mujoco', **parameters)
        self.client = GoalClient(probe, probe.until)
        probe.until_status(NODE, state='running')

    def end_of(self, message):
        return self.client.end(self.client.send(message))

    @property
    def error(self):
        return np.abs(np.array(self.states[-1].position) - AWAY).max()


@pytest.fixture
def make_world(probe, start_arm, start_node):
    return lambda **parameters: World(probe, start_arm, start_node, **parameters)


def test_goals_of_moveit_are_followed_refused_replaced_and_cancelled(make_world):
    world = make_world(kp=[-1.0])
    send, end, client = world.client.send, world.client.end, world.client
    assert world.end_of(goal()) == (SUCCEEDED, Result.SUCCESSFUL, '')
    assert world.error < 1e-3
    feedback = client.feedback[-1].feedback
    assert list(feedback.joint_names) == NAMES and feedback.header.stamp.sec > 0
    desired, actual = (np.array(one.positions) for one in (feedback.desired, feedback.actual))
    np.testing.assert_allclose(feedback.error.positions, desired - actual, rtol=0, atol=1e-12)
    assert 0.0 < feedback.desired.time_from_start.sec + feedback.desired.time_from_start.nanosec
    # Where start and goal are equal MoveIt sends one point, at time zero.
    here = FollowJointTrajectory.Goal(trajectory=trajectory_message(NAMES, [0.0], [AWAY]))
    assert world.end_of(here)[:2] == (SUCCEEDED, Result.SUCCESSFUL)
    # What is refused says why, and disturbs nobody.
    long = client.followed(goal(FER.home, 20.0, start=AWAY))
    stale = goal(FER.home, start=AWAY)
    stale.trajectory.header.stamp.sec = 1
    beyond = goal(FER.home + 3.0, start=AWAY)
    for bad, code, words in (
        (stale, Result.OLD_HEADER_TIMESTAMP, ' ago'),
        (beyond, Result.INVALID_GOAL, 'its limits there are'),
        (FollowJointTrajectory.Goal(), Result.INVALID_GOAL, 'joint_names'),
        (goal(names=['a', *NAMES[1:]], start=AWAY), Result.INVALID_JOINTS, 'must name each'),
        (goal(path=[('a', {})]), Result.INVALID_JOINTS, "'a', which is no joint"),
        (goal(path=[(NAMES[0], {'acceleration': 1.0})]), Result.INVALID_GOAL, 'acceleration'),
    ):
        status, found, said = world.end_of(bad)
        assert (status, found, words in said, len(said) < 600) == (ABORTED, code, True, True), said
    # A newer goal takes its place, then a reference of the topic takes that one's.
    second = client.followed(goal(FER.home, 20.0, start=AWAY))
    status, code, said = end(long)
    assert (status, code, 'took its place' in said) == (ABORTED, Result.INVALID_GOAL, True)
    references = world.probe.create_publisher(JointTrajectory, f'{NODE}/reference', 10)
    world.probe.until(references.get_subscription_count, 'a listener')
    references.publish(goal(FER.home, 20.0, start=AWAY).trajectory)
    assert end(second)[::2] == (ABORTED, said)
    third = send(goal(FER.home, 20.0, start=AWAY))
    client.cancel(third)
    assert end(third)[0] == CANCELED
    # The arm rests where it was braked, and goes on from there.
    here = np.array(world.states[-1].position)
    assert world.end_of(goal(start=here)) == (SUCCEEDED, Result.SUCCESSFUL, '')


def test_tolerances_end_a_goal_and_the_arm_is_braked(make_world):
    world = make_world()  # without gains the arm drifts by what the torques lack
    strict = [(NAMES[3], {'velocity': 1e-9})]
    status, code, said = world.end_of(goal(path=strict))
    assert (status, code) == (ABORTED, Result.PATH_TOLERANCE_VIOLATED)
    assert NAMES[3] in said and 'rad/s' in said and '1e-09' in said
    count = len(world.states)
    world.probe.until(
        lambda: len(world.states) > count and np.abs(world.states[-1].velocity).max() < 1e-3,
        'the arm at rest',
    )
    assert world.error > 0.1  # it did not go on
    here = np.array(world.states[-1].position)
    missed = goal(start=here, at_end=[(NAMES[0], {'position': 1e-12})], wait=1.0)
    status, code, said = world.end_of(missed)
    assert (status, code) == (ABORTED, Result.GOAL_TOLERANCE_VIOLATED)
    assert NAMES[0] in said and '1 s after its end' in said
    here = np.array(world.states[-1].position)
    # -1 takes a tolerance away.
    erased = goal(FER.home, start=here, path=[(NAMES[3], {'velocity': -1.0})])
    assert world.end_of(erased)[0] == SUCCEEDED


@pytest.mark.parametrize('way', ['deactivate', 'fault', 'signal'])
def test_a_goal_ends_with_what_ends_the_torques(way, make_world):
    world = make_world(kp=[-1.0])
    handle = world.client.followed(goal(duration=20.0))
    words = {'deactivate': 'deactivated', 'signal': 'shut down', 'fault': 'second node'}[way]
    if way == 'deactivate':
        assert world.probe.client.change_state('deactivate') == 'inactive'
    elif way == 'signal':
        world.node.send(signal.SIGINT)
    else:
        second = world.probe.create_publisher(JointState, 'joint_states', 1)

        def fails():
            second.publish(world.states[-1])
            return 'fault: ' in world.node.text

        world.probe.until(fails, 'a fault')
    status, code, said = world.client.end(handle)
    assert (status, code) == (ABORTED, Result.INVALID_GOAL)
    assert words in said, said
    if way == 'deactivate':
        status, _, said = world.end_of(goal())
        assert (status, 'Nothing would follow' in said) == (ABORTED, True)
    if way == 'signal':
        world.node.wait()


CONTROLLER = 'feedforward_trajectory_controller'
ACTION = f'{CONTROLLER}/follow_joint_trajectory'
MOTION = multisine(FER, 2.0, 0.2)


class WorldOfController:
    """An arm that stands, a node that passes goals on, perhaps a controller, and a client."""

    def __init__(self, probe, arm, launch, start_node, controller=True):
        self.probe = probe
        self.received = probe.collect(JointTrajectory, f'{CONTROLLER}/received', reliable=True)
        if controller:
            self.controller = launch(
                str(Path(__file__).with_name('fake_trajectory_controller.py'))
            )
            theirs = ActionClient(probe, FollowJointTrajectory, ACTION)
            probe.until(theirs.server_is_ready, 'the action of the controller')
        self.node = start_node(controller_action=ACTION)
        self.client = GoalClient(probe, arm.until)
        # Once it commands, the node has found the controller's action, too.
        arm.until_says(NODE, 'running')

    def end_of(self, goal):
        return self.client.end(self.client.send(goal))


@pytest.fixture
def make_passing_world(probe, arm, launch, start_node):
    return lambda **options: WorldOfController(probe, arm, launch, start_node, **options)


def passed(wish=SUCCEED, names=NAMES, positions=MOTION.positions):
    rows = positions, MOTION.velocities, MOTION.accelerations
    message = FollowJointTrajectory.Goal(
        trajectory=trajectory_message(names, MOTION.times, *rows),
        path_tolerance=[JointTolerance(name='passed on', position=0.1)],
    )
    message.goal_time_tolerance.sec = wish
    return message


def test_a_goal_is_passed_on_with_torques_and_its_result_comes_back(make_passing_world):
    world = make_passing_world()
    # The stand-in returns the tolerance of the goal.
    assert world.end_of(passed()) == (SUCCEEDED, Result.SUCCESSFUL, 'passed on')
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
    # Nobody need receive the node's own torques.
    assert world.probe.status(NODE).level == 'OK'


def test_refusals_rejection_abort_and_cancel_are_passed_on(make_passing_world):
    world = make_passing_world()
    # A controller rejects without a reason; this node aborts with a sentence.
    status, code, said = world.end_of(passed(REJECT))
    assert (status, code) == (ABORTED, Result.INVALID_GOAL)
    assert 'rejected the goal' in said
    violated = ABORTED, Result.PATH_TOLERANCE_VIOLATED, 'fr3_joint4 is 0.3 rad off'
    assert world.end_of(passed(ABORT)) == violated
    first = world.client.followed(passed(UNTIL_CANCELLED))
    # A later goal takes the place of the first, and alone is cancelled.
    second = world.client.send(passed(UNTIL_CANCELLED))
    assert world.client.end(first) == (ABORTED, Result.INVALID_GOAL, 'preempted')
    world.probe.until(lambda: len(world.received) == 3, 'the goals that reached it')
    world.client.cancel(second)
    assert world.client.end(second)[::2] == (CANCELED, 'cancelled there')
    for trajectory in world.received:
        assert np.abs([point.effort for point in trajectory.points]).max() > 0.5
    # A goal that is refused never reaches the controller.
    beyond = MOTION.positions.copy()
    beyond[len(beyond) // 2] += 3.0
    for bad, expected, words in (
        (passed(positions=beyond), Result.INVALID_GOAL, 'its limits there are'),
        (passed(positions=beyond * np.nan), Result.INVALID_GOAL, 'nan'),
        (passed(names=['a', *NAMES[1:]]), Result.INVALID_JOINTS, 'must name each of the joints'),
    ):
        status, code, said = world.end_of(bad)
        assert (status, code, words in said) == (ABORTED, expected, True)
        assert len(said) < 500
    assert len(world.received) == 3


@pytest.mark.parametrize('end', ['killed', 'interrupted', 'deactivated'])
def test_what_is_passed_on_ends_with_the_controller_and_with_the_node(end, make_passing_world):
    world = make_passing_world()
    handle = world.client.followed(passed(UNTIL_CANCELLED))
    words = 'cancelled there'
    if end == 'killed':
        words = 'is gone'
        world.controller.kill()
    elif end == 'interrupted':
        world.node.send(signal.SIGINT)
    else:
        assert world.probe.client.change_state('deactivate') == 'inactive'
    status, _, said = world.client.end(handle)
    assert (status, words in said) == (ABORTED, True), said
    if end == 'interrupted':
        world.node.wait()
    if end == 'deactivated':
        assert 'not active' in world.end_of(passed())[2]


def test_without_a_controller_the_goal_says_so(make_passing_world):
    world = make_passing_world(controller=False)
    status, _, said = world.end_of(passed())
    assert (status, 'Nobody serves' in said) == (ABORTED, True)
