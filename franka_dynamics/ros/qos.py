# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Quality of service of all topics."""

from rclpy.qos import DurabilityPolicy, QoSPolicyKind, QoSProfile, ReliabilityPolicy
from rclpy.qos_overriding_options import QoSOverridingOptions

# Reliable, because a best-effort publisher never reaches a default subscriber; depth 1, because
# an old torque is worth nothing.
PUBLISHER_QOS = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE)
# Best effort with depth 1: after a pause of the reader only the newest state is delivered.
STATE_QOS = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
# The node receives its own commands too, a thousand per second. It reads the queue fifty times a
# second, and a message of another sender must not be lost meanwhile.
WATCH_QOS = QoSProfile(depth=256, reliability=ReliabilityPolicy.BEST_EFFORT)
# References must not be lost, and a few may come in a burst.
REFERENCE_QOS = QoSProfile(depth=10, reliability=ReliabilityPolicy.RELIABLE)
# Late subscribers get the last reports on references.
REFERENCE_STATE_QOS = QoSProfile(
    depth=10, reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.TRANSIENT_LOCAL
)
# Like the publisher of robot_state_publisher: late subscribers get the last message.
DESCRIPTION_QOS = QoSProfile(
    depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL, reliability=ReliabilityPolicy.RELIABLE
)


def qos_overriding_options() -> QoSOverridingOptions:
    """
    Return options by which a parameter file may override depth and reliability.

    They apply to joint states and commands, which other nodes send and receive. rclpy declares a
    parameter for each.
    """
    return QoSOverridingOptions((QoSPolicyKind.DEPTH, QoSPolicyKind.RELIABILITY))
