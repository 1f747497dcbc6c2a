# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
The feedforward node alone, for an arm that runs elsewhere: real, in Gazebo or simulated.

Parameters are taken in this order, later ones winning: config/feedforward/<target>.yaml,
params_file, the arguments that were given.
"""

from launch import LaunchContext, LaunchDescription
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

from franka_dynamics.ros.launch_parts import argument, launch_description, own_node, target_file

TARGETS = ['fci', 'franka_gazebo', 'gz_ros2_control', 'mujoco']
UNHEARD = '~/command'
UNSET = ''  # an argument that was not given leaves its parameter to the files
PARAMETERS = {'robot_type': str, 'arm_prefix': str, 'target': str, 'use_sim_time': bool}


def generate_launch_description() -> LaunchDescription:
    """Return the arguments and the node."""
    return launch_description(
        [
            argument(
                'robot_type',
                UNSET,
                'The arm: fer, fr3, fr3v2, fr3v2_1 or the path of an arm file. If empty, what '
                'params_file says; fer otherwise.',
            ),
            argument(
                'arm_prefix',
                UNSET,
                "Put in front of every joint name, verbatim: 'left_' if the joints are "
                'left_fer_joint1 and so on.',
            ),
            argument('namespace', '', 'Namespace of the node and of its relative topics.'),
            argument(
                'target',
                UNSET,
                'Who receives the torques, and hence who adds gravity and friction. If empty, '
                'what params_file says; fci otherwise.',
                [UNSET, *TARGETS],
            ),
            argument(
                'params_file',
                '',
                'A parameter file of your own; config/*/default.yaml of this package list all '
                'parameters.',
            ),
            argument(
                'command_topic',
                UNHEARD,
                'Where the torques go, such as effort_controller/commands. By default nobody '
                'listens there, so nothing moves.',
            ),
            argument(
                'joint_states_topic',
                'joint_states',
                'The full-rate joint states; with franka_ros2 franka/joint_states.',
            ),
            argument(
                'use_sim_time',
                UNSET,
                "Whether the node's clock is /clock. If empty, what the files say; the files of "
                'the Gazebo targets say true.',
                [UNSET, 'true', 'false'],
            ),
        ],
        feedforward_node,
    )


def feedforward_node(context: LaunchContext) -> list[Node]:
    """Return the node."""
    from franka_dynamics.ros.parameter_files import given_file

    target = LaunchConfiguration('target').perform(context) or TARGETS[0]
    own_file = given_file('params_file', LaunchConfiguration('params_file').perform(context))
    return [
        own_node(
            'feedforward',
            namespace=LaunchConfiguration('namespace'),
            parameters=[target_file(target), *own_file, given_parameters(context)],
            remappings=[
                ('~/command', LaunchConfiguration('command_topic')),
                ('joint_states', LaunchConfiguration('joint_states_topic')),
            ],
        )
    ]


def given_parameters(context: LaunchContext) -> dict[str, ParameterValue]:
    """Return the parameters whose arguments were given."""
    return {
        name: ParameterValue(LaunchConfiguration(name), value_type=kind)
        for name, kind in PARAMETERS.items()
        if LaunchConfiguration(name).perform(context) != UNSET
    }
