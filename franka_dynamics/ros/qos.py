# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""QoS profiles of the nodes' topics."""

from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.qos_overriding_options import QoSOverridingOptions

# Of every publisher without a profile below: reliable, because a default subscriber gets nothing
# from a best-effort one, and of depth 1, because an old torque is worth nothing.
PUBLISHER_QOS = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE)

# For subscriptions to joint states and model terms: a subscriber that pauses gets only the newest
# message afterwards.
STATE_QOS = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)

# References must not be lost, and a few may come in a burst.
REFERENCE_QOS = QoSProfile(depth=10, reliability=ReliabilityPolicy.RELIABLE)

# QoS of robot_state_publisher's topic: late subscribers get the last message.
DESCRIPTION_QOS = QoSProfile(
    depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL, reliability=ReliabilityPolicy.RELIABLE
)

# A parameter file may override history, depth and reliability of joint states and commands, which
# other nodes send or receive. rclpy declares a parameter for each of the three.
QOS_OVERRIDES = QoSOverridingOptions.with_default_policies()
