# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Follows the motions that a feedforward node is asked for, on ~/reference or by its action."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from trajectory_msgs.msg import JointTrajectory

from .diagnostics import FeedforwardDiagnostics
from .messages import deserialize
from .topics import PUBLISHER_QOS, REFERENCE_QOS
from .trajectory_messages import motion_message, parse_reference
from ..control.ending import ReasonCode
from ..control.feedforward import Feedforward
from ..errors import NotActiveError, ReferenceRefusedError
from ..motion.request import TrajectoryRequest
from ..motion.trajectory import Trajectory

_MAX_MARK_LENGTH = 64  # largest number of characters of a reference's frame id in reports


class MotionRequests:
    """
    Checks, follows and reports the motions that a node's controller is asked for.

    They come on the topic ~/reference, or from `TrajectoryAction`. All methods run on the node's
    service thread.
    """

    def __init__(self, node: Any, diagnostics: FeedforwardDiagnostics) -> None:
        self._node, self._diagnostics = node, diagnostics
        self._logged = set[str]()
        self._filled = node.create_lifecycle_publisher(
            JointTrajectory, '~/feedforward_trajectory', PUBLISHER_QOS
        )
        node.create_subscription(
            JointTrajectory, '~/reference', self._on_reference, REFERENCE_QOS, raw=True
        )

    @property
    def someone_else_follows(self) -> bool:
        """Whether another node, such as a trajectory controller, receives motions with torques."""
        return self._filled.get_subscription_count() > 0

    def follow(
        self, parse: Callable[[], TrajectoryRequest], mark: str, *, allow_setpoint: bool = True
    ) -> Trajectory:
        """
        Follow the motion that `parse` returns; publish it with torques if anybody listens.

        Reports repeat `mark`. A refused motion is reported, too, and its ReferenceRefusedError
        raised.
        """
        controller, self._diagnostics.refused = self._node.core, ''
        try:
            request, arm = parse(), controller.description
            arguments = request.follow_arguments(arm, allow_setpoint=allow_setpoint)
            if others := request.extra_joint_names(arm):
                self._log_once(
                    f"references also name {', '.join(others)}, which are not the arm's and hold "
                    'still: they are ignored'
                )
            planned = _planned(controller, arguments, mark)
        except ReferenceRefusedError as error:
            if isinstance(error, NotActiveError):
                present = self._diagnostics.status.present()
                error = NotActiveError(f'Nothing would follow the reference ({present}).')
            self._diagnostics.refused = str(error)
            controller.reference.record_refusal(error, mark)
            raise error from None
        if arguments['times'] is not None and self.someone_else_follows:
            filled, efforts = controller.asked.motion_with_efforts(planned)
            self._filled.publish(motion_message(list(controller.names), filled, efforts))
        return planned

    def note_efforts(self, message: JointTrajectory) -> None:
        """Log once that efforts in references are ignored."""
        if any(point.effort for point in message.points[:1]):
            self._log_once('references have efforts, which are ignored: this node computes them')

    def _log_once(self, sentence: str) -> None:
        """Log a sentence unless it was logged before."""
        if sentence not in self._logged:
            self._logged.add(sentence)
            self._node.get_logger().info(sentence)

    def _on_reference(self, data: bytes) -> None:
        """Follow a serialized reference, or report why it is refused."""
        if self._node.core is None:
            return
        try:
            message = deserialize(JointTrajectory, data, 'reference', ReferenceRefusedError)
        except ReferenceRefusedError as error:
            self._node.core.reference.record_refusal(error)
            return
        # A joint trajectory needs no frame, so the sender may use frame_id to mark a trajectory
        # and recognise the reports about it.
        mark = message.header.frame_id[:_MAX_MARK_LENGTH]
        self.note_efforts(message)
        with suppress(ReferenceRefusedError):
            self.follow(lambda: parse_reference(message), mark)


def _planned(controller: Feedforward, arguments: dict[str, Any], mark: str) -> Trajectory:
    """Follow a reference; if states come too rarely for torques, only plan a trajectory."""
    latest, reference = controller.latest, controller.reference
    problem = controller.states.problem
    plans_only = (
        problem is not None
        and problem.code in (ReasonCode.TOO_RARE, ReasonCode.COARSE_STAMPS)
        and reference.motion is None
        and arguments.get('times') is not None
    )
    if latest is None or not plans_only:
        return controller.follow(**arguments, goal_id=mark)
    planned = reference.follow(**arguments, goal_id=mark, measured_q=latest.q)
    reason = f'torques were added to it, but it is not followed here: {controller.state_problem}'
    reference.clear(reason)
    return planned
