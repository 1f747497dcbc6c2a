# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
An arm in Gazebo Sim, held by feedforward and weak gains. See docs/howto/gazebo.md.

control:=direct drives the arm by Gazebo's own ApplyJointForce and JointStatePublisher, and Gazebo
starts paused. control:=ros2_control drives it by gz_ros2_control's effort interface.
"""

import sys

from launch.actions import ExecuteProcess, IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import PathJoinSubstitution
from launch_ros.actions import Node
from launch_ros.substitutions import FindPackageShare
import yaml

from franka_dynamics.arm import available_hands, load
from franka_dynamics.arm.shapes import load_hand_shapes, load_shapes
from franka_dynamics.ros.launching import (
    after,
    CONFIG,
    FORWARD,
    generated_files,
    given_file,
    launch_description,
    own_node,
    robot_state_publisher,
    simulated_feedforward,
    simulated_hardware,
    simulation_arguments,
)
from franka_dynamics.simulation import gazebo
from franka_dynamics.urdf.writer import urdf_text

TARGET = 'gz_ros2_control'
ARGUMENTS = {
    **simulation_arguments(TARGET),
    'control': (
        'direct',
        "What drives the joints: Gazebo's own joint systems, or gz_ros2_control. Directly, "
        'robot_type may be the path of an arm file, such as `arm import` writes of a URDF.',
        ['direct', 'ros2_control'],
    ),
    'gui': (
        'true',
        'Whether to show Gazebo; false runs the physics server alone.',
        ['true', 'false'],
    ),
    'world': (
        str(CONFIG / 'gazebo_world.sdf'),
        'An SDF world named franka, with gravity 0 0 -9.81.',
    ),
}


def generate_launch_description():
    """Return the launch arguments, and the actions that start Gazebo, the arm and the node."""
    return launch_description(ARGUMENTS, everything)


def everything(given):
    """Return the actions for the argument control; refuse absent files."""
    given_file('world', given.world)
    arm = load(given.robot_type, hand=given.hand)
    return (direct_way if given.control == 'direct' else ros2_control_way)(given, arm)


def server(given, flag):
    """Return the action that starts Gazebo with the world and a flag, -r (run) or none."""
    flags = [flag, '' if given.gui == 'true' else '-s']
    return IncludeLaunchDescription(
        PythonLaunchDescriptionSource(
            PathJoinSubstitution([FindPackageShare('ros_gz_sim'), 'launch', 'gz_sim.launch.py'])
        ),
        launch_arguments={
            'gz_args': ' '.join(filter(None, [given.world, *flags])),
            'on_exit_shutdown': 'true',
        }.items(),
    )


def of_gazebo(given, package, executable, **more):
    """Return a node of ROS's packages for Gazebo: the bridge, or what spawns the arm."""
    return Node(
        package=package,
        executable=executable,
        namespace=given.namespace,
        output='screen',
        **more,
    )


def bridge(given, folder):
    """Return the node of ros_gz_bridge, configured by the file bridge.yaml in `folder`."""
    file = {'config_file': str(folder / 'bridge.yaml')}
    return of_gazebo(given, 'ros_gz_bridge', 'parameter_bridge', parameters=[file])


def spawned(given, *source):
    """Return the process that spawns the arm in Gazebo."""
    return of_gazebo(given, 'ros_gz_sim', 'create', arguments=[*source, '-name', gazebo.MODEL])


def ros2_control_way(given, arm):
    """Return the actions that start Gazebo and the node, spawn the arm, then its controllers."""
    folder = generated_files({'bridge.yaml': yaml.safe_dump(gazebo.bridges())})
    hardware = {
        'ros2_control': 'gz_ros2_control/GazeboSimSystem',
        'controllers': folder / 'controllers.yaml',
        'namespace': f'/{given.namespace.strip("/")}',
    }
    active, others = simulated_hardware(given, arm, TARGET, folder, hardware)
    spawn = spawned(given, '-topic', 'robot_description')
    return [
        server(given, '-r'),  # controllers cannot be activated while Gazebo is paused
        bridge(given, folder),
        spawn,
        after(spawn, 'spawning the arm', active),
        *others,
    ]


def direct_way(given, arm):
    """Return the actions that start Gazebo paused, spawn the arm, and resume once it is held."""
    shapes = load_shapes(arm.name)
    if given.hand in available_hands():  # Franka's hand; a hand of a file has no shapes
        flange = arm.flange_transform()
        shapes[arm.n] = (
            *shapes.get(arm.n, ()),
            *(shape.moved(flange) for shape in load_hand_shapes()),
        )
    start = gazebo.gazebo_start(arm).position
    folder = generated_files(
        {
            'bridge.yaml': yaml.safe_dump(gazebo.bridges(arm.joint_names)),
            'arm.urdf': gazebo.gazebo_urdf(arm, start, shapes=shapes),
        }
    )
    spawn = spawned(given, '-file', str(folder / 'arm.urdf'))
    direct = own_node(
        'gazebo_direct',
        given.namespace,
        parameters=[{'robot_type': given.robot_type, 'hand': given.hand}],
    )
    # The typed status of gazebo_direct says when the arm is held.
    name = f'/{given.namespace.strip("/")}/gazebo_direct'.replace('//', '/')
    held = ExecuteProcess(
        output='screen',
        cmd=[sys.executable, '-m', 'franka_dynamics.ros.observer', name],
    )
    kinds = '--reqtype gz.msgs.WorldControl --reptype gz.msgs.Boolean --timeout 5000'
    service = f'gz service -s /world/{gazebo.WORLD}/control {kinds} --req'
    resume = ExecuteProcess(output='screen', cmd=[*service.split(), 'pause: false'])
    return [
        server(given, ''),  # without -r Gazebo starts paused
        bridge(given, folder),
        robot_state_publisher(given.namespace, urdf_text(arm, root='world')),
        spawn,
        # gazebo_direct_node takes torques on the same topic as ros2_control's forward controller.
        simulated_feedforward(given, TARGET, f'{FORWARD}/commands'),
        after(spawn, 'spawning the arm', direct, held),
        after(held, 'waiting until the arm is held', resume),
        after(resume, "Gazebo's start"),
    ]
