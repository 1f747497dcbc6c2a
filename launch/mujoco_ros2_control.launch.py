# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
An arm in MuJoCo as the hardware of ros2_control, held by feedforward torque alone.

mujoco_ros2_control runs the MJCF of this package; see docs/howto/mujoco_ros2_control.md.
"""

import os
from pathlib import Path
import shutil
import tempfile

from ament_index_python.packages import get_package_prefix, PackageNotFoundError
from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, OpaqueFunction, RegisterEventHandler, Shutdown
from launch.event_handlers import OnShutdown
from launch.substitutions import Command, LaunchConfiguration, PathJoinSubstitution
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue
from launch_ros.substitutions import FindPackageShare

# As apt names them after ros-<distribution>-.
PACKAGES = (
    'mujoco_ros2_control',
    'controller_manager',
    'forward_command_controller',
    'joint_state_broadcaster',
    'robot_state_publisher',
    'xacro',
)


def generate_launch_description():
    """Return the arguments, and what they make of MuJoCo, the arm and the node."""
    arguments = [
        DeclareLaunchArgument(
            'robot_type',
            default_value='fr3',
            description='The arm: fer, fr3, fr3v2 or fr3v2_1.',
        ),
        DeclareLaunchArgument(
            'hand',
            default_value='none',
            description='The hand: none, franka_hand, or another of config/hands.',
        ),
        DeclareLaunchArgument(
            'headless',
            default_value='false',
            choices=['true', 'false'],
            description="Whether MuJoCo runs without its simulator's window.",
        ),
        DeclareLaunchArgument(
            'params_file',
            default_value='',
            description="A file with parameters of the feedforward node's, "
            'over those of config/feedforward/mujoco.yaml.',
        ),
    ]
    return LaunchDescription([*arguments, OpaqueFunction(function=everything)])


def everything(context):
    """Return MuJoCo with its controller manager, the controllers, the node and its keeper."""
    from franka_dynamics.arm import load
    from franka_dynamics.arm.shapes import load_hand_shapes, load_shapes
    from franka_dynamics.resources import share_directory
    from franka_dynamics.ros.launch_parts import after, spawner
    from franka_dynamics.ros.parameters import given_file
    from franka_dynamics.simulation.gazebo import controllers_text, numbers, start_of
    from franka_dynamics.urdf.writer import write_mjcf

    robot_type, hand, headless, params_file = (
        LaunchConfiguration(name).perform(context)
        for name in ('robot_type', 'hand', 'headless', 'params_file')
    )
    own_file = given_file('params_file', params_file)
    require_packages()
    description = load(robot_type, hand=hand)
    folder = Path(tempfile.mkdtemp(prefix='franka_dynamics_mujoco_'))
    model, controllers = folder / 'arm.xml', folder / 'controllers.yaml'
    tool_shapes = () if hand == 'none' else load_hand_shapes()
    model.write_text(
        write_mjcf(description, shapes=load_shapes(description.name), tool_shapes=tool_shapes),
        encoding='utf-8',
    )
    controllers.write_text(controllers_text(description.joint_names), encoding='utf-8')
    # The first effort command holds the arm: the physics runs before any controller does. With an
    # initial_keyframe mujoco_ros2_control would not take these values.
    start = start_of(description)
    values = {
        'robot_type': robot_type,
        'hand': hand,
        'connected_to': 'world',
        'ros2_control': 'mujoco_ros2_control/MujocoSystemInterface',
        'mujoco_model': model,
        'headless': headless,
        'initial_positions': numbers(start.position),
        'initial_efforts': numbers(start.torque),
    }
    share = FindPackageShare('franka_dynamics')
    words = [word for name, value in values.items() for word in (' ', f'"{name}:={value}"')]
    text = Command(['xacro ', PathJoinSubstitution([share, 'urdf', 'franka.urdf.xacro']), *words])
    publisher = Node(
        package='robot_state_publisher',
        executable='robot_state_publisher',
        output='screen',
        parameters=[
            {'robot_description': ParameterValue(text, value_type=str), 'use_sim_time': True}
        ],
    )
    manager = Node(
        package='mujoco_ros2_control',
        executable='ros2_control_node',
        output='screen',
        on_exit=Shutdown(reason='MuJoCo has ended'),
        parameters=[{'use_sim_time': True}, str(controllers)],
    )
    broadcaster = spawner('joint_state_broadcaster', '--param-file', str(controllers))
    effort = spawner('effort_controller', '--param-file', str(controllers))
    arm = {'robot_type': robot_type, 'hand': hand, 'use_sim_time': True}
    target_file = share_directory() / 'config' / 'feedforward' / 'mujoco.yaml'
    feedforward = Node(
        package='franka_dynamics',
        executable='feedforward_node',
        name='feedforward',
        output='screen',
        on_exit=Shutdown(reason='the feedforward node has ended'),
        # Until its first command comes the arm is carried on purpose, by the initial efforts.
        parameters=[str(target_file), *own_file, {**arm, 'target': 'mujoco', 'take_over': True}],
        remappings=[('~/command', 'effort_controller/commands')],
    )
    # The controller holds the last torque of a node that was killed.
    keeper = Node(
        package='franka_dynamics',
        executable='keeper_node',
        name='keeper',
        output='screen',
        # Simulated time may stand still: only the end of the node's process counts.
        parameters=[{'target': 'mujoco', 'silence': 0.0}],
        remappings=[
            ('~/command', 'effort_controller/commands'),
            ('~/gravity', 'feedforward/gravity'),
        ],
    )
    tidy = RegisterEventHandler(
        OnShutdown(on_shutdown=lambda event, context: shutil.rmtree(folder, ignore_errors=True))
    )
    return [
        tidy,
        publisher,
        manager,
        broadcaster,
        after(broadcaster, effort),
        keeper,
        feedforward,
    ]


def require_packages():
    """Refuse to start without the packages that are needed, with the line that installs them."""
    missing = []
    for package in PACKAGES:
        try:
            get_package_prefix(package)
        except PackageNotFoundError:
            missing.append(package)
    if missing:
        distribution = os.environ.get('ROS_DISTRO', 'jazzy')
        names = ' '.join(f'ros-{distribution}-{name.replace("_", "-")}' for name in missing)
        raise RuntimeError(
            f'mujoco_ros2_control.launch.py needs {", ".join(missing)}: sudo apt install {names}. '
            'docs/howto/mujoco_ros2_control.md has the rest. Nothing is started.'
        )
