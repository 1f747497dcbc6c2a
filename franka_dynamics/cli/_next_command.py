# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Writes the commands that a command suggests as the next ones, with all options they need."""

from __future__ import annotations

from dataclasses import is_dataclass
import shlex
from typing import Any

import click

from ..names import AS_LISTED

# Parameters that change what a command computes from an arm and its recording, or whom it asks.
_CARRIED = (
    *('arm', 'hand', 'inertial_set', 'repair', 'payload', 'arm_prefix', 'joint_names'),
    *('topic', 'command', 'node', 'stamps', 'effort_scale', 'gravity', 'rate', 'cutoff', 'trim'),
)


def next_command(words: str, *arguments: object, **values: Any) -> str:
    """
    Return a command to suggest, such as 'bag replay', with the running command's options.

    Of the command's own options those in _CARRIED are written, unless they have their default: a
    value is that of `values`, otherwise of the running command's parameter of the same name. A
    dataclass among `values`, such as an ArmChoice, stands for all its fields; None leaves an
    option out. `arguments` follow `words` as they are.
    """
    context = click.get_current_context()
    known = dict(context.params)
    for name, value in values.items():
        known |= vars(value) if is_dataclass(value) else {name: value}
    target: Any = context.find_root().command
    for word in words.split():
        target = target.commands[word]
    options = []
    for param in target.params:
        if param.name in _CARRIED and param.name in known:
            text = _text(known[param.name])
            alone = click.Context(target)
            default = _text(param.process_value(alone, param.get_default(alone)))
            if text not in ('', AS_LISTED) and (text != default or param.name == 'arm'):
                options += [param.opts[0], text]
    if any(param.name == 'xacro' for param in target.params):
        options += [f'{name}:={value}' for name, value in known.get('xacro', ())]
    return f'{words} {shlex.join([*map(str, arguments), *options])}'.strip()


def _text(value: Any) -> str:
    """Return a value as an option takes it; '' for None."""
    if isinstance(value, tuple):
        return ','.join(map(_text, value))
    if isinstance(value, float):
        return f'{value:.12g}'
    return '' if value is None else f'{value}'
