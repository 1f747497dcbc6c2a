# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The Foxglove layout, the RViz configuration and the C++ example name what exists."""

import json
from pathlib import Path
import re

import yaml

ROOT = Path(__file__).parents[1]
LAYOUT = json.loads((ROOT / 'config/foxglove/feedforward.json').read_text())['configById']
RVIZ = yaml.safe_load((ROOT / 'config/rviz/feedforward.rviz').read_text())['Visualization Manager']
# What the page of topics says the node publishes, under the node's default name.
PAGE = (ROOT / 'docs/reference/topics.md').read_text()
TOPIC_KEYS = ('Topic', 'Description Topic')
TOPICS = {name.replace('~', '/feedforward') for name in re.findall(r'`(~?/[a-z_/]+)`', PAGE)} | {
    '/joint_states',
    '/robot_description',
    '/diagnostics',
}


def test_plots_and_views_name_topics_and_a_frame_that_exist():
    plots = [panel for name, panel in LAYOUT.items() if 'Plot' in name]
    paths = [path['value'] for plot in plots for path in plot['paths']]
    plotted = {re.fullmatch(r'(.+)\.effort\[[0-6]\]', path)[1] for path in paths}
    arm, layer = LAYOUT['3D!arm'], LAYOUT['3D!arm']['layers']['arm']
    shown = {one[key]['Value'] for one in RVIZ['Displays'] for key in TOPIC_KEYS if key in one}
    shown |= {layer['topic'], layer['jointStatesTopic'], *arm['topics']}
    shown.add(LAYOUT['DiagnosticSummary!all']['topicToRender'])
    assert len(paths) == 7 * len(plots) and plotted and shown | plotted <= TOPICS
    assert RVIZ['Global Options']['Fixed Frame'] == 'fer_link0'


def test_the_cpp_example_listens_to_topics_that_the_node_publishes():
    source = (ROOT / 'examples/cpp_controller/src/hold.cpp').read_text('utf-8')
    topics = re.findall(r'listen\("feedforward/(\w+)"', source)
    assert topics and all(f'| `~/{topic}` | sensor_msgs/JointState |' in PAGE for topic in topics)


def test_the_terms_topics_are_on_the_page():
    from franka_dynamics.ros.term_publishers import _ARRAYS

    assert {f'/feedforward/{name}' for name in _ARRAYS} <= TOPICS
