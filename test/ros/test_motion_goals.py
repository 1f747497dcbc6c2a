# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The node's action with goals as MoveIt 2 sends them, followed by a simulated arm."""

from contextlib import closing, contextmanager, ExitStack
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

from franka_dynamics.motion.reference import ReferenceState
from franka_dynamics.ros.receivers.receiver_kinds import ReceiverKind
from franka_dynamics.ros.trajectory_messages import trajectory_message

from .conftest import FER, launching, LOCKSTEP, PATIENT, Probe, ROOT_NAMES

NAMES = list(FER.joint_names)
NODE = '/feedforward'
AWAY = FER.home + 0.2
Result = FollowJointTrajectory.Result
SUCCEEDED = GoalStatus.STATUS_SUCCEEDED
CANCELED = GoalStatus.STATUS_CANCELED
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
        self._until = until
        self.feedback = []
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
        seen = len(self.feedback)
        handle = self.send(goal)
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
    def other_end(self):
        """The farther one of the home pose and AWAY."""
        return max(FER.home, AWAY, key=lambda q: np.abs(self.here - q).max())

    def follow_for_long(self):
        """Return the handle of a goal of 20 s that is followed."""
        return self.client.followed(goal(self.other_end, 20.0, start=self.here))

    def reported(self, state):
        """Return whether the node's latest report about a reference has this state."""
        return [one.values['state'] for one in self.probe.references[-1:]] == [state.value]

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
    assert 'kp' in said and NAMES[6] in said
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
        assert world.end_of(goal())[:2] == (ABORTED, Result.INVALID_GOAL)
    if way == 'signal':
        world.node.wait()


# The last of this file, because their nodes end with it.
@pytest.fixture(scope='module')
def shared_world(tmp_path_factory):
    """Make a world with default gains, which the tests below share."""
    with closing(Probe()) as probe:
        probe.declare(ReceiverKind.SIMULATED_ARM)
        with contextmanager(launching)(tmp_path_factory.mktemp('nodes')) as launch:
            world = World(
                probe,
                lambda **more: launch('simulator_node', **ROOT_NAMES | LOCKSTEP | more),
                lambda **more: launch('feedforward_node', **PATIENT | more),
                kp=[-1.0],
            )
            yield world
            world.client.action.destroy()


@pytest.fixture
def world(shared_world):
    """Return the shared world once its arm rests."""
    shared_world.until_at_rest()
    return shared_world


def test_a_goal_of_moveit_is_followed_to_its_end(world):
    end = world.other_end
    assert world.end_of(goal(end, start=world.here)) == (SUCCEEDED, Result.SUCCESSFUL, '')
    assert np.abs(world.here - end).max() < 1e-3
    feedback = world.client.feedback[-1].feedback
    assert list(feedback.joint_names) == NAMES and feedback.header.stamp.sec > 0
    desired, actual = (np.array(one.positions) for one in (feedback.desired, feedback.actual))
    np.testing.assert_allclose(feedback.error.positions, desired - actual, rtol=0, atol=1e-12)
    assert 0.0 < feedback.desired.time_from_start.sec + feedback.desired.time_from_start.nanosec


def test_a_goal_of_one_point_where_the_arm_is_succeeds(world):
    # Where start and goal are equal MoveIt sends one point, at time zero.
    here = FollowJointTrajectory.Goal(trajectory=trajectory_message(NAMES, [0.0], [world.here]))
    assert world.end_of(here)[:2] == (SUCCEEDED, Result.SUCCESSFUL)


def stale_goal(here):
    """Return a goal whose stamp has passed."""
    stale = goal(start=here)
    stale.trajectory.header.stamp.sec = 1
    return stale


@pytest.mark.parametrize(
    ('make_goal', 'code', 'named'),
    [
        (stale_goal, Result.OLD_HEADER_TIMESTAMP, ''),
        (lambda here: goal(here + 3.0 * np.eye(7)[0], start=here), Result.INVALID_GOAL, NAMES[0]),
        (lambda _: FollowJointTrajectory.Goal(), Result.INVALID_GOAL, 'joint_names'),
        (
            lambda here: goal(names=['a', *NAMES[1:]], start=here),
            Result.INVALID_JOINTS,
            NAMES[0],
        ),
        (
            lambda here: goal(start=here, path=[('a', {})]),
            Result.INVALID_JOINTS,
            "'a'",
        ),
        (
            lambda here: goal(start=here, path=[(NAMES[0], {'acceleration': np.nan})]),
            Result.INVALID_GOAL,
            'acceleration',
        ),
        (
            lambda here: goal(start=here, path=[(NAMES[0], {'position': np.nan})]),
            Result.INVALID_GOAL,
            'nan',
        ),
    ],
    ids=['stale', 'beyond', 'empty', 'names', 'tolerance_name', 'acceleration', 'position'],
)
def test_a_goal_that_cannot_be_followed_is_refused(make_goal, code, named, world):
    status, found, said = world.end_of(make_goal(world.here))
    assert (status, found) == (ABORTED, code), said
    assert named in said and len(said) < 600


