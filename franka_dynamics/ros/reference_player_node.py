# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Publishes one excitation trajectory as a reference and ends when it is over."""

from __future__ import annotations

from collections.abc import Sequence
import sys
import time
from typing import Any

import rclpy
from rclpy.duration import Duration
from rclpy.node import Node
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory

from .arm_parameters import load_arm
from .messages import JointReading, JointStateReader, trajectory_message
from .node_process import start_node
from .parameters import declare, refuse_unknown, values
from .qos import REFERENCE_QOS, STATE_QOS
from .reference_player_parameters import PLAYER_PARAMETERS
from ..control.multisine import multisine
from ..errors import FrankaDynamicsError, JointStateError

REFERENCE_TOPIC = 'feedforward/reference'
NOBODY_THERE, INPUT_AT_FAULT = 1, 2


class ReferencePlayerNode(Node):
    """Plays a multisine about the arm's home pose."""

    def __init__(self, **node_options: Any) -> None:
        super().__init__('reference_player', **node_options)
        declare(self, PLAYER_PARAMETERS)
        refuse_unknown(self, PLAYER_PARAMETERS)
        self._plan = values(self, PLAYER_PARAMETERS)
        self._description = load_arm(self._plan)
        self._reader = JointStateReader(self._description.joint_names)
        self._latest: JointReading | None = None
        self._publisher = self.create_publisher(JointTrajectory, REFERENCE_TOPIC, REFERENCE_QOS)
        self._subscription = self.create_subscription(
            JointState, 'joint_states', self._on_state, STATE_QOS)

    def play(self) -> int:
        """Publish the motion, wait until the arm's clock has passed its end; exit status."""
        until = time.monotonic() + self._plan['wait']
        while self._latest is None or self._publisher.get_subscription_count() == 0:
            rclpy.spin_once(self, timeout_sec=0.1)
            if time.monotonic() > until:
                missing = ('joint_states of this arm' if self._latest is None
                           else f'a listener on {self._publisher.topic_name}')
                print(f'{missing} did not appear within {self._plan["wait"]:g} s.',
                      file=sys.stderr)
                return NOBODY_THERE
        request = multisine(self._description, self._plan['duration'],
                            self._plan['amplitude'])
        # A zero stamp starts it on arrival, and the node leads the arm to its first point.
        times = self._plan['lead_in'] + request.times
        self._publisher.publish(trajectory_message(
            list(request.joint_names), times, request.positions, request.velocities,
            request.accelerations))
        # Reading a kilohertz of joint states only to see time pass would cost a tenth of a core.
        self.destroy_subscription(self._subscription)
        clock = self.get_clock()
        end = clock.now() + Duration(seconds=float(times[-1]))
        while clock.now() < end:
            rclpy.spin_once(self, timeout_sec=0.05)
        return 0

    def _on_state(self, message: JointState) -> None:
        try:
            self._latest = self._reader.read(message)
        except JointStateError as error:
            self.get_logger().warning(str(error), throttle_duration_sec=1.0)


def main(args: Sequence[str] | None = None) -> int:
    """Play once; 1 if nobody was there, 2 if a parameter is at fault."""
    try:
        node = start_node(ReferencePlayerNode, args)
        try:
            return node.play()
        finally:
            node.destroy_node()
    except FrankaDynamicsError as error:
        print(f'{error}', file=sys.stderr)
        return INPUT_AT_FAULT
    except KeyboardInterrupt:
        return 130
    finally:
        rclpy.try_shutdown()


if __name__ == '__main__':
    sys.exit(main())
