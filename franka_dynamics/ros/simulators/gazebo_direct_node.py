# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
A node that applies torques to an arm driven by Gazebo's own joint systems, not ros2_control.

Gazebo publishes joint positions relative to the start pose, and goes on applying the last force of
each joint. Therefore the node brakes the arm if the sender sends nothing for COMMAND_TIMEOUT_S.
Until the first command the node sends the torques that hold the arm, even while Gazebo is still
paused. Gazebo measures no joint effort and sends zeros, so the node publishes the applied torques
as efforts.
"""

from collections.abc import Sequence
import sys
from typing import Any

import numpy as np
import rclpy
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64

from .command_receiver import CommandReceiver
from .. import SIMULATION_NAMESPACE
from ..joint_states import JointStateReader
from ..messages import joint_state_template
from ..node_process import run_node, StopRequest
from ..parameter_tables import arm_from_parameters
from ..parameters import CheckedParameters, declare_parameters
from ..rclpy_private import Executor
from ..topics import PUBLISHER_QOS, STATE_QOS
from ...arrays import Array
from ...control.settings import Settings
from ...errors import JointStateError
from ...parameter_schema import specs_in_files
from ...simulation.gazebo import holding_torque

# The arm counts as held after the holding torque was sent _MIN_HOLDING_STEP_COUNT times to a
# listening bridge, because this node cannot see whether the bridge has found Gazebo's subscribers.
_MIN_HOLDING_STEP_COUNT = 200
_MIN_LOG_PERIOD_S = 1.0
_SPIN_TIMEOUT_S = 0.1


class GazeboDirectNode(CheckedParameters, Node):
    """A node that passes torques to Gazebo as joint forces, and Gazebo's joint states to ROS."""

    def __init__(self, **node_options: Any) -> None:
        """Make the node for the arm its parameters select; raise an error if they are wrong."""
        super().__init__('gazebo_direct', **{'namespace': SIMULATION_NAMESPACE, **node_options})
        arm = arm_from_parameters(declare_parameters(self, specs_in_files('arm')))
        self._start_position = arm.home_position
        names = arm.joint_names
        settings = Settings(target='gz_ros2_control')
        holding = holding_torque(arm)
        self._receiver = CommandReceiver(self, arm, settings, self._send_forces, holding)
        self._reader = JointStateReader(names)
        self._writer = joint_state_template(names)
        self._latest_state = 0.0, self._start_position, np.zeros(arm.n)
        self._state_publisher = self.create_publisher(JointState, 'joint_states', PUBLISHER_QOS)
        self._force_publishers = [
            self.create_publisher(Float64, f'gazebo/{name}/cmd_force', PUBLISHER_QOS)
            for name in names
        ]
        self._holding_step_count = 0
        self.create_subscription(
            JointState, 'gazebo/joint_states', self._on_joint_state, STATE_QOS, raw=True
        )

    def _on_joint_state(self, data: bytes) -> None:
        """Publish Gazebo's joint state plus start pose; without torques hold or brake the arm."""
        try:
            reading = self._reader.read(data)
        except JointStateError as error:
            self.get_logger().error(str(error), throttle_duration_sec=_MIN_LOG_PERIOD_S)
            return
        position = reading.position + self._start_position
        elapsed = reading.stamp - self._latest_state[0]
        self._latest_state = reading.stamp, position, reading.velocity
        if elapsed < 0.0:  # the world was reset, and the arm is at its start
            self._receiver.reset()
        if elapsed <= 0.0:
            # Gazebo is paused, or was reset and has new joint systems, which need the torque. No
            # time has passed, and so no step is taken: it would use up the change of torque that
            # a command for this very state, which may still come, is allowed.
            self._publish_forces(self._receiver.applied_torque)
            self._count_holding_steps()
        elif not self._receiver.is_following(reading.stamp):
            # While a sender is followed, torques are applied when they arrive, not at a state.
            self._send_forces()
            self._count_holding_steps()
        # If Gazebo sends zeros, `reading.effort` is None, and the applied torque is the effort.
        effort = self._receiver.applied_torque if reading.effort is None else reading.effort
        self._state_publisher.publish(
            self._writer.serialize(reading.stamp_message, position, reading.velocity, effort)
        )

    def _send_forces(self) -> None:
        """Send the torque for the latest joint state to Gazebo, as a force per joint [N m]."""
        self._publish_forces(self._receiver.step(*self._latest_state))

    def _publish_forces(self, torque: Array) -> None:
        """Publish a torque, (n,) [N m], as a force per joint, and the status if it is due."""
        for publisher, value in zip(self._force_publishers, torque.tolist()):
            publisher.publish(Float64(data=value))
        self._receiver.publish_status_if_due()

    def _count_holding_steps(self) -> None:
        """Count steps in which Gazebo gets all joint forces; report when they hold the arm."""
        if all(publisher.get_subscription_count() > 0 for publisher in self._force_publishers):
            self._holding_step_count += 1
            if self._holding_step_count == _MIN_HOLDING_STEP_COUNT:
                self._receiver.is_arm_held = True
                self._receiver.publish_status_if_due()
                self.get_logger().info('the arm is held: every force topic has a listener')

    def run(self, stop: StopRequest) -> int:
        """Serve the node's topics until a signal or ROS's shutdown; return the exit code 0."""
        with Executor() as executor:
            executor.add_node(self)
            while not stop.is_requested and rclpy.ok():
                executor.spin_once(timeout_sec=_SPIN_TIMEOUT_S)
        return 0


def main(args: Sequence[str] | None = None) -> int:
    """Run the node until a signal or ROS ends it; return exit code 0, or 2 if it cannot start."""
    # Real-time scheduling, as for the feedforward node: every torque passes through this process,
    # and Gazebo's physics does not wait for it.
    return run_node(GazeboDirectNode, GazeboDirectNode.run, args)


if __name__ == '__main__':
    sys.exit(main())
