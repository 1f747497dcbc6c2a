# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A bare rclpy relay of joint positions, with which latency.py compares the node."""

from __future__ import annotations

import gc

import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from franka_dynamics.ros.node_process import request_realtime


def main() -> None:
    """Publish each joint state's positions until stopped."""
    request_realtime()
    rclpy.init()
    node = rclpy.create_node('relay')
    publisher = node.create_publisher(
        Float64MultiArray, 'command', QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE)
    )

    def copy(message: JointState) -> None:
        publisher.publish(Float64MultiArray(data=list(message.position)))

    node.create_subscription(
        JointState,
        'joint_states',
        copy,
        QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT),
    )
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    gc.collect()
    gc.freeze()
    try:
        executor.spin()
    except (KeyboardInterrupt, rclpy.executors.ExternalShutdownException):
        pass
    finally:
        rclpy.try_shutdown()


if __name__ == '__main__':
    main()
