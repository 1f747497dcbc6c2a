# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Launch and parameter files for Gazebo and franka_ros2: names agree across files and code.

ROS's `launch` is not on PyPI, so the files are read here, not run.
"""

from pathlib import Path
import re

import pytest
import yaml

import franka_dynamics
from franka_dynamics.arm import load
from franka_dynamics.resources import share_directory

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from franka_dynamics.ros.gazebo_direct_node import HOLDING

SHARE = share_directory()
PARTS = Path(franka_dynamics.__file__).parent / 'ros' / 'launch_receiver.py'


def source(name):
    """Return a launch file's text, with that of the parts if it takes any."""
    text = (SHARE / 'launch' / name).read_text(encoding='utf-8')
    return text + PARTS.read_text('utf-8') if PARTS.stem in text else text


def test_gazebo_waits_for_the_words_of_the_node_that_holds():
    assert f"b'{HOLDING}' not in event.text" in source('gazebo.launch.py')


def test_the_franka_ros2_controllers_are_those_launched():
    table = yaml.safe_load((SHARE / 'config' / 'franka_ros2_controllers.yaml').read_text('utf-8'))
    names = list(load('fr3').joint_names)
    text = source('franka_ros2.launch.py')
    for key in table:
        assert f"'{key.removeprefix('/**/')}'" in text
        assert table[key]['ros__parameters']['joints'] == names
    assert table['/**/effort_controller']['ros__parameters']['interface_name'] == 'effort'
    trajectory = table['/**/feedforward_trajectory_controller']['ros__parameters']
    assert trajectory['command_interfaces'] == ['effort']
    assert list(trajectory['gains']) == names
    assert {key: entry['ros__parameters']['type'] for key, entry in table.items()} == {
        '/**/effort_controller': 'forward_command_controller/ForwardCommandController',
        '/**/feedforward_trajectory_controller': (
            'joint_trajectory_controller/JointTrajectoryController'
        ),
    }


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
