# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A lifecycle node that answers a transition it cannot make, instead of ending."""

from __future__ import annotations

from typing import Any

from lifecycle_msgs.srv import ChangeState
from rclpy.lifecycle import LifecycleNode

from ..errors import shortened


class GuardedLifecycleNode(LifecycleNode):
    """
    A lifecycle node whose change_state service refuses what is not possible.

    rclpy raises out of the service for a transition that does not begin in the present state, or
    that does not exist.
    """

    def __init__(self, name: str, **node_options: Any) -> None:
        super().__init__(name, **node_options)
        self._make_transition = self._service_change_state.callback
        self._service_change_state.callback = self._on_change_state

    def _on_change_state(
        self,
        request: ChangeState.Request,
        answer: ChangeState.Response,
    ) -> ChangeState.Response:
        possible = {
            number: label for number, label, *_ in self._state_machine.available_transitions
        }
        asked = request.transition
        if asked.label in possible.values() if asked.label else asked.id in possible:
            return self._make_transition(request, answer)
        name = repr(shortened(asked.label)) if asked.label else asked.id
        self.get_logger().warning(
            f'transition {name} refused: from {self._state_machine.current_state[1]} there are '
            f'{", ".join(f"{label} ({number})" for number, label in possible.items())}'
        )
        answer.success = False
        return answer
