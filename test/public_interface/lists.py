# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The committed lists of public names, and the names that were removed."""

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


def removed_names(kind: str) -> dict[str, str]:
    """Return the names of a kind that went with what they named, with words of the changelog."""
    removed = yaml.safe_load((FOLDER / 'removed_names.yaml').read_text('utf-8'))
    return removed.get(kind) or {}


def offered_names(kind: str) -> tuple[set[str], dict[str, str]]:
    """Return the names of a kind that the code offers, and former ones with their last release."""
    module, _, function = LISTS[kind].partition('.')
    found = getattr(import_module(f'.{module}', __package__), function)(listed_names(kind))
    names = found if isinstance(found, dict) else dict.fromkeys(found, '')
    former = {name: until for name, until in names.items() if until}
    return set(names) - set(former), former


def write_list(kind: str) -> tuple[set[str], set[str]]:
    """
    Add the names of a kind that the code offers to its list; return those added and those gone.

    A former name leaves the list. One that is gone stays there until `removed_names.yaml` has it.
    """
    listed = listed_names(kind)
    offered, former = offered_names(kind)
    gone = listed - offered - set(former) - set(removed_names(kind))
    text = ''.join(f'{name}\n' for name in sorted(offered | gone))
    (FOLDER / f'{kind}.txt').write_text(text, encoding='utf-8')
    return offered - listed, gone
