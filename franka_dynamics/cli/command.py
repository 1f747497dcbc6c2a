# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Commands of click that are typed functions.

The parameters of a command's function are its options, and its docstring is the help. What a
parameter is called in the shell and what it means stands in its annotation, as `Option` or
`Argument`; its type and its default are those of the function, which mypy checks. A parameter
whose type is a dataclass stands for one option for each of its fields: those whose annotations
have an `Option`, or those that `Fields` names, for a dataclass that knows nothing of commands.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass, MISSING
from inspect import cleandoc, signature
from pathlib import Path
import re
from typing import Annotated, Any, get_args, get_origin, get_type_hints, Literal, TypeVar

import click
from click.core import ParameterSource

from .option_types import CommaList, Number
from ..errors import MissingDependencyError
from ..ros import ROS_INSTALL_HINT

_XACRO_ARGUMENT_PATTERN = re.compile(r'([A-Za-z_]\w*):=(.*)', re.DOTALL)
_Function = TypeVar('_Function', bound=Callable[..., int | None])
_NO_DEFAULT: Any = object()
# Types of the shell's words by the types of parameters that need no other.
_WORD_TYPES: dict[Any, click.ParamType] = {
    str: click.STRING,
    int: click.INT,
    float: Number(),
}


@dataclass(frozen=True)
class Option:
    """
    An option of the shell: what it means, and how its word becomes a value.

    `type` is needed where the annotated type does not say it; a sequence is a choice. `flags` are
    separated by spaces; without them the option is called as the parameter. `check` returns a
    value, or another in its place, or raises click.BadParameter. If the option is given without a
    word, its word is `alone`. `shown_default` is shown in place of the default; '' shows none.
    """

    help: str
    type: click.ParamType | Sequence[str] | None = None
    flags: str = ''
    metavar: str | None = None
    check: Callable[[Any], Any] | None = None
    alone: str | None = None
    shown_default: str | None = None


@dataclass(frozen=True)
class Argument:
    """A word of the shell without a name; help calls it `metavar`, or as the parameter."""

    metavar: str | None = None
    type: click.ParamType | None = None


class XacroArguments:
    """Words NAME:=VALUE, which may stand anywhere, as a mapping; xacro itself takes them so."""


class Fields:
    """The fields of a dataclass that are options of a command, and what these options mean."""

    def __init__(self, **options: Option | XacroArguments) -> None:
        """Store the option of each field, by the field's name."""
        self.options = options


@dataclass(frozen=True)
class _Declared:
    """A parameter of a function or a field of a dataclass, with what is said of its words."""

    name: str
    type: Any
    meaning: Option | Argument | XacroArguments
    default: Any

    def click_parameter(self) -> click.Parameter:
        """Return the parameter by which click parses the words."""
        value_type = _without_none(self.type)
        is_tuple = get_origin(value_type) is tuple
        # What is not given keeps an empty default, of which click need not know.
        has_default = self.default is not _NO_DEFAULT and self.default not in ('', (), {}, None)
        settings: dict[str, Any] = {'required': self.default is _NO_DEFAULT}
        if isinstance(self.meaning, Argument):
            item_type = get_args(value_type)[0] if is_tuple else value_type
            settings['type'] = _word_type(self.meaning.type, item_type)
            settings['nargs'] = -1 if is_tuple else 1
            if has_default:
                settings['default'] = self.default
            return click.Argument([self.name], metavar=self.meaning.metavar, **settings)
        option = self.meaning
        assert isinstance(option, Option)
        flags = option.flags.split() or [f'--{self.name.replace("_", "-")}']
        if value_type is bool:
            return click.Option([*flags, self.name], is_flag=True, help=option.help)
        word_type = _word_type(option.type, value_type)
        is_joined = isinstance(word_type, CommaList) and word_type.count is None
        metavar = option.metavar
        if isinstance(word_type, CommaList):
            metavar = word_type.metavar
        if has_default:
            word = _as_typed(self.default)
            settings['default'] = (word,) if is_joined else word
        if option.alone is not None:
            settings |= {'is_flag': False, 'flag_value': option.alone}
        if option.shown_default is not None:
            settings['show_default'] = option.shown_default or False
        return click.Option(
            [*flags, self.name],
            type=word_type,
            multiple=is_joined,
            metavar=metavar,
            callback=lambda _context, _option, value: self._value(value, is_joined),
            help=option.help,
            **settings,
        )

    def _value(self, value: Any, is_joined: bool) -> Any:
        """Return the value of an option as its function takes it; None if it was not given."""
        if is_joined:
            # Values of a repeated option are those of one list.
            value = tuple(one for values in value for one in values)
        check = self.meaning.check if isinstance(self.meaning, Option) else None
        return check(value) if check and value is not None else value


