# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
The motions that a feedforward node is asked for, on its topic ~/reference or by its action.

Both are checked, followed and reported alike: `MotionGoals.follow`. A stream of set-points comes
on the topic. A goal of the action, which MoveIt sends, also has tolerances, feedback and a result;
with the parameter `controller_action` a joint_trajectory_controller follows it.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
import time
from typing import Any

from action_msgs.msg import GoalStatus
import numpy as np
from rclpy.action import ActionServer, CancelResponse
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from .diagnostics import FeedforwardDiagnostics
from .follow_joint_trajectory import ACTION, action_type, GoalRelay, parse_goal, Tolerances
from .messages import (
    deserialize,
    float64_array,
    motion_message,
    parse_reference,
    PUBLISHER_QOS,
    REFERENCE_QOS,
    seconds,
    stamp_from_seconds,
)
from .rclpy_private import begin_goal
from ..control.feedforward import Feedforward, State
from ..control.reference import MAX_START_DISTANCE_RAD, ReferenceEvent, ReferenceState
from ..control.request import TrajectoryRequest
from ..control.terms import StateTerms
from ..control.trajectory import ReferencePoint, Trajectory
from ..errors import MissingDependencyError, NotActiveError, ReferenceRefusedError

_MAX_MARK_LENGTH = 64  # largest number of characters of a reference's frame id in reports
_RESULT_DELIVERY_S = 0.3  # to send results before the node ends [s]
_CANCEL_TIMEOUT_S = 1.0  # for goals that were passed on to end before the node does [s]
_FEEDBACK_PERIOD_S = 0.05  # by the stamps of joint states, as of joint_trajectory_controller


@dataclass
class _Goal:
    """A goal that is followed: its handle, its motion, and its tolerances on the way and after."""

    handle: Any
    motion: Trajectory
    path: Tolerances
    at_end: Tolerances
    time: float  # how long after its end the arm may still come to it [s]
    ended: bool = False  # whether the motion is over
    next_feedback: float = -np.inf  # stamp [s]


