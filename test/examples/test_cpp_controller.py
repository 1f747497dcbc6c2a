# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The example controller in C++: its topics are the node's, its package is one."""

from pathlib import Path
import re

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / 'examples' / 'cpp_controller'
SOURCE = (EXAMPLE / 'src' / 'hold.cpp').read_text('utf-8')


def test_it_listens_to_topics_that_the_node_publishes():
    page = (ROOT / 'docs' / 'reference' / 'topics.md').read_text('utf-8')
    topics = re.findall(r'listen\("feedforward/(\w+)"', SOURCE)
    assert topics == ['mass_matrix', 'coriolis_matrix', 'gravity']
    for topic in topics:
        assert f'| `~/{topic}` | sensor_msgs/JointState |' in page


def test_its_package_names_what_it_includes_and_finds():
    catkin = pytest.importorskip('catkin_pkg.package', reason='requirements/test.txt is missing')
    package = catkin.parse_package(EXAMPLE / 'package.xml')
    declared = {one.name for one in package.build_depends}
    included = set(re.findall(r'#include "(\w+)/', SOURCE))
    cmake = (EXAMPLE / 'CMakeLists.txt').read_text('utf-8')
    found = set(re.findall(r'find_package\((\w+)', cmake)) - {'ament_cmake'}
    assert included == declared == found
