# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""click's commands and types with the rules of this command line: lists have commas."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from itertools import zip_longest
import math
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from ..errors import MissingDependencyError, nearest
from ..names import decimal
from ..ros import GET_ROS

PRINTED = Path('-')  # path that stands for standard output


class Command(click.Command):
    """A command that says which option lacks a value, or needs commas between its values."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the words; click would take --json for the value in `--arm --json`."""
        options = {flag: one for one in self.params for flag in one.opts}
        for flag, value, after in zip_longest(args, args[1:], args[2:], fillvalue='--'):
            option = options.get(flag)
            if not isinstance(option, click.Option) or option.is_flag or value == '--':
                continue
            if value.startswith('--') and not isinstance(option.flag_value, str):
                raise click.UsageError(f'{flag} needs a value before {value}.', ctx)
            # `--test A B` would take B for one more of the bags to be fitted.
            if isinstance(option.type, Values) and ',' not in value and after[:2] != '--':
                raise click.UsageError(
                    f'{flag} takes several values with commas, as in {flag} {value},{after}; '
                    f'if {after} is no value of it, write {after} before {flag}.',
                    ctx,
                )
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            if error.option_name != '--robot' or '--arm' not in options:
                raise
            raise click.UsageError('No such option --robot; write --arm.', ctx) from None

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; say where ROS 2 is to be had if it is missing."""
        try:
            return super().invoke(ctx)
        except ImportError as error:
            missing = (error.name or '').partition('.')[0]
            if not (missing.startswith(('rcl', 'ament_')) or missing.endswith(('_msgs', '_srvs'))):
                raise
            raise MissingDependencyError(
                f'{ctx.command_path} needs ROS 2 ({error}): {GET_ROS}.'
            ) from error


class Group(click.Group):
    """A group that prints its help if no command follows."""

    command_class = Command
    group_class = type

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the words, --help if there are none."""
        return super().parse_args(ctx, args or ['--help'])

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """Find the command; name one like it if there is none, as click 8.1 does not."""
        near = '' if args[0] in self.commands else nearest(args[0], self.commands)
        if near and not ctx.resilient_parsing:
            ctx.fail(f'No such command {args[0]!r}. Did you mean {near!r}?')
        return super().resolve_command(ctx, args)


class Number(click.ParamType):
    """A finite number in a range; click's own ranges contain NaN, and read 1_0 as ten."""

    name = 'number'

    def __init__(self, least: float = -math.inf, most: float = math.inf) -> None:
        self.least, self.most = least, most

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number."""
        with suppress(ValueError):
            number = self.read(f'{value}')
            if math.isfinite(number) and self.least <= number <= self.most:
                return number
        bounds = f' of at least {self.least:g}' if self.least > -math.inf else ''
        if self.most < math.inf:
            bounds = f' from {self.least:g} to {self.most:g}'
        what = (
            'whole number' if isinstance(self, Count) else 'number' if bounds else 'finite number'
        )
        self.fail(f'{f"{value}"[:40]} is not a {what}{bounds}', param, ctx)

    def read(self, text: str) -> float:
        """Return the number that a text is; raise ValueError if it is none."""
        return decimal(text)


class Count(Number):
    """A whole number in a range."""

    name = 'count'

    def read(self, text: str) -> float:
        """Return the number that a text is; raise ValueError if it is none."""
        decimal(text)
        return int(text)


class Position(click.ParamType):
    """A joint's name and its position [rad or m], written JOINT=POSITION."""

    name = 'position'

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return name and position."""
        joint, sign, position = f'{value}'.rpartition('=')
        if not (joint and sign):
            self.fail(f'{value!r} is no JOINT=POSITION', param, ctx)
        return joint, Number().convert(position, param, ctx)


class Values(click.ParamType):
    """A tuple of values, written in the `form` X,Y,Z; `count` values, if given."""

    name = 'values'

    def __init__(
        self, form: str, kind: click.ParamType = click.STRING, count: int | None = None
    ) -> None:
        self.form, self.kind, self.count = form, kind, count

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the values of a text; a tuple stays as it is."""
        if not isinstance(value, str):
            return value
        parts = [self.kind.convert(one.strip(), param, ctx) for one in value.split(',')]
        if self.count not in (None, len(parts)):
            self.fail(f'{value!r} has {len(parts)} of {self.count} values', param, ctx)
        return tuple(parts)


class Output(click.Path):
    """A path to be written, which `check` returns or refuses before the work starts."""

    def __init__(self, check: Callable[[str], Path]) -> None:
        super().__init__()
        self.check = check

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path that was checked."""
        return self.check(f'{value}')


def option(flags: str, help: str, kind: Any = None, dest: str = '', **more: Any) -> Any:
    """
    Return the decorator of an option, as `click.option` does.

    `flags` are separated by spaces; a tuple or a list as `kind` is a choice. An option of any
    number of values adds to them if it is given again.
    """

    def joined(_context: Any, _parameter: Any, given: tuple[tuple[Any, ...], ...]) -> Any:
        return tuple(one for each in given for one in each)

    if isinstance(kind, (tuple, list)):
        kind = click.Choice(kind)
    if isinstance(kind, Values):
        more['metavar'] = kind.form
        more |= {'multiple': True, 'callback': joined} if kind.count is None else {}
    return click.option(*flags.split(), *dest.split(), type=kind, help=help, **more)


def flag(name: str, help: str) -> Any:
    """Return the decorator of an option without a value."""
    return click.option(name, is_flag=True, help=help)


def choice_or_flag(name: str, help: str, choices: tuple[str, ...]) -> Any:
    """Return the decorator of an option that stands for its first choice if it has no value."""
    return option(
        name, f'{help}; alone: {choices[0]}', choices, is_flag=False, flag_value=choices[0]
    )


def is_given(name: str) -> bool:
    """Return whether the running command was given the parameter of that name."""
    context = click.get_current_context(silent=True)
    source = context and context.get_parameter_source(name)
    return source is ParameterSource.COMMANDLINE


def refuse(why: str, *names: str) -> None:
    """
    Raise click.UsageError if a parameter of these names was given.

    `why` names the option or input with which the named parameters have no effect, and gives the
    reason.
    """
    for name in filter(is_given, names):
        raise click.UsageError(f'{_flag(name)} has no meaning with {why}. Leave one of them out.')


def require_with(needed: str, *names: str) -> None:
    """Raise click.UsageError if a named parameter, which needs the missing one, was given."""
    for name in filter(is_given, names):
        flag = _flag(name)
        raise click.UsageError(f'{flag} needs {needed}; add it, or leave {flag} out.')


def _flag(name: str) -> str:
    """Return how users write a parameter of the running command."""
    params = click.get_current_context().command.params
    (param,) = (one for one in params if one.name == name)
    return param.opts[0] if isinstance(param, click.Option) else f'{param.human_readable_name}'
