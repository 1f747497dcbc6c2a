# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Commands, parameter types and options for click; lists are written with commas."""

from collections.abc import Callable
from dataclasses import fields
from importlib import import_module
import math
from pathlib import Path
import re
from types import SimpleNamespace
from typing import Any

import click
from click.core import ParameterSource
from click.shell_completion import CompletionItem

from ..errors import MissingDependencyError, require_extra
from ..files import share_directory
from ..ros import ROS_INSTALL_HINT

_XACRO_ARGUMENT = re.compile(r'([A-Za-z_]\w*):=(.*)', re.DOTALL)
Options = SimpleNamespace  # the values of a command's options as attributes
STDOUT_PATH = Path('-')  # path that stands for standard output


class Command(click.Command):
    """
    A command that calls a function of another module, which is imported when the command runs.

    `work` is MODULE.FUNCTION; by default it is `run` of the module named after the command's
    words, as cli/arm_show.py of arm show. The function that declares the command has its options
    and help alone. The other function gets the values of the options that `options_as` has added
    as dataclasses, and those of all others as one argument `options`.

    Of a command that `with_xacro_arguments` has marked, words NAME:=VALUE anywhere are arguments
    of a xacro file, as xacro itself takes them.
    """

    def __init__(self, *arguments: Any, work: str = '', **more: Any) -> None:
        """Make a command that calls `work`; the other arguments are those of click's Command."""
        super().__init__(*arguments, **more)
        self.work = work

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the command line's arguments; NAME:=VALUE become the parameter `xacro`."""
        if not getattr(self.callback, 'takes_xacro_arguments', False):
            return super().parse_args(ctx, args)
        found = [_XACRO_ARGUMENT.fullmatch(word) for word in args]
        words = [word for word, pair in zip(args, found) if not pair]
        rest = super().parse_args(ctx, words)
        ctx.params['xacro'] = {pair[1]: pair[2] for pair in found if pair}
        if ctx.params['xacro']:
            ctx.set_parameter_source('xacro', ParameterSource.COMMANDLINE)
        return rest

    def import_function(self, path: str) -> Any:
        """Import and return the function that does the work of a command, given its words."""
        words = '_'.join(path.split()[1:]).replace('-', '_')
        module, _, function = (self.work or f'{words}.run').partition('.')
        return getattr(import_module(f'.{module}', __package__), function)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; raise MissingDependencyError if it needs ROS 2, which is missing."""
        values, grouped = dict(ctx.params), dict[str, Any]()
        for name, kind in getattr(self.callback, 'dataclasses', {}).items():
            own = [field.name for field in fields(kind) if field.name in values]
            grouped[name] = kind(**{field: values.pop(field) for field in own})
        try:
            work = self.import_function(ctx.command_path)
            return ctx.invoke(work, options=Options(**values), **grouped)
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
    """Mark the function of a command that gets the words NAME:=VALUE as `xacro`, a dict."""
    command.takes_xacro_arguments = True
    return command


class Number(click.FloatRange):
    """Option type of a finite number in a range; click's own ranges also accept NaN."""

    name = 'number'

    def _describe_range(self) -> str:
        """Return the range as text for the help, '' for none, where click writes x<=None."""
        return '' if self.min is self.max is None else super()._describe_range()

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the option's value as a finite float; otherwise raise click.BadParameter."""
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f'{value} is not a finite number', param, ctx)
        return number


class JointPositionType(click.ParamType):
    """Option type of a pair of a joint's name and its position, written JOINT=POSITION."""

    name = 'assignment'

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the pair (name, position) in a text; otherwise raise click.BadParameter."""
        joint, sign, position = f'{value}'.partition('=')
        if not (joint and sign):
            self.fail(f'{value!r} is no JOINT=POSITION', param, ctx)
        return joint, Number().convert(position, param, ctx)


class CommaList(click.ParamType):
    """Option type of a tuple of values separated by commas; `count` fixes their number."""

    name = 'values'

    def __init__(
        self, metavar: str, item_type: click.ParamType = click.STRING, count: int | None = None
    ) -> None:
        """Make the type of `count` values of a type, which the help writes as `metavar`."""
        self.metavar, self.item_type, self.count = metavar, item_type, count

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the tuple of values in a text, or `value` unchanged if it is no text."""
        if not isinstance(value, str):
            return value
        parts = [self.item_type.convert(part.strip(), param, ctx) for part in value.split(',')]
        if self.count not in (None, len(parts)):
            self.fail(f'{value!r} has {len(parts)} of {self.count} values with commas', param, ctx)
        return tuple(parts)


