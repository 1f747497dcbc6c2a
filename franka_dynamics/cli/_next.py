# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The commands that a command prints as the next ones, with all options that they need."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
import shlex
from typing import Any

import click

from ..names import AS_LISTED

# Options that change what a command computes from an arm and its recording, or whom it asks.
_CARRIED_OPTIONS = (
    *('--arm', '--hand', '--set', '--repair', '--payload', '--arm-prefix', '--joint-names'),
    *('--topic', '--command', '--node', '--stamps', '--effort-scale', '--gravity'),
    *('--rate', '--cutoff', '--trim'),
)
_FLAGS = {'inertial_set': '--set'}  # of names that are not spelled as their option
_UNSET = ('', AS_LISTED)


def next_command(words: str, *arguments: object, **values: Any) -> str:
    """
    Return the words of a command, such as 'bag replay', with the options that change its answer.

    Of the command's own options those in _CARRIED_OPTIONS are written, unless they have their
    default: a value is that of `values`, otherwise of the running command's option of the same
    flag. A dataclass among `values`, such as an ArmChoice, stands for all its fields; None leaves
    an option out. `arguments` follow `words` as they are.
    """
    context = click.get_current_context()
    known = _running_options(context)
    for name, value in values.items():
        many = _fields_of(value) if is_dataclass(value) else {name: value}
        known |= {_FLAGS.get(one, f'--{one.replace("_", "-")}'): it for one, it in many.items()}
    target: Any = context.find_root().command
    for word in words.split():
        target = target.commands[word]
    alone = click.Context(target)
    options = []
    for param in target.params:
        flag = param.opts[0]
        if flag not in _CARRIED_OPTIONS or flag not in known:
            continue
        text = _text(known[flag])
        default = _text(param.process_value(alone, param.get_default(alone)))
        if text not in _UNSET and (text != default or flag == '--arm'):
            options += [flag, text]
    return f'{words} {shlex.join([*map(str, arguments), *options])}'.strip()


def _fields_of(value: Any) -> Mapping[str, Any]:
    """Return the fields of a dataclass by name."""
    return {one.name: getattr(value, one.name) for one in fields(value)}


def _running_options(context: click.Context) -> dict[str, Any]:
    """Return the values of the running command's options, by flag."""
    params = (one for one in context.command.params if isinstance(one, click.Option))
    return {one.opts[0]: context.params.get(f'{one.name}') for one in params}


def _text(value: Any) -> str:
    """Return a value as an option takes it; '' for None."""
    if isinstance(value, tuple):
        return ','.join(map(_text, value))
    if isinstance(value, float):
        return f'{value:.12g}'
    return '' if value is None else f'{value}'
