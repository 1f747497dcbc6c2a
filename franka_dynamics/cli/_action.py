# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""An action of the command line: a dataclass whose fields are its options."""

from __future__ import annotations

from abc import ABC, abstractmethod
import argparse
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, Field, fields, MISSING
import functools
import inspect
import math
from types import NoneType, UnionType
from typing import Any, ClassVar, get_args, get_origin, get_type_hints, TypeVar, Union

from ..arm.strict_yaml import decimal
from ..errors import SettingsError
from ..options import Option

T = TypeVar('T')
RARE = 'rarely used'


@dataclass(frozen=True, kw_only=True)
class Action(ABC):
    """
    Base class of an action, such as `arm check`: its options, and `run`, which does its work.

    A subclass's docstring is the help text. Each field that the subclass or a base class declares
    by `options.option` is an option of the action.

    Attributes
    ----------
    options_given : frozenset of str
        Names of the options that were given, whatever their values.
    heading : str
        Heading of a class's options in the help of the actions that inherit them; without a
        heading they are listed with the action's own.

    """

    heading: ClassVar[str] = ''
    options_given: frozenset[str] = frozenset()

    @abstractmethod
    def run(self) -> int:
        """Do the action's work; return the exit status, such as 0 done, 1 a check failed."""

    def refuse(self, why: str, *names: str) -> None:
        """
        Raise a SettingsError if one of the named fields was given as an option.

        `why` names the option or input with which the named fields have no effect, and gives the
        reason.
        """
        for name in names:
            if name in self.options_given:
                raise SettingsError(
                    f'{self.spelled(name)} has no meaning with {why}. Leave one of them out.'
                )

    def require_with(self, needed: str, *names: str) -> None:
        """Raise a SettingsError if a named field, which needs the missing option, was given."""
        for name in names:
            if name in self.options_given:
                given = self.spelled(name)
                raise SettingsError(f'{given} needs {needed}; add it, or leave {given} out.')

    def spelled(self, name: str) -> str:
        """Return a field's option, such as --arm-prefix, or a positional argument's metavar."""
        declared = dict(_declared(type(self)))[name]
        return f'{declared.metavar}' if declared.positional else _flags(name, declared)[0]

    def part(self, kind: type[T]) -> T:
        """Return a dataclass of type `kind`, filled from the action's fields of equal names."""
        names = {one.name for one in fields(self)} & {one.name for one in _fields(kind)}
        return kind(**{name: getattr(self, name) for name in names})


def add_options(parser: argparse.ArgumentParser, kind: type[Action], *, whole: bool) -> None:
    """
    Add an argparse option for every declared field of an action.

    The options have no default values, so that `filled` knows which were given. In the help the
    action's own options come first, then those under the headings of the classes it inherits,
    then, if `whole`, the rarely used ones.
    """
    types = get_type_hints(kind)
    defaults = {one.name: one.default for one in fields(kind)}
    options = sorted(_declared(kind), key=lambda one: _place(kind, *one))
    groups: dict[str, argparse._ArgumentGroup] = {}
    for name, declared in options:
        title = _place(kind, name, declared)[1]
        if title and title not in groups:
            groups[title] = parser.add_argument_group(title)
        group = groups.get(title, parser)
        default = defaults[name]
        settings = _values(declared, types[name]) | {
            'help': _help(declared, default) if whole or not declared.rare else argparse.SUPPRESS,
            # argparse would check SUPPRESS, as the default of an optional positional argument,
            # against the choices.
            'default': None if declared.positional else argparse.SUPPRESS,
        }
        if declared.metavar is not None:
            settings['metavar'] = declared.metavar
        if declared.choices is not None:
            settings['choices'] = declared.choices
        if not declared.positional:
            required = default is MISSING
            group.add_argument(*_flags(name, declared), dest=name, required=required, **settings)
        elif default is MISSING:
            group.add_argument(name, **settings)
        else:
            group.add_argument(name, **{'nargs': '?', **settings})
    if RARE in groups:
        what = 'show rarely used options as well, and exit'
        parser.add_argument('--help-all', action='help', help=what)


