# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The command line's commands, and their words parsed without running them."""

import click

from franka_dynamics.cli.main import command


def commands(group=command, words=''):
    """Yield the words of every command that is no group, such as `arm check`, and the command."""
    for name, below in group.commands.items():
        if isinstance(below, click.Group):
            yield from commands(below, f'{words} {name}'.strip())
        else:
            yield f'{words} {name}'.strip(), below


def parsed(words):
    """Return the context of a command, with its values; raise click.UsageError for wrong words."""
    found, rest = command, list(words)
    while isinstance(found, click.Group):
        found = found.commands[rest.pop(0)]
    return found.make_context(found.name, rest)