def test_a_refused_goal_leaves_the_one_that_is_followed(world):
    followed = world.follow_for_long()
    assert world.end_of(FollowJointTrajectory.Goal())[0] == ABORTED
    world.client.cancel(followed)  # which a goal that has ended does not allow
    assert world.client.end(followed)[0] == CANCELED


def test_a_newer_goal_takes_the_place_of_an_older_one(world):
    first = world.follow_for_long()
    second = world.follow_for_long()
    assert world.client.end(first)[:2] == (ABORTED, Result.INVALID_GOAL)
    world.client.cancel(second)
    assert world.client.end(second)[0] == CANCELED


def test_a_reference_takes_the_place_of_a_goal(world):
    followed = world.follow_for_long()
    references = world.probe.create_publisher(JointTrajectory, f'{NODE}/reference', 10)
    world.probe.until(references.get_subscription_count, 'a listener')
    references.publish(goal(world.other_end, start=world.here).trajectory)
    assert world.client.end(followed)[:2] == (ABORTED, Result.INVALID_GOAL)
    world.probe.until(lambda: world.reported(ReferenceState.FINISHED), 'the end of the reference')


def test_an_arm_goes_on_from_where_a_cancelled_goal_left_it(world):
    cancelled = world.follow_for_long()
    world.client.cancel(cancelled)
    assert world.client.end(cancelled)[0] == CANCELED
    world.until_at_rest()
    again = goal(world.other_end, start=world.here)
    assert world.end_of(again) == (SUCCEEDED, Result.SUCCESSFUL, '')


def test_a_path_tolerance_that_is_exceeded_ends_a_goal(world):
    end = world.other_end
    strict = goal(end, start=world.here, path=[(NAMES[3], {'velocity': 1e-9})])
    status, code, said = world.end_of(strict)
    assert (status, code) == (ABORTED, Result.PATH_TOLERANCE_VIOLATED)
    assert NAMES[3] in said and 'rad/s' in said and '1e-09' in said
    world.until_at_rest()
    assert np.abs(world.here - end).max() > 0.1  # it did not go on


def test_a_goal_tolerance_that_is_missed_ends_a_goal_in_time(world):
    strict = [(NAMES[0], {'position': 1e-12})]
    missed = goal(world.other_end, start=world.here, at_end=strict, wait=1.0)
    status, code, said = world.end_of(missed)
    assert (status, code) == (ABORTED, Result.GOAL_TOLERANCE_VIOLATED)
    assert NAMES[0] in said and '1 s' in said


def test_a_tolerance_of_minus_one_is_none(world):
    erased = [(NAMES[3], {'velocity': -1.0})]
    free = goal(world.other_end, start=world.here, path=erased, at_end=erased)
    assert world.end_of(free)[0] == SUCCEEDED


def test_tolerances_of_accelerations_are_not_checked(world):
    # Nobody measures accelerations.
    strict = [(NAMES[3], {'acceleration': 1e-9})]
    free = goal(world.other_end, start=world.here, path=strict, at_end=strict)
    assert world.end_of(free)[0] == SUCCEEDED
    assert 'accelerations' in world.node.text


def waiting_goal(world, wait):
    """Return the handle of a goal whose motion has ended, but not within its tolerance."""
    strict = [(NAMES[0], {'position': 1e-18})]
    missed = goal(world.other_end, start=world.here, at_end=strict, wait=wait)
    handle = world.client.followed(missed)
    world.wait(1.5)  # longer than the motion
    return handle


@pytest.mark.parametrize('wait', [0.0, -1.0])
def test_a_goal_without_a_time_waits_until_it_is_cancelled(wait, world):
    waiting = waiting_goal(world, wait)
    world.client.cancel(waiting)
    assert world.client.end(waiting)[0] == CANCELED


@pytest.mark.parametrize('wait', [0.0, -1.0])
def test_a_goal_without_a_time_waits_until_it_is_replaced(wait, world):
    waiting = waiting_goal(world, wait)
    assert world.end_of(goal(world.other_end, start=world.here))[0] == SUCCEEDED
    assert world.client.end(waiting)[:2] == (ABORTED, Result.INVALID_GOAL)
