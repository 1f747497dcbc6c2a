# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Handles a feedforward node's parameter changes and ~/clear_fault."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Any

from rcl_interfaces.msg import SetParametersResult
from rclpy.parameter import Parameter
from std_srvs.srv import Trigger

from .controller_factory import change_settings
from .diagnostics import FeedforwardDiagnostics
from .parameter_tables import live_table, settings_from
from .parameters import values
from ..errors import FrankaDynamicsError, shortened, StartRefusedError


class NodeServices:
    """
    Handles parameter changes and ~/clear_fault on the node's service thread.

    `node` has the controller `core`, None while it is not configured, and says whether it is
    `active`.
    """

    def __init__(self, node: Any, diagnostics: FeedforwardDiagnostics) -> None:
        self._node, self._diagnostics = node, diagnostics
        node.add_on_set_parameters_callback(self._on_set_parameters)
        node.add_post_set_parameters_callback(self._use_parameters)
        node.create_service(Trigger, '~/clear_fault', self._on_clear_fault)

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
        """Refuse changes that the controller cannot use."""
        try:
            merged = values(self._node, live_table())
            merged |= {change.name: change.value for change in changes}
            if (controller := self._node.core) is not None:
                controller.changed_law(**vars(settings_from(merged)))
        except FrankaDynamicsError as error:
            return SetParametersResult(successful=False, reason=str(error))
        return SetParametersResult(successful=True)

    def _use_parameters(self, changes: Sequence[Parameter]) -> None:
        """Put changes of live parameters into effect, and log them."""
        live, controller = values(self._node, live_table()), self._node.core
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
