# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Commands of the library click, made from actions and their declared options."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields, MISSING
from functools import partial
import inspect
import math
from pathlib import Path
import shlex
from typing import Any, get_args, get_origin, get_type_hints

import click
from click.core import ParameterSource
from click.shell_completion import CompletionItem

from ._action import Action
from ..errors import FrankaDynamicsError, nearest
from ..options import decimal, Option

_HELP = {'help_option_names': ['-h', '--help']}
_FORMER = {'--robot': '--arm', '--repair': '--mend'}  # names of earlier versions


class _Value(click.ParamType):
    """The type of a value that a function makes of a text."""

    name = 'value'

    def __init__(self, kind: Callable[[str], Any]) -> None:
        self.kind = kind

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the value of a text; a declared default that is no text stays as it is."""
        if not isinstance(value, str):
            return value
        if value.startswith('--'):
            if isinstance(param, click.Argument) and ctx:
                raise _no_such_option(value, ctx)
            self.fail(f'a value is missing before {value}', param, ctx)
        try:
            return self.kind(value)
        except FrankaDynamicsError:
            raise
        except ValueError as error:
            self.fail(f'{error}', param, ctx)

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Let the shell complete the name of a file."""
        return [CompletionItem(incomplete, type='file')]


class Verb(click.Command):
    """A command that returns its action, filled with the given options; `main` runs it."""

    def __init__(self, name: str, kind: type[Action]) -> None:
        said = inspect.getdoc(kind) or ''
        # click would take -1,0,0,0 for an option, so unknown options are found here.
        settings = {**_HELP, 'ignore_unknown_options': True, 'allow_extra_args': True}
        super().__init__(name, settings, help=said, short_help=said.partition('\n')[0])
        self.kind = kind
        self.sections: dict[str, list[click.Parameter]] = {}  # with headings of the help
        hints, left = get_type_hints(kind), {one.name: one for one in fields(kind) if one.metadata}
        for home in kind.__mro__:
            heading = '' if home is kind else str(getattr(home, 'heading', ''))
            for field in [left.pop(one) for one in inspect.get_annotations(home) if one in left]:
                declared = field.metadata['option']
                title = 'options' if declared.positional else heading or 'options'
                param = _parameter(field.name, declared, hints[field.name], field.default)
                self.sections.setdefault(title, []).append(param)
        for section in self.sections.values():  # positional arguments first
            section.sort(key=lambda param: isinstance(param, click.Option))
        self.params = [param for section in self.sections.values() for param in section]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the command line; refuse a word that no option takes."""
        lists = {
            flag for one in self.params if getattr(one, 'multiple', False) for flag in one.opts
        }
        try:
            extra = super().parse_args(ctx, _spread(args, lists))
        except click.BadOptionUsage as error:
            wrong = error.option_name
            (form,) = (one.metavar for one in self.get_params(ctx) if wrong in one.opts)
            said = f'{error.message.rstrip(".")}: {wrong} {form or ""}'.strip()
            raise click.UsageError(said, ctx) from error
        except click.MissingParameter as error:
            lists &= {*args}
            if not (isinstance(error.param, click.Argument) and lists):
                raise
            said = f'{error.param.metavar} is missing; write it before {", ".join(lists)}'
            raise click.UsageError(said, ctx) from error
        if extra and not ctx.resilient_parsing:
            raise _unexpected(extra, args, ctx)
        return extra

    def invoke(self, ctx: click.Context) -> Action:
        """Return the action with the given options as fields."""
        source, given = ctx.get_parameter_source, ParameterSource.COMMANDLINE
        names = frozenset(name for name in ctx.params if source(name) is given)
        return self.kind(**{one: ctx.params[one] for one in names}, options_given=names)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write arguments and options under their headings."""
        sections: dict[str, Sequence[click.Parameter | None]] = {**self.sections}
        sections['help'] = [self.get_help_option(ctx)]
        for title, params in sections.items():
            with formatter.section(title):
                rows = [param.get_help_record(ctx) for param in params if param]
                formatter.write_dl([row for row in rows if row])


