# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
An arm in MuJoCo as the hardware of ros2_control, held by feedforward torque alone.

mujoco_ros2_control runs the MJCF of this package; see docs/howto/gazebo.md.
"""

from pathlib import Path
import tempfile

from launch.actions import Shutdown
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node

from franka_dynamics.ros.launch_parts import (
    after,
    argument,
    arm_arguments,
    controllers_file,
    launch_description,
    NO_RECEIVER,
    parameters_argument,
    receiver,
    receiver_argument,
    removal_at_shutdown,
    require_packages,
    robot_state_publisher,
    simulated_feedforward,
    spawner,
    target_file,
)

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
        *arm_arguments(),
        argument(
            'headless',
            'false',
            "Whether MuJoCo runs without its simulator's window.",
            ['true', 'false'],
        ),
        # A generated controller begins at zero torque, under which a simulated arm sags; and the
        # simulation ends with the node.
        receiver_argument(NO_RECEIVER),
        parameters_argument('mujoco'),
    ]
    return launch_description(arguments, everything)


def everything(context):
    """Return MuJoCo with its controller manager, the controllers, the node."""
    from franka_dynamics.arm import load
    from franka_dynamics.arm.shapes import load_hand_shapes, load_shapes
    from franka_dynamics.ros.parameter_files import given_file
    from franka_dynamics.simulation.gazebo import numbers, start_of
    from franka_dynamics.urdf.writer import write_mjcf

    robot_type, hand, headless, package, params_file = (
        LaunchConfiguration(name).perform(context)
        for name in ('robot_type', 'hand', 'headless', 'receiver', 'params_file')
    )
    own_file = given_file('params_file', params_file)
    require_packages(PACKAGES, 'mujoco_ros2_control.launch.py', 'docs/howto/gazebo.md')
    description = load(robot_type, hand=hand)
    folder = Path(tempfile.mkdtemp(prefix='franka_dynamics_mujoco_'))
    model = folder / 'arm.xml'
    tool_shapes = () if hand == 'none' else load_hand_shapes()
    model.write_text(
        write_mjcf(description, shapes=load_shapes(description.name), tool_shapes=tool_shapes),
        encoding='utf-8',
    )
    controllers = controllers_file('gazebo_controllers.yaml', description.joint_names, folder)
    chosen = receiver(description, package, 'mujoco', controllers, folder)
    # The first effort command holds the arm: the physics runs before any controller does. With an
    # initial_keyframe mujoco_ros2_control would not take these values.
    start = start_of(description)
    publisher = robot_state_publisher(
        {
            'robot_type': robot_type,
            'hand': hand,
            'connected_to': 'world',
            'ros2_control': 'mujoco_ros2_control/MujocoSystemInterface',
            'mujoco_model': model,
            'headless': headless,
            'initial_positions': numbers(start.position),
            'initial_efforts': numbers(start.torque),
        }
    )
    manager = Node(
        package='mujoco_ros2_control',
        executable='ros2_control_node',
        output='screen',
        on_exit=Shutdown(reason='MuJoCo has ended'),
        parameters=[{'use_sim_time': True}, controllers],
    )
    broadcaster = spawner('joint_state_broadcaster', '--param-file', controllers)
    effort = spawner(chosen.controller, '--param-file', chosen.file)
    arm = {'robot_type': robot_type, 'hand': hand, 'use_sim_time': True}
    feedforward = simulated_feedforward(
        [target_file('mujoco'), *own_file], {**arm, 'target': 'mujoco'}, chosen.command
    )
    return [
        removal_at_shutdown(folder),
        chosen.said,
        publisher,
        manager,
        broadcaster,
        after(broadcaster, effort),
        feedforward,
    ]
