# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Typed functions as commands: what they are given, and what of their signatures is shown."""

from collections.abc import Mapping
from dataclasses import dataclass, is_dataclass
import re
import shlex
from types import UnionType
from typing import Annotated, Any, get_args, get_origin, get_type_hints, Literal, Union

import click
import pytest

from franka_dynamics.cli.choices import forbid_options
from franka_dynamics.cli.command import Argument, Command, Fields, Option, XacroArguments
from franka_dynamics.cli.option_types import CommaList, Number

from ..processes import ROOT
from ..scripts import commands, parsed


def fits(value, hint):
    """Return whether a value is of an annotated type, with all that it holds."""
    kind = get_origin(hint)
    inner = get_args(hint)
    if hint is Any:
        return True
    if kind is Annotated:
        return fits(value, inner[0])
    if kind in (Union, UnionType):
        return any(fits(value, one) for one in inner)
    if kind is Literal:
        return value in inner
    if kind is tuple:
        items = inner[:1] * len(value) if inner[1:] == (...,) else inner
        return isinstance(value, tuple) and all(map(fits, value, items))
    if is_dataclass(hint):
        hints = get_type_hints(hint, include_extras=True)
        return all(fits(one, hints[name]) for name, one in vars(value).items())
    return isinstance(value, (float, int) if hint is float else kind or hint)


def given_to(context):
    """Return what a parsed command gives to its function, and what the function asks for."""
    given = {}
    command = Command(context.info_name, context.command.function)
    command.function = lambda **values: given.update(values)
    with context:
        command.callback(**context.params)
    return given, get_type_hints(context.command.function, include_extras=True)


def word_lists():
    """Yield the words of commands on the pages, and of each command with what it requires."""
    for path in [ROOT / 'README.md', *(ROOT / 'docs').rglob('*.md')]:
        text = path.read_text('utf-8').replace('\\\n', ' ')
        for line in re.findall(r'(?m)(?:^ *|`)franka-dynamics ([^`\n]+)', text):
            words = shlex.split(line.replace('...', ''), comments=True)
            yield [word for word in words if word not in ('&', '--help')]
    for words, command in commands():
        needed = [one for one in command.params if one.required]
        typed = [(*one.opts[: isinstance(one, click.Option)], 'some.yaml') for one in needed]
        yield [*words.split(), *(word for of_one in typed for word in of_one)]


def test_functions_get_values_of_the_types_that_they_state(tmp_path, monkeypatch):
    """Annotations are trusted by mypy; that the shell's words become such values is seen here."""
    monkeypatch.chdir(tmp_path)
    seen = set()
    known = {words for words, _ in commands()}
    for words in word_lists():
        if not known & {*words[:1], ' '.join(words[:2])}:
            continue  # the help of a group
        context = parsed(words)
        given, hints = given_to(context)
        wrong = {name: one for name, one in given.items() if not fits(one, hints[name])}
        assert not wrong, (words, wrong)
        seen.add(context.command)
    assert len(seen) == len(known)


@dataclass(frozen=True)
class Pair:
    """A dataclass that knows nothing of commands."""

    left: float = 1.0
    right: tuple[float, ...] = (2.0, 3.0)
    silent: int = 4


def example(
    *,
    files: Annotated[tuple[str, ...], Argument('FILE...', click.Path())],
    pair: Annotated[
        Pair, Fields(left=Option('left'), right=Option('right', CommaList('R,...', Number())))
    ],
    size: Annotated[int | None, Option('size', click.IntRange(1), flags='--size --length')] = None,
    kind: Annotated[Literal['a', 'b'], Option('kind')] = 'a',
    form: Annotated[str | None, Option('form', ['text', 'html'], alone='text')] = None,
    is_wide: Annotated[bool, Option('wide')] = False,
    xacro: Annotated[Mapping[str, str], XacroArguments()],
):
    """Show what is given."""
    if is_wide:
        forbid_options('--is-wide', 'left', 'size')
    return files, pair, size, kind, form, is_wide, xacro


def answer(words):
    """Return what the example returns for words of a shell."""
    command = Command('example', example)
    with command.make_context('example', words.split()) as context:
        return command.invoke(context)


@pytest.mark.parametrize(
    ('words', 'expected'),
    [
        ('x', (('x',), Pair(), None, 'a', None, False, {})),
        ('x y --left 2', (('x', 'y'), Pair(2.0), None, 'a', None, False, {})),
        ('x --right 5', (('x',), Pair(right=(5.0,)), None, 'a', None, False, {})),
        (
            'x --right 5,6 --right 7',  # of a list that is given twice both parts count
            (('x',), Pair(right=(5.0, 6.0, 7.0)), None, 'a', None, False, {}),
        ),
        ('x --length 3 --kind b', (('x',), Pair(), 3, 'b', None, False, {})),
        ('x --form --is-wide', (('x',), Pair(), None, 'a', 'text', True, {})),
        ('x --form html', (('x',), Pair(), None, 'a', 'html', False, {})),
        ('x n:=v --left 2 m:=', (('x',), Pair(2.0), None, 'a', None, False, {'n': 'v', 'm': ''})),
    ],
)
def test_a_function_gets_what_was_typed_and_else_its_own_defaults(words, expected):
    assert answer(words) == expected


@pytest.mark.parametrize(
    ('words', 'named'),
    [
        ('', 'FILE'),
        ('x --left nan', 'nan'),
        ('x --kind c', '--kind'),
        ('x --silent 1', '--silent'),
        ('x --size 0', '--size'),
        ('x --is-wide --length 2', '--size'),
        ('x --is-wide --left 1', '--left'),
    ],
)
def test_what_does_not_fit_is_refused_by_name(words, named):
    with pytest.raises(click.UsageError) as error:
        answer(words)
    assert named in error.value.format_message()


def test_an_option_that_a_command_lacks_cannot_be_forbidden():
    with click.Context(Command('example', example)), pytest.raises(KeyError):
        forbid_options('anything', 'silent')
