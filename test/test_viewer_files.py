# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The Foxglove layout, the RViz configuration and the C++ example name what exists."""

import json
from pathlib import Path
import re

import pytest
import yaml

from franka_dynamics.arm import load

ROOT = Path(__file__).parents[1]
LAYOUT = json.loads((ROOT / 'config/foxglove/feedforward.json').read_text())['configById']
RVIZ = yaml.safe_load((ROOT / 'config/rviz/feedforward.rviz').read_text())['Visualization Manager']
# What the page of topics says the node publishes, under the node's default name.
PAGE = (ROOT / 'docs/reference/topics.md').read_text()
TOPICS = {name.replace('~', '/feedforward') for name in re.findall(r'`(~?/[a-z_/]+)`', PAGE)} | {
    '/joint_states',
    '/robot_description',
    '/diagnostics',
}


def test_the_plots_show_seven_joints_of_a_topic_each():
    plots = [panel for name, panel in LAYOUT.items() if 'Plot' in name]
    for plot in plots:
        paths = [path['value'] for path in plot['paths']]
        topics, joints = zip(
            *(re.fullmatch(r'(.+)\.effort\[(\d)\]', path).groups() for path in paths)
        )
        assert set(topics) <= TOPICS
        assert ''.join(joints) == '0123456'
        # Foxglove takes a panel's name from this key and ignores `title`.
        assert plot['foxglovePanelTitle'].endswith('[N m]')
    assert plots


def test_other_topics_and_the_frame_exist():
    arm, layer = LAYOUT['3D!arm'], LAYOUT['3D!arm']['layers']['arm']
    assert (layer['topic'], layer['jointStatesTopic']) == ('/robot_description', '/joint_states')
    assert LAYOUT['DiagnosticSummary!all']['topicToRender'] == '/diagnostics'
    assert set(arm['topics']) <= TOPICS
    keys = ('Topic', 'Description Topic')
    topics = {one[key]['Value'] for one in RVIZ['Displays'] for key in keys if key in one}
    assert topics <= TOPICS and len(topics) == 4
    link = load('fer').joint_names[0].replace('joint1', 'link0')
    assert RVIZ['Global Options']['Fixed Frame'] == link


def test_the_cpp_example_listens_to_topics_that_the_node_publishes():
    source = (ROOT / 'examples/cpp_controller/src/hold.cpp').read_text('utf-8')
    topics = re.findall(r'listen\("feedforward/(\w+)"', source)
    assert topics == ['mass_matrix', 'coriolis_matrix', 'gravity']
    for topic in topics:
        assert f'| `~/{topic}` | sensor_msgs/JointState |' in PAGE


def test_the_terms_topics_are_on_the_page():
    pytest.importorskip('rclpy')
    from franka_dynamics.ros.term_publishers import _ARRAYS

    assert {f'/feedforward/{name}' for name in _ARRAYS} <= TOPICS
