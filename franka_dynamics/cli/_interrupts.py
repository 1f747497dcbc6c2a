# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Ctrl-C as a question that a loop asks, not as an exception in the middle of it.

An extension module that calls Python, as rclpy does to make a message, turns a KeyboardInterrupt
that is raised there into an error of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
import signal
import threading
from types import FrameType

_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def until_interrupted() -> Iterator[Callable[[], bool]]:
    """
    Yield a function that is true until SIGINT, SIGTERM or SIGHUP has come.

    Not even a background shell's ignored SIGINT is in the way. Outside the main thread, where
    Python takes no signals, it stays true.
    """
    came: list[int] = []

    def note(number: int, _frame: FrameType | None) -> None:
        came.append(number)

    before = (
        {number: signal.signal(number, note) for number in _ENDING} if _takes_signals() else {}
    )
    try:
        yield lambda: not came
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def interrupts_noted() -> Iterator[Callable[[], bool]]:
    """Yield a function that tells whether Ctrl-C has raised a KeyboardInterrupt anywhere."""
    came: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        came.append(number)
        signal.default_int_handler(number, frame)

    before = signal.getsignal(signal.SIGINT)
    ours = before is signal.default_int_handler and _takes_signals()
    if ours:
        signal.signal(signal.SIGINT, note)
    try:
        yield lambda: bool(came)
    finally:
        if ours:
            signal.signal(signal.SIGINT, before)


def _takes_signals() -> bool:
    return threading.current_thread() is threading.main_thread()
