# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Declaration of a node's parameters, and checks of their values."""

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
import sys
from typing import Any, NamedTuple

from rcl_interfaces.msg import (
    FloatingPointRange,
    ParameterDescriptor,
    SetParametersResult,
)
from rclpy.exceptions import InvalidParameterTypeException
from rclpy.parameter import Parameter
from rclpy.qos import HistoryPolicy, ReliabilityPolicy

from .parameter_tables import (
    file_sections,
    no_such_parameter_sentence,
    read_parameter_file,
    yaml_line,
)
from ..errors import list_text, nearest_name, SettingsError, short_text
from ..parameter_schema import ParameterSpec, require_allowed_value

_QOS_PREFIX = 'qos_overrides.'
# The policies that `topics.QOS_OVERRIDES` lets users choose by a word, with the words.
_QOS_POLICY_WORDS = {
    'history': [name.lower() for name in HistoryPolicy.__members__ if name != 'UNKNOWN'],
    'reliability': [name.lower() for name in ReliabilityPolicy.__members__ if name != 'UNKNOWN'],
}


# Examples for parameters that are an empty list by default.
_EXAMPLES_OF_LISTS = {'double_array': [1.0, 2.0], 'string_array': ['a', 'b']}


class CheckedParameters:
    """A base class of nodes that refuse a wrong parameter and say what values are allowed."""

    active = False  # while the node is active, some parameters are fixed

    def __init__(self, *arguments: Any, **node_options: Any) -> None:
        """Make the node, and let rclpy declare all parameters that were given to the node."""
        # `declare_parameters` compares what the node was given with its table.
        options = {
            'automatically_declare_parameters_from_overrides': True,
            **node_options,
        }
        super().__init__(*arguments, **options)

    def set_parameters_atomically(self: Any, parameter_list: list[Parameter]) -> Any:
        """
        Set all given parameters or none; return the result, with clearer refusals than rclpy's.

        A value that a parameter has already changes nothing, so it is accepted for fixed
        parameters, too. Thus a node takes what `ros2 param dump` has written.
        """
        changes = [change for change in parameter_list if not _has_parameter_value(self, change)]
        try:
            _require_valid_changes(self, changes)
        except SettingsError as error:
            return SetParametersResult(successful=False, reason=str(error))
        if not changes:
            return SetParametersResult(successful=True)
        return super().set_parameters_atomically(changes)  # type: ignore[misc]


def declare_parameters(node: Any, specs: Sequence[ParameterSpec]) -> dict[str, Any]:
    """
    Declare the specified parameters on a node, and return their values by name.

    Parameters that a file gives to many nodes, and those given to other nodes alone, are logged.

    Raises
    ------
    SettingsError
        If a value given at the start has the wrong type or is outside its range, or if a name
        that was given is no parameter: one of an earlier version, or one given to this very node.

    """
    _require_valid_ros_parameters(node)
    given = [name for name in node.get_parameters_by_prefix('') if not _is_of_ros(name)]
    for name in given:
        node.undeclare_parameter(name)  # declared below with its type
    _refuse_unknown_parameters(node, given, {spec.name for spec in specs})
    node.parameter_table = specs
    for spec in specs:
        # rclpy takes an empty list for bytes; a parameter with this default is declared by its
        # type.
        kind = Parameter.Type[spec.type_name.upper()]
        default = spec.default if spec.default != [] else kind
        try:
            parameter = node.declare_parameter(spec.name, default)
        except InvalidParameterTypeException as error:
            raise SettingsError(_type_sentence(spec)) from error
        if parameter.value is None:
            # If one parameter had no value, `ros2 param dump` would print none of them.
            node.set_parameters([Parameter(spec.name, kind, [])])
        else:
            require_allowed_value(spec, parameter.value)
        # The descriptor is set last, so that `require_allowed_value` is the first to refuse one
        # out of range: its message is clearer than rclpy's.
        node.set_descriptor(spec.name, _parameter_descriptor(spec, kind))
    return parameter_values(node, specs)


def parameter_values(node: Any, specs: Sequence[ParameterSpec]) -> dict[str, Any]:
    """Return the present values of the specified parameters by name."""
    return {spec.name: node.get_parameter(spec.name).value for spec in specs}


# Names that a node does not have -----------------------------------------------------------------
class _GivenSection(NamedTuple):
    """Parameters that the command line gives to a node, or a section of a file to nodes."""

    node_name: str  # without namespace; '' for whoever reads it, * or ** for many
    parameter_names: set[str]

    def is_for(self, node_name: str) -> bool:
        """Return whether the section is for this very node."""
        return self.node_name in ('', node_name)

    def reaches(self, node_name: str) -> bool:
        """Return whether the section is for this node, by its name or by a wildcard."""
        return self.is_for(node_name) or self.node_name in ('*', '**')


def _given_sections(words: Sequence[str]) -> dict[str, list[_GivenSection]]:
    """Return what each -p and --params-file of a command line gives to nodes, by these words."""
    found = dict[str, list[_GivenSection]]()
    for flag, word in pairwise(words):
        if flag in ('-p', '--param'):
            owner, _, name = word.partition(':=')[0].rpartition(':')
            found[f'{flag} {word}'] = [_GivenSection(owner.rpartition('/')[2], {name})]
        elif flag == '--params-file':
            found[f'{flag} {word}'] = [
                _GivenSection(full_name.rpartition('/')[2], {*values})
                for full_name, values in file_sections(read_parameter_file(Path(word)))
            ]
    return found


