# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
The action FollowJointTrajectory of a feedforward node, as MoveIt uses it.

Goals end as those of joint_trajectory_controller do: after an abort or a cancel the arm is held
where it is measured, and without goal_time_tolerance the arm may take any time to arrive.
"""

from collections.abc import Sequence
from dataclasses import dataclass
import math
import time
from typing import Any, NamedTuple, Self

from action_msgs.msg import GoalStatus
import numpy as np
from rclpy.action import ActionServer, CancelResponse
from trajectory_msgs.msg import JointTrajectoryPoint

from .diagnostics import FeedforwardDiagnostics
from .messages import float64_array, seconds_to_stamp, stamp_to_seconds
from .motion_requests import MotionRequests
from .rclpy_private import mark_goal_executing
from .trajectory_messages import parse_trajectory
from ..arm import ArmDescription
from ..arrays import Array
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

ACTION_NAME = '~/follow_joint_trajectory'
# How a goal ends.
_SUCCEEDED, _CANCELED = GoalStatus.STATUS_SUCCEEDED, GoalStatus.STATUS_CANCELED
_ABORTED = GoalStatus.STATUS_ABORTED
_DELIVERY_TIMEOUT_S = 0.3  # to send results before the node ends [s]
_FEEDBACK_PERIOD_S = 0.05  # by the stamps of joint states, as of joint_trajectory_controller


class MotionTolerances(NamedTuple):
    """Largest allowed differences of joint positions and velocities from a motion, (n,) each."""

    position: Array
    velocity: Array

    @classmethod
    def from_messages(
        cls, messages: Sequence[Any], names: Sequence[str], position: float = np.inf
    ) -> Self:
        """
        Return the tolerances for an arm's joints in control_msgs/JointTolerance messages.

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

    def violation(self, q: Array, dq: Array, desired: ReferencePoint, arm: ArmDescription) -> str:
        """Return which joint is outside the tolerances of a desired state, and how far, or ''."""
        errors = np.abs(q - desired.q), np.abs(dq - desired.dq)
        for error, bound, per in zip(errors, self, ('', '/s')):
            k = int((error - bound).argmax())
            if not error[k] <= bound[k]:
                away, allowed = distinct_texts(error[k], bound[k])
                away += f' {arm.joints[k].kind.position_unit}{per}'
                return f'{arm.joint_names[k]} is {away} from its motion, and {allowed} are allowed'
        return ''


@dataclass
class _Goal:
    """A goal that is being followed: its handle, motion and tolerances, on the way and after."""

    handle: Any
    motion: Trajectory
    path_tolerances: MotionTolerances
    end_tolerances: MotionTolerances
    time_tolerance: float  # that the arm may take after its end [s]; any if not positive
    is_motion_over: bool = False
    next_feedback: float = -np.inf  # stamp [s]


