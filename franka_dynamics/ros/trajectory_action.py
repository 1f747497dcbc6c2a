# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
The action FollowJointTrajectory of a feedforward node, as MoveIt uses it.

Goals end as those of joint_trajectory_controller do: after an abort or a cancel the arm is held
where it is measured, and without goal_time_tolerance the arm may take any time to arrive.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
import math
import time
from typing import Any, NamedTuple, Self

from action_msgs.msg import GoalStatus
import numpy as np
from rclpy.action import ActionServer, CancelResponse
from trajectory_msgs.msg import JointTrajectoryPoint

from .diagnostics import FeedforwardDiagnostics
from .messages import float64_array, seconds, stamp_from_seconds
from .motion_requests import MotionRequests
from .rclpy_private import begin_goal
from .trajectory_messages import parse_trajectory
from ..control.feedforward import State
from ..control.terms import StateTerms
from ..errors import (
    distinct_texts,
    JointsRefusedError,
    name_list,
    NotActiveError,
    ReferenceRefusedError,
    short_text,
)
from ..motion.planning import MAX_START_DISTANCE_RAD
from ..motion.reference import ReferenceEvent, ReferenceState
from ..motion.request import TrajectoryRequest
from ..motion.trajectory import ReferencePoint, Trajectory
from ..typing import Array

ACTION = '~/follow_joint_trajectory'
_RESULT_DELIVERY_S = 0.3  # to send results before the node ends [s]
_FEEDBACK_PERIOD_S = 0.05  # by the stamps of joint states, as of joint_trajectory_controller


