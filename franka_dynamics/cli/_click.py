# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Commands of the library click, made from actions and their declared options."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields, MISSING
import functools
import inspect
import itertools
import math
from pathlib import Path
import shlex
from types import NoneType, UnionType
from typing import Any, get_args, get_origin, get_type_hints, Union

import click
from click.core import ParameterSource
from click.shell_completion import CompletionItem

from ._action import Action, declarations, flags, heading, RARE
from ..errors import FrankaDynamicsError, nearest
from ..options import decimal, Option

_HELP = {'help_option_names': ['-h', '--help']}


class _Value(click.ParamType):
    """The type of an option's value: a function that converts its text, or a choice of texts."""

    name = 'value'

    def __init__(self, kind: Callable[[str], Any], choices: Sequence[str]) -> None:
        self.kind, self.choices = kind, choices

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the value of a text; a declared value that is no text stays as it is."""
        if not isinstance(value, str):
            return value
        if self.choices and value not in self.choices:
            group = ctx.parent if ctx else None
            if group and isinstance(group.command, Words) and value in group.command.below:
                near = f'`{group.command_path} {value}`'  # an action where a value belongs
            else:
                near = nearest(value, self.choices)
            meant = f'; did you mean {near}?' if near else ''
            self.fail(f'{value} is not one of {", ".join(self.choices)}{meant}', param, ctx)
        try:
            return self.kind(value)
        except FrankaDynamicsError:
            raise
        except ValueError as error:
            self.fail(f'{error}', param, ctx)

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Return the choices that begin with a text, or let the shell complete names of files."""
        if self.choices:
            return [CompletionItem(one) for one in self.choices if one.startswith(incomplete)]
        return [CompletionItem(incomplete, type='file')]


