# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The node's action with goals as MoveIt 2 sends them, followed by a simulated arm."""

from contextlib import ExitStack
import re
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

from franka_dynamics.ros.trajectory_messages import trajectory_message

from .conftest import FER

NAMES = list(FER.joint_names)
NODE = '/feedforward'
AWAY = FER.home + 0.2
Result = FollowJointTrajectory.Result
SUCCEEDED, CANCELED = GoalStatus.STATUS_SUCCEEDED, GoalStatus.STATUS_CANCELED
ABORTED = GoalStatus.STATUS_ABORTED


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


class GoalClient:
    """Sends goals to the node's action; `until` waits as Probe.until does."""

    def __init__(self, probe, until) -> None:
        self._until, self.feedback = until, []
        name = 'feedforward/follow_joint_trajectory'
        self.action = ActionClient(probe, FollowJointTrajectory, name)
        probe.until(self.action.server_is_ready, 'the action')

    def send(self, goal):
        """Send a goal; return its handle once it is answered."""
        answer = self.action.send_goal_async(goal, self.feedback.append)
        self._until(answer.done, 'an answer to the goal')
        return answer.result()

    def followed(self, goal):
        """Send a goal; return its handle once feedback has come."""
        seen, handle = len(self.feedback), self.send(goal)
        self._until(lambda: len(self.feedback) > seen, 'the goal at the controller')
        return handle

    def cancel(self, handle):
        """Cancel a goal, once it is said that it is cancelled."""
        wish = handle.cancel_goal_async()
        self._until(wish.done, 'an answer to the wish')
        assert len(wish.result().goals_canceling) == 1

    def end(self, handle):
        """Wait for the end of a goal; return its status, error code and error sentence."""
        result = handle.get_result_async()
        self._until(result.done, 'the end of the goal')
        end = result.result()
        return end.status, end.result.error_code, end.result.error_string


class World:
    """A simulated arm that the node holds, and a client of the node's action."""

    def __init__(self, probe, start_arm, start_node, drives=(), **parameters):
        self.probe = probe
        self.states = probe.collect(JointState, 'joint_states')
        start_arm(lockstep_rate=1000.0, **dict(drives))
        self.node = start_node(target='mujoco', **parameters)
        self.client = GoalClient(probe, probe.until)
        probe.until_status(NODE, state='running')

    def end_of(self, message):
        return self.client.end(self.client.send(message))

    @property
    def here(self):
        return np.array(self.states[-1].position)

    @property
    def error(self):
        return np.abs(self.here - AWAY).max()

    def wait(self, seconds):
        """Wait for a time of the arm [s], which has a state each millisecond."""
        end = len(self.states) + 1e3 * seconds
        self.probe.until(lambda: len(self.states) > end, 'states')

    def until_at_rest(self):
        count = len(self.states)
        self.probe.until(
            lambda: len(self.states) > count and np.abs(self.states[-1].velocity).max() < 1e-3,
            'the arm at rest',
        )


@pytest.fixture
def make_world(probe, start_arm, start_node):
    with ExitStack() as ends:

        def make(**parameters):
            world = World(probe, start_arm, start_node, **parameters)
            ends.callback(world.client.action.destroy)  # or the probe stays in the graph
            return world

        yield make


def test_goals_of_moveit_are_followed_or_refused(make_world):
    world = make_world(kp=[-1.0])
    send, end, client = world.client.send, world.client.end, world.client
    assert world.end_of(goal()) == (SUCCEEDED, Result.SUCCESSFUL, '') and world.error < 1e-3
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
        (
            goal(names=['a', *NAMES[1:]], start=AWAY),
            Result.INVALID_JOINTS,
            'must name each',
        ),
        (goal(path=[('a', {})]), Result.INVALID_JOINTS, "'a', which is no joint"),
        (
            goal(path=[(NAMES[0], {'acceleration': np.nan})]),
            Result.INVALID_GOAL,
            'acceleration',
        ),
        (goal(path=[(NAMES[0], {'position': np.nan})]), Result.INVALID_GOAL, 'nan'),
    ):
        status, found, said = world.end_of(bad)
        assert (status, found, words in said, len(said) < 600) == (
            ABORTED,
            code,
            True,
            True,
        ), said
    # A newer goal takes its place, then a reference of the topic takes that one's.
    second = client.followed(goal(FER.home, 20.0, start=AWAY))
    status, code, said = end(long)
    assert (status, code, 'took its place' in said) == (
        ABORTED,
        Result.INVALID_GOAL,
        True,
    )
    references = world.probe.create_publisher(JointTrajectory, f'{NODE}/reference', 10)
    world.probe.until(references.get_subscription_count, 'a listener')
    references.publish(goal(FER.home, 20.0, start=AWAY).trajectory)
    assert end(second)[::2] == (ABORTED, said)
    third = send(goal(FER.home, 20.0, start=AWAY))
    client.cancel(third)
    assert end(third)[0] == CANCELED
    # The arm rests where it was braked, and goes on from there.
    assert world.end_of(goal(start=world.here)) == (SUCCEEDED, Result.SUCCESSFUL, '')


