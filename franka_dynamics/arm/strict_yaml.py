# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
YAML read strictly: no key twice, keys are texts, numbers are decimal.

YAML 1.1, which PyYAML reads, takes 1e-5 for a text, 010 for eight and 1:30 for ninety, and lets
the last of two equal keys win. In a file of an arm's numbers each of these would go unnoticed.
"""

from __future__ import annotations

from enum import Enum
from functools import lru_cache
import math
from pathlib import Path
import re
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
import yaml

from ..errors import DescriptionError

_INTEGER = re.compile(r'[-+]?[0-9]+\Z')
_FLOAT = re.compile(
    r'(?:[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+|[0-9]+(?=[eE]))(?:[eE][-+]?[0-9]+)?'
    r'|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))\Z'
)
_MOST_DIGITS = 300  # what a float can hold
_MERGE = 'tag:yaml.org,2002:merge'


class _StrictLoader(yaml.SafeLoader):
    """PyYAML's safe loader with unique text keys and with YAML 1.2's decimal numbers."""

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        """Return a mapping, or raise DescriptionError for a key that is no text or is repeated."""
        seen: set[str] = set()
        for key_node, _ in node.value:
            if key_node.tag == _MERGE:
                continue
            key = self.construct_object(key_node, deep=True)
            line = key_node.start_mark.line + 1
            if not isinstance(key, str):
                raise DescriptionError(
                    f'{self.name}: line {line}: the key {key!r} is not a text; put it in quotes.'
                )
            if key in seen:
                raise DescriptionError(
                    f'{self.name}: line {line}: {key} is given twice in one '
                    'mapping; keep one of the two.'
                )
            seen.add(key)
        return super().construct_mapping(node, deep)


_StrictLoader.yaml_implicit_resolvers = {
    first: [
        (tag, pattern)
        for tag, pattern in resolvers
        if tag not in ('tag:yaml.org,2002:int', 'tag:yaml.org,2002:float')
    ]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_StrictLoader.add_implicit_resolver('tag:yaml.org,2002:int', _INTEGER, list('-+0123456789'))
_StrictLoader.add_implicit_resolver('tag:yaml.org,2002:float', _FLOAT, list('-+0123456789.'))


def _decimal(loader: Any, node: Any) -> int:
    text = loader.construct_scalar(node)
    if len(text) > _MOST_DIGITS:
        raise DescriptionError(
            f'{loader.name}: line {node.start_mark.line + 1}: a number of {len(text)} digits; '
            f'no quantity here has more than {_MOST_DIGITS}.'
        )
    return int(text, 10)


_StrictLoader.add_constructor('tag:yaml.org,2002:int', _decimal)


_ARM_FILE = 'an arm file starts with name, convention, joints, inertial_sets'


def read_mapping(path: Path, *, expected: str = _ARM_FILE) -> dict[str, Any]:
    """
    Return the mapping that a YAML file holds; callers must not change it.

    The parsed file is kept until the file changes.

    Parameters
    ----------
    path : Path
        The file.
    expected : str
        How such a file begins, for the sentence about one that holds no mapping.

    Raises
    ------
    DescriptionError
        If the file cannot be read, is no YAML, repeats a key or holds no mapping.

    """
    try:
        return _parse(path, expected, path.stat().st_mtime_ns)
    except OSError as error:
        raise DescriptionError(f'{path} cannot be read: {error.strerror}.') from error


@lru_cache(maxsize=32)
def _parse(path: Path, expected: str, _modified_ns: int) -> dict[str, Any]:
    try:
        text = path.read_text(encoding='utf-8')
        loader = _StrictLoader(text)
        loader.name = str(path)
        content = loader.get_single_data()
    except (UnicodeDecodeError, yaml.YAMLError, RecursionError) as error:
        detail = ' '.join(str(error).split())
        raise DescriptionError(
            f'{path} cannot be read as YAML: {detail}. The file may be cut '
            'short; compare it with a shipped one.'
        ) from error
    if not isinstance(content, dict):
        raise DescriptionError(
            f'{path} holds no mapping (it is empty or a bare {type(content).__name__}); '
            f'{expected}.'
        )
    return content


_DECIMAL = r'\d+(?:\.\d*)?|\.\d+'
_ANGLE = re.compile(rf'^([+-]?)\s*(?:({_DECIMAL})\s*\*?\s*)?pi(?:\s*/\s*({_DECIMAL}))?$')
_Choice = TypeVar('_Choice', bound=Enum)


class YamlTable:
    """A YAML mapping that knows where it stands, so that errors can say it."""

    def __init__(self, values: dict[str, Any], file: Path, where: str) -> None:
        """Wrap `values`, found in `file` under the dotted path `where`."""
        self.values = values
        self._file = file
        self._where = where

    @classmethod
    def read(cls, path: Path, expected: str = _ARM_FILE) -> YamlTable:
        """Read a file; the root table of what it holds. `expected` is as for `read_mapping`."""
        return cls(read_mapping(path, expected=expected), path, '')

    def __contains__(self, key: str) -> bool:
        """Return whether the field is there."""
        return key in self.values

    def labelled(self, label: str) -> YamlTable:
        """Return this table with a label, such as a joint's name, in its error messages."""
        return YamlTable(self.values, self._file, f'{self._where} ({label})')

    def nested(self, key: str, values: dict[str, Any]) -> YamlTable:
        """Return `values` as a table that stands in the place of a field."""
        return YamlTable(values, self._file, self._path(key))

    def error(self, key: str, problem: str) -> DescriptionError:
        """Return the error that says what is wrong with a field."""
        return DescriptionError(f'{self._file}: {self._path(key)} {problem}.')

    def only(self, known: set[str]) -> None:
        """Refuse fields that nobody would read."""
        for key in self.values:
            if key not in known:
                raise self.error(
                    key, f'is not a known field; known here are {", ".join(sorted(known))}'
                )

    def table(self, key: str) -> YamlTable:
        """Return a nested mapping."""
        value = self._get(key)
        if not isinstance(value, dict):
            raise self.error(key, f'must be a mapping, not {value!r}')
        return self.nested(key, value)

    def tables(self, key: str) -> list[YamlTable]:
        """Return a list of mappings; an entry's name, where it has one, is its label."""
        value = self._get(key)
        if not isinstance(value, list):
            raise self.error(key, f'must be a list of mappings, not {value!r}')
        tables = []
        for i, entry in enumerate(value):
            if not isinstance(entry, dict):
                raise self.error(f'{key}[{i + 1}]', f'must be a mapping, not {entry!r}')
            table = self.nested(f'{key}[{i + 1}]', entry)
            tables.append(table.labelled(str(entry['name'])) if 'name' in entry else table)
        return tables

    def text(self, key: str) -> str:
        """Return a text that is not empty."""
        value = self._get(key)
        if not isinstance(value, str) or not value.strip():
            raise self.error(key, f'must be a text, not {value!r}')
        return value

    def choice(self, key: str, kind: type[_Choice]) -> _Choice:
        """Return a member of an enumeration of texts by its value."""
        value = self.text(key)
        try:
            return kind(value)
        except ValueError:
            choices = ' or '.join(member.value for member in kind)
            raise self.error(key, f'is {value!r}; it must be {choices}') from None

    def number(self, key: str, default: float | None = None) -> float:
        """Return a finite number."""
        if default is not None and key not in self.values:
            return default
        return self._number(key, self._get(key))

    def positive(self, key: str) -> float:
        """Return a finite number above zero."""
        value = self.number(key)
        if value <= 0.0:
            raise self.error(key, f'is {value:g}; it must be positive')
        return value

    def angle(self, key: str, default: float | None = None) -> float:
        """Return a constant angle [rad], at most one turn: a number, or text such as '-pi/2'."""
        if default is not None and key not in self.values:
            return default
        return self._within_one_turn(key, self._angle(key, self._get(key)))

    def numbers(self, key: str, count: int) -> NDArray[np.float64]:
        """Return `count` finite numbers."""
        return np.array(
            [
                self._number(f'{key}[{i + 1}]', value)
                for i, value in enumerate(self._list(key, count))
            ]
        )

    def length(self, key: str) -> int:
        """Return how many entries a list has."""
        value = self._get(key)
        if not isinstance(value, list):
            raise self.error(key, f'must be a list, not {value!r}')
        return len(value)

    def matrix(self, key: str, rows: int, columns: int) -> NDArray[np.float64]:
        """Return finite numbers as an array of shape (rows, columns)."""
        value = self._get(key)
        if (
            not isinstance(value, list)
            or len(value) != rows
            or any(not isinstance(row, list) or len(row) != columns for row in value)
        ):
            raise self.error(key, f'must be {rows} rows of {columns} numbers each')
        return np.array(
            [
                [self._number(f'{key}[{i + 1}][{j + 1}]', entry) for j, entry in enumerate(row)]
                for i, row in enumerate(value)
            ]
        ).reshape(rows, columns)

    def angles(self, key: str, count: int) -> NDArray[np.float64]:
        """Return `count` constant angles [rad], each at most one turn."""
        return np.array(
            [
                self._within_one_turn(f'{key}[{i + 1}]', value)
                for i, value in enumerate(self.positions(key, count))
            ]
        )

    def positions(self, key: str, count: int) -> NDArray[np.float64]:
        """Return `count` joint positions: numbers [rad or m], or text such as '-pi/2'."""
        return np.array(
            [
                self._angle(f'{key}[{i + 1}]', value)
                for i, value in enumerate(self._list(key, count))
            ]
        )

    def bounds(self, key: str) -> tuple[float, float]:
        """Return a lower and an upper position; -.inf and .inf say that there is none."""
        given = self._list(key, 2)
        lower, upper = (
            none if given[i] == none else self._angle(f'{key}[{i + 1}]', given[i])
            for i, none in enumerate((-math.inf, math.inf))
        )
        return lower, upper

    def texts(self, key: str) -> tuple[str, ...]:
        """Return a list of texts."""
        values = self._get(key)
        if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
            raise self.error(key, f'must be a list of texts, not {values!r}')
        return tuple(values)

    def _list(self, key: str, count: int) -> list[Any]:
        value = self._get(key)
        if not isinstance(value, list) or len(value) != count:
            raise self.error(key, f'must be a list of {count} numbers, not {value!r}')
        return value

    def _number(self, key: str, value: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise self.error(key, f'must be a number, not {value!r}')
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if not math.isfinite(number):
            raise self.error(key, f'is {number}; it must be finite')
        return number

    def _angle(self, key: str, value: Any) -> float:
        if not isinstance(value, str):
            return self._number(key, value)
        match = _ANGLE.match(value)
        if match is None:
            raise self.error(key, f"must be a number or a text such as '-pi/2', not {value!r}")
        sign, times, parts = match.groups()
        divisor = float(parts or 1)
        if divisor == 0.0:
            raise self.error(key, f'is {value!r}, which divides by zero')
        return (-1.0 if sign == '-' else 1.0) * float(times or 1) * math.pi / divisor

    def _within_one_turn(self, key: str, angle: float) -> float:
        if abs(angle) > 2.0 * math.pi:
            raise self.error(key, f'is {angle:g} rad, more than a turn; angles are in radians')
        return angle

    def _get(self, key: str) -> Any:
        if key not in self.values:
            raise self.error(key, 'is missing')
        return self.values[key]

    def _path(self, key: str) -> str:
        return f'{self._where}.{key}' if self._where else key
