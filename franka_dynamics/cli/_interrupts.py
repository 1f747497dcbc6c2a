# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Turns Ctrl-C into a flag that loops check, instead of a KeyboardInterrupt at any line.

The flag is needed because an extension module that calls Python, as rclpy does to create a
message, turns a KeyboardInterrupt raised there into another error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
import signal
import sys
import threading
from types import FrameType

_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def until_interrupted() -> Iterator[Callable[[], bool]]:
    """
    Yield a function that returns True until SIGINT, SIGTERM or SIGHUP arrives.

    SIGINT is heard even if a shell started the process in the background with SIGINT ignored.
    Outside the main thread, where Python handles no signals, the function always returns True.
    """
    came: list[int] = []
    with _handled(_ENDING, lambda number, _frame: came.append(number)):
        yield lambda: not came


def or_interrupted(run: Callable[[], int]) -> int:
    """Call `run` and return its exit status; on Ctrl-C print a sentence and return 130."""
    came: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        came.append(number)
        signal.default_int_handler(number, frame)

    is_default = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    with _handled((signal.SIGINT,) if is_default else (), note):
        try:
            return run()
        except KeyboardInterrupt:
            pass
        except Exception:
            # An extension module may have turned KeyboardInterrupt into another exception.
            if not came:
                raise
    print('franka-dynamics: interrupted', file=sys.stderr)
    return 130


@contextmanager
def _handled(
    numbers: Iterable[int], handler: Callable[[int, FrameType | None], None]
) -> Iterator[None]:
    """Install a handler for signals inside the block if this is the main thread."""
    here = threading.current_thread() is threading.main_thread()
    before = {number: signal.signal(number, handler) for number in numbers if here}
    try:
        yield
    finally:
        for number, former in before.items():
            signal.signal(number, former)
