# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
An arm in Gazebo Sim, held by feedforward torque alone. See docs/howto/gazebo.md.

control:=ros2_control drives it through gz_ros2_control's effort interface, control:=direct through
Gazebo's own ApplyJointForce and JointStatePublisher: it starts paused, without ros2_control.
"""

from pathlib import Path
import tempfile

from launch.actions import (
    ExecuteProcess,
    IncludeLaunchDescription,
    RegisterEventHandler,
    Shutdown,
)
from launch.event_handlers import OnProcessIO
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import LaunchConfiguration, PathJoinSubstitution
from launch_ros.actions import Node
from launch_ros.substitutions import FindPackageShare
import yaml

from franka_dynamics.ros.launch_parts import (
    after,
    argument,
    arm_arguments,
    controllers_file,
    FORWARD,
    launch_description,
    NO_RECEIVER,
    own_node,
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

SHARE = FindPackageShare('franka_dynamics')
TARGET = 'gz_ros2_control'
# ROS packages that each way needs, as apt names them after ros-<distribution>-.
PACKAGES = {
    'direct': ('ros_gz_sim', 'ros_gz_bridge', 'robot_state_publisher', 'xacro'),
    'ros2_control': (
        'ros_gz_sim',
        'ros_gz_bridge',
        'robot_state_publisher',
        'xacro',
        'gz_ros2_control',
        'controller_manager',
        'forward_command_controller',
        'joint_state_broadcaster',
    ),
}


def generate_launch_description():
    """Return the arguments, and what they make of Gazebo, the arm and the node."""
    arguments = [
        *arm_arguments(),
        argument(
            'control',
            'direct',
            "Gazebo's own joint systems, or gz_ros2_control.",
            ['direct', 'ros2_control'],
        ),
        argument(
            'gui',
            'true',
            'Whether to show Gazebo; false runs the physics server alone.',
            ['true', 'false'],
        ),
        argument(
            'world',
            PathJoinSubstitution([SHARE, 'config', 'gazebo_world.sdf']),
            'An SDF world named franka, with gravity 0 0 -9.81.',
        ),
        # A generated controller begins at zero torque, under which a simulated arm sags; and the
        # simulation ends with the node.
        receiver_argument(NO_RECEIVER),
        parameters_argument(TARGET),
    ]
    return launch_description(arguments, everything)


def everything(context):
    """Return the processes of the chosen way."""
    from franka_dynamics.arm import load
    from franka_dynamics.ros.parameter_files import given_file, require_file
    from franka_dynamics.simulation import gazebo

    robot_type, hand, control, gui, world, package, params_file = (
        LaunchConfiguration(name).perform(context)
        for name in ('robot_type', 'hand', 'control', 'gui', 'world', 'receiver', 'params_file')
    )
    own_file = given_file('params_file', params_file)
    require_file('world', world)
    require_packages(PACKAGES[control], f'control:={control}', 'docs/howto/gazebo.md')
    description = load(robot_type, hand=hand)
    folder = Path(tempfile.mkdtemp(prefix='franka_dynamics_gazebo_'))
    arm = {'robot_type': robot_type, 'hand': hand}
    direct = control == 'direct'
    controllers = controllers_file('gazebo_controllers.yaml', description.joint_names, folder)
    chosen = None if direct else receiver(description, package, TARGET, controllers, folder)
    command = f'{FORWARD}/commands' if direct else chosen.command  # gazebo_direct_node's
    given = {**arm, 'target': TARGET, 'use_sim_time': True}
    feedforward = simulated_feedforward([target_file(TARGET), *own_file], given, command)
    server = IncludeLaunchDescription(
        PythonLaunchDescriptionSource(
            PathJoinSubstitution([FindPackageShare('ros_gz_sim'), 'launch', 'gz_sim.launch.py'])
        ),
        launch_arguments={
            # Paused until the torque is there, unless controllers must be switched first.
            'gz_args': f'{world}{"" if direct else " -r"}{"" if gui == "true" else " -s"}',
            'on_exit_shutdown': 'true',
        }.items(),
    )
    bridge_file = folder / 'bridge.yaml'
    bridge_file.write_text(
        yaml.safe_dump(gazebo.bridges(description.joint_names if direct else ())), encoding='utf-8'
    )
    bridge = Node(
        package='ros_gz_bridge',
        executable='parameter_bridge',
        output='screen',
        parameters=[{'config_file': str(bridge_file)}],
    )
    way = (
        direct_way(description, gazebo, folder, arm, feedforward)
        if direct
        else ros2_control_way(description, gazebo, controllers, arm, feedforward, chosen)
    )
    return [removal_at_shutdown(folder), server, bridge, *way]


def ros2_control_way(description, gazebo, controllers, arm, feedforward, chosen):
    """Spawn the arm, then the broadcaster, then the controller, each after the last."""
    start = gazebo.start_of(description)
    publisher = robot_state_publisher(
        {
            **arm,
            'connected_to': 'world',
            'ros2_control': 'gz_ros2_control/GazeboSimSystem',
            'controllers': controllers,
            'initial_positions': gazebo.numbers(start.position),
            'initial_efforts': gazebo.numbers(start.torque),
        }
    )
    spawn = Node(
        package='ros_gz_sim',
        executable='create',
        output='screen',
        arguments=['-topic', 'robot_description', '-name', gazebo.MODEL],
    )
    # The broadcaster has all it needs from gz_ros2_control's own parameter file.
    broadcaster = spawner('joint_state_broadcaster')
    active = spawner(chosen.controller, '--param-file', chosen.file)
    return [
        chosen.said,
        publisher,
        spawn,
        feedforward,
        after(spawn, broadcaster),
        after(broadcaster, active),
    ]


def direct_way(description, gazebo, folder, arm, feedforward):
    """Spawn the arm into paused Gazebo, send it the holding torque, then let time run."""
    from franka_dynamics.arm.shapes import load_hand_shapes, load_shapes

    shapes = load_shapes(description.name)
    if arm['hand'] != 'none':
        flange = description.flange_transform()
        shapes[description.n] = (
            *shapes.get(description.n, ()),
            *(shape.moved(flange) for shape in load_hand_shapes()),
        )
    model = folder / 'arm.urdf'
    model.write_text(
        gazebo.direct_urdf(description, gazebo.start_of(description).position, shapes=shapes),
        encoding='utf-8',
    )
    spawn = Node(
        package='ros_gz_sim',
        executable='create',
        output='screen',
        arguments=['-file', str(model), '-name', gazebo.MODEL],
    )
    direct = own_node('gazebo_direct', on_exit=Shutdown(), parameters=[arm])
    unpause = ExecuteProcess(
        output='screen',
        cmd=[
            'gz',
            'service',
            '-s',
            f'/world/{gazebo.WORLD}/control',
            '--reqtype',
            'gz.msgs.WorldControl',
            '--reptype',
            'gz.msgs.Boolean',
            '--timeout',
            '5000',
            '--req',
            'pause: false',
        ],
    )
    done = []

    def when_holding(event):
        if b'every force topic has a listener' not in event.text or done:
            return []
        done.append(True)
        return [unpause]

    started = RegisterEventHandler(
        OnProcessIO(target_action=direct, on_stdout=when_holding, on_stderr=when_holding)
    )
    publisher = robot_state_publisher({**arm, 'connected_to': 'world'})
    return [publisher, spawn, started, feedforward, after(spawn, direct)]