def usage(parser: argparse.ArgumentParser) -> str:
    """Return an action's usage line: [options], required options and positional arguments."""
    words = [parser.prog, '[options]']
    for one in parser._actions:
        name = one.metavar if isinstance(one.metavar, str) else one.dest.upper()
        if one.option_strings:
            words += [one.option_strings[0], name] if one.required else []
        else:
            more = f'{name} [{name} ...]' if one.nargs == '+' else name
            words.append(f'[{more}]' if one.nargs == '?' else more)
    return ' '.join(words).replace('%', '%%')


def _place(kind: type[Action], name: str, declared: Option) -> tuple[int, str]:
    """Return where the help lists an option: the rank of its group, and the group's heading."""
    home = next(one for one in kind.__mro__ if name in inspect.get_annotations(one))
    heading = '' if home is kind else vars(home).get('heading', '')
    if declared.rare:
        return 3, RARE
    return (2, heading) if heading else (int(home is not kind), '')


def filled(kind: type[Action], arguments: argparse.Namespace) -> Action:
    """Return an action of class `kind` with the parsed options as fields; lists become tuples."""
    values = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in vars(arguments).items()
        if name in dict(_declared(kind)) and value is not None
    }
    return kind(**values, options_given=frozenset(values))


def _fields(kind: Any) -> tuple[Field[Any], ...]:
    return fields(kind)


def _declared(kind: type[Action]) -> Iterator[tuple[str, Option]]:
    return ((one.name, one.metadata['option']) for one in fields(kind) if one.metadata)


def _flags(name: str, declared: Option) -> tuple[str, ...]:
    return declared.flags or (f'--{name.replace("_", "-")}',)


def _values(declared: Option, annotation: Any) -> dict[str, Any]:
    """Return argparse's settings, such as type and nargs, for a field's annotated type."""
    if get_origin(annotation) in (Union, UnionType):
        (annotation,) = (one for one in get_args(annotation) if one is not NoneType)
    if annotation is bool and declared.kind is None:
        return {'action': 'store_true'}
    settings: dict[str, Any] = {}
    if get_origin(annotation) is tuple:
        annotation, *others = get_args(annotation)
        if others != [...]:
            settings['nargs'] = 1 + len(others)
        else:
            settings['nargs'] = '+'
            if not declared.positional:
                settings['action'] = 'extend'
    if declared.const is not None:
        settings |= {'nargs': '?', 'const': declared.const}
    if declared.kind is None and annotation in (int, float):
        return {**settings, 'type': functools.partial(_number, annotation, declared)}
    return {**settings, 'type': declared.kind or annotation}


def _help(declared: Option, default: Any) -> str:
    text = declared.help
    if 'default: ' not in text and default not in (MISSING, None, False, '', ()):
        each = default if isinstance(default, tuple) else (default,)
        shown = (f'{one:g}' if isinstance(one, float) else f'{one}' for one in each)
        text = f'{text} (default: {" ".join(shown)})'.strip()
    return text.replace('%', '%%')


def _number(kind: type[int] | type[float], declared: Option, text: str) -> float:
    """Return text as a finite number in the option's range; integers are at least 0 by default."""
    least, most = declared.least, declared.most
    if least is None:
        least = -math.inf if kind is float else 0
    with suppress(ValueError):
        value = decimal(text, kind)
        if math.isfinite(value) and least <= value <= (math.inf if most is None else most):
            return value
    bounds = '' if least == -math.inf else f' of at least {least:g}'
    if most is not None:
        bounds = f' from {least:g} to {most:g}'
    what = 'whole number' if kind is int else 'number' if bounds else 'finite number'
    raise argparse.ArgumentTypeError(f'{text[:40]} is not a {what}{bounds}')
