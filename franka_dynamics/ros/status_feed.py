# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Reads the typed statuses on nodes' ~/status: one DiagnosticStatus each, kept for late comers.

`python -m franka_dynamics.ros.status_feed NODE` ends once NODE says that the arm is held.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
import signal
import sys
import time

from diagnostic_msgs.msg import DiagnosticStatus

from .node_process import guest_node
from .qos import DESCRIPTION_QOS
from .statuses import read_status, Status

HELD = 'held'  # the key of a receiver's status whose value says whether the arm is held
_WAIT_S = 0.1


class StatusFeed:
    """The latest status of each of some nodes, given by their full names; a context manager."""

    def __init__(self, *nodes: str) -> None:
        self._latest: dict[str, Status] = {}
        self._guest = guest_node('status')
        own, self._executor = self._guest.__enter__()
        for node in nodes:
            own.create_subscription(
                DiagnosticStatus, f'{node}/status', partial(self._take, node), DESCRIPTION_QOS
            )

    def __enter__(self) -> StatusFeed:
        return self

    def __exit__(self, *_: object) -> None:
        self._guest.__exit__(None, None, None)

    def read(self, seconds: float = 0.0) -> Mapping[str, Status]:
        """Wait for `seconds`; return the latest status of each node that has published one."""
        end = time.monotonic() + seconds
        while True:
            self._executor.spin_once(timeout_sec=max(0.0, end - time.monotonic()))
            if time.monotonic() >= end:
                return self._latest

    def _take(self, node: str, message: DiagnosticStatus) -> None:
        self._latest[node] = read_status(message)


def is_held(status: Status | None) -> bool:
    """Return whether a receiver's status says that the arm is held."""
    return status is not None and status.values.get(HELD) == 'True'


def main() -> int:
    """Wait until the node that the command line names says that the arm is held."""
    node = sys.argv[1]
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # launch ends this process so
    with StatusFeed(node) as feed:
        while not is_held(feed.read(_WAIT_S).get(node)):
            pass
    return 0


if __name__ == '__main__':
    sys.exit(main())
