# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Output of all commands (sentences, tables, progress, JSON), and the signals that end them."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
import os
from pathlib import Path
import signal
import sys
import threading
import time
from typing import Any

import click
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
)

from .options import STDOUT_PATH
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
_END_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class _PipeConsole(Console):
    """A rich console that raises BrokenPipeError when the reader of its output has gone."""

    def on_broken_pipe(self) -> None:
        """Raise BrokenPipeError; rich would exit with 1, which here means a failed check."""
        raise BrokenPipeError


def make_console(*, stderr: bool = False) -> Console:
    """
    Return a rich console for standard output or error that takes no text as markup.

    In the background of a shell it is no terminal, so that nothing is drawn over the prompt.
    Beside the JSON of --json without FILE no text is printed.
    """
    context = click.get_current_context(silent=True)
    silent = context is not None and context.params.get('json') == STDOUT_PATH
    in_front = False
    with suppress(OSError, ValueError):
        in_front = os.tcgetpgrp((sys.stderr if stderr else sys.stdout).fileno()) == os.getpgrp()
    quiet = silent and not stderr
    forced = None if in_front else False
    return _PipeConsole(stderr=stderr, quiet=quiet, force_terminal=forced, **_PLAIN_TEXT_OPTIONS)


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

    Commands write before they print their results, because
    `| head` can end them while they print. Arrays become lists, NaN and infinities null;
    `report.elements.to_json_types` converts other types.
    """
    if json_option is not None:
        from ..report.elements import json_text

        if json_option == STDOUT_PATH:
            print(json_text(data), end='')
        else:
            write_text(json_option, json_text(data))
            make_console(stderr=True).print(f'written: {json_option}', soft_wrap=True)


class ProgressBar(Progress):
    """A progress bar in a terminal; elsewhere a line on standard error at most every 10 s."""

    def __init__(self) -> None:
        """Make a bar without a task, which draws nothing where output is no terminal."""
        line = TextColumn('{task.description}', markup=False)
        console = make_console()
        parts = line, BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
        super().__init__(*parts, console=console, transient=True, disable=not console.is_terminal)
        self._last_line_time = time.monotonic()

    def new_task(self, description: str, total: float | None = None) -> Callable[..., None]:
        """Add a task to the bar; return a function that sets how much of `total` is done."""
        task_id = self.add_task(description, total=total)

        def set_progress(done: float, total: float | None = total, **changes: Any) -> None:
            """Set how much of the task is done; without a terminal print that every 10 s."""
            self.update(task_id, completed=done, total=total, **changes)
            if self.disable and time.monotonic() - self._last_line_time > _PROGRESS_LINE_PERIOD_S:
                self._last_line_time = time.monotonic()
                task = self.tasks[self.task_ids.index(task_id)]
                line = f'{task.description}: {task.completed:.0f} of {task.total or 0.0:.0f}'
                print(line, file=sys.stderr)

        return set_progress


def print_or_write(text: str, path: Path | None) -> None:
    """Print text if the path is None or '-', else write it to the file and print its name."""
    if path in (None, STDOUT_PATH):
        print(text, end='')
    else:
        write_text(path, text)
        echo(f'written: {path}')


@contextmanager
def catch_end_signals() -> Iterator[Callable[[], bool]]:
    """
    Yield a function that returns False once SIGINT, SIGTERM or SIGHUP has arrived, else True.

    rclpy turns KeyboardInterrupt into other errors, so that loops call this function instead.
    Outside the main thread, where Python handles no signals, it always returns True.
    """
    ended = threading.Event()
    here = threading.current_thread() is threading.main_thread()
    before = {one: signal.signal(one, lambda *_: ended.set()) for one in _END_SIGNALS if here}
    try:
        yield lambda: not ended.is_set()
    finally:
        for number, former in before.items():
            signal.signal(number, former)
