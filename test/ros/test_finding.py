# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Nodes and topics that a user names without their namespace."""

import pytest
import rclpy
from sensor_msgs.msg import JointState

from franka_dynamics.errors import SettingsError
from franka_dynamics.ros.observer import Observer, resolved

from ..processes import TIMEOUT_S

LEFT, RIGHT, ROOT = '/sim/left/feedforward', '/sim/right/feedforward', '/feedforward'


@pytest.mark.parametrize(
    ('name', 'present', 'full'),
    [
        ('feedforward', {LEFT}, LEFT),
        ('feedforward', {LEFT, ROOT}, ROOT),
        ('feedforward', set(), ROOT),
        ('feedforward', {'/feedforward_of_another'}, ROOT),
        ('left/feedforward', {LEFT, RIGHT}, LEFT),
        (RIGHT, {LEFT}, RIGHT),
    ],
)
def test_a_name_is_that_of_the_root_namespace_or_of_the_only_other_one(name, present, full):
    assert resolved(name, present, 'node') == full


def test_of_two_alike_neither_is_taken():
    with pytest.raises(SettingsError) as refused:
        resolved('feedforward', {LEFT, RIGHT}, 'node')
    assert LEFT in str(refused.value) and RIGHT in str(refused.value)


def test_a_topic_of_a_nodes_own_name_is_not_taken_for_the_node(make_node):
    def other(**options):
        return rclpy.create_node('feedforward', namespace='/sim/left', **options)

    node = make_node(other)
    # The feedforward node has a topic of its own name.
    node.create_publisher(JointState, '~/feedforward', 1)
    node.create_publisher(JointState, 'joint_states', 1)
    with Observer('finder') as observer:
        found = observer.find(TIMEOUT_S, 'feedforward', ['joint_states'])
    assert found == (LEFT, ['/sim/left/joint_states'])
