# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Checks parameter files before ROS reads them.

ROS ignores a section whose name matches no node, uses the last of two equal keys, and reports a
YAML syntax error by a traceback into its C sources. A node that commands torques must not start
with such a file.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
import re
from typing import Any

from ..arm.strict_yaml import read_mapping
from ..errors import DescriptionError, SettingsError

_MARK = 'ros__parameters'
_FORM = f'a parameter file starts with /**: and, below it, {_MARK}:'


def given_files(arguments: Sequence[str]) -> list[Path]:
    """Return the files given by --params-file in a command line."""
    return [Path(value) for option, value in pairwise(arguments) if option == '--params-file']


def read_sections(path: Path) -> dict[str, dict[str, Any]]:
    """
    Return the parameters in each section of a file, by node name pattern with leading slash.

    A parameter in a group is named group.parameter. Raises SettingsError if the file is
    unreadable, no YAML, has a key twice, sets something outside ros__parameters, or mixes integers
    and decimals in one array, which ROS refuses.
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
    Return [name], the parameter file that a launch argument gives, or [] if the name is empty.

    launch_ros would only warn of a file that does not exist, and start the node without it. Raises
    SettingsError if there is no such file, it is empty, or it is no parameter file.
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
    """Raise SettingsError if the file that a launch argument names does not exist or is empty."""
    if not Path(name).is_file():
        raise SettingsError(f'{argument}: there is no file {name}. Nothing is started.')
    if not Path(name).read_text(encoding='utf-8', errors='replace').strip():
        raise SettingsError(f'{argument}: {name} is empty. Nothing is started.')


def require_section(path: Path, node_name: str) -> None:
    """Raise SettingsError, which names a file's sections, if none is for this node."""
    sections = read_sections(path)
    if not any(matches(pattern, node_name) for pattern in sections):
        raise SettingsError(
            f'{path} has no section for {node_name}; its sections are '
            f'{", ".join(sections) or "none"}. Name one /** or {node_name}: ROS would ignore the '
            'file in silence, so nothing is started.'
        )


def matches(pattern: str, node_name: str) -> bool:
    """Return whether a section is for a node; * means one part of a name, ** any number."""
    parts = {'*': '/[^/]+', '**': '(?:/[^/]+)*'}
    tokens = pattern.strip('/').split('/')
    expression = ''.join(parts.get(token, '/' + re.escape(token)) for token in tokens)
    return re.fullmatch(expression, node_name) is not None


def _collect(path: Path, name: str, value: Any, sections: dict[str, dict[str, Any]]) -> None:
    """Add the sections in `value` to `sections`; `name` joins the keys above it by slashes."""
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
