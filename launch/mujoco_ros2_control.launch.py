# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
An arm in MuJoCo as the hardware of ros2_control, held by feedforward and weak gains.

mujoco_ros2_control runs the MJCF of this package; see docs/howto/gazebo.md.
"""

from launch_ros.actions import Node

from franka_dynamics.ros.launching import (
    after,
    argument,
    controllers_text,
    generated_files,
    given_file,
    launch_description,
    receiver,
    required,
    robot_state_publisher,
    simulated_feedforward,
    simulation_arguments,
    spawner,
)

TARGET = 'mujoco'


def generate_launch_description():
    """Return the launch arguments, and the actions that start MuJoCo, the arm and the node."""
    arguments = [
        *simulation_arguments(TARGET),
        argument(
            'headless',
            'false',
            "Whether MuJoCo runs without its simulator's window.",
            ['true', 'false'],
        ),
    ]
    return launch_description(arguments, everything)


def everything(given):
    """Return the actions that start MuJoCo with its controller manager, controllers and node."""
    from franka_dynamics.arm import load
    from franka_dynamics.arm.shapes import load_hand_shapes, load_shapes
    from franka_dynamics.simulation.gazebo import numbers, start_of
    from franka_dynamics.urdf.writer import mjcf_text

    given_file('params_file', given.params_file)  # refused before anything starts
    arm = load(given.robot_type, hand=given.hand)
    controllers = controllers_text('gazebo_controllers.yaml', arm.joint_names)
    chosen = receiver(arm, given.robot_type, given.receiver, TARGET, controllers)
    tool_shapes = () if given.hand == 'none' else load_hand_shapes()
    folder, removal = generated_files(
        {
            'arm.xml': mjcf_text(arm, shapes=load_shapes(arm.name), tool_shapes=tool_shapes),
            'controllers.yaml': controllers,
            'receiver.yaml': chosen.parameters,
        }
    )
    # The initial efforts must hold the arm, because the physics runs before any controller.
    # With an initial_keyframe mujoco_ros2_control would ignore the initial positions and efforts.
    start = start_of(arm)
    publisher = robot_state_publisher(
        given,
        {
            'ros2_control': 'mujoco_ros2_control/MujocoSystemInterface',
            'mujoco_model': folder / 'arm.xml',
            'headless': given.headless,
            'initial_positions': numbers(start.position),
            'initial_efforts': numbers(start.torque),
        },
    )
    manager = Node(
        package='mujoco_ros2_control',
        executable='ros2_control_node',
        namespace=given.namespace,
        output='screen',
        on_exit=required('MuJoCo'),
        parameters=[{'use_sim_time': True}, str(folder / 'controllers.yaml')],
    )
    # One process activates both controllers, to save time: until both run, the constant initial
    # efforts hold the arm in an unstable equilibrium.
    active = spawner(
        given.namespace,
        'joint_state_broadcaster',
        chosen.controller,
        '--param-file',
        str(folder / 'receiver.yaml'),
    )
    feedforward = simulated_feedforward(given, TARGET, chosen.command)
    started = after(active, 'the spawner of the controllers')
    return [removal, chosen.said, publisher, manager, active, started, feedforward]
