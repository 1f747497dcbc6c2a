# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`franka-dynamics node monitor`: show the state of the running feedforward nodes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
import sys
import time
from typing import Any

from rich.live import Live

from ._action import Action
from ._interrupts import until_interrupted
from ._options import PRINTED, printed_json_option
from ._say import show, terminal, write_json
from ..options import option

# Longest wait for the nodes' remaining values once all nodes were heard. A node publishes
# diagnostics once per second, some values only in the second message. Torque terms that need
# measured effort or commands may never arrive.
_PATIENCE_S = 3.0
_PERIOD_S = 0.25  # time between two pictures

# Wait after all values have arrived: the observer of the external torque starts with the topic's
# first subscriber.
_SETTLE_S = 0.3


@dataclass(frozen=True, kw_only=True)
class Monitor(Action):
    """Show rates, latencies, states and torques of running feedforward nodes in a terminal."""

    namespace: tuple[str, ...] = option(
        "only nodes in these namespaces, '/' for the root namespace (default: all nodes)",
        'NS',
        default=(),
    )
    once: bool = option('show one picture and end', default=False)
    json: Path | None = printed_json_option('with --once: the shown values')
    timeout: float = option(
        'with --once: how long to wait for a node [s]', 'S', default=5.0, least=0.01, most=3600.0
    )

    def run(self) -> int:
        """Show the nodes; with --once return 1 if a node is missing, silent or at fault."""
        if not self.once:
            self.require_with('--once', 'json', 'timeout')
        from ..ros.monitor_feed import MonitorFeed

        namespaces = [namespace.strip('/') for namespace in self.namespace]
        feed = MonitorFeed(namespaces)
        try:
            return self._once(feed, namespaces) if self.once else _live(feed)
        finally:
            feed.close()

    def _once(self, feed: Any, namespaces: list[str]) -> int:
        from ._monitor_view import monitor_view
        from ..ros.monitor_feed import at_fault

        missing = _wait(feed, namespaces, self.timeout)
        now, nodes = time.monotonic(), feed.nodes
        if self.json:
            write_json(self.json, {'nodes': [node.as_dict(now) for node in nodes]})
        if nodes and self.json != PRINTED:
            show(monitor_view(nodes, now, terminal().width))
        faults = [
            f'No feedforward node was heard {place} within {self.timeout:g} s; is it '
            'running, in this ROS_DOMAIN_ID?'
            for place in missing
        ] + at_fault(nodes, now)
        for sentence in faults:
            print(sentence, file=sys.stderr)
        return 1 if faults else 0


def _wait(feed: Any, namespaces: list[str], timeout: float) -> list[str]:
    """
    Wait at most `timeout` [s] for a node in every namespace and for its torques.

    Return where no node was heard, as phrases such as "in namespace /left".
    """
    began = time.monotonic()
    heard_at = complete_at = float('inf')
    while True:
        feed.poll()
        now = time.monotonic()
        heard = {node.namespace for node in feed.arms}
        missing = [f'in namespace /{name}' for name in namespaces if name not in heard]
        if not (namespaces or heard):
            missing = ['anywhere']
        if not missing:
            heard_at = min(heard_at, now)
            complete_at = min(complete_at, now) if feed.complete else float('inf')
        if now - complete_at > _SETTLE_S or now - heard_at > _PATIENCE_S or now - began > timeout:
            return missing
        time.sleep(0.02)


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
