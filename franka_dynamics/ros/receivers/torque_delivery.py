# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Why torques that a node sends are not received or not applied, and who else sends some."""

from collections.abc import Mapping, Sequence
from typing import Any

from rclpy.qos import qos_check_compatible

from ..topics import node_name_of, publisher_names, TORQUE_TYPE, TRAJECTORY_TOPIC


def delivery_problem(
    node: Any, topic: str, idle_reasons: Mapping[str, str], manager_problem: str
) -> str:
    """
    Return why a node's torques are not received or applied, or who else sends some; else ''.

    `idle_reasons` says of each receiver by name why it applies no torque, '' if it does, and
    `manager_problem` why a controller manager cannot say it.
    """
    if rivals := publisher_names(node, topic):
        return other_senders_text(topic, rivals)
    if mismatch := _mismatch(node, topic):
        return mismatch
    for name, reason in idle_reasons.items():
        if reason:
            return f'{name} applies no torque: it {reason}'
    if idle_reasons:
        return manager_problem
    if _is_moved_by_trajectories(node):
        return ''
    return f'nobody receives the torques on {topic}; remap ~/command to the receiver'


def other_senders_text(topic: str, senders: Sequence[str]) -> str:
    """Return text that says that other nodes send torques on a topic, with the nodes' names."""
    return (
        f'somebody else commands {topic}, and two sources of torque take turns '
        f'(publishers listed: {", ".join(senders)}); stop the other one, or remap ~/command'
    )


def _mismatch(node: Any, topic: str) -> str:
    """Return which subscription to a topic gets none of a node's torques, and why; else ''."""
    own_name = node.get_fully_qualified_name()
    publisher = _own_publisher(node, topic)
    for subscription in node.get_subscriptions_info_by_topic(topic):
        name = node_name_of(subscription)
        message_type = subscription.topic_type
        if name == own_name:
            continue
        if message_type != TORQUE_TYPE:
            return f'{name} takes {message_type} on {topic}, and torques are a {TORQUE_TYPE}'
        if why := _qos_mismatch(publisher, subscription):
            return f'{name} gets no torque on {topic}: {why}'
    return ''


def matching_subscriptions(node: Any, topic: str, subscriptions: Sequence[Any]) -> list[Any]:
    """
    Return those listed subscriptions to which the middleware delivers a node's torques.

    Those to another type of message are left out, and those of an incompatible QoS.
    """
    publisher = _own_publisher(node, topic)
    return [
        subscription
        for subscription in subscriptions
        if subscription.topic_type == TORQUE_TYPE and not _qos_mismatch(publisher, subscription)
    ]


def _own_publisher(node: Any, topic: str) -> Any:
    """Return a node's publisher on a topic as the graph lists it, or None while it does not."""
    # The listed QoS has the middleware's defaults in place of what the node left open.
    own_name = node.get_fully_qualified_name()
    listed = node.get_publishers_info_by_topic(topic)
    return next((endpoint for endpoint in listed if node_name_of(endpoint) == own_name), None)


def _qos_mismatch(publisher: Any, subscription: Any) -> str:
    """Return why a subscription gets nothing by its QoS; '' if it does, or that is not known."""
    if publisher is None:
        return ''
    _, why = qos_check_compatible(publisher.qos_profile, subscription.qos_profile)
    return why.replace('ERROR: ', '').rstrip(';') if 'ERROR: ' in why else ''


def _is_moved_by_trajectories(node: Any) -> bool:
    """Return whether a controller takes the node's whole motions, with their torques."""
    # A recorder listens on the node's own topic; a controller has its own, to which the node's is
    # remapped.
    own = f'{node.get_fully_qualified_name()}/{TRAJECTORY_TOPIC.removeprefix("~/")}'
    topic = node.resolve_topic_name(TRAJECTORY_TOPIC)
    return topic != own and node.count_subscribers(topic) > 0
