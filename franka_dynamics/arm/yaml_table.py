# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A YAML mapping that checks what is read from it and knows where it stands."""

from __future__ import annotations

from functools import lru_cache
import math
from pathlib import Path
import re
from typing import Any

import numpy as np
import yaml

from ..errors import DescriptionError

_ANGLE = re.compile(r'^([+-]?)(\d*)\s*\*?\s*pi(?:\s*/\s*(\d+))?$')


class YamlTable:
    """A YAML mapping that knows where it stands, so that errors can say it."""

    def __init__(self, values: dict[str, Any], file: Path, where: str) -> None:
        """Wrap `values`, found in `file` under the dotted path `where`."""
        self.values = values
        self._file = file
        self._where = where

    @classmethod
    def read(cls, path: Path) -> YamlTable:
        """Read a file; the root table of what it holds."""
        return cls(_parse(path, path.stat().st_mtime_ns), path, '')

    def error(self, key: str, problem: str) -> DescriptionError:
        """Return the error that says what is wrong with a field."""
        return DescriptionError(f'{self._file}: {self._path(key)} {problem}.')

    def only(self, known: set[str]) -> None:
        """Refuse fields that nobody would read."""
        for key in self.values:
            if key not in known:
                raise self.error(str(key), f'is not a known field; known here are '
                                 f'{", ".join(sorted(known))}')

    def table(self, key: str) -> YamlTable:
        """Return a nested mapping."""
        value = self._get(key)
        if not isinstance(value, dict):
            raise self.error(key, f'must be a mapping, not {value!r}')
        return YamlTable(value, self._file, self._path(key))

    def tables(self, key: str) -> list[YamlTable]:
        """Return a list of mappings."""
        value = self._get(key)
        if not isinstance(value, list) or not all(isinstance(entry, dict) for entry in value):
            raise self.error(key, 'must be a list of mappings')
        return [YamlTable(entry, self._file, f'{self._path(key)}[{i + 1}]'
                       + (f' ({entry["name"]})' if 'name' in entry else ''))
                for i, entry in enumerate(value)]

    def text(self, key: str) -> str:
        """Return a text that is not empty."""
        value = self._get(key)
        if not isinstance(value, str) or not value:
            raise self.error(key, f'must be a text, not {value!r}')
        return value

    def choice(self, key: str, kind: Any) -> Any:
        """Return a member of an enumeration by its value."""
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

    def angle(self, key: str, default: float | None = None) -> float:
        """Return an angle [rad]: a number, or text such as '-pi/2'."""
        if default is not None and key not in self.values:
            return default
        return self._angle(key, self._get(key))

    def numbers(self, key: str, count: int) -> np.ndarray:
        """Return `count` finite numbers."""
        return np.array([self._number(key, value) for value in self._list(key, count)])

    def angles(self, key: str, count: int) -> np.ndarray:
        """Return `count` angles [rad]."""
        return np.array([self._angle(key, value) for value in self._list(key, count)])

    def _list(self, key: str, count: int) -> list[Any]:
        value = self._get(key)
        if not isinstance(value, list) or len(value) != count:
            raise self.error(key, f'must be a list of {count} numbers, not {value!r}')
        return value

    def _number(self, key: str, value: Any) -> float:
        # A YAML 1.1 reader takes '1e-5' for a text; people write it all the same.
        if isinstance(value, str):
            try:
                value = float(value)
            except ValueError:
                pass
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise self.error(key, f'must be a number, not {value!r}')
        if not math.isfinite(value):
            raise self.error(key, f'is {value}; it must be finite')
        return float(value)

    def _angle(self, key: str, value: Any) -> float:
        match = _ANGLE.match(value) if isinstance(value, str) else None
        if match is None:
            return self._number(key, value)
        sign, times, parts = match.groups()
        return (-1.0 if sign == '-' else 1.0) * int(times or 1) * math.pi / int(parts or 1)

    def _get(self, key: str) -> Any:
        if key not in self.values:
            raise self.error(key, 'is missing')
        return self.values[key]

    def _path(self, key: str) -> str:
        return f'{self._where}.{key}' if self._where else key


@lru_cache(maxsize=32)
def _parse(path: Path, _modified_ns: int) -> dict[str, Any]:
    """Parse a file once per modification; callers must not change the result."""
    try:
        content = yaml.safe_load(path.read_text(encoding='utf-8'))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        detail = ' '.join(str(error).split())
        raise DescriptionError(f'{path} cannot be read as YAML: {detail}. The file may be cut '
                               'short; compare it with a shipped arm.') from error
    if not isinstance(content, dict):
        raise DescriptionError(
            f'{path} holds no mapping (it is empty or a bare {type(content).__name__}); an arm '
            'file starts with name, convention, joints, inertial_sets.')
    return content
