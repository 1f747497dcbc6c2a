# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A node's parameters: declaration and checks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rcl_interfaces.msg import ParameterDescriptor
from rclpy.exceptions import InvalidParameterTypeException
from rclpy.parameter import Parameter

from .parameter_tables import constraints
from ..errors import SettingsError
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


def check_changes(
    node: Any, table: Sequence[ParameterSpec], changes: Sequence[Parameter], active: bool
) -> None:
    """
    Raise SettingsError if a requested change of a table's parameters is wrong.

    While the node is `active`, `while_inactive` parameters are fixed.
    """
    specs = {spec.name: spec for spec in table}
    for change in changes:
        if change.type_ is Parameter.Type.NOT_SET:
            raise SettingsError(f'{change.name!r} is given no value.')
        spec = specs.get(change.name)
        if spec is None:
            continue
        check(spec, change.value)
        before = node.get_parameter(change.name).value
        if spec.while_inactive and active and change.value != before:
            raise SettingsError(
                f'{change.name} can be changed only while the node is not active: ros2 '
                f'lifecycle set {node.get_fully_qualified_name()} deactivate, set it, and '
                'activate the node again.'
            )
