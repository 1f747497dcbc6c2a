# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Files of examples/ as modules, and the command line's commands without running them."""

from contextlib import contextmanager
import importlib.util
from pathlib import Path
import sys

import click

from franka_dynamics.cli.main import root_command

ROOT = Path(__file__).parents[1]
# The examples, by name without a number.
EXAMPLES = {path.stem.lstrip('_0123456789'): path for path in (ROOT / 'examples').rglob('*.py')}


@contextmanager
def loaded(path):
    """Load a Python file as a module that finds its neighbours, for as long as it is needed."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclass looks the module up by name
    sys.path.insert(0, str(path.parent))
    try:
        spec.loader.exec_module(module)
        yield module
    finally:
        sys.path.remove(str(path.parent))
        sys.modules.pop(spec.name, None)  # by whoever loaded it last


def example(name):
    """Return the path of an example by its name without a number."""
    return EXAMPLES[name]


def commands(group=root_command, words=''):
    """Yield the words of every command that is no group, such as `arm check`, and the command."""
    for name, below in group.commands.items():
        if isinstance(below, click.Group):
            yield from commands(below, f'{words} {name}'.strip())
        else:
            yield f'{words} {name}'.strip(), below


def parsed(words):
    """Return the context of a command, with its values; raise click.UsageError for wrong words."""
    found = root_command
    rest = list(words)
    while isinstance(found, click.Group):
        found = found.commands[rest.pop(0)]
    return found.make_context(found.name, rest)
