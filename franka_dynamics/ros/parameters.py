# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A node's parameters: declaration, checks and changes."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from typing import Any

from rcl_interfaces.msg import ParameterDescriptor, SetParametersResult
from rclpy.exceptions import InvalidParameterTypeException
from rclpy.parameter import Parameter

from .parameter_tables import constraints
from ..errors import FrankaDynamicsError, SettingsError, shortened
from ..parameter_schema import check, ParameterSpec


def declare(node: Any, table: Sequence[ParameterSpec]) -> dict[str, Any]:
    """
    Declare a table's parameters on a node, with descriptors; return their values by name.

    Raises SettingsError if a value given at the start has the wrong type, is outside its range, or
    belongs to no declared parameter.
    """
    for spec in table:
        descriptor = ParameterDescriptor(
            name=spec.name,
            description=spec.sentence,
            read_only=spec.read_only,
            additional_constraints=constraints(spec),
        )
        # rclpy takes an empty list for bytes; a parameter with this default is declared by its
        # type.
        kind = Parameter.Type[spec.kind.upper()]
        default = spec.default if spec.default != [] else kind
        try:
            parameter = node.declare_parameter(spec.name, default)
        except InvalidParameterTypeException as error:
            raise SettingsError(
                f'{spec.name} must be of type {spec.kind} (default {spec.default!r}): {error}.'
            ) from error
        if parameter.value is None:
            # If one parameter had no value, `ros2 param dump` would print none of them.
            node.set_parameters([Parameter(spec.name, kind, [])])
        else:
            check(spec, parameter.value)
        # The descriptor is set last, so that `check` is the first to refuse a value out of range:
        # its message is clearer than rclpy's.
        descriptor.type = kind.value
        node.set_descriptor(spec.name, descriptor)
    _refuse_unknown(node)
    return values(node, table)


def values(node: Any, table: Sequence[ParameterSpec]) -> dict[str, Any]:
    """Return the present values of a table's parameters by name."""
    return {spec.name: node.get_parameter(spec.name).value for spec in table}


def _refuse_unknown(node: Any) -> None:
    # rclpy has declared its own parameters by now, except QoS overrides, which come with
    # publishers and subscriptions. No public function lists values given for undeclared
    # parameters.
    unknown = sorted(
        name
        for name in node._parameter_overrides
        if not node.has_parameter(name) and not name.startswith('qos_overrides.')
    )
    if unknown:
        raise SettingsError(
            f'{", ".join(unknown)}: no such parameter; '
            '`franka-dynamics node defaults` prints all of them. ROS would ignore a misspelt one '
            'silently, so nothing is started.'
        )


class LiveParameters:
    """
    Checks a change of parameters when it is requested, and puts it into effect.

    The node has declared all parameters of `table`; changes of `live` parameters need no new
    configuration. `judge` gets the values that all `live` and all changed parameters would have
    after a change, and raises FrankaDynamicsError to refuse the change. `use` gets the values of
    all `live` parameters after it, and returns whether they are in effect now. While `active`
    returns True, `while_inactive` parameters are fixed.
    """

    def __init__(
        self,
        node: Any,
        table: Sequence[ParameterSpec],
        live: Sequence[ParameterSpec],
        judge: Callable[[dict[str, Any]], None],
        use: Callable[[dict[str, Any]], bool],
        active: Callable[[], bool],
    ) -> None:
        self._node, self._live, self._judge, self._active = node, live, judge, active
        self._specs, self._use = {spec.name: spec for spec in table}, use
        node.add_on_set_parameters_callback(self._on_set)
        node.add_post_set_parameters_callback(self._after_set)

    def _on_set(self, changes: Sequence[Parameter]) -> SetParametersResult:
        try:
            for change in changes:
                if change.type_ is Parameter.Type.NOT_SET:
                    raise SettingsError(f'{change.name!r} is given no value.')
                if change.name in self._specs:
                    self._check(self._specs[change.name], change)
            merged = values(self._node, self._live)
            self._judge(merged | {change.name: change.value for change in changes})
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
        live = {spec.name for spec in self._live}
        changed = {one.name: one.value for one in changes if one.name in live}
        if not changed or not self._use(values(self._node, self._live)):
            return
        now = (
            f'{name} = {shortened(str(list(value) if isinstance(value, array) else value), 200)}'
            for name, value in changed.items()
        )
        self._node.get_logger().info(f'now: {", ".join(now)}')