class Words(click.Group):
    """A command that is followed by another word."""

    def __init__(self, name: str, about: str, below: Mapping[str, click.Command]) -> None:
        super().__init__(name, dict(below), context_settings=_HELP, help=about)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the words in the order in which they are declared."""
        return list(self.commands)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return a word's command; say which word is meant if it has none."""
        if args[0] in self.commands:
            return super().resolve_command(ctx, args)
        near = nearest(args[0], self.commands)
        meant = f'did you mean {near}?' if near else f'choose from {", ".join(self.commands)}'
        raise click.UsageError(f'{args[0]!r} is no word of this command; {meant}', ctx)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the words, --help if there are none; refuse an option before the word."""
        place = next((i for i, word in enumerate(args) if word in self.commands), 0)
        if place and args[0].startswith('-') and not ctx.resilient_parsing:
            meant = f'{ctx.command_path} {shlex.join([*args[place:], *args[:place]])}'
            raise click.UsageError(f'{args[0]} belongs behind the verb: {meant}', ctx)
        return super().parse_args(ctx, args or ['--help'])


def verbs(command: click.Command, words: str = '') -> Iterator[tuple[str, Verb]]:
    """Yield the words of every action below a command (`demo`, `arm check`, ...), and its verb."""
    if isinstance(command, Words):
        for word, below in command.commands.items():
            yield from verbs(below, f'{words} {word}'.strip())
    elif isinstance(command, Verb):
        yield words, command


def _spread(args: Sequence[str], lists: set[str]) -> list[str]:
    """Return the words with a list's flag before each value: --set A B as --set A --set B."""
    words: list[str] = []
    flag = ''  # of the list whose values follow
    for place, word in enumerate(args):
        if word.startswith('--'):
            flag = word.partition('=')[0]
        elif flag in lists and args[place - 1] != flag:
            words.append(flag)
        words.append(word)
    return words


def _no_such_option(word: str, ctx: click.Context) -> click.UsageError:
    known = [flag for param in ctx.command.params for flag in param.opts if flag[0] == '-']
    name = word.partition('=')[0]
    near = _FORMER.get(name) if _FORMER.get(name) in known else nearest(name, known)
    return click.UsageError(f'{name} is no option{f"; did you mean {near}?" if near else ""}', ctx)


def _unexpected(extra: list[str], args: list[str], ctx: click.Context) -> click.UsageError:
    """Return the error for words that belong to no option."""
    *_, flag, value = ['', '', *args[: args.index(extra[0])]]
    with suppress(ValueError):
        if flag.startswith('--') and [decimal(word) for word in (value, *extra)]:
            said = f'{flag} takes numbers with commas: {flag} {",".join([value, *extra])}'
            return click.UsageError(said, ctx)
    if extra[0].startswith('-'):
        return _no_such_option(extra[0], ctx)
    arm = any('--arm' in param.opts for param in ctx.command.params)
    meant = f'; did you mean --arm {extra[0]}?' if arm and not Path(extra[0]).is_dir() else ''
    return click.UsageError(f'{shlex.join(extra)} belongs to no option{meant}', ctx)


class _Argument(click.Argument):
    """A positional argument with a line in the help, which click does not give it."""

    about = ''

    def get_help_record(self, ctx: click.Context) -> tuple[str, str]:
        """Return its name and what it is."""
        return f'{self.metavar}', self.about


def _parameter(name: str, declared: Option, annotation: Any, default: Any) -> click.Parameter:
    """Return click's parameter of a field."""
    spelled = [*declared.spelled(name), name]
    parts = get_args(annotation) or (annotation,)
    kind, many = declared.kind or parts[0], ... in parts
    if kind is bool:
        return click.Option(spelled, is_flag=True, help=declared.help, default=default)
    if kind in (int, float):
        kind = partial(_number, kind, declared)
    metavar = declared.metavar or '|'.join(declared.choices or [name.upper()])
    shown = metavar if isinstance(metavar, str) else ' '.join(metavar)
    shown = f'{shown} ...' if many else shown
    required = default is MISSING
    settings: dict[str, Any] = {} if required else {'default': default}
    settings |= {
        'type': click.Choice(declared.choices) if declared.choices else _Value(kind),
        'required': required,
        'callback': declared.callback,
    }
    if declared.positional:
        shown = shown if required else f'[{shown}]'
        argument = _Argument([name], nargs=-1 if many else 1, metavar=shown, **settings)
        argument.about = declared.help
        return argument
    if declared.const is not None:
        settings |= {'is_flag': False, 'flag_value': declared.const}
        shown = f'[{shown}]'
    nargs = len(parts) if get_origin(annotation) is tuple and not many else 1
    said = _with_default(declared.help, default)
    return click.Option(spelled, nargs=nargs, multiple=many, metavar=shown, help=said, **settings)


def _with_default(text: str, default: Any) -> str:
    """Return an option's help with its default, which numbers separated by spaces show best."""
    if 'default: ' in text or default in (MISSING, None, '', ()):
        return text
    each = default if isinstance(default, tuple) else (default,)
    shown = (f'{one:g}' if isinstance(one, float) else f'{one}' for one in each)
    return f'{text} (default: {" ".join(shown)})'.strip()


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
    raise ValueError(f'{text[:40]} is not a {what}{bounds}')
