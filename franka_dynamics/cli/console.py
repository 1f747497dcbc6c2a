# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Output of all commands: sentences, tables, progress and JSON.

A command writes its files, JSON included, before it prints its results, because `| head` can end
it while it prints.
"""

from collections.abc import Callable, Iterable
from contextlib import suppress
import os
from pathlib import Path
import sys
import time
from typing import Any

import click
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    Task,
    TextColumn,
    TimeElapsedColumn,
)

from .option_types import STDOUT_PATH
from ..files import write_text

_LABEL_STYLES = {
    'error': 'red',
    'MISMATCH': 'red',
    'not physical': 'red',
    'warning': 'yellow',
    'pass': 'green',
}
_PLAIN_TEXT_OPTIONS: dict[str, Any] = {
    'markup': False,
    'emoji': False,
    'highlight': False,
}
_PROGRESS_LINE_PERIOD_S = 10.0


class _PipeConsole(Console):
    """A rich console that raises BrokenPipeError when the reader of its output has gone."""

    def on_broken_pipe(self) -> None:
        """Raise BrokenPipeError; rich would exit with 1, which here means a failed check."""
        raise BrokenPipeError


def make_console(*, stderr: bool = False) -> Console:
    """
    Return a rich console for standard output or error that takes no text as markup.

    A process in the background of a shell must not draw over the prompt, so its console counts as
    no terminal. If --json prints the JSON, nothing else is printed to standard output.
    """
    context = click.get_current_context(silent=True)
    prints_json = context is not None and context.params.get('json') == STDOUT_PATH
    return _PipeConsole(
        stderr=stderr,
        quiet=prints_json and not stderr,
        # None lets rich find out whether it is a terminal.
        force_terminal=None if _is_in_foreground(stderr=stderr) else False,
        **_PLAIN_TEXT_OPTIONS,
    )


def _is_in_foreground(*, stderr: bool) -> bool:
    """Return whether a stream is a terminal in whose foreground this process is."""
    stream = sys.stderr if stderr else sys.stdout
    with suppress(OSError, ValueError):
        return os.tcgetpgrp(stream.fileno()) == os.getpgrp()
    return False


def print_rich(*items: Any) -> None:
    """Print tables or other rich objects."""
    for item in items:
        make_console().print(item)


def echo(text: object, label: str = '', style: str = '') -> None:
    """
    Print a text without wrapping, so that paths and commands in it can be copied.

    `label` is printed before the sentence: note, or in colour warning, error, pass or MISMATCH.
    `style` is rich's style of the whole sentence.
    """
    console = make_console()
    if label:
        console.print(f'{label}: ', style=_LABEL_STYLES.get(label), end='')
    console.print(f'{text}', style=style or None, soft_wrap=True)


def echo_each(sentences: Iterable[object], label: str = '', style: str = '') -> None:
    """Print texts, each on its own line."""
    for sentence in sentences:
        echo(sentence, label, style)


def write_json(json_option: Path | None, data: Any) -> None:
    """
    Write data as JSON to a file, or print them for the path '-'; for None do nothing.

    `report.json_types.to_json_types` says how values are converted.
    """
    if json_option is None:
        return
    from ..report.json_types import json_text

    if json_option == STDOUT_PATH:
        print(json_text(data), end='')
    else:
        write_text(json_option, json_text(data))
        make_console(stderr=True).print(f'written: {json_option}', soft_wrap=True)


class ProgressBar(Progress):
    """
    A progress bar in a terminal; elsewhere a line on standard error at most every 10 s.

    `new_task` returns the function by which the work reports its progress.
    """

    def __init__(self) -> None:
        """Make a bar without a task, which draws nothing where output is no terminal."""
        console = make_console()
        columns = (
            TextColumn('{task.description}', markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
        )
        is_disabled = not console.is_terminal
        super().__init__(*columns, console=console, transient=True, disable=is_disabled)
        self._last_line_time = time.monotonic()

    def new_task(self, description: str, total: float | None = None) -> Callable[..., None]:
        """Add a task to the bar; return a function that sets how much of `total` is done."""
        task_id = self.add_task(description, total=total)

        def set_progress(done: float, total: float | None = total, **changes: Any) -> None:
            """Set how much of the task is done, and of how much; print that if it is due."""
            self.update(task_id, completed=done, total=total, **changes)
            if self.disable:
                self._print_line_if_due(self.tasks[self.task_ids.index(task_id)])

        return set_progress

    def _print_line_if_due(self, task: Task) -> None:
        """Print a task's progress as a line, unless one was printed in the last 10 s."""
        if time.monotonic() - self._last_line_time <= _PROGRESS_LINE_PERIOD_S:
            return
        self._last_line_time = time.monotonic()
        total = f'{task.total:.0f}' if task.total else 'an unknown number'
        print(f'{task.description}: {task.completed:.0f} of {total}', file=sys.stderr)


def print_or_write(text: str, path: Path | None) -> None:
    """Print text if the path is None or '-', else write it to the file and print its name."""
    if path in (None, STDOUT_PATH):
        print(text, end='')
    else:
        write_text(path, text)
        echo(f'written: {path}')
