# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Reads YAML files into dataclasses, checking every field; turns dataclasses into plain data.

The type of a field says what its entry in the file must be: a number, a string, a choice (an
enumeration), an array, another dataclass, or a tuple or dict of any of these. `Annotated` adds
rules. A dataclass that checks its own fields raises a `FieldError` or a FrankaDynamicsError.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, Field, fields, is_dataclass, MISSING
from enum import Enum
from functools import lru_cache
import math
import os
from pathlib import Path
import re
from types import NoneType, UnionType
from typing import Annotated, Any, get_args, get_origin, get_type_hints, TypeVar, Union

import numpy as np

from .strict_yaml import line_number_of, read_mapping
from ..arrays import Array
from ..errors import DescriptionError, FrankaDynamicsError, short_repr, short_text

_FileType = TypeVar('_FileType')
_DECIMAL = r'\d+(?:\.\d*)?|\.\d+'
_ANGLE_PATTERN = re.compile(rf'^([+-]?)\s*(?:({_DECIMAL})\s*\*?\s*)?pi(?:\s*/\s*({_DECIMAL}))?$')
_TURN_RAD = 2.0 * math.pi


class FieldError(ValueError):
    """A file's entry, under nested `keys` (names and list indices), is wrong or missing."""

    def __init__(self, problem: str, *keys: str | int) -> None:
        """Store what is wrong, and the path of keys to the entry."""
        super().__init__(problem)
        self.keys = keys
        self.problem = problem


@contextmanager
def prepend_keys(*keys: str | int) -> Iterator[None]:
    """Prepend keys to the path of a FieldError that is raised inside the block."""
    try:
        yield
    except FieldError as error:
        raise FieldError(error.problem, *keys, *error.keys) from None


@dataclass(frozen=True, eq=False)
class TaggedUnion:
    """Rule for a mapping whose entry `tag` names the class that its other entries fill."""

    tag: str
    classes: Mapping[str, type]
    ignored_keys: tuple[str, ...] = ()  # entries for human readers, which fill no field


class Rule:
    """A rule for a value: a function that returns '' or what is wrong, and a word for `help`."""

    def __init__(self, word: str, check: Callable[[Any], str]) -> None:
        """Take the word by which signatures name the rule, and its function."""
        self._word = word
        self._check = check

    def __call__(self, value: Any) -> str:
        """Return '' for a value that keeps the rule, else what is wrong."""
        return self._check(value)

    def __repr__(self) -> str:
        """Return the rule's word, because a function's own text has an address in memory."""
        return self._word


def length_rule(count: int) -> Rule:
    """Return the rule that an array has `count` numbers."""

    def check_length(value: Array) -> str:
        """Return '' for an array of the length, else what is wrong."""
        fits = value.shape == (count,)
        return '' if fits else f'must be a list of {count} numbers, not {value.tolist()}'

    return Rule(f'{count} numbers', check_length)


def _is_positive(value: float | Array) -> str:
    """Return '' for positive numbers, else what is wrong."""
    least = np.min(value, initial=np.inf)  # of an empty list, too
    return '' if least > 0.0 else f'is {least:g}; it must be positive'


def _is_not_negative(value: float | Array) -> str:
    """Return '' for numbers that are not negative, else what is wrong."""
    least = np.min(value, initial=np.inf)
    return '' if least >= 0.0 else f'is {least:g}; it cannot be negative'


def _is_within_a_turn(value: float | Array) -> str:
    """Return '' for angles of at most a turn [rad], else what is wrong."""
    most = max(np.ravel(value).tolist(), key=abs)
    if abs(most) <= _TURN_RAD:
        return ''
    return f'is {most:g} rad, more than a turn; angles are in radians'


_positive_rule = Rule('positive', _is_positive)
_not_negative_rule = Rule('not negative', _is_not_negative)
_within_a_turn_rule = Rule('within a turn', _is_within_a_turn)
# This rule forbids nothing: where it stands, numbers need not be finite (`_as_annotated_value`).
_any_number_rule = Rule('or infinite', lambda value: '')
PositiveFloat = Annotated[float, _positive_rule]
NonNegativeFloat = Annotated[float, _not_negative_rule]
NonNegativeArray = Annotated[Array, _not_negative_rule]
PositiveArray = Annotated[Array, _positive_rule]
Angle = Annotated[float, _within_a_turn_rule]
FloatOrInfinity = Annotated[float, _any_number_rule]
Vector3 = Annotated[Array, length_rule(3)]
Vector6 = Annotated[Array, length_rule(6)]
PositiveVector3 = Annotated[Array, length_rule(3), _positive_rule]
Angles3 = Annotated[Array, length_rule(3), _within_a_turn_rule]


