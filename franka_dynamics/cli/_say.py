# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What every verb prints and writes by: texts as they are, JSON that every reader takes."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TYPE_CHECKING

from ..files import write_text

if TYPE_CHECKING:
    from rich.console import Console

GET_ROS = 'source it, or install its wheels with pip install -r requirements/ros-jazzy.txt'
PRINTED = Path('-')  # in place of a file
_STYLES = {'note': '', 'warning': 'yellow', 'error': 'red', 'pass': 'green', 'MISMATCH': 'red'}


def terminal(*, stderr: bool = False) -> Console:
    """Return a console for which brackets are brackets, not markup, and colours tables' alone."""
    from rich.console import Console

    class Terminal(Console):
        def on_broken_pipe(self) -> None:
            # rich would exit with 1, by which verbs answer no.
            raise BrokenPipeError

    return Terminal(stderr=stderr, markup=False, highlight=False)


def say(console: Console, text: object, label: str = '', style: str = '') -> None:
    """
    Print one sentence, not wrapped, so that paths and commands in it can be copied.

    Parameters
    ----------
    console : Console
        Of `terminal`.
    text : object
        What it says.
    label : str
        What it is: note, warning, error, pass or MISMATCH, coloured alike by every verb.
    style : str
        Rich's, of the whole sentence.

    """
    if label:
        console.print(f'{label}: ', style=_STYLES.get(label, ''), end='')
    console.print(f'{text}', style=style or None, soft_wrap=True)


def write_json(path: Path, data: Any) -> None:
    """
    Write data as JSON and say where, or print it where the path is PRINTED.

    Arrays become lists, what is not finite null; `report.table.plain` says what else it takes.
    """
    from ..report.table import json_text

    if path == PRINTED:
        print(json_text(data), end='')
    else:
        write_text(path, json_text(data))
        print(f'written: {path}')
