# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
The feedforward node beside franka_ros2's bringup, which must be running.

Loads one controller into franka_ros2's controller manager and connects the node to it: at the full
rate, target fci (no gravity is commanded; the robot adds its own). When the node ends, however it
does, the controller is deactivated. See docs/howto/franka_ros2.md.
"""

from launch.actions import Shutdown
from launch.substitutions import LaunchConfiguration, PathJoinSubstitution
from launch_ros.actions import Node
from launch_ros.substitutions import FindPackageShare

from franka_dynamics.ros.launch_parts import (
    after,
    argument,
    launch_description,
    own_node,
    require_packages,
    spawner,
    target_file,
    text,
)

EFFORT, TRAJECTORY = 'effort_controller', 'feedforward_trajectory_controller'


def generate_launch_description():
    """Return the arguments, and what they make of controller and node."""
    share = FindPackageShare('franka_dynamics')
    arguments = [
        argument('robot_type', 'fr3', 'fr3, fr3v2, fr3v2_1 or an arm file of one of them.'),
        argument(
            'arm_prefix',
            '',
            'In front of every joint name, verbatim; franka_ros2 adds an underscore to its own, '
            'so left there is left_ here.',
        ),
        argument('namespace', '', "The namespace of franka_ros2's bringup."),
        argument(
            'controller',
            EFFORT,
            'The controller: effort_controller takes torques every cycle, '
            'feedforward_trajectory_controller adds them to its own feedback.',
            [EFFORT, TRAJECTORY],
        ),
        argument(
            'controllers_file',
            PathJoinSubstitution([share, 'config', 'franka_ros2_controllers.yaml']),
            'Joint names and gains of the controllers.',
        ),
        argument(
            'joint_states_topic',
            'franka/joint_states',
            'The full-rate stream; joint_states has 30 Hz only.',
        ),
        argument(
            'params_file',
            '',
            "A file with parameters of the feedforward node's, over those of "
            'config/feedforward/fci.yaml; the target stays fci.',
        ),
    ]
    return launch_description(arguments, everything)


def everything(context):
    """Return the controller, and the node that starts once it is active."""
    from franka_dynamics.ros.parameter_files import given_file, require_file

    own_file = given_file('params_file', LaunchConfiguration('params_file').perform(context))
    require_file('controllers_file', LaunchConfiguration('controllers_file').perform(context))
    require_fr3(LaunchConfiguration('robot_type').perform(context))
    require_packages(['controller_manager'], 'franka_ros2', 'docs/howto/franka_ros2.md')
    namespace = LaunchConfiguration('namespace').perform(context).strip('/')
    # Whatever ended the node, its controller would hold the last command for ever.
    deactivation = Node(
        package='controller_manager',
        executable='unspawner',
        output='screen',
        on_exit=Shutdown(reason='the feedforward node has ended'),
        arguments=[
            LaunchConfiguration('controller'),
            '--controller-manager',
            f'/{namespace}/controller_manager' if namespace else '/controller_manager',
        ],
    )
    feedforward = own_node(
        'feedforward',
        namespace=LaunchConfiguration('namespace'),
        on_exit=[deactivation],
        parameters=[
            target_file('fci'),
            *own_file,
            {
                'robot_type': text('robot_type'),
                'arm_prefix': text('arm_prefix'),
                'target': 'fci',
            },
        ],
        remappings=[
            ('joint_states', LaunchConfiguration('joint_states_topic')),
            ('~/command', f'{EFFORT}/commands'),
            ('~/feedforward_trajectory', f'{TRAJECTORY}/joint_trajectory'),
        ],
    )
    active = spawner(
        LaunchConfiguration('controller'),
        '--param-file',
        LaunchConfiguration('controllers_file'),
        namespace=LaunchConfiguration('namespace'),
    )
    return [after(active, feedforward), active]


def require_fr3(robot_type):
    """Refuse a FER: libfranka from 0.10 on, which franka_ros2 needs, does not speak to it."""
    from franka_dynamics.arm import load

    joint = load(robot_type).joint_names[0]
    if joint.startswith(('fer_', 'panda_')):
        raise RuntimeError(
            f'robot_type:={robot_type} is a FER (its first joint is {joint}), and franka_ros2 '
            'speaks to the FR3 generation only: docs/howto/fer.md has the drivers for it and '
            'starts feedforward.launch.py beside them. Nothing is started.'
        )
