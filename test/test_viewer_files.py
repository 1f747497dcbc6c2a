# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The Foxglove layout and the RViz configuration name what exists."""

import json
from pathlib import Path
import re

import pytest
import yaml

from franka_dynamics.arm import load

ROOT = Path(__file__).parents[1]
LAYOUT = json.loads((ROOT / 'config' / 'foxglove' / 'feedforward.json').read_text())
RVIZ = yaml.safe_load((ROOT / 'config' / 'rviz' / 'feedforward.rviz').read_text())
# What the page of topics says the node publishes, under the node's default name.
TOPICS = {
    name.replace('~', '/feedforward')
    for name in re.findall(
        r'`(~?/[a-z_/]+)`', (ROOT / 'docs' / 'reference' / 'topics.md').read_text()
    )
}
OTHERS = {'/joint_states', '/robot_description', '/diagnostics'}


@pytest.mark.parametrize('name', [name for name in LAYOUT['configById'] if 'Plot' in name])
def test_a_plots_seven_joints_are_on_a_topic_of_the_node(name):
    paths = [path['value'] for path in LAYOUT['configById'][name]['paths']]
    found = [re.fullmatch(r'(/[a-z_/]+)\.effort\[(\d)\]', path).groups() for path in paths]
    assert {topic for topic, _ in found} <= TOPICS | OTHERS
    assert [int(index) for _, index in found] == list(range(7))
    # Foxglove takes a panel's name from this key and ignores `title`.
    assert LAYOUT['configById'][name]['foxglovePanelTitle'].endswith('[N m]')


def test_other_topics_of_the_panels_exist():
    arm = LAYOUT['configById']['3D!arm']
    assert set(arm['topics']) <= TOPICS
    layer = arm['layers']['arm']
    assert {layer['topic'], layer['jointStatesTopic']} <= OTHERS
    assert LAYOUT['configById']['DiagnosticSummary!all']['topicToRender'] in OTHERS


def test_topics_and_frame_of_the_rviz_configuration_exist():
    manager = RVIZ['Visualization Manager']
    topics = {
        display[key]['Value']
        for display in manager['Displays']
        for key in ('Topic', 'Description Topic')
        if key in display
    }
    assert topics <= TOPICS | OTHERS
    assert len(topics) == 4
    link = load('fer').joint_names[0].replace('joint1', 'link0')
    assert manager['Global Options']['Fixed Frame'] == link
