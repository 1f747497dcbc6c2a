# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Launch and parameter files for Gazebo and franka_ros2: names agree across files and code.

ROS's `launch` is not on PyPI, so the files are read here, not run.
"""

import re

import pytest

from franka_dynamics.resources import share_directory

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from franka_dynamics.ros.gazebo_direct_node import HOLDING

SHARE = share_directory()


def test_gazebo_waits_for_the_words_of_the_node_that_holds():
    text = (SHARE / 'launch' / 'gazebo.launch.py').read_text('utf-8')
    assert f"b'{HOLDING}' not in event.text" in text


def test_the_xacros_interfaces_are_the_controllers():
    xacro = pytest.importorskip('xacro')
    text = xacro.process_file(
        str(SHARE / 'urdf' / 'franka.urdf.xacro'),
        mappings={'robot_type': 'fr3', 'ros2_control': 'gz_ros2_control/GazeboSimSystem'},
    ).toxml()
    # The forward command controller claims <joint>/effort; the broadcaster shows all state.
    assert text.count('<command_interface name="effort"/>') == 7
    for interface in ('position', 'velocity', 'effort'):
        assert len(re.findall(f'<state_interface name="{interface}"', text)) == 7


def test_package_xml_names_the_controllers_packages():
    catkin = pytest.importorskip('catkin_pkg.package', reason='requirements/test.txt is missing')
    declared = {one.name for one in catkin.parse_package(SHARE / 'package.xml').exec_depends}
    types = set()
    for name in ('franka_ros2_controllers.yaml', 'gazebo_controllers.yaml'):
        text = (SHARE / 'config' / name).read_text(encoding='utf-8')
        types |= set(re.findall(r'type: (\w+)/', text))
    # Gazebo's own are optional, as package.xml says.
    assert types - {'joint_state_broadcaster'} == {
        'forward_command_controller',
        'joint_trajectory_controller',
    }
    assert types - {'joint_state_broadcaster'} <= declared
