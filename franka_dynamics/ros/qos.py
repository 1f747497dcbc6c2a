# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Quality of service of the topics that several modules use."""

from rclpy.qos import DurabilityPolicy, QoSPolicyKind, QoSProfile, ReliabilityPolicy
from rclpy.qos_overriding_options import QoSOverridingOptions

# Publishers are reliable, because a default subscriber gets nothing from a best-effort one.
# Publishers have depth 1, because an old torque is worth nothing.
PUBLISHER_QOS = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE)
# For subscriptions to joint states and model terms: a subscriber that pauses gets only the newest
# message afterwards.
STATE_QOS = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
# References must not be lost, and a few may come in a burst.
REFERENCE_QOS = QoSProfile(depth=10, reliability=ReliabilityPolicy.RELIABLE)
# Late subscribers get the last ten reports on references.
REFERENCE_STATE_QOS = QoSProfile(
    depth=10, reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.TRANSIENT_LOCAL
)
# QoS of robot_state_publisher's topic: late subscribers get the last message.
DESCRIPTION_QOS = QoSProfile(
    depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL, reliability=ReliabilityPolicy.RELIABLE
)


def qos_overriding_options() -> QoSOverridingOptions:
    """
    Return options by which a parameter file may override depth and reliability.

    The joint states and commands of feedforward node and simulated arm have these options, because
    other nodes send or receive them. rclpy declares a parameter for each option of a topic.
    """
    return QoSOverridingOptions((QoSPolicyKind.DEPTH, QoSPolicyKind.RELIABILITY))
