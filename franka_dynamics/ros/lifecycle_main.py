# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Running a lifecycle node as a process whose last words still reach the arm."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import rclpy
from rclpy.experimental import EventsExecutor
from rclpy.lifecycle import TransitionCallbackReturn

from .node_process import REFUSED, run_node, StopRequest

_SPIN_S = 0.1


def run_lifecycle_node(make: Callable[[], Any], args: Sequence[str] | None = None) -> int:
    """
    Run a lifecycle node until SIGINT or SIGTERM, then have it shut down.

    It has a parameter `autostart`, a text `refusal`, a callable `should_stop` and a method
    `shut_down`, which publishes its stop sequence.

    Returns
    -------
    int
        0 after an orderly end, 1 if the node refused to configure or to activate, 2 if a
        parameter is at fault.

    """
    return run_node(make, _run, args)


def _run(node: Any, stop: StopRequest) -> int:
    # A quarter less time per message than the waiting executors. Its spin() fires nothing in
    # some releases; spin_once does.
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
        return 0
    finally:
        if rclpy.ok():
            node.shut_down()
        executor.shutdown()
