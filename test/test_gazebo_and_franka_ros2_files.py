# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Launch and parameter files for Gazebo and franka_ros2: names agree across files and code.

ROS's `launch` is not on PyPI, so the files are read here, not run.
"""

import ast
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
LAUNCH = ('gazebo.launch.py', 'franka_ros2.launch.py', 'mujoco_ros2_control.launch.py')


PARTS = Path(franka_dynamics.__file__).parent / 'ros' / 'launch_parts.py'


def source(name):
    """Return a launch file's text, with that of the parts if it takes any."""
    text = (SHARE / 'launch' / name).read_text(encoding='utf-8')
    return text + PARTS.read_text('utf-8') if PARTS.stem in text else text


def calls(tree, function):
    return [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == function
    ]


@pytest.mark.parametrize('name', LAUNCH)
def test_every_argument_a_launch_file_uses_is_declared_with_text(name):
    tree = ast.parse(source(name))
    declared = {
        call.args[0].value: {k.arg for k in call.keywords}
        for call in calls(tree, 'DeclareLaunchArgument')
    }
    assert all('description' in keywords for keywords in declared.values())
    used = {
        call.args[0].value
        for call in calls(tree, 'LaunchConfiguration')
        if isinstance(call.args[0], ast.Constant)
    }
    # The tuple of names that gazebo.launch.py performs in one go.
    used |= set(
        re.findall(r"'(\w+)'", ''.join(re.findall(r'for name in \(([^)]*)\)', source(name))))
    )
    assert used == set(declared)


@pytest.mark.parametrize('name', LAUNCH)
def test_executables_and_files_a_launch_file_names_exist(name):
    text = source(name)
    executables = set(re.findall(r"package='franka_dynamics',\s+executable='(\w+)'", text))
    scripts = (SHARE / 'setup.py').read_text(encoding='utf-8')
    assert executables
    for executable in executables:
        assert f"'{executable} = franka_dynamics.ros.{executable}:main'" in scripts
    files = re.findall(r"'?config'?(?:,| /) ((?:'[\w.]+'(?:,| /)? ?)+)", text)
    assert files
    for parts in files:
        assert (SHARE / 'config').joinpath(*re.findall(r"'([\w.]+)'", parts)).is_file()
    if name == 'gazebo.launch.py':
        assert HOLDING.startswith('holding the arm')
        assert "b'holding the arm' not in event.text" in text


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