def _refuse_unknown_parameters(node: Any, given: Sequence[str], known: set[str]) -> None:
    """
    Raise SettingsError for names that are no parameters of a node, or log them.

    - One of an earlier version is refused wherever it stands.
    - Another one is refused if it is given to this very node, by -p or in its section of a file.
    - What a section such as /** gives to many nodes is logged.
    - Words of the command line that give this node nothing are logged.
    """
    own_name = node.get_name()
    by_name = set[str]()
    for source, sections in _given_sections(sys.argv).items():
        reaching = set[str]()
        for section in sections:
            if section.is_for(own_name):
                by_name |= section.parameter_names
            if section.reaches(own_name):
                reaching |= section.parameter_names
        if not any(name in given or _is_of_ros(name) for name in reaching):
            full_name = node.get_fully_qualified_name()
            node.get_logger().warning(f'{source} has nothing for this node, {full_name}')
    unknown = sorted({*given} - known)
    refused = [name for name in unknown if name in by_name]
    if refused:
        raise SettingsError(f'{no_such_parameter_sentence(refused, known)} Nothing is started.')
    if unknown:
        nearest = {name: nearest_name(name, known) for name in unknown}
        named = [f'{name} ({near}?)' if near else name for name, near in nearest.items()]
        node.get_logger().warning(f'this node has no parameters {list_text(named)}; ignored')


def _is_of_ros(name: str) -> bool:
    """Return whether rclpy declares a parameter, for every node or for its publishers."""
    return name.startswith(('use_sim_time', 'start_type_description_service', _QOS_PREFIX))


# Values ------------------------------------------------------------------------------------------
def _require_valid_ros_parameters(node: Any) -> None:
    """
    Raise SettingsError for a wrong value of a parameter that rclpy declares.

    With a wrong use_sim_time rclpy would start the node in real time, and of a wrong QoS it says
    neither the parameter nor what is allowed.
    """
    for name, parameter in node.get_parameters_by_prefix('').items():
        value = parameter.value
        policy = name.rpartition('.')[2] if name.startswith(_QOS_PREFIX) else ''
        words = _QOS_POLICY_WORDS.get(policy, [])
        needed = ''
        if name == 'use_sim_time' and not isinstance(value, bool):
            needed = 'true or false'
        elif words and str(value).lower() not in words:
            needed = f'one of {", ".join(words)}'
        elif policy == 'depth' and not (type(value) is int and value >= 0):
            needed = 'an integer from 0 on'
        if needed:
            raise SettingsError(f'{name} is {short_text(str(value), 80)}; it must be {needed}.')


def _type_sentence(spec: ParameterSpec, given: str = '') -> str:
    """Return text on the type of a parameter, with its default or an example, and that given."""
    example = spec.default
    if not example:
        example = _EXAMPLES_OF_LISTS.get(spec.type_name, spec.default)
    cause = f'is given a value of type {given}; it ' if given else ''
    return f'{spec.name} {cause}must be {spec.type_name}, written as {yaml_line(example)}.'


def _parameter_descriptor(spec: ParameterSpec, value_type: Parameter.Type) -> ParameterDescriptor:
    """Return the rclpy descriptor of a parameter, with type, text, constraints and range."""
    ranges = []
    if spec.bounds:
        least, most = spec.bounds
        ranges.append(FloatingPointRange(from_value=least, to_value=most))
    return ParameterDescriptor(
        name=spec.name,
        type=value_type.value,
        description=spec.description,
        read_only=spec.read_only,
        additional_constraints=spec.constraint_text,
        floating_point_range=ranges,  # rqt makes a slider of it
    )


def _has_parameter_value(node: Any, change: Parameter) -> bool:
    """Return whether a node's parameter already has the value of a requested change."""
    if not node.has_parameter(change.name):
        return False
    present = node.get_parameter(change.name)
    if change.value == [] and present.value == []:
        return True  # whatever their types: ros2 cannot tell that of an empty list
    return bool(change.to_parameter_msg().value == present.to_parameter_msg().value)


def _require_valid_changes(node: Any, changes: Sequence[Parameter]) -> None:
    """Raise SettingsError for a wrong change, or one that needs an active node to be inactive."""
    specs = {spec.name: spec for spec in node.parameter_table}
    if unknown := [change.name for change in changes if not node.has_parameter(change.name)]:
        raise SettingsError(no_such_parameter_sentence(unknown, specs))
    for change in changes:
        if (spec := specs.get(change.name)) is None:  # one of ROS's own
            continue
        if change.type_ is not Parameter.Type[spec.type_name.upper()]:
            raise SettingsError(_type_sentence(spec, change.type_.name.lower()))
        require_allowed_value(spec, change.value)
        if spec.only_while_inactive and node.active:
            raise SettingsError(
                f'{change.name} can be changed only while inactive: `franka-dynamics node state '
                f'deactivate --node {node.get_fully_qualified_name()}`, set it, activate again.'
            )
