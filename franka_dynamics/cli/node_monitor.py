# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`franka-dynamics node monitor`: show the state of the running feedforward nodes."""

from __future__ import annotations

from dataclasses import dataclass
import time
from typing import Any

from rich.live import Live

from ._action import Action
from ._interrupts import until_interrupted
from ._say import terminal
from ..options import option

_PERIOD_S = 0.25  # time between two pictures


@dataclass(frozen=True, kw_only=True)
class Monitor(Action):
    """Show rates, latencies, states and torques of running feedforward nodes in a terminal."""

    namespace: tuple[str, ...] = option(
        "only nodes in these namespaces, '/' for the root namespace (default: all nodes)",
        'NS',
        default=(),
    )

    def run(self) -> int:
        """Show the nodes until Ctrl-C."""
        from ..ros.observer import Monitor

        feed = Monitor([namespace.strip('/') for namespace in self.namespace])
        try:
            return _live(feed)
        finally:
            feed.close()


def _live(feed: Any) -> int:
    from ._monitor_view import monitor_view

    console = terminal()
    in_front = console.is_terminal
    with (
        until_interrupted() as go_on,
        Live(console=console, screen=in_front, auto_refresh=False) as live,
    ):
        while go_on():
            feed.poll()
            live.update(
                monitor_view(feed.nodes, time.monotonic(), *console.size), refresh=in_front
            )
            time.sleep(_PERIOD_S)
    return 0
