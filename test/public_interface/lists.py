# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The committed lists of public names."""

from importlib import import_module
from pathlib import Path

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


def offered_names(kind: str) -> set[str]:
    """Return the names of a kind that the code offers."""
    module, _, function = LISTS[kind].partition('.')
    find = getattr(import_module(f'.{module}', __package__), function)
    return find(listed_names(kind))


def write_list(kind: str) -> tuple[set[str], set[str]]:
    """Write the list of a kind as the code offers names; return those added and those gone."""
    listed = listed_names(kind)
    offered = offered_names(kind)
    text = ''.join(f'{name}\n' for name in sorted(offered))
    (FOLDER / f'{kind}.txt').write_text(text, encoding='utf-8')
    return offered - listed, listed - offered
