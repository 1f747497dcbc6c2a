# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
An arm in MuJoCo as the hardware of ros2_control, held by feedforward and weak gains.

mujoco_ros2_control runs the MJCF of this package; see docs/howto/gazebo.md.
"""

from launch.actions import Shutdown
from launch_ros.actions import Node

from franka_dynamics.ros.launch_arguments import (
    argument,
    arm_arguments,
    launch_description,
    namespace_argument,
    parameters_argument,
    receiver_argument,
    require_packages,
)
from franka_dynamics.ros.launch_processes import (
    after,
    generated_files,
    robot_state_publisher,
    simulated_feedforward,
    spawner,
)
from franka_dynamics.ros.launch_receiver import controllers_text, receiver

TARGET = 'mujoco'
# Required ROS packages; each one's Debian package is ros-<distribution>-<name>, with hyphens.
PACKAGES = (
    'mujoco_ros2_control',
    'controller_manager',
    'joint_state_broadcaster',
    'robot_state_publisher',
    'xacro',
)


def generate_launch_description():
    """Return the launch arguments, and the actions that start MuJoCo, the arm and the node."""
    arguments = [
        *arm_arguments(),
        argument(
            'headless',
            'false',
            "Whether MuJoCo runs without its simulator's window.",
            ['true', 'false'],
        ),
        namespace_argument('nodes, controllers and topics'),
        receiver_argument(),
        parameters_argument(TARGET),
    ]
    return launch_description(arguments, everything)


def everything(given):
    """Return the actions that start MuJoCo with its controller manager, controllers and node."""
    from franka_dynamics.arm import load
    from franka_dynamics.arm.shapes import load_hand_shapes, load_shapes
    from franka_dynamics.ros.parameter_files import given_file
    from franka_dynamics.simulation.gazebo import numbers, start_of
    from franka_dynamics.urdf.writer import write_mjcf

    own_file = given_file('params_file', given.params_file)
    arm = load(given.robot_type, hand=given.hand)
    controllers = controllers_text('gazebo_controllers.yaml', arm.joint_names)
    chosen = receiver(arm, given.robot_type, given.receiver, TARGET, controllers)
    require_packages(
        [*PACKAGES, *chosen.packages],
        'mujoco_ros2_control.launch.py',
        'Simulate in Gazebo, or in MuJoCo under ros2_control',
    )
    tool_shapes = () if given.hand == 'none' else load_hand_shapes()
    folder, removal = generated_files(
        {
            'arm.xml': write_mjcf(arm, shapes=load_shapes(arm.name), tool_shapes=tool_shapes),
            'controllers.yaml': controllers,
            'receiver.yaml': chosen.parameters,
        }
    )
    parameters = str(folder / 'controllers.yaml')
    # The initial efforts must hold the arm, because the physics runs before any controller.
    # With an initial_keyframe mujoco_ros2_control would ignore the initial positions and efforts.
    start = start_of(arm)
    publisher = robot_state_publisher(
        {
            'robot_type': given.robot_type,
            'hand': given.hand,
            'connected_to': 'world',
            'ros2_control': 'mujoco_ros2_control/MujocoSystemInterface',
            'mujoco_model': folder / 'arm.xml',
            'headless': given.headless,
            'initial_positions': numbers(start.position),
            'initial_efforts': numbers(start.torque),
        },
        given.namespace,
    )
    manager = Node(
        package='mujoco_ros2_control',
        executable='ros2_control_node',
        namespace=given.namespace,
        output='screen',
        on_exit=Shutdown(reason='MuJoCo has ended'),
        parameters=[{'use_sim_time': True}, parameters],
    )
    # One process activates both controllers, to save time: until both run, the constant initial
    # efforts hold the arm in an unstable equilibrium.
    active = spawner(
        'joint_state_broadcaster',
        chosen.controller,
        '--param-file',
        str(folder / 'receiver.yaml'),
        namespace=given.namespace,
    )
    feedforward = simulated_feedforward(given, TARGET, own_file, chosen.command)
    return [removal, chosen.said, publisher, manager, active, after(active), feedforward]
