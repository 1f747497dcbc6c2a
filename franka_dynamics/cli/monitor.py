# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`franka-dynamics node monitor`: what the feedforward nodes of this machine's graph are doing."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
import sys
import time
from typing import Any

from ._action import Action
from ._interrupts import until_interrupted
from ._options import PRINTED, printed_json_option
from ._say import terminal, write_json
from ..options import option

# Diagnostics come once per second, and some things are known from the second on; a term may
# never come, where there is no effort or no command.
_PATIENCE_S = 3.0
_PERIOD_S = 0.25  # of the pictures
_SETTLE_S = 0.3  # the observer of external torque begins with its first listener


@dataclass(frozen=True, kw_only=True)
class Monitor(Action):
    """Show rates, latencies, states and torques of running feedforward nodes in a terminal."""

    namespace: tuple[str, ...] = option(
        "only nodes in this namespace ('/' for none); may be repeated (default: all that "
        'are heard)',
        'NS',
        default=(),
    )
    once: bool = option('show one picture and end', default=False)
    json: Path | None = printed_json_option('with --once: what is shown')
    timeout: float = option(
        'with --once: how long to wait for an arm [s]', 'S', default=5.0, least=0.01, most=3600.0
    )

    def run(self) -> int:
        """Show; with --once exit 1 if an arm is not heard, is silent or reports an error."""
        if not self.once:
            self.refuse('anything but --once', 'json', 'timeout')
        from ..ros.monitor_feed import MonitorFeed

        namespaces = [namespace.strip('/') for namespace in self.namespace]
        feed = MonitorFeed(namespaces)
        try:
            if self.once:
                return _once(feed, namespaces, self)
            return _live(feed)
        finally:
            feed.close()


def _once(feed: Any, namespaces: list[str], arguments: Monitor) -> int:
    from ._monitor_view import monitor_view
    from ..ros.monitor_feed import at_fault

    missing = _wait(feed, namespaces, arguments.timeout)
    now = time.monotonic()
    nodes = feed.nodes
    if arguments.json:
        data = {'nodes': [node.as_dict(now) for node in nodes]}
        write_json(arguments.json, data)
    if nodes and arguments.json != PRINTED:
        console = terminal()
        console.print(monitor_view(nodes, now))
    faults = [
        f'No feedforward node was heard {place} within {arguments.timeout:g} s; is it '
        'running, in this ROS_DOMAIN_ID?'
        for place in missing
    ] + at_fault(nodes, now)
    for sentence in faults:
        print(sentence, file=sys.stderr)
    return 1 if faults else 0


def _wait(feed: Any, namespaces: list[str], timeout: float) -> list[str]:
    """Wait for every arm and its torques; return where none was heard."""
    began = time.monotonic()
    heard_at = complete_at = float('inf')
    while True:
        feed.poll()
        now = time.monotonic()
        heard = {node.namespace for node in feed.arms}
        missing = (
            [f'in namespace /{namespace}' for namespace in namespaces if namespace not in heard]
            if namespaces
            else []
            if heard
            else ['anywhere']
        )
        if not missing:
            heard_at = min(heard_at, now)
            complete_at = min(complete_at, now) if feed.complete else float('inf')
        if now - complete_at > _SETTLE_S or now - heard_at > _PATIENCE_S or now - began > timeout:
            return missing
        time.sleep(0.02)


def _live(feed: Any) -> int:
    from rich.live import Live

    from ._monitor_view import monitor_view

    console = terminal()
    with (
        until_interrupted() as go_on,
        Live(console=console, screen=console.is_terminal, auto_refresh=False) as live,
    ):
        while go_on():
            feed.poll()
            live.update(
                monitor_view(feed.nodes, time.monotonic()),
                refresh=console.is_terminal,
            )
            time.sleep(_PERIOD_S)
    return 0
