# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Two simulated arms, each with its feedforward node, namespace and prefix."""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, GroupAction, IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import LaunchConfiguration, PathJoinSubstitution
from launch_ros.substitutions import FindPackageShare

SIDES = ('left', 'right')


def generate_launch_description() -> LaunchDescription:
    """Return an argument and a group for each side."""
    return LaunchDescription([
        *(DeclareLaunchArgument(
            f'{side}_robot_type', default_value='fer',
            description=f'The {side} arm: fer, fr3 or the path of an arm file.')
          for side in SIDES),
        *(one_arm(side) for side in SIDES),
    ])


def one_arm(side: str) -> GroupAction:
    """Return simulation.launch.py for one side; scoped, so that no argument reaches the other."""
    simulation = PathJoinSubstitution(
        [FindPackageShare('franka_dynamics'), 'launch', 'simulation.launch.py'])
    return GroupAction([IncludeLaunchDescription(
        PythonLaunchDescriptionSource(simulation),
        launch_arguments={'namespace': side, 'arm_prefix': f'{side}_',
                          'robot_type': LaunchConfiguration(f'{side}_robot_type')}.items())])