class TrajectoryAction:
    """
    The server of the action FollowJointTrajectory for a node and its controller.

    Any motion takes the place of the one before, whose goal then ends. All methods run on the
    node's service thread; `service_entities` has the executor there.
    """

    def __init__(
        self, node: Any, requests: MotionRequests, diagnostics: FeedforwardDiagnostics
    ) -> None:
        """Make the action server on a node, or log that control_msgs is missing."""
        self._node, self._requests, self._diagnostics = node, requests, diagnostics
        self._goals: dict[str, _Goal] = {}  # by the identifier of their reports
        self._unsent_goal_ids = set[bytes]()  # goals whose result is not sent yet
        diagnostics.on_reference_event = self._on_reference_event
        self._server: Any = None
        try:
            from control_msgs.action import FollowJointTrajectory
        except ImportError:
            node.get_logger().info(
                f'no action {ACTION_NAME}: control_msgs is not installed, without which nobody '
                'serves the action FollowJointTrajectory; install it by apt install '
                'ros-$ROS_DISTRO-control-msgs.'
            )
            return
        self._type = FollowJointTrajectory
        self._server = ActionServer(
            node.service_entities,
            self._type,
            ACTION_NAME,
            lambda _: self._type.Result(),
            handle_accepted_callback=self._on_goal,
            cancel_callback=lambda _: CancelResponse.ACCEPT,
        )

    def _on_goal(self, handle: Any) -> None:
        """
        Follow an accepted goal; abort a refused one with its code and sentence.

        Every goal is accepted first, because a rejection cannot say why.
        """
        goal_id, goal = bytes(handle.goal_id.uuid).hex(), handle.request
        mark_goal_executing(handle)
        try:
            if self._node.controller is None:
                raise NotActiveError('The node is not configured.')
            # It reports a refusal.
            motion = self._requests.follow_motion(
                lambda: self._request_from_goal(goal), goal_id, allow_setpoint=False
            )
        except ReferenceRefusedError as error:
            self._end_goal(handle, _ABORTED, error.code, str(error))
            return
        path, at_end = self._goal_tolerances(goal)
        time_tolerance = stamp_to_seconds(goal.goal_time_tolerance)
        self._goals[goal_id] = _Goal(handle, motion, path, at_end, time_tolerance)

    def _goal_tolerances(self, goal: Any) -> tuple[MotionTolerances, MotionTolerances]:
        """Return a goal's tolerances on the way and at its end; raise an error if one is wrong."""
        names = list(self._node.controller.names)
        path = MotionTolerances.from_messages(goal.path_tolerance, names)
        # By default the next motion could begin where this one ends.
        at_end = goal.goal_tolerance, names, MAX_START_DISTANCE_RAD
        return path, MotionTolerances.from_messages(*at_end)

    def _request_from_goal(self, goal: Any) -> TrajectoryRequest:
        """Return the trajectory of a goal; raise an error if the arm cannot follow it."""
        node, controller = self._node, self._node.controller
        if goal.multi_dof_trajectory.points:
            raise ReferenceRefusedError(
                'The goal has a multi_dof_trajectory; an arm follows `trajectory` alone.'
            )
        request = parse_trajectory(goal.trajectory)
        self._goal_tolerances(goal)
        self._requests.log_ignored_efforts(goal.trajectory)
        if self._requests.has_trajectory_listener:
            return request
        if not node.receivers.is_open and controller.state is State.RUNNING:
            raise NotActiveError(
                f'Nobody receives the torques on {node.receivers.topic}, so that the arm would '
                'not move: remap ~/command to the receiver.'
            )
        request.require_arm_joints(controller.description)
        for name, kp in zip(controller.names, controller.asked.kp):
            if kp == 0.0 and np.ptp(request.positions[:, request.joint_names.index(name)]) > 0.0:
                raise ReferenceRefusedError(
                    f'kp of {name} is 0, so that nothing pulls it to the goal: set the parameters '
                    'kp and kd (kp: [-1.0] finds both at the start).'
                )
        return request

    def _on_reference_event(self, event: ReferenceEvent) -> None:
        """End a goal whose motion was interrupted or replaced; mark one whose motion is over."""
        if not self._goals:
            return  # and without control_msgs there is no type
        invalid = self._type.Result.INVALID_GOAL
        if event.state is ReferenceState.ACCEPTED:
            ended = [goal_id for goal_id, goal in self._goals.items() if goal.is_motion_over]
            for goal_id in {*ended} - {event.goal_id}:
                why = 'Not reached when another reference took its place.'
                self._end_goal(self._goals.pop(goal_id).handle, _ABORTED, invalid, why)
        goal = self._goals.get(event.goal_id)
        if goal is None:
            return
        goal.is_motion_over = event.state is ReferenceState.FINISHED
        if event.state is ReferenceState.INTERRUPTED:
            del self._goals[event.goal_id]
            why = f'The motion was interrupted: {event.reason}.'
            self._end_goal(goal.handle, _ABORTED, invalid, why)

    def update_goals(self) -> None:
        """Publish feedback of all goals; end a goal that is reached, violated or cancelled."""
        for goal_id, goal in list(self._goals.items()):
            end = self._goal_outcome(goal)
            if end is None:
                continue
            del self._goals[goal_id]
            status, _, why = end
            if status != _SUCCEEDED:
                # A motion that is not over yet is reported as interrupted.
                if goal.is_motion_over:
                    self._node.get_logger().warning(f'a goal was aborted: {why}')
                reason = f'its goal was given up: {why.removesuffix(".")}'
                self._node.controller.settle(reason)
            self._end_goal(goal.handle, *end)

    def _goal_outcome(self, goal: _Goal) -> tuple[int, int, str] | None:
        """Return the status, error code and sentence with which a goal ends now, or None."""
        controller, result = self._node.controller, self._type.Result
        state, motion = controller.latest, goal.motion
        if goal.handle.is_cancel_requested:
            return _CANCELED, result.SUCCESSFUL, 'Cancelled.'
        if goal.is_motion_over and controller.state is not State.RUNNING:
            why = f'The arm had not reached its goal: {self._diagnostics.status_source.status()}.'
            return _ABORTED, result.GOAL_TOLERANCE_VIOLATED, why
        if state is None or state.stamp < motion.begin:
            return None
        desired = motion.at(state.stamp)
        tolerances = goal.end_tolerances if goal.is_motion_over else goal.path_tolerances
        wrong = tolerances.violation(state.q, state.dq, desired, controller.description)
        if not goal.is_motion_over:
            if wrong:
                return _ABORTED, result.PATH_TOLERANCE_VIOLATED, f'{wrong}.'
            self._publish_feedback(goal, state, desired)
        elif not wrong:
            return _SUCCEEDED, result.SUCCESSFUL, ''
        elif goal.time_tolerance > 0.0 and state.stamp >= motion.end + goal.time_tolerance:
            late = f'{wrong} {goal.time_tolerance:g} s after its end.'
            return _ABORTED, result.GOAL_TOLERANCE_VIOLATED, late
        return None

    def _publish_feedback(self, goal: _Goal, state: StateTerms, desired: ReferencePoint) -> None:
        """Publish a goal's desired and actual state as feedback, at most every 50 ms."""
        if state.stamp < goal.next_feedback:
            return
        goal.next_feedback = state.stamp + _FEEDBACK_PERIOD_S
        feedback = self._type.Feedback(joint_names=self._node.controller.names)
        feedback.header.stamp = seconds_to_stamp(state.stamp)
        feedback.desired = _trajectory_point(*desired)
        feedback.actual = _trajectory_point(state.q, state.dq)
        feedback.error = _trajectory_point(desired.q - state.q, desired.dq - state.dq)
        since = seconds_to_stamp(max(0.0, state.stamp - goal.motion.begin))
        for point in (feedback.desired, feedback.actual, feedback.error):
            point.time_from_start.sec, point.time_from_start.nanosec = since.sec, since.nanosec
        goal.handle.publish_feedback(feedback)

    def _end_goal(self, handle: Any, status: int, code: int, why: str) -> None:
        """End a goal with a status of action_msgs/GoalStatus, an error code and a sentence."""
        goal_id = bytes(handle.goal_id.uuid)
        self._unsent_goal_ids.add(goal_id)
        ends = {_SUCCEEDED: handle.succeed, _CANCELED: handle.canceled, _ABORTED: handle.abort}

        def finish(_: Any) -> Any:
            ends[status]()
            self._unsent_goal_ids.discard(goal_id)
            return self._type.Result(error_code=code, error_string=why)

        if handle.status == GoalStatus.STATUS_ACCEPTED:
            handle.execute(finish)
        else:
            self._server.notify_execute(handle, finish)

    def deliver_results(self) -> None:
        """Send results that clients have not got yet, of goals that ended with the node."""
        executor = self._node.service_entities.executor  # None if another one serves the node
        timeout = _DELIVERY_TIMEOUT_S if self._unsent_goal_ids and executor else 0.0
        until = time.monotonic() + timeout
        while time.monotonic() < until:
            executor.spin_once(timeout_sec=_DELIVERY_TIMEOUT_S)

    def destroy_server(self) -> None:
        """Destroy the action server, unless it is destroyed already."""
        server, self._server = self._server, None
        if server is not None:
            server.destroy()


def _trajectory_point(*fields: Any) -> JointTrajectoryPoint:
    """Return a trajectory point with the given positions, velocities and accelerations."""
    names = 'positions', 'velocities', 'accelerations'
    return JointTrajectoryPoint(**dict(zip(names, map(float64_array, fields))))