class Tolerances(NamedTuple):
    """Largest differences from a desired motion, (n,) each [rad or m, per s]; some infinite."""

    position: Array
    velocity: Array

    @classmethod
    def from_messages(
        cls, messages: Sequence[Any], names: Sequence[str], position: float = np.inf
    ) -> Self:
        """
        Return the tolerances that control_msgs/JointTolerance messages set for an arm's joints.

        What is 0 in a message, or has none, is `position` and any velocity; what is negative may
        be anything. Raises ReferenceRefusedError for NaN and for the tolerance of an acceleration,
        which nobody measures, and JointsRefusedError for that of a joint that is not the arm's.
        """
        found = cls(np.full(len(names), position), np.full(len(names), np.inf))
        for one in messages:
            if one.name not in names:
                raise JointsRefusedError(
                    f'A tolerance is for {short_text(one.name)!r}, which is no joint of this arm: '
                    f'it has {name_list(names)}.'
                )
            if math.isnan(one.position + one.velocity):
                raise ReferenceRefusedError(
                    f'The tolerance of {one.name} is NaN; give a number, or 0 for the default.'
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
        """Return which joint is outside the tolerances of a desired state, and how far, or ''."""
        errors = np.abs(q - desired.q), np.abs(dq - desired.dq)
        for error, bound, unit in zip(errors, self, ('rad', 'rad/s')):
            joint = int((error - bound).argmax())
            if not error[joint] <= bound[joint]:
                away, allowed = distinct_texts(error[joint], bound[joint])
                return (
                    f'{names[joint]} is {away} {unit} from its motion, and {allowed} are allowed'
                )
        return ''


@dataclass
class _Goal:
    """A goal that is followed: its handle, its motion, and its tolerances on the way and after."""

    handle: Any
    motion: Trajectory
    path: Tolerances
    at_end: Tolerances
    time: float  # that the arm may take after its end [s]; any if not positive
    ended: bool = False  # whether the motion is over
    next_feedback: float = -np.inf  # stamp [s]


class TrajectoryAction:
    """
    Serves the action for a node's controller `core`, which is None until it is configured.

    Any motion takes the place of the one before, whose goal then ends. All methods run on the
    node's service thread; `service_entities` has the executor there.
    """

    def __init__(
        self, node: Any, requests: MotionRequests, diagnostics: FeedforwardDiagnostics
    ) -> None:
        self._node, self._requests, self._diagnostics = node, requests, diagnostics
        self._goals: dict[str, _Goal] = {}  # by the identifier of their reports
        self._unsent = set[bytes]()  # goals whose result is not sent yet
        diagnostics.on_reference_event = self._on_event
        self._server: Any = None
        try:
            from control_msgs.action import FollowJointTrajectory
        except ImportError:
            node.get_logger().info(
                f'no action {ACTION}: control_msgs is not installed, without which nobody serves '
                'the action FollowJointTrajectory; install it by apt install '
                'ros-$ROS_DISTRO-control-msgs.'
            )
            return
        self._type = FollowJointTrajectory
        self._server = ActionServer(
            node.service_entities,
            self._type,
            ACTION,
            lambda _: self._type.Result(),
            handle_accepted_callback=self._on_goal,
            cancel_callback=lambda _: CancelResponse.ACCEPT,
        )

    def _on_goal(self, handle: Any) -> None:
        """
        Follow an accepted goal; abort a refused one with its code and sentence.

        Every goal is accepted first, because a rejection cannot say why.
        """
        mark, goal = bytes(handle.goal_id.uuid).hex(), handle.request
        begin_goal(handle)
        try:
            if self._node.core is None:
                raise NotActiveError('The node is not configured.')
            # It reports a refusal.
            motion = self._requests.follow(
                lambda: self._request_from_goal(goal), mark, allow_setpoint=False
            )
        except ReferenceRefusedError as error:
            self._end(handle, handle.abort, error.code, str(error))
            return
        path, at_end = self._goal_tolerances(goal)
        self._goals[mark] = _Goal(handle, motion, path, at_end, seconds(goal.goal_time_tolerance))

    def _goal_tolerances(self, goal: Any) -> tuple[Tolerances, Tolerances]:
        """Return a goal's tolerances on the way and at its end."""
        names = list(self._node.core.names)
        path = Tolerances.from_messages(goal.path_tolerance, names)
        # By default the next motion could begin where this one ends.
        return path, Tolerances.from_messages(goal.goal_tolerance, names, MAX_START_DISTANCE_RAD)

    def _request_from_goal(self, goal: Any) -> TrajectoryRequest:
        """Return a goal's request; raise an error if it is wrong or nothing moves the arm."""
        node, core = self._node, self._node.core
        if goal.multi_dof_trajectory.points:
            raise ReferenceRefusedError(
                'The goal has a multi_dof_trajectory; an arm follows `trajectory` alone.'
            )
        request = parse_trajectory(goal.trajectory)
        self._goal_tolerances(goal)
        self._requests.note_efforts(goal.trajectory)
        if self._requests.someone_else_follows:
            return request
        if not node.receivers.is_open and core.state is State.RUNNING:
            raise NotActiveError(
                f'Nobody receives the torques on {node.receivers.topic}, so that the arm would '
                'not move: remap ~/command to the receiver.'
            )
        request.require_arm_joints(core.description)
        for name, kp in zip(core.names, core.asked.kp):
            if kp == 0.0 and np.ptp(request.positions[:, request.joint_names.index(name)]) > 0.0:
                raise ReferenceRefusedError(
                    f'kp of {name} is 0, so that nothing pulls it to the goal: set the parameters '
                    'kp and kd (kp: [-1.0] finds both at the start).'
                )
        return request

    def _on_event(self, event: ReferenceEvent) -> None:
        """End the goal whose motion was interrupted or replaced; note that a motion is over."""
        if event.state is ReferenceState.ACCEPTED:
            ended = [mark for mark, goal in self._goals.items() if goal.ended]
            for mark in {*ended} - {event.goal_id}:
                handle, code = self._goals.pop(mark).handle, self._type.Result.INVALID_GOAL
                why = 'Not reached when another reference took its place.'
                self._end(handle, handle.abort, code, why)
        goal = self._goals.get(event.goal_id)
        if goal is None:
            return
        goal.ended = event.state is ReferenceState.FINISHED
        if event.state is ReferenceState.INTERRUPTED:
            del self._goals[event.goal_id]
            handle, code = goal.handle, self._type.Result.INVALID_GOAL
            self._end(handle, handle.abort, code, f'The motion was interrupted: {event.reason}.')

    def poll(self) -> None:
        """Check goals, end them, and publish feedback; called at least every 50 ms."""
        controller = self._node.core
        for mark, goal in list(self._goals.items()):
            state, handle = controller.latest, goal.handle
            end: Callable[[], None] | None
            if handle.is_cancel_requested:
                end, code, why = handle.canceled, self._type.Result.SUCCESSFUL, 'Cancelled.'
            elif goal.ended and controller.state is not State.RUNNING:
                why = f'The arm had not reached its goal: {self._diagnostics.status.present()}.'
                end, code = handle.abort, self._type.Result.GOAL_TOLERANCE_VIOLATED
            elif state is None or state.stamp < goal.motion.begin:
                continue
            else:
                end, code, why = self._end_of(goal, state, goal.motion.at(state.stamp))
            if end is None:
                continue
            del self._goals[mark]
            if end != handle.succeed:
                # A motion that is not over yet is reported as interrupted.
                if goal.ended:
                    self._node.get_logger().warning(f'a goal was aborted: {why}')
                controller.settle(f'its goal was given up: {why.removesuffix(".")}')
            self._end(handle, end, code, why)

    def _end_of(
        self, goal: _Goal, state: StateTerms, desired: ReferencePoint
    ) -> tuple[Callable[[], None] | None, int, str]:
        """Return how a goal ends at a state, with code and sentence; None: it goes on."""
        result, names = self._type.Result, self._node.core.names
        tolerances = goal.at_end if goal.ended else goal.path
        wrong = tolerances.violation(state.q, state.dq, desired, names)
        if not goal.ended:
            if wrong:
                return goal.handle.abort, result.PATH_TOLERANCE_VIOLATED, f'{wrong}.'
            self._publish_feedback(goal, state, desired)
        elif not wrong:
            return goal.handle.succeed, result.SUCCESSFUL, ''
        elif goal.time > 0.0 and state.stamp >= goal.motion.end + goal.time:
            late = f'{wrong} {goal.time:g} s after its end.'
            return goal.handle.abort, result.GOAL_TOLERANCE_VIOLATED, late
        return None, result.SUCCESSFUL, ''

    def _publish_feedback(self, goal: _Goal, state: StateTerms, desired: ReferencePoint) -> None:
        """Publish a goal's desired and actual state, unless the last feedback was just before."""
        if state.stamp < goal.next_feedback:
            return
        goal.next_feedback = state.stamp + _FEEDBACK_PERIOD_S
        feedback = self._type.Feedback(joint_names=self._node.core.names)
        feedback.header.stamp = stamp_from_seconds(state.stamp)
        feedback.desired = _point(*desired)
        feedback.actual = _point(state.q, state.dq)
        feedback.error = _point(desired.q - state.q, desired.dq - state.dq)
        since = stamp_from_seconds(max(0.0, state.stamp - goal.motion.begin))
        for point in (feedback.desired, feedback.actual, feedback.error):
            point.time_from_start.sec, point.time_from_start.nanosec = since.sec, since.nanosec
        goal.handle.publish_feedback(feedback)

    def _end(self, handle: Any, end: Callable[[], None], code: int, why: str) -> None:
        """End a goal in the way of its handle, `end`, with an error code and a sentence."""
        self._unsent.add(bytes(handle.goal_id.uuid))

        def finish(_: Any) -> Any:
            end()
            self._unsent.discard(bytes(handle.goal_id.uuid))
            return self._type.Result(error_code=code, error_string=why)

        if handle.status == GoalStatus.STATUS_ACCEPTED:
            handle.execute(finish)
        else:
            self._server.notify_execute(handle, finish)

    def deliver(self) -> None:
        """Send the results of goals that ended while nobody served the action, or end with it."""
        executor = self._node.service_entities.executor  # None if another one serves the node
        until = time.monotonic() + (_RESULT_DELIVERY_S if self._unsent and executor else 0.0)
        while time.monotonic() < until:
            executor.spin_once(timeout_sec=_RESULT_DELIVERY_S)

    def destroy(self) -> None:
        """Destroy the action, once."""
        server, self._server = self._server, None
        if server is not None:
            server.destroy()


def _point(*fields: Any) -> JointTrajectoryPoint:
    """Return a trajectory point with positions, velocities and accelerations as far as given."""
    names = 'positions', 'velocities', 'accelerations'
    return JointTrajectoryPoint(**dict(zip(names, map(float64_array, fields))))
