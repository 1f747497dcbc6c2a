# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
One table of parameters a node: declarations, YAML files and the docs page come from it.

Parameter files are read here before ROS reads them: ROS drops a section whose name matches no
node, lets the last of two equal keys win, and reports a slip of the pen as a traceback with places
in its C sources. A file meant for a node that commands torques is taken whole or not at all.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import pairwise
from pathlib import Path
import re
from typing import Any

from ..arm.strict_yaml import read_mapping
from ..errors import DescriptionError, SettingsError, shortened


@dataclass(frozen=True)
class ParameterSpec:
    """
    One parameter of a node.

    `kind` is bool, integer, double, string, double_array or string_array. `default` fixes the
    type that ROS enforces. `choices` and `minimum`/`maximum` are enforced where they are given.
    `while_inactive` allows changes only while the node is not active.
    """

    name: str
    kind: str
    default: Any
    sentence: str
    read_only: bool = False
    while_inactive: bool = False
    minimum: float | None = None
    maximum: float | None = None
    choices: tuple[str, ...] = ()
    unit: str = ''


def check(spec: ParameterSpec, value: Any) -> None:
    """
    Refuse a value outside a parameter's choices or range; NaN is outside every range.

    Raises
    ------
    SettingsError
        Naming parameter, value and what is allowed.

    """
    if spec.choices and value not in spec.choices:
        raise SettingsError(
            f'{spec.name} is {shortened(repr(value))}; the choices are '
            f'{", ".join(map(repr, spec.choices))}.'
        )
    if spec.minimum is not None or spec.maximum is not None:
        low = -float('inf') if spec.minimum is None else spec.minimum
        high = float('inf') if spec.maximum is None else spec.maximum
        if not low <= value <= high:
            raise SettingsError(
                f'{spec.name} is {value}; it must be within {low:g} and {high:g}'
                f'{" " + spec.unit if spec.unit else ""}.'
            )


def declare(node: Any, table: Sequence[ParameterSpec]) -> None:
    """
    Declare a table's parameters on a node, with descriptors.

    Raises
    ------
    SettingsError
        If a value given at the start has another type or lies outside its range.

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


def refuse_unknown(node: Any, table: Sequence[ParameterSpec]) -> None:
    """
    Refuse parameters that were given at the start but that nobody declares.

    Raises
    ------
    SettingsError
        Naming each, and the parameter it resembles.

    """
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


_MARK = 'ros__parameters'
_FORM = f'a parameter file starts with /**: and, below it, {_MARK}:'


def given_files(arguments: Sequence[str]) -> list[Path]:
    """Return the files that a command line gives as --params-file."""
    return [Path(value) for option, value in pairwise(arguments) if option == '--params-file']


def read_sections(path: Path) -> dict[str, dict[str, Any]]:
    """
    Return a file's sections: node name pattern, beginning with a slash, to its parameters.

    Groups of parameters are joined by dots.

    Raises
    ------
    SettingsError
        If the file is unreadable, no YAML, has a key twice, sets something outside
        ros__parameters, or mixes integers and decimals in one array, which ROS refuses.

    """
    try:
        content = read_mapping(path, expected=_FORM)
    except DescriptionError as error:
        raise SettingsError(str(error)) from error
    sections: dict[str, dict[str, Any]] = {}
    for name, value in content.items():
        _collect(path, '/' + name.strip('/'), value, sections)
    return sections


def given_file(argument: str, name: str) -> list[str]:
    """
    Return the parameter file that a launch argument names, or none if the argument is empty.

    launch_ros would only warn of a file that does not exist, and start the node without it.

    Parameters
    ----------
    argument : str
        The launch argument, for messages.
    name : str
        Its value.

    Raises
    ------
    SettingsError
        If there is no such file, it is empty, or it is no parameter file.

    """
    if not name:
        return []
    require_file(argument, name)
    try:
        if not read_sections(Path(name)):
            raise SettingsError(f'{name} sets no parameter; {_FORM}.')
    except SettingsError as error:
        raise SettingsError(f'{argument}: {error} Nothing is started.') from error
    return [name]


def require_file(argument: str, name: str) -> None:
    """
    Refuse a file that a launch argument names if it does not exist or is empty.

    Raises
    ------
    SettingsError
        Naming the argument and the file.

    """
    if not Path(name).is_file():
        raise SettingsError(f'{argument}: there is no file {name}. Nothing is started.')
    if not Path(name).read_text(encoding='utf-8', errors='replace').strip():
        raise SettingsError(f'{argument}: {name} is empty. Nothing is started.')


def require_section(path: Path, node_name: str) -> None:
    """
    Refuse a file of which no section is for this node.

    Parameters
    ----------
    path : Path
        The file.
    node_name : str
        Fully qualified, such as /left/feedforward.

    Raises
    ------
    SettingsError
        Naming the sections there are.

    """
    sections = read_sections(path)
    if not any(matches(pattern, node_name) for pattern in sections):
        raise SettingsError(
            f'{path} has no section for {node_name}; its sections are '
            f'{", ".join(sections) or "none"}. Name one /** or {node_name}: ROS would ignore the '
            'file in silence, so nothing is started.'
        )


def matches(pattern: str, node_name: str) -> bool:
    """Return whether a section is for a node; * stands for one part of a name, ** for any."""
    parts = {'*': '/[^/]+', '**': '(?:/[^/]+)*'}
    tokens = pattern.strip('/').split('/')
    expression = ''.join(parts.get(token, '/' + re.escape(token)) for token in tokens)
    return re.fullmatch(expression, node_name) is not None


def _collect(path: Path, name: str, value: Any, sections: dict[str, dict[str, Any]]) -> None:
    """Add the sections at and below a node name or namespace."""
    if not isinstance(value, dict):
        raise SettingsError(f'{path}: {name.strip("/")} stands outside {_MARK}; {_FORM}.')
    for key, inner in value.items():
        if key == _MARK:
            sections.setdefault(name, {}).update(_parameters(path, inner))
        else:
            _collect(path, f'{name}/{key.strip("/")}', inner, sections)


def _parameters(path: Path, value: Any, prefix: str = '') -> dict[str, Any]:
    if not isinstance(value, dict):
        raise SettingsError(
            f'{path}: {_MARK} must hold "name: value" lines, indented; got {value!r}.'
        )
    flat: dict[str, Any] = {}
    for name, inner in value.items():
        if isinstance(inner, dict):
            flat.update(_parameters(path, inner, f'{prefix}{name}.'))
            continue
        if isinstance(inner, list) and {type(entry) for entry in inner} == {int, float}:
            raise SettingsError(
                f'{path}: {prefix}{name} is {inner}; ROS takes no mixture of '
                'integers and decimals: write every number with a decimal point.'
            )
        flat[prefix + name] = inner
    return flat