class ShippedNameOrPath(click.Path):
    """Option type of a path or the name of a file shipped in a `folder` of config/."""

    def __init__(self, folder: str) -> None:
        """Make the type of names of files in config/`folder`, and of paths."""
        super().__init__()
        self.folder = folder

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Return files and names of shipped files as shell completions of the typed text."""
        shipped = (share_directory() / 'config' / self.folder).glob(f'{incomplete}*.yaml')
        names = [CompletionItem(path.stem) for path in sorted(shipped)]
        return super().shell_complete(ctx, param, incomplete) + names


class OutputPath(click.Path):
    """Option type of an output's path, which `check_path` checks before the command runs."""

    def __init__(self, check_path: Callable[[str], Path]) -> None:
        """Make the type of paths that `check_path` accepts."""
        super().__init__()
        self.check_path = check_path

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path as `check_path` returns it; `check_path` raises OutputError."""
        return self.check_path(f'{value}')


def option(flags: str, help: str, kind: Any = None, dest: str = '', **more: Any) -> Any:
    """
    Return a decorator that adds an option to a command, as `click.option` does.

    `flags` are separated by spaces; a tuple or a list as `kind` is a choice. Values of a repeated
    option with a list of any length are joined.
    """

    def join_values(_context: Any, _parameter: Any, given: tuple[tuple[Any, ...], ...]) -> Any:
        """Return the values of a repeated option's lists as one tuple."""
        return tuple(value for each in given for value in each)

    if isinstance(kind, (tuple, list)):
        kind = click.Choice(kind)
    if isinstance(kind, CommaList):
        more['metavar'] = kind.metavar
        more |= {'multiple': True, 'callback': join_values} if kind.count is None else {}
    return click.option(*flags.split(), *dest.split(), type=kind, help=help, **more)


def flag(name: str, help: str, dest: str = '') -> Any:
    """Return a decorator that adds to a command an option without a value."""
    return click.option(name, *dest.split(), is_flag=True, help=help)


def choice_or_flag(name: str, help: str, choices: tuple[str, ...]) -> Any:
    """Return a decorator that adds an option of `choices`; without a value it is the first one."""
    return option(
        name, f'{help}; alone: {choices[0]}', choices, is_flag=False, flag_value=choices[0]
    )


def was_option_given(name: str) -> bool:
    """Return whether a parameter was given on the command line of the running command."""
    context = click.get_current_context(silent=True)
    source = context and context.get_parameter_source(name)
    return source is ParameterSource.COMMANDLINE


def require_installed(use: str, extra: str, *modules: str) -> None:
    """Raise MissingDependencyError if one of the modules needed for a `use` is not installed."""
    with require_extra(use, extra):
        for name in modules:
            import_module(name)


def forbid_options(use: str, *names: str) -> None:
    """
    Raise click.UsageError if one of the named parameters was given on the command line.

    `use` is the option or input with which they have no effect, and the reason.
    """
    for name in filter(was_option_given, names):
        typed = _option_name(name)
        raise click.UsageError(f'{typed} has no meaning with {use}. Leave one of them out.')


def require_option(needed: str, *names: str) -> None:
    """Raise click.UsageError, asking for `needed`, if one of the named options was given."""
    for name in filter(was_option_given, names):
        typed = _option_name(name)
        raise click.UsageError(f'{typed} needs {needed}; add it, or leave {typed} out.')


def _option_name(name: str) -> str:
    """Return a parameter of the running command as users write it."""
    params = click.get_current_context().command.params
    param = next((one for one in params if one.name == name), None)
    if param is None:
        return 'NAME:=VALUE'
    return param.opts[0] if isinstance(param, click.Option) else f'{param.human_readable_name}'
