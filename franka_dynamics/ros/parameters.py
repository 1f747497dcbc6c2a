# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The nodes' parameters: which node has which, how they are declared and told."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import replace
from difflib import get_close_matches
import functools
from typing import Any

from ..control.parameter_schema import check, ParameterSpec, specs
from ..errors import SettingsError, shortened

LIVE = ('torque', 'motion')  # files of what may change while a node commands
# Of a node that drives a robot over FCI: both are the robot's own.
_OF_ROBOT = ('target', 'terms.friction')
_FILES = {
    'feedforward': ('arm', 'model', *LIVE, 'feedforward'),
    'simulator': ('arm', 'simulator'),
    'reference_player': ('arm', 'reference_player'),
    'fci': ('arm', 'fci', *LIVE),
    'keeper': ('keeper',),
    'trajectory_action': ('arm', 'torque', 'trajectory_action'),
}
NODES = tuple(_FILES)


@functools.cache
def table(node: str) -> tuple[ParameterSpec, ...]:
    """Return the parameters of one of NODES."""
    return _for(node, [spec for name in _FILES[node] for spec in specs(name)])


@functools.cache
def live_table(node: str) -> tuple[ParameterSpec, ...]:
    """Return those of them that make up its Settings and may change while it commands."""
    return _for(node, [spec for name in _FILES[node] if name in LIVE for spec in specs(name)])


def _for(node: str, found: Sequence[ParameterSpec]) -> tuple[ParameterSpec, ...]:
    if node != 'fci':
        return tuple(found)
    # libfranka's bindings work with the FR3 generation; a FER needs libfranka older than 0.10.
    return tuple(
        replace(spec, default='fr3') if spec.name == 'robot_type' else spec
        for spec in found
        if spec.name not in _OF_ROBOT
    )


def declare(node: Any, table: Sequence[ParameterSpec]) -> None:
    """
    Declare a table's parameters on a node, with descriptors, and refuse all others.

    Raises
    ------
    SettingsError
        If a value given at the start has another type, lies outside its range or is of no
        parameter.

    """
    from rcl_interfaces.msg import ParameterDescriptor
    from rclpy.exceptions import InvalidParameterTypeException, InvalidParameterValueException
    from rclpy.parameter import Parameter

    for spec in table:
        descriptor = ParameterDescriptor(
            name=spec.name,
            description=spec.sentence,
            read_only=spec.read_only,
            additional_constraints=constraints(spec),
            **ranges(spec),
        )
        given = node._parameter_overrides.get(spec.name)
        if given is not None and isinstance(given.value, (int, float)):
            check(spec, given.value)  # whose sentence says more than rclpy's
        # rclpy takes an empty list for bytes; such a parameter is declared by its type alone.
        default = spec.default if spec.default != [] else _types()[spec.kind]
        try:
            parameter = node.declare_parameter(spec.name, default, descriptor)
        except (InvalidParameterTypeException, InvalidParameterValueException) as error:
            raise SettingsError(
                f'{spec.name} must be of type {spec.kind} (default {spec.default!r}): {error}.'
            ) from error
        if parameter.value is None:
            # Without a value of any kind, `ros2 param dump` would print no parameter at all.
            node._parameters[spec.name] = Parameter(spec.name, _types()[spec.kind], [])
        else:
            check(spec, parameter.value)
    _refuse_unknown(node, table)


def ranges(spec: ParameterSpec) -> dict[str, list[Any]]:
    """
    Return a number's range as descriptors hold it, by which tools such as rqt show a slider.

    A number that is bounded on one side alone has none: a descriptor cannot say so.
    """
    from rcl_interfaces.msg import FloatingPointRange, IntegerRange

    if spec.minimum is None or spec.maximum is None:
        return {}
    if spec.kind == 'integer':
        return {
            'integer_range': [
                IntegerRange(from_value=int(spec.minimum), to_value=int(spec.maximum))
            ]
        }
    if spec.kind == 'double':
        return {
            'floating_point_range': [
                FloatingPointRange(from_value=float(spec.minimum), to_value=float(spec.maximum))
            ]
        }
    return {}


def constraints(spec: ParameterSpec) -> str:
    """Return a parameter's choices or range as text for people."""
    if spec.choices:
        return 'one of ' + ', '.join(spec.choices)
    bounds = [
        f'{word} {bound:g}'
        for word, bound in (('at least', spec.minimum), ('at most', spec.maximum))
        if bound is not None
    ]
    return ' and '.join(bounds) + (f' {spec.unit}' if bounds and spec.unit else '')


def values(node: Any, table: Sequence[ParameterSpec]) -> dict[str, Any]:
    """Return the present values of a table's parameters by name."""
    return {spec.name: node.get_parameter(spec.name).value for spec in table}


def announcement(changes: Sequence[Any]) -> str:
    """Return a line about parameters that were changed; arrays as one would type them."""

    def typed(value: Any) -> Any:
        return value.tolist() if isinstance(value, array) else value

    return 'now: ' + ', '.join(
        f'{change.name} = {shortened(str(typed(change.value)), 200)}' for change in changes
    )


def _refuse_unknown(node: Any, table: Sequence[ParameterSpec]) -> None:
    known = [spec.name for spec in table]
    # rclpy has declared its own by now, but for those that come with a publisher.
    unknown = sorted(
        name
        for name in node._parameter_overrides
        if not node.has_parameter(name) and not name.startswith('qos_overrides.')
    )
    if unknown:
        raise SettingsError(
            f'{", ".join(_with_likeness(name, known) for name in unknown)}: no such parameter; '
            'docs/reference/parameters.md lists all of them. A misspelt one would be ignored in '
            'silence, so nothing is started.'
        )


def _with_likeness(name: str, known: Sequence[str]) -> str:
    similar = get_close_matches(name, known, n=1)
    return f'{name} ({similar[0]}?)' if similar else name


def _types() -> dict[str, Any]:
    from rclpy.parameter import Parameter

    kinds = Parameter.Type
    return {
        'bool': kinds.BOOL,
        'integer': kinds.INTEGER,
        'double': kinds.DOUBLE,
        'string': kinds.STRING,
        'double_array': kinds.DOUBLE_ARRAY,
        'string_array': kinds.STRING_ARRAY,
    }
