# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Declaration of a node's parameters, and checks of their values."""

from collections.abc import Sequence
from difflib import get_close_matches
from itertools import pairwise
from pathlib import Path
import sys
from typing import Any

from rcl_interfaces.msg import FloatingPointRange, ParameterDescriptor, SetParametersResult
from rclpy.exceptions import InvalidParameterTypeException
from rclpy.parameter import Parameter

from .parameter_tables import no_such_parameter_sentence, yaml_line
from ..errors import list_text, SettingsError
from ..files import read_text
from ..parameter_schema import ParameterSpec, require_allowed_value

# Likeness of two names, by difflib, from which one is the other with a typo.
_MIN_TYPO_SIMILARITY = 0.8
# Parameters that rclpy declares for every node, and for publishers and subscriptions.
_ROS_PARAMETER_PREFIXES = ('use_sim_time', 'start_type_description_service', 'qos_overrides.')


class CheckedParameters:
    """A base class of nodes that refuse a wrong parameter and say what values are allowed."""

    active = False  # while it is, parameters of some kind are fixed

    def __init__(self, *arguments: Any, **node_options: Any) -> None:
        """Make the node, and let rclpy declare all parameters that were given to the node."""
        # `declare_parameters` compares what the node was given with its table.
        options = {'automatically_declare_parameters_from_overrides': True, **node_options}
        super().__init__(*arguments, **options)

    def set_parameters_atomically(self: Any, parameter_list: list[Parameter]) -> Any:
        """
        Set all given parameters or none; return the result, with clearer refusals than rclpy's.

        A value that a parameter has already is no change, also of one that is fixed: so a node
        takes what `ros2 param dump` has written.
        """
        changes = [change for change in parameter_list if not _has_parameter_value(self, change)]
        try:
            _require_valid_changes(self, changes)
        except SettingsError as error:
            return SetParametersResult(successful=False, reason=str(error))
        if not changes:
            return SetParametersResult(successful=True)
        return super().set_parameters_atomically(changes)  # type: ignore[misc]


def _has_parameter_value(node: Any, change: Parameter) -> bool:
    """Return whether a node's parameter already has the value of a requested change."""
    if not node.has_parameter(change.name):
        return False
    present = node.get_parameter(change.name)
    # ros2 cannot tell the type of an empty list.
    empty = change.value == [] == present.value
    return empty or bool(change.to_parameter_msg().value == present.to_parameter_msg().value)


def declare_parameters(node: Any, specs: Sequence[ParameterSpec]) -> dict[str, Any]:
    """
    Declare the specified parameters on a node; return values by name, or raise SettingsError.

    Raises SettingsError if a value given at the start has the wrong type, is outside its range, or
    belongs to no parameter, but was written for one. What a parameter file for many nodes gives
    beyond that is logged, as are parameters given to other nodes alone.
    """
    names = node.get_parameters_by_prefix('')
    given = [name for name in names if not name.startswith(_ROS_PARAMETER_PREFIXES)]
    for name in given:
        node.undeclare_parameter(name)  # declared below with its type
    _refuse_misspelt_parameters(node, given, {spec.name for spec in specs})
    _warn_of_unused_arguments(node, given)
    node.parameter_table = specs
    for spec in specs:
        # rclpy takes an empty list for bytes; a parameter with this default is declared by its
        # type.
        kind = Parameter.Type[spec.type_name.upper()]
        default = spec.default if spec.default != [] else kind
        try:
            parameter = node.declare_parameter(spec.name, default)
        except InvalidParameterTypeException as error:
            raise SettingsError(
                f'{spec.name} must be of type {spec.type_name}, written as {_example_text(spec)}.'
            ) from error
        if parameter.value is None:
            # If one parameter had no value, `ros2 param dump` would print none of them.
            node.set_parameters([Parameter(spec.name, kind, [])])
        else:
            require_allowed_value(spec, parameter.value)
        # The descriptor is set last, so that `require_allowed_value` is the first to refuse one
        # out of range: its message is clearer than rclpy's.
        node.set_descriptor(spec.name, _parameter_descriptor(spec, kind))
    return parameter_values(node, specs)


