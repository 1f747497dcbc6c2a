# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The example controller in C++: its topics are the node's, its package is one."""

from pathlib import Path
import re

ROOT = Path(__file__).parents[2]


def test_it_listens_to_topics_that_the_node_publishes():
    source = (ROOT / 'examples/cpp_controller/src/hold.cpp').read_text('utf-8')
    page = (ROOT / 'docs/reference/topics.md').read_text('utf-8')
    topics = re.findall(r'listen\("feedforward/(\w+)"', source)
    assert topics == ['mass_matrix', 'coriolis_matrix', 'gravity']
    for topic in topics:
        assert f'| `~/{topic}` | sensor_msgs/JointState |' in page
