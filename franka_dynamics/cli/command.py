# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Classes of click commands and groups, which import the function of a command when it runs."""

from collections.abc import Iterator, Mapping
from dataclasses import fields
from importlib import import_module
import re
from types import MappingProxyType
from typing import Any

import click
from click.core import ParameterSource

from .choices import Options
from ..errors import MissingDependencyError
from ..ros import ROS_INSTALL_HINT

FORMER_OPTIONS_UNTIL = '0.3'  # the release without them
_XACRO_ARGUMENT_PATTERN = re.compile(r'([A-Za-z_]\w*):=(.*)', re.DOTALL)


class Command(click.Command):
    """
    A command that calls a function of another module, which is imported when the command runs.

    `func` is MODULE.FUNCTION; by default it is `run` of the module named after the command's
    words, as cli/bag_replay.py. The function that declares the command has its options
    and help alone. The other function gets the values of the options that `options_as` has added
    as dataclasses, and those of all others as one argument `options`.

    Of a command that `with_xacro_arguments` has marked, words NAME:=VALUE anywhere are arguments
    of a xacro file, as xacro itself takes them.
    """

    def __init__(
        self,
        *arguments: Any,
        func: str = '',
        former_options: Mapping[str, str] = MappingProxyType({}),
        **click_options: Any,
    ) -> None:
        """
        Make a command that calls `func`, 'module.function' of cli/; the rest is click's.

        `former_options` maps each former name of an option to its present one. Former names work
        until FORMER_OPTIONS_UNTIL.
        """
        super().__init__(*arguments, **click_options)
        self.func = func
        self.former_options = dict(former_options)
        if getattr(self.callback, 'takes_xacro_arguments', False):
            self.former_options['--xacro'] = ''  # NAME:=VALUE, which follows, stands alone now

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the command line; where the command takes NAME:=VALUE, these become `xacro`."""
        args = [*self._with_present_names(args)]
        if not getattr(self.callback, 'takes_xacro_arguments', False):
            return super().parse_args(ctx, args)
        found = [_XACRO_ARGUMENT_PATTERN.fullmatch(word) for word in args]
        words = [word for word, pair in zip(args, found) if not pair]
        rest = super().parse_args(ctx, words)
        ctx.params['xacro'] = {pair[1]: pair[2] for pair in found if pair}
        if ctx.params['xacro']:
            ctx.set_parameter_source('xacro', ParameterSource.COMMANDLINE)
        return rest

    def _with_present_names(self, args: list[str]) -> Iterator[str]:
        """Yield the words of a command line, former options by their present names; warn."""
        for word in args:
            option, sign, value = word.partition('=')
            if option not in self.former_options:
                yield word
                continue
            now = self.former_options[option]
            text = f'is now {now}' if now else 'is not needed before NAME:=VALUE'
            click.echo(
                f'note: {option} {text}; release {FORMER_OPTIONS_UNTIL} has no {option}.',
                err=True,
            )
            if now or sign:
                yield f'{now}{sign}{value}' if now else value

    def import_function(self, command_path: str) -> Any:
        """Import and return the function that `func` names, by default `run` in its own file."""
        words = '_'.join(command_path.split()[1:]).replace('-', '_')
        module, _, name = (self.func or f'{words}.run').partition('.')
        return getattr(import_module(f'.{module}', __package__), name)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command, return its result; raise MissingDependencyError if it lacks ROS 2."""
        values = dict(ctx.params)
        grouped = dict[str, Any]()
        for name, kind in getattr(self.callback, 'dataclasses', {}).items():
            own = [field.name for field in fields(kind) if field.name in values]
            grouped[name] = kind(**{field: values.pop(field) for field in own})
        try:
            function = self.import_function(ctx.command_path)
            return ctx.invoke(function, options=Options(**values), **grouped)
        except ImportError as error:
            missing = (error.name or '').partition('.')[0]
            ends = ('_msgs', '_srvs', '_interfaces')
            if not (missing.startswith(('rcl', 'ament_')) or missing.endswith(ends)):
                raise
            raise MissingDependencyError(
                f'{ctx.command_path} needs ROS 2 ({error}): {ROS_INSTALL_HINT}.'
            ) from error


class Group(click.Group):
    """A group of commands that prints its help if it is called without a command."""

    command_class = Command
    group_class = type

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the command line's arguments; without arguments, parse --help."""
        return super().parse_args(ctx, args or ['--help'])


def with_xacro_arguments(command: Any) -> Any:
    """Mark a command's function as getting NAME:=VALUE words as the dict `xacro`; return it."""
    command.takes_xacro_arguments = True
    return command