def _example_text(spec: ParameterSpec) -> str:
    """Return as YAML a parameter's default, or an example list if the default is empty."""
    lists = {'double_array': [1.0, 2.0], 'string_array': ['a', 'b']}
    return yaml_line(spec.default or lists.get(spec.type_name, spec.default))


def _refuse_misspelt_parameters(node: Any, given_names: Sequence[str], known: set[str]) -> None:
    """
    Raise SettingsError for unknown parameters that were probably meant for this node.

    These are parameters that a command line gives, or whose name is like a known one. Others are
    logged: a file with the section /** may be for many nodes.
    """
    unknown = sorted({*given_names} - known)
    words = [word.partition(':=')[0].rpartition(':') for word in sys.argv if ':=' in word]
    own = '', node.get_name()  # nodes in a word [NODE:]NAME:=VALUE that are this one
    assigned = {name for owner, _, name in words if owner.rpartition('/')[2] in own}
    near = {name for name in unknown if get_close_matches(name, known, 1, _MIN_TYPO_SIMILARITY)}
    refused = [name for name in unknown if name in assigned | near]
    if refused:
        raise SettingsError(f'{no_such_parameter_sentence(refused, known)} Nothing is started.')
    if unknown:
        node.get_logger().warning(f'this node has no parameters {list_text(unknown)}; ignored')


def _warn_of_unused_arguments(node: Any, given_names: Sequence[str]) -> None:
    """Log a warning for each -p or --params-file that sets no parameter of this node."""
    own, full_name = node.get_name(), node.get_fully_qualified_name()
    for flag, word in pairwise(sys.argv):
        missed = False
        if flag in ('-p', '--param'):
            name = word.partition(':=')[0].rpartition(':')[2]
            missed = name not in given_names and not name.startswith(_ROS_PARAMETER_PREFIXES)
        elif flag == '--params-file':
            text = read_text(Path(word))  # ROS has read it, UTF-16 or not
            missed = not given_names or (own not in text and '*' not in text)
        if missed:
            node.get_logger().warning(f'{flag} {word} has nothing for this node, {full_name}')


def _parameter_descriptor(spec: ParameterSpec, value_type: Parameter.Type) -> ParameterDescriptor:
    """Return the rclpy descriptor of a parameter, with type, text, constraints and range."""
    ends = [spec.bounds] if spec.bounds else []
    return ParameterDescriptor(
        name=spec.name,
        type=value_type.value,
        description=spec.description,
        read_only=spec.read_only,
        additional_constraints=spec.constraint_text,
        # Of which rqt makes a slider.
        floating_point_range=[FloatingPointRange(from_value=a, to_value=b) for a, b in ends],
    )


def parameter_values(node: Any, specs: Sequence[ParameterSpec]) -> dict[str, Any]:
    """Return the present values of the specified parameters by name."""
    return {spec.name: node.get_parameter(spec.name).value for spec in specs}


def _require_valid_changes(node: Any, changes: Sequence[Parameter]) -> None:
    """Raise SettingsError for a wrong change, or one that needs an active node to be inactive."""
    specs = {spec.name: spec for spec in node.parameter_table}
    if unknown := [change.name for change in changes if not node.has_parameter(change.name)]:
        raise SettingsError(no_such_parameter_sentence(unknown, specs))
    for change in changes:
        if change.type_ is Parameter.Type.NOT_SET:
            raise SettingsError(f'{change.name!r} is given no value.')
        spec = specs.get(change.name)
        if spec is None:
            continue
        if change.type_ is not Parameter.Type[spec.type_name.upper()]:
            raise SettingsError(
                f'{spec.name} is given a value of type {change.type_.name.lower()}; it must be '
                f'{spec.type_name}, written as {_example_text(spec)}.'
            )
        require_allowed_value(spec, change.value)
        if spec.only_while_inactive and node.active:
            raise SettingsError(
                f'{change.name} can be changed only while inactive: `franka-dynamics node state '
                f'deactivate --node {node.get_fully_qualified_name()}`, set it, activate again.'
            )
