# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Takes back the torque of a node that was killed.

A process of its own beside the node that commands; it needs no model. It hears the commands,
knows by the kernel when the commanding process ends, and then publishes the target's stop
sequence to the same topic.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
import sys
import threading
import time
from typing import Any

import numpy as np
import rclpy
from rclpy.clock import Clock, ClockType
from rclpy.experimental import EventsExecutor
from rclpy.node import Node
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from .node_process import run_node, StopRequest
from .parameters import declare, table, values
from .process_beacon import BeaconWatch
from .qos import PUBLISHER_QOS, STATE_QOS
from .serialized import CommandBytes
from ..control.keeper import Keeper, KeeperState
from ..control.limits import LONGEST_STEP_S
from ..control.settings import Stop, target_profile
from ..errors import SettingsError

NODE_NAME = 'keeper'
_SPIN_S = 0.1
_REMEMBERED = 256  # commands of ours that come back to us
_LEAST_SILENCE_S, _CHECKS_PER_SILENCE = 0.02, 10


class KeeperNode(Node):
    """Node around a Keeper; `~/command` and `~/gravity` are to be remapped to the other's."""

    def __init__(self, **node_options: Any) -> None:
        super().__init__(NODE_NAME, **node_options)
        declare(self, table('keeper'))
        parameters = values(self, table('keeper'))
        stop = target_profile(parameters['target']).stop
        silence = parameters['silence']
        if 0.0 < silence < _LEAST_SILENCE_S:
            raise SettingsError(
                f'silence is {silence:g} s, but must be at least {_LEAST_SILENCE_S:g}, or 0 for '
                'never.'
            )
        self._keeper = Keeper(stop, silence)
        self._sent: deque[bytes] = deque(maxlen=_REMEMBERED)
        self._bytes: CommandBytes | None = None
        self._stepped = self._began = 0.0
        self._gravity_heard = False
        self._publisher = self.create_publisher(Float64MultiArray, '~/command', PUBLISHER_QOS)
        self.create_subscription(
            Float64MultiArray, '~/command', self._on_command, STATE_QOS, raw=True
        )
        if stop is Stop.HOLD_GRAVITY:
            self._gravity_topic = self.create_subscription(
                JointState, '~/gravity', self._on_gravity, STATE_QOS
            ).topic_name
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self._step_timer = self.create_timer(LONGEST_STEP_S, self._on_step, clock=steady)
        self._step_timer.cancel()
        if silence:
            self.create_timer(silence / _CHECKS_PER_SILENCE, self._on_check, clock=steady)
        # Set by the thread that waits in the kernel, and looked at by a timer: the executor that
        # costs least has no guard conditions.
        self._born, self._died = threading.Event(), threading.Event()
        self.create_timer(LONGEST_STEP_S, self._look_for_process, clock=steady)
        self._watch = BeaconWatch(self._publisher.topic_name, self._born.set, self._died.set)

    @property
    def stopping(self) -> bool:
        """Whether the stop sequence is being published."""
        return self._keeper.state is KeeperState.STOPPING

    def destroy_node(self) -> None:
        """End the thread first."""
        self._watch.close()
        super().destroy_node()

    def _look_for_process(self) -> None:
        if self._died.is_set():
            self._died.clear()
            self._begin(self._keeper.note_death())
            if self._keeper.lacks:
                self.get_logger().warning(
                    f'the process that commands {self._publisher.topic_name} has ended before a '
                    f'{self._keeper.lacks} of it was heard: no stop sequence is published; if its '
                    'receiver may hold a torque, deactivate that'
                )
        if self._born.is_set():
            self._born.clear()
            self._keeper.note_birth()
            self.get_logger().info(
                f'the process that commands {self._publisher.topic_name} is watched'
            )

    def _on_command(self, data: bytes) -> None:
        if data in self._sent:
            return
        if self._keeper.torque is None:
            self.get_logger().info(f'commands are heard on {self._publisher.topic_name}')
        self._keeper.note_command(
            np.array(deserialize_message(data, Float64MultiArray).data), time.monotonic()
        )

    def _on_gravity(self, message: JointState) -> None:
        if not self._gravity_heard:
            self._gravity_heard = True
            self.get_logger().info(f'gravity is heard on {self._gravity_topic}')
        self._keeper.note_gravity(np.array(message.effort), time.monotonic())

    def _on_check(self) -> None:
        self._begin(self._keeper.check_silence(time.monotonic()))

    def _begin(self, begins: bool) -> None:
        if not begins:
            return
        torque = self._keeper.torque
        assert torque is not None, 'a stop begins from a torque'
        self._began = self._stepped = time.monotonic()
        self._step_timer.reset()
        self._publish_step(LONGEST_STEP_S)
        self.get_logger().error(
            f'{self._keeper.reason}: publishing the stop sequence on '
            f'{self._publisher.topic_name} from {np.round(torque, 3).tolist()} N m'
        )

    def _on_step(self) -> None:
        now = time.monotonic()
        if not self._publish_step(now - self._stepped):
            self._step_timer.cancel()
            self.get_logger().warning(
                f'the stop sequence ended after {1e3 * (now - self._began):.0f} ms'
            )
        self._stepped = now

    def _publish_step(self, elapsed: float) -> bool:
        torque = self._keeper.step(elapsed)
        if torque is None:
            return False
        if self._bytes is None:
            self._bytes = CommandBytes(len(torque))
        data = self._bytes.serialize(torque)
        self._sent.append(data)
        self._publisher.publish(data)
        return True


def _run(node: KeeperNode, stop: StopRequest) -> int:
    executor = EventsExecutor()
    executor.add_node(node)
    try:
        # launch signals every process when one has died: the ramp is finished first.
        while rclpy.ok() and not (stop.requested and not node.stopping):
            executor.spin_once(timeout_sec=_SPIN_S)
        return 0
    finally:
        executor.shutdown()


def main(args: Sequence[str] | None = None) -> int:
    """Watch until SIGINT or SIGTERM; 2 for a bad parameter."""
    return run_node(KeeperNode, _run, args)


if __name__ == '__main__':
    sys.exit(main())