def _without_none(declared_type: Any) -> Any:
    """Return T for a type T or `T | None`."""
    of_union = [one for one in get_args(declared_type) if one is not type(None)]
    has_none = type(None) in get_args(declared_type)
    return of_union[0] if has_none and len(of_union) == 1 else declared_type


def _word_type(given: click.ParamType | Sequence[str] | None, value_type: Any) -> click.ParamType:
    """Return click's type of a word: the given one, else by the annotated type."""
    if isinstance(given, click.ParamType):
        return given
    if given is not None:
        return click.Choice(given)
    if get_origin(value_type) is Literal:
        return click.Choice(get_args(value_type))
    return _WORD_TYPES[value_type]


def _as_typed(default: Any) -> Any:
    """Return a default as one would type it."""
    if isinstance(default, tuple):
        return ','.join(f'{one:g}' if isinstance(one, float) else f'{one}' for one in default)
    return f'{default}' if isinstance(default, Path) else default


def _of_function(function: Callable[..., Any]) -> Iterator[tuple[str, Any, list[_Declared]]]:
    """Yield each parameter of a function, its dataclass or None, and what is declared by it."""
    hints = get_type_hints(function, include_extras=True)
    for name, parameter in signature(function).parameters.items():
        value_type, meanings = _annotated(hints[name])
        if is_dataclass(value_type):
            yield name, value_type, list(_of_dataclass(value_type, meanings))
        else:
            default = _NO_DEFAULT if parameter.default is parameter.empty else parameter.default
            yield name, None, [_Declared(name, value_type, meanings[0], default)]


def _of_dataclass(cls: Any, meanings: Sequence[Any]) -> Iterator[_Declared]:
    """Yield what is declared by the fields of a dataclass, in the order of the options."""
    hints = get_type_hints(cls, include_extras=True)
    found = {}
    for each in fields(cls):
        value_type, of_field = _annotated(hints[each.name])
        default = each.default if each.default is not MISSING else _NO_DEFAULT
        if each.default_factory is not MISSING:
            default = each.default_factory()
        found[each.name] = value_type, of_field, default
    if meanings:
        for name, meaning in meanings[0].options.items():
            value_type, _, default = found[name]
            yield _Declared(name, value_type, meaning, default)
        return
    for name, (value_type, of_field, default) in found.items():
        if of_field:
            yield _Declared(name, value_type, of_field[0], default)


def _annotated(hint: Any) -> tuple[Any, list[Any]]:
    """Return the type of an annotation, and what is said with it."""
    if get_origin(hint) is not Annotated:
        return hint, []
    value_type, *meanings = get_args(hint)
    return value_type, meanings


class Command(click.Command):
    """A command that calls a typed function; see the module's docstring."""

    def __init__(self, name: str, function: Callable[..., Any], **settings: Any) -> None:
        """Make the command of a function; `settings` are click's."""
        self.function = function
        parameters = list(_of_function(function))
        declared = [one for _, _, of_parameter in parameters for one in of_parameter]
        self._takes_xacro_arguments = any(
            isinstance(one.meaning, XacroArguments) for one in declared
        )

        def call(**values: Any) -> Any:
            """Call the function with the values of its options, gathered in their dataclasses."""
            given = {key: value for key, value in values.items() if value is not None}
            arguments: dict[str, Any] = {}
            for parameter, cls, of_parameter in parameters:
                own = {one.name: given[one.name] for one in of_parameter if one.name in given}
                arguments |= {parameter: cls(**own)} if cls else own
            return self.function(**arguments)

        super().__init__(
            name,
            callback=call,
            params=[
                one.click_parameter()
                for one in declared
                if not isinstance(one.meaning, XacroArguments)
            ],
            help=cleandoc(function.__doc__ or ''),
            **settings,
        )

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the command line; where the command takes NAME:=VALUE, these become `xacro`."""
        if not self._takes_xacro_arguments:
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

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command, return its result; raise MissingDependencyError if it lacks ROS 2."""
        try:
            return super().invoke(ctx)
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

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the command line's arguments; without arguments, parse --help."""
        return super().parse_args(ctx, args or ['--help'])


def command_of(group: Group, name: str, **settings: Any) -> Callable[[_Function], _Function]:
    """
    Return a decorator that makes a function a command of a group, and leaves it as it is.

    The function returns the exit status: None or 0 for done, 1 if the answer is no. `settings`
    are those of click.Command.
    """

    def decorate(function: _Function) -> _Function:
        """Add the command of a function to the group."""
        group.add_command(Command(name, function, **settings))
        return function

    return decorate