class Verb(click.Command):
    """A command that returns its action, filled with the given options; `main` runs it."""

    def __init__(self, name: str, kind: type[Action]) -> None:
        super().__init__(name, _HELP, help=inspect.getdoc(kind))
        self.kind, self.declared = kind, declarations(kind)
        hints, defaults = get_type_hints(kind), {one.name: one.default for one in fields(kind)}
        self.params += [
            _parameter(field, declared, hints[field], defaults[field])
            for field, declared in self.declared.items()
        ]
        if any(declared.rare for declared in self.declared.values()):
            self.params.append(
                click.Option(
                    ['--help-all'],
                    is_flag=True,
                    is_eager=True,
                    expose_value=False,
                    callback=_show_all,
                    help='Show rarely used options as well and exit.',
                )
            )

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the words; refuse unknown options and words that belong to no option."""
        options = _by_flag(self.params)
        words = _spread(args, options)
        ctx.allow_extra_args = True
        ctx.ignore_unknown_options = True  # else click refuses -1,0,0,0 as a positional argument
        if ctx.resilient_parsing:  # for completion in a shell
            return super().parse_args(ctx, words)
        for word, following in itertools.pairwise(words):
            declared = self.declared.get(options[word].name or '') if word in options else None
            takes = declared and declared.const is None and not options[word].is_flag
            if takes and following.partition('=')[0] in options:
                raise click.UsageError(f'{word} needs a value, but {following} follows', ctx)
        for word in words:
            name = word.partition('=')[0]
            if _is_flag(word) and name not in {*options, *ctx.help_option_names}:
                robot = name.startswith('--robot') and '--arm' in options
                near = '--arm' if robot else nearest(name, options)
                meant = f'; did you mean {near}?' if near else ''
                raise click.UsageError(f'{name} is no option{meant}', ctx)
        try:
            super().parse_args(ctx, list(words))  # click empties its list
        except click.MissingParameter as error:
            lists = [word for word in words if word in options and options[word].multiple]
            if not (lists and isinstance(error.param, click.Argument)):
                raise
            raise click.UsageError(
                f'{error.param.metavar} is missing; write it before {lists[-1]}, which takes '
                'every word behind it',
                ctx,
            ) from error
        if ctx.args:
            raise click.UsageError(_unexpected(ctx.args, args, options), ctx)
        return ctx.args

    def invoke(self, ctx: click.Context) -> Action:
        """Return the action with the given options as fields."""
        given = {
            name: value
            for name, value in ctx.params.items()
            if ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE
        }
        for name, value in given.items():
            remark = self.declared[name].remark
            if remark and remark(value):
                click.echo(f'note: {remark(value)}', err=True)
        return self.kind(**given, options_given=frozenset(given))

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        """Return the words of the usage line: [options], required options and arguments."""
        pieces = ['[options]']
        for param in self.params:
            if isinstance(param, click.Argument):
                pieces.append(f'{param.metavar}')
            elif param.required:
                pieces += [param.opts[0], f'{param.metavar}']
        return pieces

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options under their headings; the rarely used ones only for --help-all."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for param in self.params:
            declared = self.declared.get(param.name or '')
            if isinstance(param, click.Argument) and declared:
                row: tuple[str, str] | None = (f'{param.metavar}', declared.help)
            else:
                row = param.get_help_record(ctx)
            title = heading(self.kind, f'{param.name}', declared) if declared else 'help'
            if row and (title != RARE or ctx.meta.get(RARE)):
                sections.setdefault(title or 'options', []).append(row)
        asking = self.get_help_option(ctx)
        first = asking and asking.get_help_record(ctx)
        sections['help'] = [*([first] if first else []), *sections.get('help', [])]
        for title, rows in sections.items():
            with formatter.section(title):
                formatter.write_dl(rows)


class Words(click.Group):
    """A command that is followed by another word, whose command is made when it is needed."""

    def __init__(
        self, name: str, about: str, below: Mapping[str, Callable[[], click.Command]]
    ) -> None:
        super().__init__(
            name,
            context_settings=_HELP,
            help=about,
            invoke_without_command=True,
            callback=_help_without_word,
        )
        self.below = below

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the words in the order of the help."""
        return list(self.below)

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        """Return the words of the usage line."""
        return ['ACTION', '[options]']

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write each word with the first line of its help."""
        made = {word: below().help or '' for word, below in self.below.items()}
        with formatter.section('actions'):
            formatter.write_dl([(word, said.partition('\n')[0]) for word, said in made.items()])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command of a word, or None."""
        return self.below[cmd_name]() if cmd_name in self.below else None

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the words; refuse an unknown word, and an option before the word."""
        own = _by_flag(self.get_params(ctx))
        if args and args[0] not in {*own, *self.below} and not ctx.resilient_parsing:
            place = next((i for i, word in enumerate(args) if word in self.below), None)
            if not args[0].startswith('-'):
                near = nearest(args[0], self.below)
                meant = f'did you mean {near}?' if near else f'choose from {", ".join(self.below)}'
                raise click.UsageError(f'{args[0]!r} is no word of this command; {meant}', ctx)
            if place:
                meant = shlex.join([*args[place:], *args[:place]])
                said = f'{args[0]} belongs behind the verb: {ctx.command_path} {meant}'
                raise click.UsageError(said, ctx)
        return super().parse_args(ctx, args)


def verbs(command: click.Command, words: str = '') -> Iterator[tuple[str, Verb]]:
    """Yield the words of every action below a command (`demo`, `arm check`, ...), and its verb."""
    if isinstance(command, Words):
        for word, below in command.below.items():
            yield from verbs(below(), f'{words} {word}'.strip())
    elif isinstance(command, Verb):
        yield words, command


def help_text(command: click.Command, words: str, *, whole: bool = False) -> str:
    """Return what --help, or with `whole` --help-all, says of the command that `words` call."""
    context = click.Context(command, info_name=f'franka-dynamics {words}'.strip())
    context.meta[RARE] = whole
    return command.get_help(context)


def _show_all(ctx: click.Context, _param: click.Parameter, asked: bool) -> None:
    if asked and not ctx.resilient_parsing:
        ctx.meta[RARE] = True
        click.echo(ctx.get_help())
        ctx.exit()


def _help_without_word() -> None:
    context = click.get_current_context()
    if context.invoked_subcommand is None:
        click.echo(context.get_help())
        context.exit()


def _by_flag(params: Sequence[click.Parameter]) -> dict[str, click.Option]:
    return {flag: one for one in params if isinstance(one, click.Option) for flag in one.opts}


def _spread(args: Sequence[str], options: Mapping[str, click.Option]) -> list[str]:
    """Return the words with a list's flag before each value: --set A B as --set A --set B."""
    words: list[str] = []
    flag, first = '', False
    for word in args:
        if _is_flag(word):
            name, equals, _ = word.partition('=')
            flag = name if name in options and options[name].multiple else ''
            first = not equals
            words.append(word)
        else:
            words += [flag, word] if flag and not first else [word]
            first = False
    return words