class MotionGoals:
    """
    Accepts motion goals for a node's controller `core`, which is None until it is configured.

    Any motion takes the place of the one before, whose goal then ends. All methods run on the
    node's service thread; `service_entities` has the executor there.
    """

    def __init__(self, node: Any, diagnostics: FeedforwardDiagnostics) -> None:
        self._node, self._diagnostics = node, diagnostics
        self._others: tuple[str, ...] = ()  # joints of references that are not the arm's
        self._goals: dict[str, _Goal] = {}  # of the action, by the identifier of their reports
        self._filled = node.create_lifecycle_publisher(
            JointTrajectory, '~/feedforward_trajectory', PUBLISHER_QOS
        )
        node.create_subscription(
            JointTrajectory, '~/reference', self._on_reference, REFERENCE_QOS, raw=True
        )
        self._unsent = set[bytes]()  # goals whose result is not sent yet
        diagnostics.on_reference_event = self._on_event
        self._server: Any = None
        self._relay: GoalRelay | None = None
        controller_action = node.get_parameter('controller_action').value
        try:
            self._type = action_type()
        except MissingDependencyError as error:
            if controller_action:
                raise
            node.get_logger().info(f'no action {ACTION}: {error}')
            return
        if controller_action:
            self._relay = GoalRelay(node.service_entities, self._type, controller_action)
        self._server = ActionServer(
            node.service_entities,
            self._type,
            ACTION,
            lambda _: self._type.Result(),
            handle_accepted_callback=self._on_goal,
            cancel_callback=lambda _: CancelResponse.ACCEPT,
        )

    def follow(
        self, parse: Callable[[], TrajectoryRequest], mark: str, *, allow_setpoint: bool = True
    ) -> Trajectory:
        """
        Follow the motion that `parse` returns; publish it with torques if anybody listens.

        Reports repeat `mark`. A refused motion is reported, too, and its ReferenceRefusedError
        raised.
        """
        controller, self._diagnostics.refused = self._node.controller, ''
        try:
            request = parse()
            arguments = request.follow_arguments(
                controller.description, allow_setpoint=allow_setpoint
            )
            self._note_others(request.extra_joints(controller.description))
            planned = _planned(controller, arguments, mark)
        except ReferenceRefusedError as error:
            if isinstance(error, NotActiveError):
                present = self._diagnostics.present()
                error = NotActiveError(f'Nothing would follow the reference ({present}).')
            self._diagnostics.refused = str(error)
            controller.reference.refuse(str(error), mark)
            raise error from None
        if arguments['times'] is not None and self._filled.get_subscription_count() > 0:
            filled, efforts = controller.asked.with_efforts(planned)
            self._filled.publish(
                motion_message(list(controller.names), filled, efforts, filled.begin)
            )
        return planned

    def _note_others(self, others: tuple[str, ...]) -> None:
        """Log which joints of a reference are not the arm's and are ignored, once for each set."""
        if others not in ((), self._others):
            self._node.get_logger().info(
                f"references also name {', '.join(others)}, which are not the arm's and hold "
                'still: they are ignored'
            )
            self._others = others

    def _on_reference(self, data: bytes) -> None:
        if self._node.core is None:
            return
        try:
            message = deserialize(JointTrajectory, data, 'reference', ReferenceRefusedError)
        except ReferenceRefusedError as error:
            self._node.core.reference.refuse(str(error))
            return
        # A joint trajectory needs no frame, so the sender may use frame_id to mark a trajectory
        # and recognise the reports about it.
        mark = message.header.frame_id[:_MAX_MARK_LENGTH]
        with suppress(ReferenceRefusedError):
            self.follow(lambda: parse_reference(message), mark)

    # The action --------------------------------------------------------------------------------

    def _on_goal(self, handle: Any) -> None:
        """
        Follow an accepted goal or pass it on; abort a refused one with its code and sentence.

        Every goal is accepted first, because a rejection cannot say why.
        """
        mark, goal = bytes(handle.goal_id.uuid).hex(), handle.request
        begin_goal(handle)
        try:
            if self._node.core is None:
                raise NotActiveError('The node is not configured.')
            if self._relay is not None:
                if why := self._diagnostics.no_state():
                    raise NotActiveError(f'Nobody knows where the arm is: {why}.')
                self._relay.send(handle, self._node.core)
                return
            names = list(self._node.core.names)
            path = Tolerances.from_messages(goal.path_tolerance, names)
            # By default the next motion could begin where this one ends.
            at_end = Tolerances.from_messages(goal.goal_tolerance, names, MAX_START_DISTANCE_RAD)
            motion = self.follow(lambda: parse_goal(goal), mark, allow_setpoint=False)
        except ReferenceRefusedError as error:
            self._end(handle, handle.abort, error.code, str(error))
            return
        self._goals[mark] = _Goal(handle, motion, path, at_end, seconds(goal.goal_time_tolerance))

    def _on_event(self, event: ReferenceEvent) -> None:
        """End the goal whose motion was interrupted; note that a motion is over."""
        goal = self._goals.get(event.goal_id)
        if goal is None:
            return
        goal.ended = event.state is ReferenceState.FINISHED
        if event.state is ReferenceState.INTERRUPTED:
            end, code = goal.handle.abort, self._type.Result.INVALID_GOAL
            del self._goals[event.goal_id]
            self._end(goal.handle, end, code, f'The motion was interrupted: {event.reason}.')

    def poll(self) -> None:
        """Check goals against their tolerances, end them, publish feedback; every 50 ms."""
        if self._relay is not None:
            for ended in self._relay.poll(self._node.active):
                self._end(*ended)
        controller = self._node.core
        for mark, goal in list(self._goals.items()):
            state, handle = controller.latest, goal.handle
            end: Callable[[], None] | None
            if handle.is_cancel_requested:
                end, code, why = handle.canceled, self._type.Result.SUCCESSFUL, 'Cancelled.'
            elif goal.ended and controller.state is not State.RUNNING:
                why = f'The arm had not reached its goal: {self._diagnostics.present()}.'
                end, code = handle.abort, self._type.Result.GOAL_TOLERANCE_VIOLATED
            elif state is None or state.stamp < goal.motion.begin:
                continue
            else:
                end, code, why = self._judged(goal, state, goal.motion.at(state.stamp))
            if end is None:
                continue
            del self._goals[mark]
            if not goal.ended:  # brake
                with suppress(ReferenceRefusedError):
                    controller.follow(np.zeros((0, len(controller.names))), np.zeros(0))
            self._end(handle, end, code, why)

    def _judged(
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
        elif state.stamp >= goal.motion.end + goal.time:
            said = f'{wrong} {goal.time:g} s after its end.'
            return goal.handle.abort, result.GOAL_TOLERANCE_VIOLATED, said
        return None, result.SUCCESSFUL, ''

    def _publish_feedback(self, goal: _Goal, state: StateTerms, desired: ReferencePoint) -> None:
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
        if code != self._type.Result.SUCCESSFUL:
            self._node.get_logger().warning(f'a goal was aborted: {why}')

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
        until = time.monotonic() + _CANCEL_TIMEOUT_S
        while self._relay is not None and self._relay.goals and time.monotonic() < until:
            self._node.service_entities.executor.spin_once(timeout_sec=_FEEDBACK_PERIOD_S)
            self.poll()
        until = time.monotonic() + (_RESULT_DELIVERY_S if self._unsent else 0.0)
        while time.monotonic() < until:
            self._node.service_entities.executor.spin_once(timeout_sec=_RESULT_DELIVERY_S)

    def destroy(self) -> None:
        """Destroy the action."""
        for one in (self._server, self._relay):
            if one is not None:
                one.destroy()


def _point(*fields: Any) -> JointTrajectoryPoint:
    names = 'positions', 'velocities', 'accelerations'
    return JointTrajectoryPoint(**dict(zip(names, map(float64_array, fields))))


def _planned(controller: Feedforward, arguments: dict[str, Any], mark: str) -> Trajectory:
    """Follow a reference; if states come too rarely for torques, only plan a trajectory."""
    latest, reference = controller.latest, controller.reference
    plans_only = (
        controller.states.too_rare
        and reference.motion is None
        and arguments.get('times') is not None
    )
    if latest is None or not plans_only:
        return controller.follow(**arguments, goal_id=mark)
    planned = reference.follow(**arguments, goal_id=mark, measured_q=latest.q)
    reason = f'torques were added to it, but it is not followed here: {controller.state_problem}'
    reference.clear(reason)
    return planned
