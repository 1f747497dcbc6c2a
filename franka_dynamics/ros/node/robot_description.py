# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The wait for a URDF on the topic robot_description."""

from collections.abc import Callable
import time
from typing import Any

from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy
from std_msgs.msg import String

from ..parameter_tables import ROBOT_DESCRIPTION_TOPIC
from ..topics import DESCRIPTION_QOS, node_name_of
from ...errors import DescriptionError

ROBOT_DESCRIPTION_TIMEOUT_S = 30.0  # longest wait for robot_description [s]
_WARNING_DELAY_S = 5.0
_WARNING_PERIOD_S = 10.0
_POLL_PERIOD_S = 0.5  # longest time between two calls of `should_stop` [s]


def wait_for_robot_description(node: Any, should_stop: Callable[[], bool]) -> tuple[str, str]:
    """
    Wait for robot_description; return its full name and text, or raise DescriptionError.

    The subscription belongs to a node of its own, because a transition runs in a callback, and no
    executor serves this node's subscriptions meanwhile.
    """
    topic = node.resolve_topic_name(ROBOT_DESCRIPTION_TOPIC)
    received = list[String]()
    listener = Node(
        f'{node.get_name()}_description',
        context=node.context,
        use_global_arguments=False,
        enable_rosout=False,
        start_parameter_services=False,
    )
    listener.create_subscription(String, topic, received.append, DESCRIPTION_QOS)
    executor = SingleThreadedExecutor(context=node.context)
    executor.add_node(listener)
    began = time.monotonic()
    timeout = ROBOT_DESCRIPTION_TIMEOUT_S
    try:
        while not received and (waited := time.monotonic() - began) < timeout:
            executor.spin_once(timeout_sec=_POLL_PERIOD_S)
            if waited >= _WARNING_DELAY_S:
                node.get_logger().warning(
                    f'waiting for {topic} for {waited:.0f} s, where '
                    f'{node.count_publishers(topic)} publish; at most {timeout:g} s',
                    throttle_duration_sec=_WARNING_PERIOD_S,
                )
            if should_stop() or not node.context.ok():
                raise DescriptionError(f'{topic} did not come before this node was told to stop.')
    finally:
        executor.shutdown()
        listener.destroy_node()
    if received:
        return topic, received[0].data
    cause = _absence_cause(node, topic)
    raise DescriptionError(f'{topic} did not arrive within {timeout:g} s; {cause}.')


def _absence_cause(node: Any, topic: str) -> str:
    """Return why no robot_description came, by who publishes it."""
    publishers = node.get_publishers_info_by_topic(topic)
    if not publishers:
        return 'nobody publishes it in this namespace: start robot_state_publisher there'
    for publisher in publishers:
        if publisher.qos_profile.durability is not DurabilityPolicy.TRANSIENT_LOCAL:
            name = node_name_of(publisher)
            return f'{name} publishes it as volatile: make it transient local'
    return f'{node_name_of(publishers[-1])} publishes there, but no text has come'
