# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Parameters that may change while a node runs: all of a set together, or none of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from rcl_interfaces.msg import SetParametersResult
from rclpy.parameter import Parameter

from .parameters import announcement, check, ParameterSpec, values
from ..errors import FrankaDynamicsError


class LiveParameters:
    """
    Judges and applies changes of a node's parameters.

    Parameters
    ----------
    node : Node
        Which has declared all of `table`.
    table : sequence of ParameterSpec
        All its parameters.
    live : sequence of ParameterSpec
        Those of them that may change.
    judge : callable
        Given all live values as they would be; raises FrankaDynamicsError to refuse them.
    apply : callable
        Given all live values as they are now.

    """

    def __init__(self, node: Any, table: Sequence[ParameterSpec],
                 live: Sequence[ParameterSpec], judge: Callable[[dict[str, Any]], None],
                 apply: Callable[[dict[str, Any]], None]) -> None:
        self._node, self._live = node, live
        self._specs = {spec.name: spec for spec in table}
        self._judge, self._apply = judge, apply
        node.add_on_set_parameters_callback(self._on_set)
        node.add_post_set_parameters_callback(self._after_set)

    def values(self) -> dict[str, Any]:
        """Return the live values by name."""
        return values(self._node, self._live)

    def _on_set(self, changes: Sequence[Parameter]) -> SetParametersResult:
        try:
            merged = self.values()
            for change in changes:
                if change.name in self._specs:
                    check(self._specs[change.name], change.value)
                merged[change.name] = change.value
            self._judge(merged)
        except FrankaDynamicsError as error:
            return SetParametersResult(successful=False, reason=str(error))
        return SetParametersResult(successful=True)

    def _after_set(self, changes: Sequence[Parameter]) -> None:
        live = {spec.name for spec in self._live}
        changed = [change for change in changes if change.name in live]
        if changed:
            self._apply(self.values())
            self._node.get_logger().info(announcement(changed))
