# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Checks the arguments of functions that `franka_dynamics` exports against their annotations."""

from collections.abc import Callable, Collection, Mapping, Sequence
from enum import Enum
from functools import cache, wraps
import inspect
from numbers import Integral, Real
from os import PathLike
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, get_args, get_origin, get_type_hints, TypeVar, Union

import numpy as np

from .errors import ArgumentError, short_repr

_FunctionType = TypeVar('_FunctionType', bound=Callable[..., Any])
# What annotations mean, and the types whose values they allow.
_PLAIN_TYPES: dict[type, tuple[str, tuple[type, ...]]] = {
    str: ('text', (str,)),
    Path: ('a path', (PathLike,)),
    bool: ('True or False', (bool, np.bool_)),
    int: ('a whole number', (Integral,)),
    float: ('a number', (Real,)),
    NoneType: ('None', (NoneType,)),
    object: ('anything', (object,)),
    Callable: ('a function', (Callable,)),  # type: ignore[dict-item]
}
_NON_LIST_TYPES = (str, bytes, set, frozenset, Mapping)
_evaluated_annotations = cache(get_type_hints)  # of a function, by its arguments' names


def with_argument_checks(function: _FunctionType) -> _FunctionType:
    """
    Return a function wrapped, or a class changed, to raise ArgumentError for wrong argument types.

    What arrays, enumerations and objects that may be named must be, the function itself says.
    """
    if isinstance(function, type):
        function.__init__ = with_argument_checks(function.__init__)  # type: ignore[misc]
        return function
    signature = inspect.signature(function)

    @wraps(function)
    def checked_call(*args: Any, **kwargs: Any) -> Any:
        """Return the function's result, or raise ArgumentError for an argument of a wrong type."""
        try:
            given = signature.bind(*args, **kwargs).arguments
        except TypeError:  # Python's own, which names the function
            return function(*args, **kwargs)
        hints = _evaluated_annotations(function)
        for name, value in given.items():
            several = signature.parameters[name].kind is inspect.Parameter.VAR_KEYWORD
            for key, one in value.items() if several else [(name, value)]:
                hint = hints.get(name, object)  # `self` has none
                if not _is_of_type(one, hint):
                    raise ArgumentError(f'{key} is {short_repr(one)}, not {_type_text(hint)}.')
        return function(*args, **kwargs)

    return checked_call  # type: ignore[return-value]


def _is_of_type(value: Any, hint: Any) -> bool:
    """Return whether a value is of an annotated type, or is left to the function to convert."""
    kind = get_origin(hint) or hint
    inner = get_args(hint)
    if kind in (Union, UnionType):
        # An arm, say, as an object, or by its name or file: the function converts it.
        classes = {one for one in inner if isinstance(one, type)}
        is_plain = _PLAIN_TYPES.keys() >= classes
        converted = str in classes and len(classes) == len(inner) and not is_plain
        return converted or any(_is_of_type(value, one) for one in inner)
    if kind in _PLAIN_TYPES:
        if getattr(value, 'ndim', None) == 0:  # of NumPy, JAX, PyTorch
            value = value.item()
        if isinstance(value, bool) and kind in (int, float):
            return False
        if kind is bool and isinstance(value, Integral):
            return value in (0, 1)
        # A character that no name and no path can have.
        void = kind in (str, Path) and '\0' in str(value)
        return isinstance(value, _PLAIN_TYPES[kind][1]) and not void
    named = isinstance(kind, type) and issubclass(kind, Enum) and issubclass(kind, str)
    if named or kind in (Any, np.ndarray) or not isinstance(kind, type):
        return True
    if kind is Mapping:
        return isinstance(value, Mapping) and all(
            _is_of_type(key, inner[0]) and _is_of_type(one, inner[1]) for key, one in value.items()
        )
    if kind in (Sequence, tuple):
        listed = (
            isinstance(value, Collection)
            and not isinstance(value, _NON_LIST_TYPES)
            and getattr(value, 'ndim', 1) > 0  # an array of no dimension has no length
        )
        fixed = kind is tuple and ... not in inner
        each = inner if fixed else inner[:1] * (len(value) if listed else 0)
        return listed and len(value) == len(each) and all(map(_is_of_type, value, each))
    return getattr(kind, '_is_protocol', False) or isinstance(value, kind)


def _type_text(hint: Any) -> str:
    """Return the annotated type in words."""
    kind = get_origin(hint) or hint
    inner = get_args(hint)
    if kind in (Union, UnionType):
        none_first = sorted(inner, key=lambda one: one is not NoneType)
        return ' or '.join(dict.fromkeys(map(_type_text, none_first)))
    if kind is Mapping:
        return f'a mapping of {_type_text(inner[0])} to {_type_text(inner[1])}'
    if kind is tuple and ... not in inner:
        return f'({", ".join(map(_type_text, inner))})'
    if kind in (Sequence, tuple):
        return f'a list of {_type_text(inner[0])}'
    return _PLAIN_TYPES[kind][0] if kind in _PLAIN_TYPES else getattr(kind, '__name__', f'{kind}')
