# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Takes back the torque of a node that died or stands still.

A process of its own beside the node that commands, on the same machine and of the same user. It
hears nothing: whether to stop, from where and to where it reads in the lease of the topic.
"""

from __future__ import annotations

from collections.abc import Sequence
import sys
from typing import Any

import rclpy
from rclpy.experimental import EventsExecutor
from rclpy.node import Node
from std_msgs.msg import Float64MultiArray

from .node_process import run_node, StopRequest
from .parameter_tables import table
from .parameters import declare
from .qos import PUBLISHER_QOS
from .serialized import command_bytes
from ..control.keeper import Keeper, KeeperState
from ..control.limits import LONGEST_STEP_S
from ..errors import SettingsError

NODE_NAME = 'keeper'
_LEAST_SILENCE_S = 0.02


class KeeperNode(Node):
    """Node around a Keeper; `~/command` is to be remapped to the topic of the other's."""

    def __init__(self, **node_options: Any) -> None:
        super().__init__(NODE_NAME, **node_options)
        silence = declare(self, table('keeper'))['silence']
        if 0.0 < silence < _LEAST_SILENCE_S:
            raise SettingsError(
                f'silence is {silence:g} s, but must be at least {_LEAST_SILENCE_S:g}, or 0 for '
                'any.'
            )
        self._publisher = self.create_publisher(Float64MultiArray, '~/command', PUBLISHER_QOS)
        self.keeper = Keeper(
            self._publisher.topic_name,
            self.context.get_domain_id(),
            silence,
            lambda torque: self._publisher.publish(command_bytes(torque)),
            self.get_logger(),
        )

    def destroy_node(self) -> None:
        """Let another keeper watch."""
        self.keeper.close()
        super().destroy_node()


def _run(node: KeeperNode, stop: StopRequest) -> int:
    executor = EventsExecutor()  # of the parameter services alone
    executor.add_node(node)
    try:
        # launch signals every process when one has died: the ramp is finished first.
        while rclpy.ok() and not (
            stop.requested and node.keeper.state is not KeeperState.STOPPING
        ):
            executor.spin_once(timeout_sec=LONGEST_STEP_S)
            node.keeper.look()
        return 0
    finally:
        executor.shutdown()


def main(args: Sequence[str] | None = None) -> int:
    """Watch until SIGINT or SIGTERM; 2 for a bad parameter."""
    return run_node(KeeperNode, _run, args)


if __name__ == '__main__':
    sys.exit(main())
