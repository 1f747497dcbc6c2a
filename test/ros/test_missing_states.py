# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A node to which no joint state comes says so: topic, publishers, type, what to do."""

from types import SimpleNamespace

import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from franka_dynamics.ros.state_log import MissingStates


class Graph:
    def __init__(self, *kinds):
        self._kinds = kinds

    def get_publishers_info_by_topic(self, _topic):
        return [SimpleNamespace(topic_type=kind) for kind in self._kinds]


@pytest.mark.parametrize(
    ('kinds', 'said'),
    [
        ((), 'nobody publishes there'),
        (('std_msgs/msg/String',), 'its type is std_msgs/msg/String'),
        (('sensor_msgs/msg/JointState',) * 2, '2 publish there'),
    ],
)
def test_the_sentence_names_topic_publishers_and_type(kinds, said):
    waiting = MissingStates(Graph(*kinds))
    waiting.begin('/left/joint_states', 100.0)
    assert waiting.check(True, 101.9) == ''
    sentence = waiting.check(True, 102.1)
    assert 'no joint state on /left/joint_states for 2 s' in sentence
    assert said in sentence
    # Then every ten seconds, and not once states come.
    assert waiting.check(True, 112.0) == ''
    assert waiting.check(True, 112.2)
    assert waiting.check(False, 150.0) == ''
