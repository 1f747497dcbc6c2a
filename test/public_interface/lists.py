# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The committed lists of public names, and the names that changed."""

from importlib import import_module
from pathlib import Path

import yaml

FOLDER = Path(__file__).parent
# Lists, with the module and function that read the same names from the code.
LISTS = {
    'python': 'python_names.python_names',
    'json': 'json_names.json_names',
    'command_line': 'other_names.command_line_names',
    'ros': 'other_names.ros_names',
    'launch': 'other_names.launch_names',
}


def listed_names(kind: str) -> set[str]:
    """Return the names of the list of a kind."""
    path = FOLDER / f'{kind}.txt'
    return set(path.read_text('utf-8').splitlines()) if path.exists() else set()


def changed_names(kind: str) -> dict[str, dict[str, str]]:
    """Return the names of a kind that were in a list, and what became of them."""
    changes = yaml.safe_load((FOLDER / 'changed_names.yaml').read_text('utf-8'))
    return changes.get(kind) or {}


def offered_names(kind: str) -> set[str]:
    """Return the names of a kind that the code offers, without aliases of names that changed."""
    return all_offered_names(kind) - set(changed_names(kind))


def all_offered_names(kind: str) -> set[str]:
    """Return the names of a kind that the code offers, with aliases."""
    module, _, function = LISTS[kind].partition('.')
    return getattr(import_module(f'.{module}', __package__), function)(listed_names(kind))


def write_list(kind: str) -> tuple[set[str], set[str]]:
    """
    Add the names of a kind that the code offers to its list; return those added and those gone.

    A name that is gone stays in the list until `changed_names.yaml` has it.
    """
    listed, offered = listed_names(kind), offered_names(kind)
    gone = listed - offered - set(changed_names(kind))
    text = ''.join(f'{name}\n' for name in sorted(offered | gone))
    (FOLDER / f'{kind}.txt').write_text(text, encoding='utf-8')
    return offered - listed, gone
