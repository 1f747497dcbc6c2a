# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The signals that ask a command to end, for commands that end in an orderly way."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
import signal
import threading

_END_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def catch_end_signals() -> Iterator[Callable[[], bool]]:
    """
    Yield a function that returns False once SIGINT, SIGTERM or SIGHUP has arrived, else True.

    rclpy turns KeyboardInterrupt into other errors, so loops ask this function instead. Outside
    the main thread, where Python handles no signals, it always returns True.
    """
    if threading.current_thread() is not threading.main_thread():
        yield lambda: True
        return
    has_arrived = threading.Event()
    former_handlers = {}
    for number in _END_SIGNALS:
        former_handlers[number] = signal.signal(number, lambda *_: has_arrived.set())
    try:
        yield lambda: not has_arrived.is_set()
    finally:
        for number, handler in former_handlers.items():
            signal.signal(number, handler)