def test_tolerances_end_a_goal_and_the_arm_is_braked(make_world):
    world = make_world(kp=[-1.0])
    strict = [(NAMES[3], {'velocity': 1e-9})]
    status, code, said = world.end_of(goal(path=strict))
    assert (status, code) == (ABORTED, Result.PATH_TOLERANCE_VIOLATED)
    assert NAMES[3] in said and 'rad/s' in said and '1e-09' in said
    world.until_at_rest()
    assert world.error > 0.1  # it did not go on
    missed = goal(start=world.here, at_end=[(NAMES[0], {'position': 1e-12})], wait=1.0)
    status, code, said = world.end_of(missed)
    assert (status, code) == (ABORTED, Result.GOAL_TOLERANCE_VIOLATED)
    assert NAMES[0] in said and '1 s after its end' in said
    # -1 takes a tolerance away; accelerations are measured by nobody.
    erased = [(NAMES[3], {'velocity': -1.0, 'acceleration': 1e-9})]
    erased = goal(FER.home, start=world.here, path=erased, at_end=erased)
    assert world.end_of(erased)[0] == SUCCEEDED
    assert 'tolerances of accelerations are not checked' in world.node.text
    # Without a time the goal waits, until it is cancelled or replaced.
    for replaced, wait in ((False, 0.0), (True, -1.0)):
        strict = [(NAMES[0], {'position': 1e-18})]
        missed = goal(FER.home, start=world.here, at_end=strict, wait=wait)
        waits = world.client.followed(missed)
        world.wait(1.5)  # longer than the motion
        if replaced:
            assert world.end_of(goal(FER.home, start=world.here))[0] == SUCCEEDED
            assert world.client.end(waits)[:2] == (ABORTED, Result.INVALID_GOAL)
        else:
            world.client.cancel(waits)
            assert world.client.end(waits)[0] == CANCELED


def test_a_goal_has_succeeded_only_once_the_arm_rests(make_world):
    # So little damping that the arm swings long after the motion's end.
    world = make_world(kp=[40.0] * 4 + [10.0, 10.0, 5.0], kd=[0.5] * 4 + [0.1, 0.1, 0.05])
    status, *_ = world.end_of(goal(duration=0.4, wait=60.0))
    assert status == SUCCEEDED
    assert np.abs(world.states[-1].velocity).max() < 0.05
    ends = world.node.text.count('goal ')
    for k in range(3):
        assert world.end_of(goal(AWAY if k % 2 else FER.home, start=world.here))[0] == SUCCEEDED
    assert len(re.findall(r'goal [0-9a-f]{8} succeeded', world.node.text)) == 4, ends


def test_a_goal_with_a_kp_of_zero_is_refused(
    make_world,
):
    # Without damping an arm that a late torque has pushed would swing for ever.
    world = make_world(kp=[1.0] * 6 + [0.0], kd=[0.5] * 4 + [0.1, 0.1, 0.05])
    status, code, said = world.end_of(goal())
    assert (status, code) == (ABORTED, Result.INVALID_GOAL)
    assert f'kp of {NAMES[6]} is 0' in said
    still = AWAY - 0.2 * np.eye(7)[6]
    assert world.end_of(goal(still)) == (SUCCEEDED, Result.SUCCESSFUL, '')
    topic = f'{NODE}/feedforward_trajectory'
    filled = world.probe.collect(JointTrajectory, topic, reliable=True)
    world.probe.until(lambda: world.probe.count_subscribers(topic), 'a listener')

    def filled_in():
        world.client.send(goal(start=still))  # refused as long as the node knows no listener
        return filled

    world.probe.until(filled_in, 'the motion with torques', every=1.0)


@pytest.mark.parametrize('way', ['deactivate', 'fault', 'signal'])
def test_a_goal_ends_with_what_ends_the_torques(way, make_world):
    world = make_world(kp=[-1.0])
    handle = world.client.followed(goal(duration=20.0))
    words = {
        'deactivate': 'deactivated',
        'signal': 'shut down',
        'fault': 'second node',
    }[way]
    if way == 'deactivate':
        assert world.probe.client.trigger_transition('deactivate') == 'inactive'
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
