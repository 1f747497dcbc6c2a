# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Two simulated arms, each with its feedforward node, namespace, clock and prefix."""

from launch.actions import GroupAction, IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import PathJoinSubstitution
from launch_ros.substitutions import FindPackageShare

from franka_dynamics.ros.launching import launch_description, namespace_argument

SIDES = ('left', 'right')
# Arguments of simulation.launch.py that each arm has for itself.
ARGUMENTS_PER_ARM = {
    'robot_type': (
        'fr3',
        'The {} arm: a file name of config/arms, or the path of an arm file.',
    ),
    'params_file': ('', 'A parameter file for the feedforward node of the {} arm.'),
    'simulator_params_file': ('', 'A parameter file for the simulation of the {} arm.'),
}
ARGUMENTS = {
    **{
        f'{side}_{name}': (default, sentence.format(side))
        for side in SIDES
        for name, (default, sentence) in ARGUMENTS_PER_ARM.items()
    },
    'urdf_file': (
        '',
        'A URDF or xacro file that holds both arms, with their mounts and masses; default: two '
        'upright arms of the arm files.',
    ),
    'namespace': namespace_argument('the namespaces left and right'),
    'arm_prefix': ('', 'Put before left_ and right_ in every joint name, verbatim.'),
}


def generate_launch_description():
    """Return the launch arguments and a group of actions for each arm."""
    return launch_description(ARGUMENTS, both_arms)


def both_arms(arguments):
    """Return for each arm a group that includes simulation.launch.py."""
    file = PathJoinSubstitution(
        [FindPackageShare('franka_dynamics'), 'launch', 'simulation.launch.py']
    )
    return [
        GroupAction(
            [
                IncludeLaunchDescription(
                    PythonLaunchDescriptionSource(file),
                    launch_arguments={
                        'namespace': f'{arguments.namespace.rstrip("/")}/{side}',
                        'urdf_file': arguments.urdf_file,
                        'arm_prefix': f'{arguments.arm_prefix}{side}_',
                        **{
                            name: getattr(arguments, f'{side}_{name}')
                            for name in ARGUMENTS_PER_ARM
                        },
                    }.items(),
                )
            ]
        )
        for side in SIDES
    ]
