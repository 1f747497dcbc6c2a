# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Running a lifecycle node as a process whose last words still reach the arm."""

from __future__ import annotations

from collections.abc import Callable, Sequence
import signal
import sys
from types import FrameType
from typing import Any

import rclpy
from rclpy.executors import ExternalShutdownException
from rclpy.experimental import EventsExecutor
from rclpy.lifecycle import TransitionCallbackReturn
from rclpy.signals import SignalHandlerOptions

from .realtime import request_realtime
from .start import start_node
from ..errors import FrankaDynamicsError

REFUSED, INPUT_AT_FAULT = 1, 2
_SPIN_S = 0.1
# A closed terminal (SIGHUP) and Ctrl-\ must not leave a torque behind either.
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


def run_lifecycle_node(make: Callable[[], Any], args: Sequence[str] | None = None) -> int:
    """
    Run a lifecycle node until SIGINT or SIGTERM.

    It has a parameter `autostart`, a text `refusal`, a callable `should_stop` and a method
    `shut_down`.

    rclpy's own signal handler ends the context before anything can be published, so it is
    replaced: a signal asks the node to shut down, which publishes its stop sequence.

    Returns
    -------
    int
        0 after an orderly end, 1 if the node refused to configure or to activate, 2 if a
        parameter is at fault.

    """
    no_realtime = request_realtime()
    stop = StopRequest()
    try:
        try:
            node = start_node(make, args, SignalHandlerOptions.NO)
        except FrankaDynamicsError as error:
            print(f'{error}', file=sys.stderr)
            return INPUT_AT_FAULT
        if no_realtime:
            node.get_logger().warning(no_realtime)
        # A quarter less time per message than the waiting executors. Its spin() fires nothing
        # in some releases; spin_once does.
        executor = EventsExecutor()
        executor.add_node(node)
        try:
            node.should_stop = lambda: stop.requested
            if node.get_parameter('autostart').value:
                for transition in (node.trigger_configure, node.trigger_activate):
                    if transition() != TransitionCallbackReturn.SUCCESS:
                        return REFUSED  # and the log says why
            while not stop.requested and rclpy.ok():
                executor.spin_once(timeout_sec=_SPIN_S)
        except ExternalShutdownException:
            pass
        finally:
            if rclpy.ok():
                node.shut_down()
            executor.shutdown()
            node.destroy_node()
        return 0
    finally:
        rclpy.try_shutdown()
        stop.ignore_from_now_on()


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
