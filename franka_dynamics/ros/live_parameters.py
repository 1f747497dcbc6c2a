# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Parameters that may change while a node runs: each judged, a request applied once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from rcl_interfaces.msg import SetParametersResult
from rcl_interfaces.srv import (
    DescribeParameters,
    GetParameters,
    GetParameterTypes,
    ListParameters,
    SetParameters,
    SetParametersAtomically,
)
from rclpy.parameter import Parameter

from .parameters import announcement, values
from ..control.parameter_schema import check, ParameterSpec
from ..errors import FrankaDynamicsError, SettingsError, shortened

_MOST_PER_REQUEST = 1000
_LONGEST_REASON = 500
_READING = (DescribeParameters, GetParameters, GetParameterTypes, ListParameters)


class LiveParameters:
    """
    Judges and applies changes of a node's parameters.

    Making what follows from them takes longer than a cycle, so that a request's changes are
    judged one by one and applied together, when the last of them has been.

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
    active : callable
        Whether the node is active, and parameters that are only read before are fixed.

    """

    def __init__(
        self,
        node: Any,
        table: Sequence[ParameterSpec],
        live: Sequence[ParameterSpec],
        judge: Callable[[dict[str, Any]], None],
        apply: Callable[[dict[str, Any]], None],
        active: Callable[[], bool] = lambda: False,
    ) -> None:
        self._node, self._live, self._active = node, live, active
        self._specs = {spec.name: spec for spec in table}
        self._judge, self._apply = judge, apply
        self._gathered: dict[str, Parameter] | None = None
        node.add_on_set_parameters_callback(self._on_set)
        node.add_post_set_parameters_callback(self._after_set)
        # rclpy's own callbacks raise for a value of no known type, and apply entry by entry.
        for service in node.services:
            if service.srv_type is SetParameters:
                service.callback = self._on_request
            elif service.srv_type is SetParametersAtomically:
                service.callback = self._on_atomic_request
            elif service.srv_type in _READING:
                service.callback = _answered(service.callback)

    def values(self) -> dict[str, Any]:
        """Return the live values by name."""
        return values(self._node, self._live)

    def _on_request(
        self,
        request: SetParameters.Request,
        answer: SetParameters.Response,
    ) -> SetParameters.Response:
        self._gathered = {}
        for place, entry in enumerate(request.parameters):
            answer.results.append(self._set([entry]) if place < _MOST_PER_REQUEST else _too_many())
        self._apply_gathered()
        return answer

    def _on_atomic_request(
        self,
        request: SetParametersAtomically.Request,
        answer: SetParametersAtomically.Response,
    ) -> SetParametersAtomically.Response:
        self._gathered = {}
        answer.result = (
            self._set(request.parameters)
            if len(request.parameters) <= _MOST_PER_REQUEST
            else _too_many()
        )
        self._apply_gathered()
        return answer

    def _set(self, entries: Sequence[Any]) -> SetParametersResult:
        for entry in entries:
            if not entry.name or not self._node.has_parameter(entry.name):
                return SetParametersResult(
                    successful=False, reason=f'there is no parameter {shortened(repr(entry.name))}'
                )
        try:
            result = self._node.set_parameters_atomically(
                [Parameter.from_parameter_msg(entry) for entry in entries]
            )
        except (ValueError, TypeError, AttributeError, OverflowError) as error:
            result = SetParametersResult(successful=False, reason=str(error))
        result.reason = shortened(result.reason, _LONGEST_REASON)
        return result

    def _on_set(self, changes: Sequence[Parameter]) -> SetParametersResult:
        try:
            merged = self.values()
            for change in changes:
                if change.name in self._specs:
                    self._check(self._specs[change.name], change)
                merged[change.name] = change.value
            self._judge(merged)
        except FrankaDynamicsError as error:
            return SetParametersResult(successful=False, reason=str(error))
        return SetParametersResult(successful=True)

    def _check(self, spec: ParameterSpec, change: Parameter) -> None:
        check(spec, change.value)
        if (
            spec.while_inactive
            and self._active()
            and change.value != self._node.get_parameter(change.name).value
        ):
            raise SettingsError(
                f'{change.name} can be changed only while the node is not active: ros2 '
                f'lifecycle set {self._node.get_fully_qualified_name()} deactivate, set it, and '
                'activate the node again.'
            )

    def _after_set(self, changes: Sequence[Parameter]) -> None:
        alone = self._gathered is None
        gathered: dict[str, Parameter] = {} if self._gathered is None else self._gathered
        for change in changes:
            gathered[change.name] = change
        self._gathered = gathered
        if alone:
            self._apply_gathered()

    def _apply_gathered(self) -> None:
        gathered, self._gathered = self._gathered or {}, None
        live = {spec.name for spec in self._live}
        changed = [change for name, change in gathered.items() if name in live]
        if changed:
            self._apply(self.values())
            self._node.get_logger().info(announcement(changed))


def _too_many() -> SetParametersResult:
    return SetParametersResult(
        successful=False, reason=f'at most {_MOST_PER_REQUEST} parameters are taken in one request'
    )


def _answered(callback: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Return a service callback that answers with what it has where rclpy's raises."""

    def answer(request: Any, response: Any) -> Any:
        try:
            return callback(request, response)
        except (ValueError, TypeError, AttributeError, OverflowError):
            return response

    return answer
