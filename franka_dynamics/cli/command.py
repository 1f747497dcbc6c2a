# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Classes of click commands and groups, which import the function of a command when it runs."""

from dataclasses import fields
from importlib import import_module
import re
from typing import Any

import click
from click.core import ParameterSource

from .choices import Options
from ..errors import MissingDependencyError
from ..ros import ROS_INSTALL_HINT

_XACRO_ARGUMENT_PATTERN = re.compile(r'([A-Za-z_]\w*):=(.*)', re.DOTALL)


class Command(click.Command):
    """
    A command that calls a function of another module, which is imported when the command runs.

    The function that declares the command is never called: it only carries options and help. The
    work is done by the function `func`, MODULE.FUNCTION; by default it is `run` of the module
    named after the command's words, as cli/bag_replay.py for `bag replay`. It gets the values of
    the options that `options_as` has added as dataclasses, and all others as one argument
    `options`.

    A command that `with_xacro_arguments` has marked takes words NAME:=VALUE anywhere as arguments
    of a xacro file, as xacro itself does.
    """

    def __init__(self, *arguments: Any, func: str = '', **click_options: Any) -> None:
        """Make a command that calls `func`, 'module.function' of cli/; the rest is click's."""
        super().__init__(*arguments, **click_options)
        self.func = func

    @property
    def takes_xacro_arguments(self) -> bool:
        """Whether words NAME:=VALUE are arguments of a xacro file."""
        return getattr(self.callback, 'takes_xacro_arguments', False)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the command line; where the command takes NAME:=VALUE, these become `xacro`."""
        if not self.takes_xacro_arguments:
            return super().parse_args(ctx, args)
        other_words = []
        xacro_arguments = {}
        for word in args:
            if match := _XACRO_ARGUMENT_PATTERN.fullmatch(word):
                xacro_arguments[match[1]] = match[2]
            else:
                other_words.append(word)
        rest = super().parse_args(ctx, other_words)
        ctx.params['xacro'] = xacro_arguments
        if xacro_arguments:
            ctx.set_parameter_source('xacro', ParameterSource.COMMANDLINE)
        return rest

    def import_function(self, command_path: str) -> Any:
        """
        Import and return the function that `func` names, by default `run` in its own file.

        A name that does not exist is an error of the program; the tests import them all.
        """
        default_module = '_'.join(command_path.split()[1:]).replace('-', '_')
        module, _, name = (self.func or f'{default_module}.run').partition('.')
        return getattr(import_module(f'.{module}', __package__), name)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command, return its result; raise MissingDependencyError if it lacks ROS 2."""
        values = dict(ctx.params)
        dataclass_values = {}
        for arg_name, cls in getattr(self.callback, 'dataclasses', {}).items():
            names = [field.name for field in fields(cls) if field.name in values]
            dataclass_values[arg_name] = cls(**{name: values.pop(name) for name in names})
        try:
            function = self.import_function(ctx.command_path)
            return ctx.invoke(function, options=Options(**values), **dataclass_values)
        except ImportError as error:
            if not _is_ros_package((error.name or '').partition('.')[0]):
                raise
            raise MissingDependencyError(
                f'{ctx.command_path} needs ROS 2 ({error}): {ROS_INSTALL_HINT}.'
            ) from error


def _is_ros_package(name: str) -> bool:
    """Return whether a Python package is one of ROS, by its name."""
    return name.startswith(('rcl', 'ament_')) or name.endswith(('_msgs', '_srvs', '_interfaces'))


class Group(click.Group):
    """A group of commands that prints its help if it is called without a command."""

    command_class = Command
    group_class = type  # click's word for: groups in this group are of this class, too

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the command line's arguments; without arguments, parse --help."""
        return super().parse_args(ctx, args or ['--help'])


def with_xacro_arguments(command: Any) -> Any:
    """Mark a command's function as getting NAME:=VALUE words as the dict `xacro`; return it."""
    command.takes_xacro_arguments = True
    return command
