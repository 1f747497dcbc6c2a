# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""click's commands and types with the rules of this command line: lists have commas."""

from __future__ import annotations

from collections.abc import Callable
import math
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from ..errors import MissingDependencyError
from ..ros import ROS_INSTALL_HINT

PRINTED = Path('-')  # path that stands for standard output


class Command(click.Command):
    """A command that says where ROS 2 is to be had if it is missing."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; raise MissingDependencyError if it needs ROS 2, which is missing."""
        try:
            return super().invoke(ctx)
        except ImportError as error:
            missing = (error.name or '').partition('.')[0]
            if not (missing.startswith(('rcl', 'ament_')) or missing.endswith(('_msgs', '_srvs'))):
                raise
            raise MissingDependencyError(
                f'{ctx.command_path} needs ROS 2 ({error}): {ROS_INSTALL_HINT}.'
            ) from error


class Group(click.Group):
    """A group that prints its help if no command follows."""

    command_class = Command
    group_class = type

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the words, --help if there are none."""
        return super().parse_args(ctx, args or ['--help'])


class Number(click.FloatRange):
    """A finite number in a range; click's own ranges contain NaN."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number."""
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f'{value} is not a finite number', param, ctx)
        return number


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
            self.fail(f'{value!r} has {len(parts)} of {self.count} values with commas', param, ctx)
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
    """Raise click.UsageError if an option was given without the one that it needs."""
    for name in filter(is_given, names):
        flag = _flag(name)
        raise click.UsageError(f'{flag} needs {needed}; add it, or leave {flag} out.')


def _flag(name: str) -> str:
    """Return how users write a parameter of the running command."""
    params = click.get_current_context().command.params
    (param,) = (one for one in params if one.name == name)
    return param.opts[0] if isinstance(param, click.Option) else f'{param.human_readable_name}'
