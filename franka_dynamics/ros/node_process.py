# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A node as a process: scheduling, start, signals, exit code."""

from __future__ import annotations

from collections.abc import Callable, Sequence
import signal
import sys
from types import FrameType
from typing import Any

import rclpy
from rclpy.executors import ExternalShutdownException
from rclpy.signals import SignalHandlerOptions

from .realtime import ON, request_realtime
from .start import start_node
from ..errors import FrankaDynamicsError

REFUSED, INPUT_AT_FAULT = 1, 2
# A closed terminal (SIGHUP) and Ctrl-\ must not leave a torque behind either.
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


class StopRequest:
    """Remembers the signals that end a process instead of dying of them."""

    def __init__(self) -> None:
        self.requested = False
        for number in SIGNALS:
            signal.signal(number, self._note)

    def _note(self, _number: int, _frame: FrameType | None) -> None:
        self.requested = True

    def ignore_from_now_on(self) -> None:
        """
        Let nothing cut the end short.

        Ctrl-C in a terminal reaches every process, and launch sends a SIGINT of its own to each:
        the second one would find Python's own handler while the process is being taken down.
        """
        for number in SIGNALS:
            signal.signal(number, signal.SIG_IGN)


def run_node(make: Callable[[], Any], run: Callable[[Any, StopRequest], int],
             args: Sequence[str] | None = None, realtime: str = ON,
             refusals: tuple[type[FrankaDynamicsError], ...] = ()) -> int:
    """
    Make a node and run it until SIGINT or SIGTERM.

    rclpy's own signal handler ends the context before anything can be published, so it is
    replaced: a signal sets the StopRequest that `run` is handed.

    Parameters
    ----------
    make : callable
        Makes the node.
    run : callable
        Runs it until the request is set; returns the exit code.
    args : sequence of str or None
        The command line; None for the process's own.
    realtime : str
        ON or OFF: whether to ask for SCHED_FIFO where the environment does not say.
    refusals : tuple of types
        Errors on the way up that are a refusal by somebody else, not a parameter's fault.

    Returns
    -------
    int
        What `run` returns, 0 if the context is shut down from outside; on the way up 1 after a
        refusal and 2 if a parameter is at fault.

    """
    no_realtime = request_realtime(realtime)
    stop = StopRequest()
    try:
        try:
            node = start_node(make, args, SignalHandlerOptions.NO)
        except FrankaDynamicsError as error:
            print(f'{error}', file=sys.stderr)
            return REFUSED if isinstance(error, refusals) else INPUT_AT_FAULT
        if no_realtime:
            node.get_logger().warning(no_realtime)
        try:
            return run(node, stop)
        except ExternalShutdownException:
            return 0
        finally:
            node.destroy_node()
    finally:
        rclpy.try_shutdown()
        stop.ignore_from_now_on()
