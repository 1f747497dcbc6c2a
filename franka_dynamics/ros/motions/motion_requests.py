# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Motions that a feedforward node gets on ~/reference or by the action FollowJointTrajectory.

Goals of the action, which MoveIt uses, end as those of joint_trajectory_controller do: after an
abort or a cancel the arm is held where it is measured, and without goal_time_tolerance the arm may
take any time to arrive.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from enum import Enum
import inspect
import time
from typing import Any, NamedTuple

from action_msgs.msg import GoalStatus
import numpy as np
from rclpy.action import ActionServer, CancelResponse
from trajectory_msgs.msg import JointTrajectory

from .trajectory_efforts import motion_with_efforts
from .. import trajectory_messages as conversion
from ..messages import parse_message, seconds_to_stamp, stamp_to_seconds
from ..rclpy_private import mark_goal_executing
from ..topics import PUBLISHER_QOS, REFERENCE_QOS, TRAJECTORY_TOPIC
from ...control.core_table import State
from ...control.ending import ReasonCode, Status
from ...control.feedforward import Feedforward
from ...control.terms import StateTerms
from ...errors import NotActiveError, ReferenceRefusedError
from ...motion.planning import MAX_START_DISTANCE_RAD, TrajectoryRequest
from ...motion.reference import ReferenceEvent, ReferenceState
from ...motion.trajectory import ReferencePoint, Trajectory

ACTION_NAME = '~/follow_joint_trajectory'
# Problems of joint states that come too rarely for torques.
_RARE_STATE_CODES = ReasonCode.RARE_STATES, ReasonCode.COARSE_STAMPS
_MAX_GOAL_ID_LENGTH = 64  # largest number of characters of a reference's frame id in reports
# Below it a joint rests at the end of a goal, as joint_trajectory_controller's parameter
# constraints.stopped_velocity_tolerance has it [rad/s or m/s].
_STOPPED_VELOCITY_TOLERANCE = 0.01
_RESULT_DELIVERY_TIMEOUT_S = 0.3  # to send results before the node ends [s]
_FEEDBACK_PERIOD_S = 0.05  # by the stamps of joint states, as of joint_trajectory_controller


class _Ending(Enum):
    """How a goal ends: the method of rclpy's goal handle that says it to the client."""

    SUCCEEDED = 'succeed'
    CANCELLED = 'canceled'
    ABORTED = 'abort'


_ENDING_TEXTS = {
    _Ending.SUCCEEDED: 'succeeded',
    _Ending.CANCELLED: 'was cancelled',
    _Ending.ABORTED: 'was aborted',
}


class _Outcome(NamedTuple):
    """The outcome of a goal: how it ends, its error code for the client, and why."""

    ending: _Ending
    error_code: int
    text: str = ''


@dataclass
class _Goal:
    """An action goal whose motion the arm follows, with the motion and its tolerances."""

    handle: Any
    motion: Trajectory
    path_tolerances: conversion.MotionTolerances
    end_tolerances: conversion.MotionTolerances
    time_tolerance: float  # that the arm may take after its end [s]; any if not positive
    is_motion_over: bool = False
    next_feedback_time: float = -np.inf  # stamp [s]


