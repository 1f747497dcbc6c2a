# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Declares a node's parameters, and checks their values."""

from collections.abc import Sequence
from difflib import get_close_matches
from itertools import pairwise
from pathlib import Path
import sys
from typing import Any

from rcl_interfaces.msg import FloatingPointRange, ParameterDescriptor, SetParametersResult
from rclpy.exceptions import InvalidParameterTypeException
from rclpy.parameter import Parameter

from .parameter_tables import constraints, no_such_parameter
from ..errors import name_list, SettingsError
from ..files import read_text
from ..parameter_schema import ParameterSpec, require_allowed

# How a value of each type is written.
_WRITTEN = {
    'bool': 'true',
    'double': '1.0',
    'string': 'fr3',
    'double_array': '[1.0, 2.0]',
    'string_array': '[a, b]',
}


_MISSPELT_RATIO = 0.8  # likeness of two names, by difflib, from which one is the other misspelt
# Parameters that rclpy declares for every node, and for publishers and subscriptions.
_OF_ROS = ('use_sim_time', 'start_type_description_service', 'qos_overrides.')


class CheckedParameters:
    """A base class that lets a node refuse parameters with the value and what is allowed."""

    active = False  # while it is, parameters of some kind are fixed

    def __init__(self, *arguments: Any, **node_options: Any) -> None:
        # `declare` compares what the node was given with its table.
        options = {'automatically_declare_parameters_from_overrides': True, **node_options}
        super().__init__(*arguments, **options)

    def set_parameters_atomically(self: Any, parameter_list: list[Parameter]) -> Any:
        """
        Set all parameters or none, as rclpy does, with clearer refusals than its own.

        A value that a parameter has already is no change, also of one that is fixed: so a node
        takes what `ros2 param dump` has written.
        """
        changes = [one for one in parameter_list if not _is_set(self, one)]
        try:
            _check_changes(self, changes)
        except SettingsError as error:
            return SetParametersResult(successful=False, reason=str(error))
        if not changes:
            return SetParametersResult(successful=True)
        return super().set_parameters_atomically(changes)  # type: ignore[misc]


def _is_set(node: Any, change: Parameter) -> bool:
    """Return whether a parameter has this value; ros2 cannot tell the type of an empty list."""
    if not node.has_parameter(change.name):
        return False
    present = node.get_parameter(change.name)
    empty = change.value == [] == present.value
    return empty or bool(change.to_parameter_msg().value == present.to_parameter_msg().value)


def declare(node: Any, table: Sequence[ParameterSpec]) -> dict[str, Any]:
    """
    Declare a table's parameters on a node, with descriptors; return their values by name.

    Raises SettingsError if a value given at the start has the wrong type, is outside its range, or
    belongs to no parameter, but was written for one. What a parameter file for many nodes gives
    beyond that is logged, as are parameters given to other nodes alone.
    """
    given = [name for name in node.get_parameters_by_prefix('') if not name.startswith(_OF_ROS)]
    for name in given:
        node.undeclare_parameter(name)  # declared below with its type
    _require_known(node, given, {spec.name for spec in table})
    _warn_of_others(node, given)
    node.parameter_table = table
    for spec in table:
        # rclpy takes an empty list for bytes; a parameter with this default is declared by its
        # type.
        kind = Parameter.Type[spec.kind.upper()]
        default = spec.default if spec.default != [] else kind
        try:
            parameter = node.declare_parameter(spec.name, default)
        except InvalidParameterTypeException as error:
            raise SettingsError(
                f'{spec.name} must be of type {spec.kind}, written as {_WRITTEN[spec.kind]} '
                f'(default {spec.default!r}).'
            ) from error
        if parameter.value is None:
            # If one parameter had no value, `ros2 param dump` would print none of them.
            node.set_parameters([Parameter(spec.name, kind, [])])
        else:
            require_allowed(spec, parameter.value)
        # The descriptor is set last, so that `check` is the first to refuse a value out of range:
        # its message is clearer than rclpy's.
        node.set_descriptor(spec.name, _descriptor(spec, kind))
    return values(node, table)


def _require_known(node: Any, given: Sequence[str], known: set[str]) -> None:
    """
    Refuse parameters that a node was given and has not, by a command line or a wrong name.

    Other ones are logged: a file with the section /** may be for many nodes.
    """
    unknown = sorted({*given} - known)
    refused = [
        name
        for name in unknown
        if get_close_matches(name, known, 1, _MISSPELT_RATIO)
        or any(_own_assignment(node, word) == name for word in sys.argv)
    ]
    if refused:
        raise SettingsError(f'{no_such_parameter(refused, known)} Nothing is started.')
    if unknown:
        node.get_logger().warning(f'this node has no parameters {name_list(unknown)}; ignored')


def _own_assignment(node: Any, word: str) -> str:
    """Return the name of the parameter that a word [NODE:]NAME:=VALUE gives to a node, or ''."""
    owner, _, name = word.partition(':=')[0].rpartition(':')
    return name if ':=' in word and owner.rpartition('/')[2] in ('', node.get_name()) else ''


def _warn_of_others(node: Any, given: Sequence[str]) -> None:
    """Log which words of the command line give parameters to other nodes alone."""
    own = node.get_name()
    for flag, word in pairwise(sys.argv):
        missed = False
        if flag in ('-p', '--param'):
            parameter = word.partition(':=')[0].rpartition(':')[2]
            missed = parameter not in given and not parameter.startswith(_OF_ROS)
        elif flag == '--params-file':
            text = read_text(Path(word))  # ROS has read it, UTF-16 or not
            missed = not given or (own not in text and '*' not in text)
        if missed:
            node.get_logger().warning(
                f'{flag} {word} has nothing for this node, {node.get_fully_qualified_name()}'
            )


def _descriptor(spec: ParameterSpec, kind: Parameter.Type) -> ParameterDescriptor:
    """Return rclpy's descriptor of a parameter."""
    descriptor = ParameterDescriptor(
        name=spec.name,
        type=kind.value,
        description=spec.sentence,
        read_only=spec.read_only,
        additional_constraints=constraints(spec),
    )
    if spec.bounds:  # of which rqt makes a slider
        ends = FloatingPointRange(from_value=spec.bounds[0], to_value=spec.bounds[1])
        descriptor.floating_point_range = [ends]
    return descriptor


def values(node: Any, table: Sequence[ParameterSpec]) -> dict[str, Any]:
    """Return the present values of a table's parameters by name."""
    return {spec.name: node.get_parameter(spec.name).value for spec in table}


def _check_changes(node: Any, changes: Sequence[Parameter]) -> None:
    """Raise SettingsError if a requested change of a node's parameters is wrong."""
    specs = {spec.name: spec for spec in node.parameter_table}
    if unknown := [one.name for one in changes if not node.has_parameter(one.name)]:
        raise SettingsError(no_such_parameter(unknown, specs))
    for change in changes:
        if change.type_ is Parameter.Type.NOT_SET:
            raise SettingsError(f'{change.name!r} is given no value.')
        spec = specs.get(change.name)
        if spec is None:
            continue
        if change.type_ is not Parameter.Type[spec.kind.upper()]:
            raise SettingsError(
                f'{spec.name} is given a value of type {change.type_.name.lower()}; it must be '
                f'{spec.kind}, written as {_WRITTEN[spec.kind]}.'
            )
        require_allowed(spec, change.value)
        if spec.while_inactive and node.active:
            raise SettingsError(
                f'{change.name} can be changed only while the node is not active: '
                f'`franka-dynamics node state deactivate --node {node.get_fully_qualified_name()}`'
                ', set it, and activate the node again.'
            )
