# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Entry points of the nodes.

A node's imports take about a second. A signal during the imports, also in `python -m
franka_dynamics.ros.NAME`, ends the process at once with exit status 0, because nothing has been
commanded yet.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
import os
import signal

# The same signals as in node_process, which is not imported here because its import is slow.
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


def end_at_once() -> None:
    """Let signals end this process until a node handles them."""
    for number in _SIGNALS:
        signal.signal(number, lambda *_: os._exit(0))


def _command(module: str) -> Callable[[], int]:
    def main() -> int:
        end_at_once()
        status: int = import_module(f'franka_dynamics.ros.{module}').main()
        return status

    return main


feedforward_node = _command('feedforward_node')
gazebo_direct_node = _command('gazebo_direct_node')
simulator_node = _command('simulator_node')
trajectory_action_node = _command('trajectory_action_node')
