# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
An arm in MuJoCo as the hardware of ros2_control, held by feedforward and weak gains.

mujoco_ros2_control runs the MJCF of this package; see docs/howto/gazebo.md.
"""

from launch_ros.actions import Node

from franka_dynamics.arm import load
from franka_dynamics.arm.shapes import load_hand_shapes, load_shapes
from franka_dynamics.ros.launching import (
    exit_callback,
    launch_description,
    ros2_control_actions,
    simulation_arguments,
    write_temporary_files,
)
from franka_dynamics.urdf.mjcf_writer import mjcf_text

TARGET = 'mujoco'
ARGUMENTS = {
    **simulation_arguments(TARGET),
    'headless': (
        'false',
        "Whether MuJoCo runs without its simulator's window.",
        ['true', 'false'],
    ),
}


def generate_launch_description():
    """Return the launch arguments, and the actions that start MuJoCo, the arm and the node."""
    return launch_description(ARGUMENTS, launch_actions)


def launch_actions(arguments):
    """Return the actions that start MuJoCo with its controller manager, controllers and node."""
    arm = load(arguments.robot_type, hand=arguments.hand)
    hand = load_hand_shapes(arm.hand)
    model = mjcf_text(arm, shapes=load_shapes(arm.name), tool_shapes=hand)
    folder = write_temporary_files({'arm.xml': model})
    # With an initial_keyframe mujoco_ros2_control would ignore the initial positions and efforts.
    hardware = {
        'ros2_control': 'mujoco_ros2_control/MujocoSystemInterface',
        'mujoco_model': folder / 'arm.xml',
        'headless': arguments.headless,
    }
    loaded, others = ros2_control_actions(arguments, arm, TARGET, folder, hardware)
    manager = Node(
        package='mujoco_ros2_control',
        executable='ros2_control_node',
        namespace=arguments.namespace,
        output='screen',
        on_exit=exit_callback('MuJoCo'),
        parameters=[{'use_sim_time': True}, str(folder / 'controllers.yaml')],
    )
    return [manager, loaded, *others]
