# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Reads and writes YAML in which keys are unique strings and numbers are decimal.

PyYAML reads YAML 1.1, in which 1e-5 is a string, 010 is eight and 1:30 is ninety, and of two equal
keys it keeps the last: in an arm's parameters, errors that nobody notices.
"""

from collections.abc import Sequence
import json
from pathlib import Path
import re
from typing import Any

import yaml

from ..errors import DescriptionError, unreadable_file_message
from ..files import read_text

_INTEGER_PATTERN = re.compile(r'[-+]?[0-9]{1,300}\Z')  # the largest float has 309 digits
_FLOAT_PATTERN = re.compile(
    r'(?:[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+|[0-9]+(?=[eE]))(?:[eE][-+]?[0-9]+)?'
    r'|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))\Z'
)
# Two escapes for one character beyond U+FFFF in JSON, its surrogates in UTF-16, and the escaped
# backslashes before them, which are no part of an escape.
_ESCAPED_SURROGATE_PAIR = re.compile(
    r'((?<!\\)(?:\\\\)*)(\\ud[89ab][0-9a-f]{2}\\ud[c-f][0-9a-f]{2})', re.IGNORECASE
)


class _StrictLoader(getattr(yaml, 'CSafeLoader', yaml.SafeLoader)):  # type: ignore[misc]
    """PyYAML's safe loader, limited to unique string keys and decimal numbers (010 is ten)."""

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        """Return a mapping; raise DescriptionError for repeated or non-string keys."""
        seen: set[str] = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            place = f'{self.name}: line {key_node.start_mark.line + 1}'
            if not isinstance(key, str):
                raise DescriptionError(f'{place}: the key {key!r} is not a string; add quotes.')
            if key in seen:
                raise DescriptionError(f'{place}: {key} is given twice; keep one of the two.')
            seen.add(key)
        return super().construct_mapping(node, deep)


_NUMBER_TAGS = ('tag:yaml.org,2002:int', 'tag:yaml.org,2002:float')
_StrictLoader.yaml_implicit_resolvers = {
    first: [pair for pair in pairs if pair[0] not in _NUMBER_TAGS]
    for first, pairs in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def _construct_decimal(loader: Any, node: Any) -> int:
    """Return a YAML whole number, read as decimal even with leading zeros."""
    return int(loader.construct_scalar(node))


_StrictLoader.add_constructor(_NUMBER_TAGS[0], _construct_decimal)


class _StrictDumper(getattr(yaml, 'CSafeDumper', yaml.SafeDumper)):  # type: ignore[misc]
    """PyYAML's safe dumper, which also quotes strings that `_StrictLoader` reads as numbers."""


for _kind in (_StrictLoader, _StrictDumper):
    _kind.add_implicit_resolver(_NUMBER_TAGS[0], _INTEGER_PATTERN, list('-+0123456789'))
    _kind.add_implicit_resolver(_NUMBER_TAGS[1], _FLOAT_PATTERN, list('-+0123456789.'))


def yaml_text(content: Any) -> str:
    """Return plain data as YAML text that `read_mapping` and PyYAML read as the same data."""
    layout: dict[str, Any] = {
        'default_flow_style': None,
        'width': 99,
        'allow_unicode': True,
    }
    return str(yaml.dump(content, Dumper=_StrictDumper, sort_keys=False, **layout))


def read_mapping(path: Path, *, format_hint: str) -> dict[str, Any]:
    """
    Return the mapping in a YAML or JSON file; raise DescriptionError for any other content.

    `format_hint` says in error messages how the file should begin.

    Raises
    ------
    DescriptionError
        If the file cannot be read, is no YAML or JSON, repeats a key, has a key that is no string,
        or does not hold a mapping.

    """
    try:
        loader = _StrictLoader(_text_for_yaml(path))
        loader.name = str(path)
        content = loader.get_single_data()
    except DescriptionError:
        raise
    except OSError as error:
        raise DescriptionError(unreadable_file_message(path, error)) from error
    except Exception as error:  # of many types: 2024-02-30 and !!bool no are a date and a flag
        detail = ' '.join(str(error).split()).replace('in "<unicode string>", ', 'at ')
        kind = 'JSON' if path.suffix == '.json' else 'YAML'
        raise DescriptionError(
            f'{path} cannot be read as {kind}: {detail}. The file may be cut short; {format_hint}.'
        ) from error
    if not isinstance(content, dict):
        found = f'it is empty or a bare {type(content).__name__}'
        raise DescriptionError(f'{path} holds no mapping ({found}); {format_hint}.')
    return content


def _text_for_yaml(path: Path) -> str:
    """
    Return a file's text; a JSON file is checked, and changed where YAML is stricter than JSON.

    YAML forbids tabs, and a character that is written as two escapes.
    """
    text = read_text(path)
    if path.suffix != '.json':
        return text
    json.loads(text)  # in all else YAML is more lenient

    def with_character(match: re.Match[str]) -> str:
        """Return the character that a pair of escapes stands for, behind what precedes them."""
        backslashes, escapes = match.groups()
        character = json.loads(f'"{escapes}"')
        return f'{backslashes}{character}'

    return _ESCAPED_SURROGATE_PAIR.sub(with_character, text).expandtabs()


def line_number_of(path: Path, keys: Sequence[str | int]) -> int:
    """Return the line number of a YAML file's entry under nested `keys`, else of its parent."""
    node: Any = yaml.compose(_text_for_yaml(path), _StrictLoader)
    for key in keys:
        if isinstance(node, yaml.MappingNode):
            inner = next((value for name, value in node.value if name.value == key), None)
        else:
            inner = node.value[key] if isinstance(key, int) else None
        if inner is None:
            break
        node = inner
    return int(node.start_mark.line) + 1
