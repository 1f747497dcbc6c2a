# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Handles a feedforward node's parameter changes, references and ~/clear_fault."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Any

from rcl_interfaces.msg import SetParametersResult
from rclpy.parameter import Parameter
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory

from .controller_factory import change_settings
from .diagnostics import FeedforwardDiagnostics
from .messages import deserialize, motion_message, parse_reference, PUBLISHER_QOS, REFERENCE_QOS
from .parameter_tables import live_table, settings_from, table
from .parameters import check_changes, values
from ..control.feedforward import Feedforward
from ..control.trajectory import Trajectory
from ..errors import (
    FrankaDynamicsError,
    NotActiveError,
    ReferenceRefusedError,
    shortened,
    StartRefusedError,
)

_NODE = 'feedforward'
_MAX_MARK_LENGTH = 64  # largest number of characters of a reference's frame id in reports


class RequestHandler:
    """
    Handles parameter changes, references and ~/clear_fault on the node's service thread.

    `node` has the controller `core`, None while it is not configured, and says whether it is
    `active`.
    """

    def __init__(self, node: Any, diagnostics: FeedforwardDiagnostics) -> None:
        self._node, self._diagnostics = node, diagnostics
        self._others: tuple[str, ...] = ()  # joints of references that are not the arm's
        self._filled = node.create_lifecycle_publisher(
            JointTrajectory, '~/feedforward_trajectory', PUBLISHER_QOS
        )
        node.add_on_set_parameters_callback(self._on_set_parameters)
        node.add_post_set_parameters_callback(self._use_parameters)
        node.create_subscription(
            JointTrajectory, '~/reference', self._on_reference, REFERENCE_QOS, raw=True
        )
        node.create_service(Trigger, '~/clear_fault', self._on_clear_fault)

    def _on_reference(self, data: bytes) -> None:
        """Follow or refuse a reference; publish a trajectory with torques if it is subscribed."""
        controller = self._node.core
        if controller is None:
            return
        mark = self._diagnostics.refused = ''
        try:
            message = deserialize(JointTrajectory, data, 'reference', ReferenceRefusedError)
            # A joint trajectory needs no frame, so the sender may use frame_id to mark a
            # trajectory and recognise the reports about it.
            mark = message.header.frame_id[:_MAX_MARK_LENGTH]
            request = parse_reference(message)
            arguments = request.follow_arguments(controller.description)
            self._note_others(request.extra_joints(controller.description))
            planned = _planned(controller, arguments, mark)
        except ReferenceRefusedError as error:
            reason = str(error)
            if isinstance(error, NotActiveError):
                reason = f'Nothing would follow the reference ({self._diagnostics.present()}).'
            self._diagnostics.refused = reason
            controller.reference.refuse(reason, mark)
            return
        if arguments['times'] is not None and self._filled.get_subscription_count() > 0:
            filled, efforts = controller.asked.with_efforts(planned)
            self._filled.publish(
                motion_message(list(controller.names), filled, efforts, filled.begin)
            )

    def _note_others(self, others: tuple[str, ...]) -> None:
        """Log which joints of a reference are not the arm's and are ignored, once for each set."""
        if others not in ((), self._others):
            self._node.get_logger().info(
                f"references also name {', '.join(others)}, which are not the arm's and hold "
                'still: they are ignored'
            )
            self._others = others

    def _on_clear_fault(self, _: Trigger.Request, answer: Trigger.Response) -> Trigger.Response:
        """Acknowledge a latched fault; answer success if none remains, and a sentence."""
        controller, done = self._node.core, False
        if controller is None:
            sentence = 'the node is not configured'
        elif not controller.faulty:
            sentence, done = 'there was no fault', True
        elif not self._node.active:
            sentence = 'the node is not active; activation clears it'
        else:
            try:
                self._node.clear_fault()
                done = True
                sentence = (
                    'cleared; torques are commanded again once states and receivers allow it'
                )
            except StartRefusedError as error:
                sentence = str(error)
            self._node.get_logger().info(f'~/clear_fault: {sentence}')
        answer.success, answer.message = done, sentence
        return answer

    def _on_set_parameters(self, changes: Sequence[Parameter]) -> SetParametersResult:
        """Refuse changes that have wrong values or that the controller cannot use."""
        try:
            check_changes(self._node, table(_NODE), changes, self._node.active)
            merged = values(self._node, live_table(_NODE))
            merged |= {change.name: change.value for change in changes}
            if (controller := self._node.core) is not None:
                controller.prepared_law(**vars(settings_from(merged)))
        except FrankaDynamicsError as error:
            return SetParametersResult(successful=False, reason=str(error))
        return SetParametersResult(successful=True)

    def _use_parameters(self, changes: Sequence[Parameter]) -> None:
        """Put changes of live parameters into effect, and log them."""
        live, controller = values(self._node, live_table(_NODE)), self._node.core
        changed = {one.name: one.value for one in changes if one.name in live}
        if not changed or controller is None:
            return
        residual = change_settings(controller, live)
        if residual is not None:
            self._diagnostics.residual = residual
        now = (
            f'{name} = {shortened(str(list(value) if isinstance(value, array) else value), 200)}'
            for name, value in changed.items()
        )
        self._node.get_logger().info(f'now: {", ".join(now)}')


def _planned(controller: Feedforward, arguments: dict[str, Any], mark: str) -> Trajectory:
    """Follow a reference; if states come too rarely for torques, only plan a trajectory."""
    latest, reference = controller.latest, controller.reference
    slow = controller.states.period * controller.limits.min_input_rate > 1.0
    plans_only = slow and reference.motion is None and arguments.get('times') is not None
    if latest is None or not plans_only:
        return controller.follow(**arguments, goal_id=mark)
    planned = reference.follow(**arguments, goal_id=mark, measured_q=latest.q)
    reason = f'torques were added to it, but it is not followed here: {controller.state_problem}'
    reference.clear(reason)
    return planned