def read_typed_file(path: Path, file_type: type[_FileType], format_hint: str) -> _FileType:
    """
    Return a YAML file's content as the dataclass, or dict of dataclasses, `file_type`.

    A cache keeps the contents of the last 32 files; a file with a new modification time is read
    again. `format_hint` says in error messages how the file should begin.

    Raises
    ------
    DescriptionError
        If the content is wrong; the message names file, line, field and value.

    """
    modified = path.stat().st_mtime_ns if os.path.isfile(path) else 0
    schema: Any = file_type
    found: _FileType = _read_cached_file(path, schema, format_hint, modified)
    return found


@lru_cache(maxsize=32)
def _read_cached_file(path: Path, file_type: Any, format_hint: str, _modified_ns: int) -> Any:
    """Return a file's content as `file_type`; the modification time is part of the cache's key."""
    content = read_mapping(path, format_hint=format_hint)
    try:
        return decode(file_type, content)
    except FieldError as error:
        raise DescriptionError(
            f'{path}: line {line_number_of(path, error.keys)}: {dotted_path(content, error.keys)} '
            f'{error.problem}.'
        ) from error


def dotted_path(content: Any, keys: Sequence[str | int]) -> str:
    """Return nested keys as text, list items counted from 1, such as joints[2] (elbow).limits."""
    text = ''
    for key in keys:
        named = isinstance(content, (dict, list)) and (key in content or isinstance(key, int))
        content = content[key] if named else None
        if isinstance(key, str):
            text += f'.{key}' if text else key
        else:
            name = content.get('name') if isinstance(content, dict) else None
            text += f'[{key + 1}]' + (f' ({name})' if name else '')
    return text


def decode(hint: Any, value: Any, *keys: str | int) -> Any:
    """Return YAML data as type `hint`; raise FieldError, naming the entry, if it does not fit."""
    with prepend_keys(*keys):
        return _decode(hint, value)


def _decode(hint: Any, value: Any) -> Any:
    """Return YAML data as type `hint`; raise FieldError if it does not fit."""
    origin = get_origin(hint)
    inner = get_args(hint)
    if origin is Annotated:
        return _as_annotated_value(inner[0], inner[1:], value)
    if origin in (Union, UnionType):
        return decode(_type_beside_none(inner), value)
    if origin is np.ndarray:
        return _as_array(value)
    if origin is tuple:
        if not isinstance(value, list):
            raise FieldError(f'must be a list, not {short_repr(value)}')
        return tuple(decode(inner[0], entry, i) for i, entry in enumerate(value))
    if origin is dict:
        return {key: decode(inner[1], entry, key) for key, entry in _as_mapping(value).items()}
    if hint is float:
        number = _as_number(value)
        if not math.isfinite(number):
            raise FieldError(f'is {number}; it must be finite')
        return number
    if is_dataclass(hint):
        return _as_dataclass(hint, value)
    if hint is Any:
        return value
    if hint is int:
        if isinstance(value, bool) or not isinstance(value, int):
            raise FieldError(f'must be a whole number, not {short_repr(value)}')
        return value
    if not isinstance(value, str) or not value.strip():
        raise FieldError(f'must be a string, not {short_repr(value)}')
    if issubclass(hint, Enum):
        return hint(_as_choice(value, [member.value for member in hint]))
    return value


def _type_beside_none(alternatives: Sequence[Any]) -> Any:
    """Return the first of a union's types that is not None's."""
    return next(alternative for alternative in alternatives if alternative is not NoneType)


def _as_annotated_value(hint: Any, rules: Sequence[Any], value: Any) -> Any:
    """Return a value of an `Annotated` type; raise FieldError if it breaks one of its rules."""
    if isinstance(rules[0], TaggedUnion):
        return _as_tagged(rules[0], value)
    found = _as_number(value) if _any_number_rule in rules else decode(hint, value)
    for problem in (rule(found) for rule in rules):
        if problem:
            raise FieldError(problem)
    return found


def _as_tagged(union: TaggedUnion, value: Any) -> Any:
    """Return a mapping as the class that its tag names; raise FieldError if that fails."""
    given = _as_mapping(value)
    with prepend_keys(union.tag):
        if union.tag not in given:
            raise FieldError('is missing')
        tag = _as_choice(decode(str, given[union.tag]), union.classes)
    not_fields = (union.tag, *union.ignored_keys)
    entries = {key: entry for key, entry in given.items() if key not in not_fields}
    return _as_dataclass(union.classes[tag], entries)