def _is_flag(word: str) -> bool:
    """Return whether a word is written as an option: not -, -0.5 or -1,0,0,0."""
    return (word[:1] == '-' and word[1:2].isalpha()) or word[:2] == '--'


def _is_number(word: str) -> bool:
    with suppress(ValueError):
        decimal(word)
        return True
    return False


def _unexpected(
    extra: Sequence[str], args: Sequence[str], options: Mapping[str, click.Option]
) -> str:
    """Return a sentence about words that belong to no option."""
    before = args[: args.index(extra[0])]
    flag = next((word for word in reversed(before) if word in options), '')
    if flag and before[-2:-1] == [flag] and all(map(_is_number, [before[-1], *extra])):
        return f'{flag} takes numbers with commas: {flag} {",".join([before[-1], *extra])}'
    arm = '--arm' in options and not Path(extra[0]).is_dir()
    meant = f'; did you mean --arm {extra[0]}?' if arm else ''
    return f'{shlex.join(extra)} belongs to no option{meant}'


def _parameter(name: str, declared: Option, annotation: Any, default: Any) -> click.Parameter:
    """Return click's parameter of a field; without a value, click gives it none."""
    if get_origin(annotation) in (Union, UnionType):
        (annotation,) = (one for one in get_args(annotation) if one is not NoneType)
    text, required = _help(declared, default), default is MISSING
    spelled = [*flags(name, declared), name]
    if annotation is bool and declared.kind is None:
        return click.Option(spelled, is_flag=True, help=text)
    count, many = 1, False
    if get_origin(annotation) is tuple:
        annotation, *others = get_args(annotation)
        many = others == [...]
        count = 1 if many else 1 + len(others)
    kind = declared.kind or annotation
    if declared.kind is None and annotation in (int, float):
        kind = functools.partial(_number, annotation, declared)
    metavar = declared.metavar or '|'.join(declared.choices or [name.upper()])
    shown = metavar if isinstance(metavar, str) else ' '.join(metavar)
    settings: dict[str, Any] = {
        'type': _Value(kind, declared.choices or ()),
        'required': required,
    }
    if declared.positional:
        shown = f'{shown} ...' if many else shown
        shown = shown if required else f'[{shown}]'
        return click.Argument([name], nargs=-1 if many else 1, metavar=shown, **settings)
    if declared.const is not None:
        settings |= {'is_flag': False, 'flag_value': declared.const}
        shown = f'[{shown}]'
    return click.Option(spelled, nargs=count, multiple=many, metavar=shown, help=text, **settings)


def _help(declared: Option, default: Any) -> str:
    text = declared.help
    if 'default: ' not in text and default not in (MISSING, None, False, '', ()):
        each = default if isinstance(default, tuple) else (default,)
        shown = (f'{one:g}' if isinstance(one, float) else f'{one}' for one in each)
        text = f'{text} (default: {" ".join(shown)})'.strip()
    return text


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
