# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Motions that others request of a feedforward node, on ~/reference or by its action."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from trajectory_msgs.msg import JointTrajectory

from .diagnostics import FeedforwardDiagnostics
from .messages import parse_message
from .topics import PUBLISHER_QOS, REFERENCE_QOS
from .trajectory_messages import motion_message, parse_reference
from ..control.ending import ReasonCode
from ..control.feedforward import Feedforward
from ..errors import NotActiveError, ReferenceRefusedError
from ..motion.request import TrajectoryRequest
from ..motion.trajectory import Trajectory

_MAX_GOAL_ID_LENGTH = 64  # largest number of characters of a reference's frame id in reports


class MotionRequests:
    """
    The motions requested of a node's controller: checked, followed and reported.

    They come on the topic ~/reference, or from `TrajectoryAction`. All methods run on the node's
    service thread.
    """

    def __init__(self, node: Any, diagnostics: FeedforwardDiagnostics) -> None:
        """Make the subscription to ~/reference and the publisher of motions with torques."""
        self._node, self._diagnostics = node, diagnostics
        self._logged = set[str]()
        self._motion_publisher = node.create_lifecycle_publisher(
            JointTrajectory, '~/feedforward_trajectory', PUBLISHER_QOS
        )
        node.create_subscription(
            JointTrajectory, '~/reference', self._on_reference, REFERENCE_QOS, raw=True
        )

    @property
    def has_trajectory_listener(self) -> bool:
        """Whether a node, such as a trajectory controller, subscribes to motions with torques."""
        return self._motion_publisher.get_subscription_count() > 0

    def follow_motion(
        self, parse: Callable[[], TrajectoryRequest], goal_id: str, *, allow_setpoint: bool = True
    ) -> Trajectory:
        """
        Follow the motion that `parse` returns, publish it with torques, and return it as planned.

        It is published if anybody subscribes. Reports repeat `goal_id`. A refused motion is
        reported, too, and its ReferenceRefusedError raised.
        """
        controller, self._diagnostics.refusal_text = self._node.controller, ''
        try:
            request, arm = parse(), controller.description
            arguments = request.follow_arguments(arm, allow_setpoint=allow_setpoint)
            if others := request.extra_joint_names(arm):
                self._log_once(
                    f"references also name {', '.join(others)}, which are not the arm's and hold "
                    'still: they are ignored'
                )
            planned = _follow_or_plan(controller, arguments, goal_id)
        except ReferenceRefusedError as error:
            if isinstance(error, NotActiveError):
                present = self._diagnostics.status_source.status()
                error = NotActiveError(f'Nothing would follow the reference ({present}).')
            self._diagnostics.refusal_text = str(error)
            controller.reference.record_refusal(error, goal_id)
            raise error from None
        if arguments['times'] is not None and self.has_trajectory_listener:
            filled, efforts = controller.asked.motion_with_efforts(planned)
            self._motion_publisher.publish(motion_message(list(controller.names), filled, efforts))
        return planned

    def log_ignored_efforts(self, message: JointTrajectory) -> None:
        """Log, the first time, that the efforts in a reference message are ignored."""
        if any(point.effort for point in message.points[:1]):
            self._log_once('references have efforts, which are ignored: this node computes them')

    def _log_once(self, sentence: str) -> None:
        """Log a sentence unless it was logged before."""
        if sentence not in self._logged:
            self._logged.add(sentence)
            self._node.get_logger().info(sentence)

    def _on_reference(self, data: bytes) -> None:
        """Follow the motion in a serialized message on ~/reference, or report its refusal."""
        if self._node.controller is None:
            return
        try:
            message = parse_message(JointTrajectory, data, 'reference', ReferenceRefusedError)
        except ReferenceRefusedError as error:
            self._node.controller.reference.record_refusal(error)
            return
        # A joint trajectory needs no frame, so the sender may use frame_id to mark a trajectory
        # and recognise the reports about it.
        goal_id = message.header.frame_id[:_MAX_GOAL_ID_LENGTH]
        self.log_ignored_efforts(message)
        with suppress(ReferenceRefusedError):
            self.follow_motion(lambda: parse_reference(message), goal_id)


def _follow_or_plan(controller: Feedforward, motion: dict[str, Any], goal_id: str) -> Trajectory:
    """Return the planned motion and follow it, unless joint states come too rarely for torques."""
    latest, reference = controller.latest, controller.reference
    problem = controller.states.problem
    codes = ReasonCode.TOO_RARE, ReasonCode.COARSE_STAMPS
    is_rare = problem is not None and problem.code in codes
    plans_only = is_rare and reference.motion is None and motion.get('times') is not None
    if latest is None or not plans_only:
        return controller.follow(**motion, goal_id=goal_id)
    planned = reference.follow(**motion, goal_id=goal_id, measured_q=latest.q)
    reason = f'torques were added to it, but it is not followed here: {controller.state_problem}'
    reference.clear(reason)
    return planned