def _as_dataclass(dataclass_type: Any, value: Any) -> Any:
    """Return a mapping as a dataclass; raise FieldError for a wrong, missing or unknown entry."""
    given = _as_mapping(value)
    layout = _fields_by_key(dataclass_type)
    arguments = {}
    for key in given:
        if key not in layout and not getattr(dataclass_type, 'ignores_other_keys', False):
            known = ', '.join(sorted(layout))
            raise FieldError(f'is not a known field; known here are {known}', key)
    for key, parts in layout.items():
        if key not in given:
            if any(_is_required(part) for part, _ in parts):
                raise FieldError('is missing', key)
        elif len(parts) == 1:
            part, hint = parts[0]
            arguments[part.name] = decode(hint, given[key], key)
        else:
            entries = given[key]
            if not isinstance(entries, list) or len(entries) != len(parts):
                raise FieldError(f'must be a list of {len(parts)} numbers', key)
            for i, ((part, hint), entry) in enumerate(zip(parts, entries)):
                arguments[part.name] = decode(hint, entry, key, i)
    try:
        return dataclass_type(**arguments)
    except FrankaDynamicsError as error:
        raise FieldError(f'cannot be used: {str(error).rstrip(".")}') from error


def _fields_by_key(dataclass_type: Any) -> dict[str, list[tuple[Field[Any], Any]]]:
    """
    Return, by key of a file, the dataclass fields that the key's entry fills, with types.

    A key may fill several fields with a list: position: [-1.0, 1.0] is lower and upper of a
    JointLimits.
    """
    hints = get_type_hints(dataclass_type, include_extras=True)
    layout: dict[str, list[tuple[Field[Any], Any]]] = {}
    for field in fields(dataclass_type):
        if field.init:
            key = field.metadata.get('key', field.name)
            layout.setdefault(key, []).append((field, hints[field.name]))
    return layout


def encode(hint: Any, value: Any) -> Any:
    """Return a value of type `hint` as YAML data without defaults, the inverse of `decode`."""
    origin = get_origin(hint)
    inner = get_args(hint)
    if origin is Annotated and isinstance(inner[1], TaggedUnion):
        for name, chosen in inner[1].classes.items():
            if type(value) is chosen:
                return {inner[1].tag: name, **encode(chosen, value)}
        known = ', '.join(inner[1].classes)
        raise DescriptionError(f'A {type(value).__name__} has no form in a file; use {known}.')
    if origin in (Annotated, Union, UnionType):
        return encode(_type_beside_none(inner), value)
    if origin is tuple:
        return [encode(inner[0], entry) for entry in value]
    if origin is dict:
        return {key: encode(inner[1], entry) for key, entry in value.items()}
    if is_dataclass(hint):
        content = {}
        for key, parts in _fields_by_key(hint).items():
            if all(_is_default(part, getattr(value, part.name)) for part, _ in parts):
                continue
            entries = [encode(part_hint, getattr(value, part.name)) for part, part_hint in parts]
            content[key] = entries if len(parts) > 1 else entries[0]
        return content
    if isinstance(value, Enum):
        return value.value
    if hint is float or origin:
        return np.asarray(value, dtype=float).tolist()
    return value


def _is_required(field: Field[Any]) -> bool:
    """Return whether a dataclass field has no default."""
    return field.default is MISSING and field.default_factory is MISSING


def _is_default(field: Field[Any], value: Any) -> bool:
    """Return whether a value is a dataclass field's default."""
    default: Any = field.default_factory() if callable(field.default_factory) else field.default
    return bool(np.array_equal(value, default))


def _as_choice(value: str, choices: Iterable[str]) -> str:
    """Return a value that is one of the choices; raise FieldError for any other value."""
    if value not in choices:
        raise FieldError(f'is {short_text(value)!r}; it must be {" or ".join(choices)}')
    return value


def _as_mapping(value: Any) -> dict[str, Any]:
    """Return a value that is a mapping; raise FieldError for any other value."""
    if not isinstance(value, dict):
        raise FieldError(f'must be a mapping, not {short_repr(value)}')
    return value


def _as_array(value: Any) -> Array:
    """Return a list of numbers, or of equally long lists, as an array, else raise FieldError."""
    if not isinstance(value, list):
        raise FieldError(f'must be a list of numbers, not {short_repr(value)}')
    kinds = (Array if isinstance(entry, list) else float for entry in value)
    entries = [decode(kind, entry, i) for i, (kind, entry) in enumerate(zip(kinds, value))]
    try:
        return np.array(entries, dtype=float)
    except ValueError:
        raise FieldError('has rows of different lengths') from None


def _as_number(value: Any) -> float:
    """Return a number, or an angle [rad] from text such as '-pi/2', else raise FieldError."""
    match = _ANGLE_PATTERN.match(value) if isinstance(value, str) else None
    if match is not None:
        sign, times, parts = match.groups()
        divisor = float(parts or 1)
        if divisor == 0.0:
            raise FieldError(f'is {value!r}, which divides by zero')
        return (-1.0 if sign == '-' else 1.0) * float(times or 1) * math.pi / divisor
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise FieldError(f"must be a number or an angle such as '-pi/2', not {short_repr(value)}")
    return float(value)
