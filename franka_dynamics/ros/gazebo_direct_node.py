# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Between the feedforward node and Gazebo's own joint systems, without ros2_control.

Gazebo tells the state of its model, whose zero is the start pose, and takes one force per joint.
Until the first command comes, the arm is given the gravity torque of its start pose, also while
Gazebo is still paused; Gazebo applies the last force for ever, so nothing falls in between.
Gazebo's physics measures no joint effort and fills the field with zeros: the efforts passed on
are the forces that are being applied.
"""

from __future__ import annotations

from collections.abc import Sequence
import struct
import sys
from typing import Any

import numpy as np
import rclpy
from rclpy.experimental import EventsExecutor
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64, Float64MultiArray

from .messages import state_message
from .node_process import run_node, StopRequest
from .node_settings import load_arm
from .parameters import declare
from .qos import PUBLISHER_QOS, STATE_QOS
from .serialized import JointStateReader
from ..control.limits import finite_command
from ..errors import CommandRefusedError, JointStateError
from ..parameter_schema import specs
from ..simulation.gazebo import start_of

STATE_TOPIC, COMMAND_TOPIC = 'gazebo/joint_states', 'effort_controller/commands'
HOLDING = 'holding the arm: every force topic has a listener'
# Times that the holding torque is sent before it is said to be there: discovery on Gazebo's side
# of the bridge is not seen from here.
_SENT_BEFORE_HOLDING = 200
_LOG_PERIOD_S = 1.0
# A serialized std_msgs/Float64.
_FLOAT64, _PLAIN_CDR = struct.Struct('<4sd'), b'\x00\x01\x00\x00'
_SPIN_S = 0.1


class GazeboDirectNode(Node):
    """Adds the start pose to Gazebo's positions, and spreads a command over the force topics."""

    def __init__(self, **node_options: Any) -> None:
        super().__init__('gazebo_direct', **node_options)
        description = load_arm(declare(self, specs('arm')))
        self._start = start_of(description)
        self._names = list(description.joint_names)
        # From bytes to bytes where it can be: at a thousand states a second every microsecond is
        # a thousandth of a core, and Gazebo does not wait.
        self._reader = JointStateReader(self._names)
        self._states = self.create_publisher(JointState, 'joint_states', PUBLISHER_QOS)
        self._forces = [
            self.create_publisher(Float64, f'gazebo/{name}/cmd_force', PUBLISHER_QOS)
            for name in self._names
        ]
        self._commanded = False
        self._applied = np.zeros(len(self._names))
        self._held = 0
        self.create_subscription(JointState, STATE_TOPIC, self._on_state, STATE_QOS, raw=True)
        self.create_subscription(Float64MultiArray, COMMAND_TOPIC, self._on_command, PUBLISHER_QOS)

    def _on_state(self, data: bytes) -> None:
        try:
            reading = self._reader.read(data)
        except JointStateError as error:
            self.get_logger().error(str(error), throttle_duration_sec=_LOG_PERIOD_S)
            return
        if not self._commanded:
            self._hold()
        position = reading.position + self._start.position
        # As a torque sensor in the drive would show them; None where Gazebo sends zeros.
        effort = self._applied if reading.effort is None else reading.effort
        self._states.publish(
            state_message(reading.stamp_message, self._names, position, reading.velocity, effort)
        )

    def _hold(self) -> None:
        self._send(self._start.torque)
        if all(publisher.get_subscription_count() > 0 for publisher in self._forces):
            self._held += 1
            if self._held == _SENT_BEFORE_HOLDING:
                self.get_logger().info(HOLDING)

    def _on_command(self, message: Float64MultiArray) -> None:
        try:
            torque = finite_command(message.data, self._names)
        except CommandRefusedError as error:
            self.get_logger().error(str(error), throttle_duration_sec=_LOG_PERIOD_S)
            return
        if not self._commanded:
            self.get_logger().info('passing commands on: the first has come')
        self._commanded = True
        self._send(torque)

    def _send(self, torque: np.ndarray) -> None:
        self._applied = torque
        for publisher, value in zip(self._forces, torque):
            publisher.publish(_FLOAT64.pack(_PLAIN_CDR, value))

    def run(self, stop: StopRequest) -> int:
        """Pass states and commands on until asked to stop; return the exit code."""
        executor = EventsExecutor()
        executor.add_node(self)
        try:
            while not stop.requested and rclpy.ok():
                executor.spin_once(timeout_sec=_SPIN_S)
            return 0
        finally:
            executor.shutdown()


def main(args: Sequence[str] | None = None) -> int:
    """Run the node until SIGINT or SIGTERM; 2 if a parameter is at fault."""
    # Real time as for the feedforward node: every torque goes through here, and Gazebo's physics
    # waits for none.
    return run_node(GazeboDirectNode, GazeboDirectNode.run, args)


if __name__ == '__main__':
    sys.exit(main())
