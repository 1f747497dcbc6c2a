# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""QoS profiles and types of the nodes' topics, and who publishes or subscribes there."""

from collections.abc import Callable
from typing import Any

from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.qos_overriding_options import QoSOverridingOptions

from .rclpy_private import with_sequence_number

TORQUE_TYPE = 'std_msgs/msg/Float64MultiArray'
TRAJECTORY_TOPIC = '~/feedforward_trajectory'  # of whole motions with their torques

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
    depth=1,
    durability=DurabilityPolicy.TRANSIENT_LOCAL,
    reliability=ReliabilityPolicy.RELIABLE,
)

# A parameter file may override history, depth and reliability of joint states and commands, which
# other nodes send or receive. rclpy declares a parameter for each of the three.
QOS_OVERRIDES = QoSOverridingOptions.with_default_policies()
# The name that rmw gives to a node of which only the topics are discovered, and the name and
# namespace that rmw_fastrtps gives to a program that uses the middleware without ROS.
UNKNOWN_NODE_NAME = '_NODE_NAME_UNKNOWN_'
NO_NODE_NAME = '_CREATED_BY_BARE_DDS_APP_'


def subscribe_numbered(
    node: Any,
    kind: type,
    topic: str,
    callback: Callable[[bytes, int | None], None],
    **kwargs: Any,
) -> Any:
    """Return a subscription to serialized, numbered messages, whose QoS users may override."""
    kwargs |= {'raw': True, 'qos_overriding_options': QOS_OVERRIDES}
    return node.create_subscription(kind, topic, with_sequence_number(callback), **kwargs)


def node_name_of(endpoint: Any) -> str:
    """Return the full name of the node that owns a publisher or subscription, if it has one."""
    if endpoint.node_name == NO_NODE_NAME:
        return 'a program without ROS'
    return f'{endpoint.node_namespace.rstrip("/")}/{endpoint.node_name}'


def process_of(endpoint: Any) -> bytes:
    """
    Return what the gids of all endpoints of a process have in common.

    It is the GUID prefix of the process's DDS participant (RTPS 2.5, 8.2.4): all nodes of a
    context share one.
    """
    return bytes(endpoint.endpoint_gid)[:12]


def publisher_names(node: Any, topic: str) -> list[str]:
    """
    Return the full names of the nodes that publish on a topic, except one publisher of `node`.

    Another node of the same name stays listed; a dead node stays listed for up to 20 s. A node
    whose name is not discovered yet, which may be later than its messages, is left out.
    """
    found = node.get_publishers_info_by_topic(topic)
    names = sorted(
        node_name_of(endpoint) for endpoint in found if endpoint.node_name != UNKNOWN_NODE_NAME
    )
    own_name = node.get_fully_qualified_name()
    if own_name in names:
        names.remove(own_name)
    return names
