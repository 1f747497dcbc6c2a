# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Goals of control_msgs/action/FollowJointTrajectory.

Their motions, their tolerances, and passing them on to a joint_trajectory_controller.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
import time
from typing import Any, NamedTuple

from action_msgs.msg import GoalStatus
import numpy as np
from rclpy.action import ActionClient

from .messages import motion_message, parse_trajectory
from ..control.feedforward import Feedforward
from ..control.request import TrajectoryRequest
from ..control.trajectory import ReferencePoint, Trajectory
from ..errors import (
    JointsRefusedError,
    listed,
    MissingDependencyError,
    ReferenceRefusedError,
    shortened,
)
from ..typing import Array

ACTION = '~/follow_joint_trajectory'
_GONE_AFTER_S = 1.0  # without the controller's action a goal ends [s]
# A goal's handle, how it ends, its error code and a sentence.
End = tuple[Any, Callable[[], None], int, str]


def action_type() -> Any:
    """Return FollowJointTrajectory; raise MissingDependencyError if control_msgs is missing."""
    try:
        from control_msgs.action import FollowJointTrajectory
    except ImportError as error:
        raise MissingDependencyError(
            'control_msgs is not installed, without which nobody serves the action '
            'FollowJointTrajectory; install it by apt install ros-$ROS_DISTRO-control-msgs.'
        ) from error
    return FollowJointTrajectory


def parse_goal(goal: Any) -> TrajectoryRequest:
    """Return the motion of a goal; raise ReferenceRefusedError if it is malformed."""
    if goal.multi_dof_trajectory.points:
        raise ReferenceRefusedError(
            'The goal has a multi_dof_trajectory; an arm follows `trajectory` alone.'
        )
    return parse_trajectory(goal.trajectory)


class Tolerances(NamedTuple):
    """Largest differences from a desired motion, (n,) each [rad or m, per s]; some infinite."""

    position: Array
    velocity: Array

    @classmethod
    def from_messages(
        cls, messages: Sequence[Any], names: Sequence[str], position: float = np.inf
    ) -> Tolerances:
        """
        Return the tolerances that control_msgs/JointTolerance messages set for an arm's joints.

        What is 0 in a message, or has none, is `position` and any velocity; what is negative may
        be anything. Raises ReferenceRefusedError for the tolerance of an acceleration, which
        nobody measures, and JointsRefusedError for that of a joint that is not the arm's.
        """
        found = cls(np.full(len(names), position), np.full(len(names), np.inf))
        for one in messages:
            if one.name not in names:
                raise JointsRefusedError(
                    f'A tolerance is for {shortened(one.name)!r}, which is no joint of this arm: '
                    f'it has {listed(names)}.'
                )
            if one.acceleration > 0.0:
                raise ReferenceRefusedError(
                    f'The tolerance of {one.name} has an acceleration, which no joint state '
                    'measures; leave it 0.'
                )
            for bound, given in zip(found, (one.position, one.velocity)):
                if given:
                    bound[names.index(one.name)] = given if given > 0.0 else np.inf
        return found

    def violation(self, q: Array, dq: Array, desired: ReferencePoint, names: Sequence[str]) -> str:
        """Return which joint is how far from a desired state, or ''."""
        errors = np.abs(q - desired.q), np.abs(dq - desired.dq)
        for error, bound, unit in zip(errors, self, ('rad', 'rad/s')):
            joint = int((error - bound).argmax())
            if not error[joint] <= bound[joint]:
                return (
                    f'{names[joint]} is {error[joint]:.3g} {unit} from its motion, and '
                    f'{bound[joint]:.3g} are allowed'
                )
        return ''


@dataclass
class _PassedGoal:
    """A goal that was passed on: its handle here and there, its motion, and the next answer."""

    handle: Any
    motion: Trajectory
    answer: Any  # the future of `theirs`, then of the result
    seen: float  # when the controller was there [s]
    theirs: Any = None
    cancelled: bool = False


class GoalRelay:
    """
    Passes goals on to the action of a joint_trajectory_controller, with torques at every point.

    The controller's feedback goes back at once; `poll` returns its results.
    """

    def __init__(self, node: Any, kind: Any, action: str) -> None:
        self._action, self._client = action, ActionClient(node, kind, action)
        self.goals: list[_PassedGoal] = []  # under way
        self.destroy = self._client.destroy

    def send(self, handle: Any, core: Feedforward) -> None:
        """Pass a goal on; raise ReferenceRefusedError if no controller can follow it."""
        if not self._client.server_is_ready():
            raise ReferenceRefusedError(
                f'Nobody serves {self._action}; load and activate the '
                'joint_trajectory_controller, or set controller_action.'
            )
        goal, state = handle.request, core.latest
        assert state is not None
        before = self.goals[-1].motion if self.goals else None
        motion, efforts, start = core.asked.goal_with_efforts(
            parse_goal(goal), state.stamp, state.q, before
        )
        goal.trajectory = motion_message(list(core.names), motion, efforts, start)

        def pass_feedback(message: Any) -> None:
            if handle.is_active:
                handle.publish_feedback(message.feedback)

        answer = self._client.send_goal_async(goal, pass_feedback)
        self.goals.append(_PassedGoal(handle, motion, answer, time.monotonic()))

    def poll(self, active: bool) -> Iterator[End]:
        """Yield results of ended goals; cancel what clients cancelled, all if not `active`."""
        for goal in list(self.goals):
            end = self._end_of(goal)
            if end is not None:
                self.goals.remove(goal)
                yield goal.handle, *end
            elif goal.theirs and not goal.cancelled:
                goal.cancelled = goal.handle.is_cancel_requested or not active
                if goal.cancelled:
                    goal.theirs.cancel_goal_async()

    def _end_of(self, goal: _PassedGoal) -> tuple[Callable[[], None], int, str] | None:
        handle, now = goal.handle, time.monotonic()
        goal.seen = now if self._client.server_is_ready() else goal.seen
        if now > goal.seen + _GONE_AFTER_S:
            why = f'{self._action} is gone; how the motion ended is unknown.'
            return handle.abort, ReferenceRefusedError.code, why
        if not goal.answer.done():
            return None
        if goal.theirs is None:
            goal.theirs = goal.answer.result()
            if not goal.theirs.accepted:
                why = f'{self._action} rejected the goal; its log says why.'
                return handle.abort, ReferenceRefusedError.code, why
            goal.answer = goal.theirs.get_result_async()
            return None
        answer = goal.answer.result()
        end = handle.abort  # also if the controller cancelled this goal for a later one
        if answer.status == GoalStatus.STATUS_SUCCEEDED:
            end = handle.succeed
        elif answer.status == GoalStatus.STATUS_CANCELED and handle.is_cancel_requested:
            end = handle.canceled
        return end, answer.result.error_code, answer.result.error_string
