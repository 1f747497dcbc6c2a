# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Reads types, defaults, ranges and change rules of node parameters from config/parameters.

The files in config/parameters follow the schema of generate_parameter_library, which cannot
express that a node reads a parameter at activation only; this package's validation
`franka_dynamics::while_inactive<>` marks such a parameter.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
import functools
import re
from typing import Any

import yaml

from .errors import SettingsError, short_repr
from .files import share_directory

# The files of parameters that apply without a new configuration of the node.
LIVE_PARAMETER_FILES = 'torque', 'motion'
_UNIT_PATTERN = re.compile(r'\[([^]]+)\]')
_WHILE_INACTIVE_VALIDATION = 'franka_dynamics::while_inactive<>'


@dataclass(frozen=True)
class ParameterSpec:
    """
    A ROS parameter of a node, with its type, default, range or choices, and when it may change.

    `type_name` is bool, double, string, double_array or string_array. `require_allowed_value`
    enforces `choices`, `bounds` if given. `only_while_inactive` allows changes only while the node
    is not active.
    """

    name: str
    type_name: str
    default: Any
    description: str
    read_only: bool = False
    only_while_inactive: bool = False
    choices: tuple[str, ...] = ()
    bounds: tuple[float, float] | None = None  # of a double

    @property
    def constraint_text(self) -> str:
        """The parameter's choices, or range in the unit of its description, or ''."""
        if self.choices:
            return 'one of ' + ', '.join(choice or 'empty' for choice in self.choices)
        if self.bounds is None:
            return ''
        low, high = self.bounds
        text = f'{low:g} to {high:g}'
        unit = _UNIT_PATTERN.search(self.description)
        return f'{text} {unit[1]}' if unit else text


@functools.cache
def specs_in_files(*file_names: str) -> tuple[ParameterSpec, ...]:
    """Return the parameters declared in config/parameters/NAME.yaml for each of `file_names`."""
    folder = share_directory() / 'config' / 'parameters'
    texts = ((folder / f'{name}.yaml').read_text(encoding='utf-8') for name in file_names)
    files = zip(file_names, map(yaml.safe_load, texts))
    return tuple(spec for name, file in files for spec in _specs_of_group(file[name]))


def _specs_of_group(group: Mapping[str, Any], prefix: str = '') -> Iterator[ParameterSpec]:
    """Yield the parameters of a YAML mapping, those of nested groups under prefixed names."""
    for name, entry in group.items():
        if not isinstance(entry.get('type'), str):
            yield from _specs_of_group(entry, f'{prefix}{name}.')
            continue
        validation = entry.get('validation', {})
        bounds = validation.get('bounds<>')
        yield ParameterSpec(
            prefix + name,
            entry['type'],
            entry['default_value'],
            entry['description'],
            entry.get('read_only', False),
            _WHILE_INACTIVE_VALIDATION in validation,
            tuple(validation.get('one_of<>', ((),))[0]),
            bounds and tuple(bounds),
        )


def require_allowed_value(spec: ParameterSpec, value: Any) -> None:
    """
    Raise SettingsError if a value is outside a parameter's choices or range.

    NaN and infinity are in no range.

    Raises
    ------
    SettingsError
        If the value is not allowed; the message names parameter, value and allowed values.

    """
    no_choice = spec.choices and not (isinstance(value, str) and value in spec.choices)
    if no_choice or (spec.bounds and not spec.bounds[0] <= value <= spec.bounds[1]):
        raise SettingsError(f'{spec.name} is {short_repr(value)}, not {spec.constraint_text}.')
