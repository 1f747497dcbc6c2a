# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
The feedforward node alone, for an arm that runs elsewhere: real, in Gazebo or simulated.

The node's parameters come from config/feedforward/<target>.yaml, then params_file, then the given
arguments; the last value of a parameter wins.
"""

from franka_dynamics.ros.launching import (
    feedforward_node,
    launch_description,
    string_parameter,
)

TARGETS = ['fci', 'franka_gazebo', 'gz_ros2_control', 'mujoco']
STRING_PARAMETERS = ['robot_type', 'arm_prefix', 'target']
UNSET = ''  # an argument that was not given leaves its parameter to the files
ARGUMENTS = {
    'robot_type': (
        UNSET,
        'The arm: a file name of config/arms, or the path of an arm file. If empty, that of '
        'params_file, or else fr3.',
    ),
    'arm_prefix': (
        UNSET,
        "Put in front of every joint name, verbatim: 'left_' if the joints are left_fr3_joint1 "
        'and so on.',
    ),
    'namespace': ('', 'Namespace of the node and of its relative topics.'),
    'target': (
        UNSET,
        'The receiver of the torques, and hence who adds gravity. If empty, that of '
        'params_file, or else fci.',
        [UNSET, *TARGETS],
    ),
    'params_file': (
        '',
        'A parameter file of your own; config/feedforward/default.yaml of this package lists all '
        'parameters.',
    ),
    'command_topic': (
        '~/command',
        'Where the torques go, such as effort_controller/commands. By default nobody listens '
        'there, so nothing moves.',
    ),
    'joint_states_topic': (
        'joint_states',
        'The full-rate joint states; with franka_ros2 franka/joint_states.',
    ),
    'use_sim_time': (
        UNSET,
        "Whether the node's clock is /clock. If empty, as the parameter files say; those of the "
        'Gazebo targets say true.',
        [UNSET, 'true', 'false'],
    ),
}


def generate_launch_description():
    """Return the launch arguments and the node."""
    return launch_description(ARGUMENTS, node)


def node(arguments):
    """Return the node."""
    parameters = {
        name: string_parameter(getattr(arguments, name))
        for name in STRING_PARAMETERS
        if getattr(arguments, name) != UNSET
    }
    if arguments.use_sim_time != UNSET:
        parameters['use_sim_time'] = arguments.use_sim_time == 'true'
    topics = {
        '~/command': arguments.command_topic,
        'joint_states': arguments.joint_states_topic,
    }
    return [feedforward_node(arguments, arguments.target or TARGETS[0], parameters, topics)]