class MotionServer:
    """
    A server that checks, starts and reports the motions requested of a feedforward node.

    Motions come on the topic ~/reference, or as goals of the action FollowJointTrajectory. Any
    motion takes the place of the one before, whose goal then ends. All methods run on the node's
    service thread; `service_entities` has the executor there.
    """

    def __init__(
        self, node: Any, status: Callable[[], Status], report_refusal: Callable[[str], None]
    ) -> None:
        """
        Make the motions' publisher, subscription and, with control_msgs, action server.

        `status` returns the node's present status, and `report_refusal` takes why a reference was
        refused, or '' once one is looked at.
        """
        self._node = node
        self._status = status
        self._report_refusal = report_refusal
        self._motion_publisher = node.create_lifecycle_publisher(
            JointTrajectory, TRAJECTORY_TOPIC, PUBLISHER_QOS
        )
        node.create_subscription(
            JointTrajectory, '~/reference', self._on_reference, REFERENCE_QOS, raw=True
        )
        self._goals: dict[str, _Goal] = {}  # by the identifier of their reports
        self._unsent_goal_ids = set[bytes]()  # goals whose result is not sent yet
        self._action_server: Any = None
        try:
            from control_msgs.action import FollowJointTrajectory
        except ImportError:
            node.get_logger().info(
                f'no action {ACTION_NAME} (FollowJointTrajectory): control_msgs is not installed; '
                'apt install ros-$ROS_DISTRO-control-msgs'
            )
            return
        self._action_type = FollowJointTrajectory
        self._action_server = ActionServer(
            node.service_entities,
            self._action_type,
            ACTION_NAME,
            lambda _: self._action_type.Result(),
            handle_accepted_callback=self._on_goal,
            cancel_callback=lambda _: CancelResponse.ACCEPT,
        )

    @contextmanager
    def _report_refusals(self, motion_id: str) -> Iterator[None]:
        """
        Record a block's ReferenceRefusedError under `motion_id`, and raise it.

        A NotActiveError is raised with the node's status in place of its own text.
        """
        self._report_refusal('')
        try:
            yield
        except ReferenceRefusedError as refusal:
            error = refusal
            if isinstance(refusal, NotActiveError):
                error = NotActiveError(f'Nothing would follow the reference ({self._status()}).')
            self._report_refusal(str(error))
            self._node.controller.reference.record_refusal(error, motion_id)
            raise error from None

    def _follow_motion(
        self, request: TrajectoryRequest, motion_id: str, *, allow_setpoint: bool = True
    ) -> Trajectory:
        """
        Begin to follow a motion and return it, or raise ReferenceRefusedError.

        The motion is published, with torques, if anybody subscribes. Reports repeat `motion_id`.
        """
        controller: Feedforward = self._node.controller
        arm = controller.description
        motion = request.follow_kwargs(arm, allow_setpoint=allow_setpoint)
        if extra := request.extra_joint_names(arm):
            sentence = f"references also name {', '.join(extra)}, not the arm's: ignored"
            self._node.get_logger().info(sentence, once=True)
        is_trajectory = motion['times'] is not None
        if is_trajectory and self._only_adds_torques():
            planned = self._plan_motion(motion, motion_id)
        else:
            planned = controller.follow(**motion, goal_id=motion_id)
        if is_trajectory and self._has_trajectory_receiver():
            filled, efforts = motion_with_efforts(controller.requested_law, planned)
            message = conversion.motion_message(controller.joint_names, filled, efforts)
            self._motion_publisher.publish(message)
        return planned

    def _only_adds_torques(self) -> bool:
        """
        Return whether a trajectory is planned for its torques alone, and not followed.

        That is so where joint states come too rarely for torques from here: a trajectory
        controller with a cycle of its own may still move the arm by the published motion.
        """
        controller = self._node.controller
        problem = controller.states.problem
        is_rare = problem is not None and problem.code in _RARE_STATE_CODES
        return is_rare and controller.latest is not None and controller.reference.motion is None

    def _plan_motion(self, motion: dict[str, Any], motion_id: str) -> Trajectory:
        """Return a motion as it would be followed from where the arm is, and end it at once."""
        controller = self._node.controller
        reference = controller.reference
        measured_q = controller.latest.q
        planned: Trajectory = reference.follow(**motion, goal_id=motion_id, measured_q=measured_q)
        problem = controller.states.problem
        reference.clear(f'torques were added to it, but it is not followed here: {problem}')
        return planned

    def _has_trajectory_receiver(self) -> bool:
        """Return whether somebody, such as a trajectory controller, takes the whole motions."""
        return self._motion_publisher.get_subscription_count() > 0

    def _log_ignored_efforts(self, message: JointTrajectory) -> None:
        """Log once, if a reference message has efforts, that these are ignored."""
        if any(point.effort for point in message.points[:1]):
            sentence = 'references have efforts, which are ignored: this node computes them'
            self._node.get_logger().info(sentence, once=True)

    def _on_reference(self, data: bytes) -> None:
        """If configured, follow the motion in a serialized message, or report its refusal."""
        if self._node.controller is None:
            return
        with suppress(ReferenceRefusedError):
            # Twice, because the motion's identifier is known once the message is read.
            with self._report_refusals(''):
                message = parse_message(JointTrajectory, data, 'reference', ReferenceRefusedError)
            self._log_ignored_efforts(message)
            # A joint trajectory needs no frame, so the sender may use frame_id to mark a
            # trajectory and recognise the reports about it.
            goal_id = message.header.frame_id[:_MAX_GOAL_ID_LENGTH]
            with self._report_refusals(goal_id):
                self._follow_motion(conversion.parse_reference(message), goal_id)

    def _on_goal(self, goal_handle: Any) -> None:
        """
        Begin the motion of a new goal; abort a refused goal with an error code and a text.

        Every goal is accepted first, because a rejection cannot say why.
        """
        goal_id = bytes(goal_handle.goal_id.uuid).hex()
        goal = goal_handle.request
        mark_goal_executing(goal_handle)
        try:
            if self._node.controller is None:
                raise NotActiveError('The node is not configured.')
            with self._report_refusals(goal_id):
                names = list(self._node.controller.joint_names)
                path = conversion.MotionTolerances.from_messages(goal.path_tolerance, names)
                # By default the next motion could begin where this one ends, and the arm rests.
                end = conversion.MotionTolerances.from_messages(
                    goal.goal_tolerance,
                    names,
                    MAX_START_DISTANCE_RAD,
                    _STOPPED_VELOCITY_TOLERANCE,
                )
                tolerances = (*goal.path_tolerance, *goal.goal_tolerance)
                if any(tolerance.acceleration for tolerance in tolerances):
                    sentence = 'tolerances of accelerations are not checked: nobody measures them'
                    self._node.get_logger().info(sentence, once=True)
                request = self._request_from_goal(goal)
                motion = self._follow_motion(request, goal_id, allow_setpoint=False)
        except ReferenceRefusedError as error:
            self._end_goal(goal_handle, _Outcome(_Ending.ABORTED, error.code, str(error)))
            return
        time_tolerance = stamp_to_seconds(goal.goal_time_tolerance)
        self._goals[goal_id] = _Goal(goal_handle, motion, path, end, time_tolerance)

    def _request_from_goal(self, goal: Any) -> TrajectoryRequest:
        """Return a goal's trajectory; raise ReferenceRefusedError if the arm cannot follow it."""
        controller = self._node.controller
        if goal.multi_dof_trajectory.points:
            raise ReferenceRefusedError('The goal has a multi_dof_trajectory; use `trajectory`.')
        request = conversion.parse_request(goal.trajectory)
        self._log_ignored_efforts(goal.trajectory)
        if self._has_trajectory_receiver():  # it moves the arm, by its own gains
            return request
        if not self._node.receivers.has_receiver and controller.state is State.RUNNING:
            raise NotActiveError('Nobody receives the torques.')  # as the status says, too
        request.require_arm_joints(controller.description)
        for name, kp in zip(controller.joint_names, controller.requested_law.kp):
            if kp == 0.0 and np.ptp(request.positions[:, request.joint_names.index(name)]) > 0.0:
                raise ReferenceRefusedError(
                    f'kp of {name} is 0, so that nothing pulls it to the goal: set the parameters '
                    'kp and kd (kp: [-1.0] finds both at the start).'
                )
        return request

    def on_reference_event(self, event: ReferenceEvent) -> None:
        """End goals whose motion was interrupted or replaced; mark a goal's finished motion."""
        if event.state is ReferenceState.ACCEPTED:
            why = 'Not reached when another reference took its place.'
            for goal_id, other in list(self._goals.items()):
                if other.is_motion_over and goal_id != event.goal_id:
                    self._abort_goal(goal_id, why)
        if goal := self._goals.get(event.goal_id):
            goal.is_motion_over = event.state is ReferenceState.FINISHED
            if event.state is ReferenceState.INTERRUPTED:
                self._abort_goal(event.goal_id, f'The motion was interrupted: {event.reason}.')

    def _abort_goal(self, goal_id: str, why: str) -> None:
        """Remove and abort a goal whose motion is not followed any more."""
        outcome = _Outcome(_Ending.ABORTED, self._action_type.Result.INVALID_GOAL, why)
        self._end_goal(self._goals.pop(goal_id).handle, outcome)

    def update_goals(self) -> None:
        """Publish feedback of all goals; end those reached, cancelled or out of tolerance."""
        for goal_id, goal in list(self._goals.items()):
            outcome = self._goal_outcome(goal)
            if outcome is None:
                continue
            del self._goals[goal_id]
            if outcome.ending is not _Ending.SUCCEEDED:
                # A motion that is not over yet is reported as interrupted.
                why = outcome.text.removesuffix('.')
                self._node.controller.end_motion(f'its goal was given up: {why}')
            self._end_goal(goal.handle, outcome)

    def _goal_outcome(self, goal: _Goal) -> _Outcome | None:
        """Return the outcome of a goal that ends now, or None; publish the feedback of others."""
        controller = self._node.controller
        codes = self._action_type.Result
        state = controller.latest
        motion = goal.motion
        if goal.handle.is_cancel_requested:
            return _Outcome(_Ending.CANCELLED, codes.SUCCESSFUL, 'Cancelled.')
        if goal.is_motion_over and controller.state is not State.RUNNING:
            why = f'The arm had not reached its goal: {self._status()}.'
            return _Outcome(_Ending.ABORTED, codes.GOAL_TOLERANCE_VIOLATED, why)
        if state is None or state.stamp < motion.begin:
            return None
        desired = motion.at(state.stamp)
        tolerances = goal.end_tolerances if goal.is_motion_over else goal.path_tolerances
        wrong = tolerances.violation(state.q, state.dq, desired, controller.description)
        if not goal.is_motion_over:
            if wrong:
                return _Outcome(_Ending.ABORTED, codes.PATH_TOLERANCE_VIOLATED, f'{wrong}.')
            self._publish_feedback(goal, state, desired)
            return None
        if not wrong:
            return _Outcome(_Ending.SUCCEEDED, codes.SUCCESSFUL)
        if goal.time_tolerance > 0.0 and state.stamp >= motion.end + goal.time_tolerance:
            why = f'{wrong} {goal.time_tolerance:g} s after its end.'
            return _Outcome(_Ending.ABORTED, codes.GOAL_TOLERANCE_VIOLATED, why)
        return None

    def _publish_feedback(self, goal: _Goal, state: StateTerms, desired: ReferencePoint) -> None:
        """Publish a goal's desired and actual state as feedback, at most every 50 ms of stamps."""
        if state.stamp < goal.next_feedback_time:
            return
        goal.next_feedback_time = state.stamp + _FEEDBACK_PERIOD_S
        feedback = self._action_type.Feedback(joint_names=self._node.controller.joint_names)
        feedback.header.stamp = seconds_to_stamp(state.stamp)
        since = max(0.0, state.stamp - goal.motion.begin)
        feedback.desired = conversion.trajectory_point(since, *desired)
        feedback.actual = conversion.trajectory_point(since, state.q, state.dq)
        errors = desired.q - state.q, desired.dq - state.dq
        feedback.error = conversion.trajectory_point(since, *errors)
        goal.handle.publish_feedback(feedback)

    def _end_goal(self, goal_handle: Any, outcome: _Outcome) -> None:
        """Log a goal's outcome, and let the action server send it to the client."""
        goal_id = bytes(goal_handle.goal_id.uuid)
        self._unsent_goal_ids.add(goal_id)
        sentence = f'goal {goal_id.hex()[:8]} {_ENDING_TEXTS[outcome.ending]}'
        if outcome.text:
            sentence += f': {outcome.text}'
        if outcome.ending is _Ending.ABORTED:
            self._node.get_logger().warning(sentence)
        else:
            self._node.get_logger().info(sentence)

        def finish(_: Any) -> Any:
            """Set the goal's final status, and return its result."""
            result = self._action_type.Result(
                error_code=outcome.error_code, error_string=outcome.text
            )
            set_status = getattr(goal_handle, outcome.ending.value)
            # From 7.1.9 on rclpy takes the result here, and sends it at once.
            if inspect.signature(set_status).parameters:
                set_status(result)
            else:
                set_status()
            self._unsent_goal_ids.discard(goal_id)
            return result

        if goal_handle.status == GoalStatus.STATUS_ACCEPTED:
            goal_handle.execute(finish)
        else:
            self._action_server.notify_execute(goal_handle, finish)

    def deliver_results(self) -> None:
        """
        Let the node's own executor send the results of ended goals, for 0.3 s.

        Nothing is done if none is left to be sent, or if another executor serves the node.
        """
        executor = self._node.service_entities.executor
        if executor is None or not self._unsent_goal_ids:
            return
        end = time.monotonic() + _RESULT_DELIVERY_TIMEOUT_S
        while time.monotonic() < end:
            executor.spin_once(timeout_sec=_RESULT_DELIVERY_TIMEOUT_S)

    def destroy_server(self) -> None:
        """Destroy the action server, unless it is destroyed already."""
        server = self._action_server
        self._action_server = None
        if server is not None:
            server.destroy()
