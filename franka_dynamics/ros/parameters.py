# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Declares a node's parameters, and checks their values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from itertools import dropwhile, pairwise
from pathlib import Path
import sys
from typing import Any

from rcl_interfaces.msg import (
    FloatingPointRange,
    ParameterDescriptor,
    SetParametersResult,
)
from rclpy.exceptions import InvalidParameterTypeException
from rclpy.parameter import Parameter
import yaml

from .parameter_tables import constraints, is_removed, no_such_parameter
from ..errors import listed, SettingsError
from ..parameter_schema import check, ParameterSpec

# How a value of each type is written.
_WRITTEN = {
    'bool': 'true',
    'double': '1.0',
    'string': 'fr3',
    'double_array': '[1.0, 2.0]',
    'string_array': '[a, b]',
}


class CheckedParameters:
    """A base class of nodes before rclpy's, whose own refusals name neither values nor a way."""

    active = False  # while it is, parameters of some kind are fixed

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
    is given to this node by its name and belongs to no declared parameter. A parameter file that
    has nothing for this node is logged.
    """
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
            check(spec, parameter.value)
        # The descriptor is set last, so that `check` is the first to refuse a value out of range:
        # its message is clearer than rclpy's.
        node.set_descriptor(spec.name, _descriptor(spec, kind))
    _require_known(node, sys.argv)
    return values(node, table)


def _require_known(node: Any, words: Sequence[str]) -> None:
    """
    Raise SettingsError if a command line gives a node a parameter that it has not.

    Words without a node (-p scale:=1.0) are for this process. What a file gives to a wildcard
    (/**) is for every node and need not concern this one, unless an earlier release had it. A file
    without a section for this node is logged.
    """
    own, unknown = node.get_fully_qualified_name(), set[str]()
    for flag, word in pairwise(dropwhile(lambda word: word != '--ros-args', words)):
        given: list[tuple[str, str]] = []
        if flag in ('-p', '--param'):
            name, _, parameter = word.partition(':=')[0].rpartition(':')
            given = [(f'*/{name}' if name else own, parameter)]
        elif flag == '--params-file':
            given = _file_content(Path(word))
            if given and not any(_means(section, own) for section, _ in given):
                sections = listed(sorted({section for section, _ in given}))
                node.get_logger().warning(
                    f'{word} has nothing for this node, {own}: its sections are {sections}; '
                    'name one /** or as the node'
                )
        for section, parameter in given:
            named = '*' not in section.rpartition('/')[2] or is_removed(parameter)
            # QoS overrides are declared later, with publishers and subscriptions.
            known = node.has_parameter(parameter) or parameter.startswith('qos_overrides.')
            if named and not known and _means(section, own):
                unknown.add(parameter)
    if unknown:
        raise SettingsError(f'{no_such_parameter(sorted(unknown))} Nothing is started.')


def _means(section: str, node: str) -> bool:
    """Return whether a section of a parameter file is for a node, given by its full name."""
    return fnmatchcase(node, section.replace('/**', '*'))


def _file_content(file: Path) -> list[tuple[str, str]]:
    """Return the section and the name of each parameter in a file."""
    found = []
    for path in _paths(yaml.safe_load(file.read_text(encoding='utf-8')) or {}):
        section, _, name = path.partition('/ros__parameters/')
        found.append((section, name.replace('/', '.')))
    return found


def _descriptor(spec: ParameterSpec, kind: Parameter.Type) -> ParameterDescriptor:
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


def _paths(content: Mapping[str, Any], path: str = '') -> Iterator[str]:
    """Yield the path of each value of a parameter file, which may nest nodes and parameters."""
    for key, value in content.items():
        inner = f'{path}/{str(key).strip("/")}'
        yield from _paths(value, inner) if isinstance(value, dict) else (inner,)


def values(node: Any, table: Sequence[ParameterSpec]) -> dict[str, Any]:
    """Return the present values of a table's parameters by name."""
    return {spec.name: node.get_parameter(spec.name).value for spec in table}


def _check_changes(node: Any, changes: Sequence[Parameter]) -> None:
    """Raise SettingsError if a requested change of a node's parameters is wrong."""
    if unknown := [one.name for one in changes if not node.has_parameter(one.name)]:
        raise SettingsError(no_such_parameter(unknown))
    specs = {spec.name: spec for spec in node.parameter_table}
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
        check(spec, change.value)
        if spec.while_inactive and node.active:
            raise SettingsError(
                f'{change.name} can be changed only while the node is not active: '
                f'`franka-dynamics node state deactivate --node {node.get_fully_qualified_name()}`'
                ', set it, and activate the node again.'
            )
