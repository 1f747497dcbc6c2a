# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Turns Ctrl-C into a flag that loops check: rclpy turns KeyboardInterrupt into other errors."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
import signal
import threading

_END_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def catch_end_signals() -> Iterator[Callable[[], bool]]:
    """
    Yield a function that returns False once SIGINT, SIGTERM or SIGHUP has arrived, else True.

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
