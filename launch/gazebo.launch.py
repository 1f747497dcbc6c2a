# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
An arm in Gazebo Sim, held by feedforward and weak gains. See docs/howto/gazebo.md.

control:=direct drives the arm by Gazebo's own ApplyJointForce and JointStatePublisher, and Gazebo
starts paused. control:=ros2_control drives it by gz_ros2_control's effort interface.
"""

import os
from pathlib import Path
import shlex
import sys

from launch.actions import (
    AppendEnvironmentVariable,
    ExecuteProcess,
    IncludeLaunchDescription,
    SetEnvironmentVariable,
)
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import PathJoinSubstitution
from launch_ros.substitutions import FindPackageShare
import yaml

from franka_dynamics.arm import load
from franka_dynamics.arm.shapes import load_hand_shapes, load_shapes
from franka_dynamics.ros.launching import (
    argument_file_list,
    CONFIG_FOLDER,
    EFFORT_CONTROLLER_NAME,
    feedforward_for_simulator,
    full_node_name,
    launch_description,
    node_action,
    package_node,
    robot_state_publisher,
    ros2_control_actions,
    simulation_arguments,
    start_after_success,
    write_temporary_files,
)
from franka_dynamics.ros.node_process import REALTIME_OFF, REALTIME_VARIABLE
from franka_dynamics.simulation import gazebo
from franka_dynamics.urdf.writer import urdf_text

TARGET = 'gz_ros2_control'
ENOUGH_PROCESSORS = 4  # for Gazebo, its bridge and two nodes side by side
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
        str(CONFIG_FOLDER / 'gazebo_world.sdf'),
        'An SDF world named franka, with gravity 0 0 -9.81.',
    ),
}


def generate_launch_description():
    """Return the launch arguments, and the actions that start Gazebo, the arm and the node."""
    return launch_description(ARGUMENTS, launch_actions)


def launch_actions(arguments):
    """Return the actions for the argument control; refuse absent files."""
    arguments.world = ''.join(argument_file_list('world', arguments.world))
    arm = load(arguments.robot_type, hand=arguments.hand)
    if arguments.control == 'direct':
        started = direct_control_actions(arguments, arm)
    else:
        started = ros2_control_launch_actions(arguments, arm)
    if len(os.sched_getaffinity(0)) < ENOUGH_PROCESSORS:
        # Else nodes under real-time scheduling take the processor from their own simulator.
        default = os.environ.get(REALTIME_VARIABLE, REALTIME_OFF)
        started.insert(0, SetEnvironmentVariable(REALTIME_VARIABLE, default))
    return started


def gazebo_server(arguments, flag):
    """Return the action that starts Gazebo with the world and a flag, -r (run) or none."""
    flags = [flag, '' if arguments.gui == 'true' else '-s']
    return IncludeLaunchDescription(
        PythonLaunchDescriptionSource(
            PathJoinSubstitution([FindPackageShare('ros_gz_sim'), 'launch', 'gz_sim.launch.py'])
        ),
        launch_arguments={
            # A shell reads them.
            'gz_args': ' '.join(filter(None, [shlex.quote(arguments.world), *flags])),
            'on_exit_shutdown': 'true',
        }.items(),
    )


def gazebo_bridge(arguments, folder):
    """Return the node of ros_gz_bridge, configured by the file bridge.yaml in `folder`."""
    file = {'config_file': str(folder / 'bridge.yaml')}
    return node_action('ros_gz_bridge', 'parameter_bridge', arguments.namespace, parameters=[file])


def arm_spawner(arguments):
    """Return the process that spawns the arm of robot_description in Gazebo."""
    words = ['-topic', 'robot_description', '-name', gazebo.MODEL_NAME]
    return node_action('ros_gz_sim', 'create', arguments.namespace, arguments=words)


def ros2_control_launch_actions(arguments, arm):
    """Return the actions that start Gazebo and the node, spawn the arm, then its controllers."""
    folder = write_temporary_files({'bridge.yaml': yaml.safe_dump(gazebo.bridge_configuration())})
    hardware = {
        'ros2_control': 'gz_ros2_control/GazeboSimSystem',
        'controllers': folder / 'controllers.yaml',
        'namespace': f'/{arguments.namespace.strip("/")}',
    }
    spawn = arm_spawner(arguments)
    name = full_node_name(arguments.namespace, 'feedforward')
    home = [f'{joint}={q}' for joint, q in zip(arm.joint_names, arm.home_position.tolist())]
    # One step without torque as gz_ros2_control takes over, and constant efforts until the node's
    # first torque, let the arm leave its start pose by some milliradians.
    words = [sys.executable, '-m', 'franka_dynamics.ros.clients.lead_home', name, *home]
    lead = ExecuteProcess(cmd=words, output='screen')
    loaded, others = ros2_control_actions(arguments, arm, TARGET, folder, hardware, lead)
    return [
        gazebo_server(arguments, '-r'),  # controllers cannot be activated while Gazebo is paused
        gazebo_bridge(arguments, folder),
        spawn,
        start_after_success(spawn, 'spawning the arm', loaded),
        *others,
    ]


def wait_command(node):
    """Return the command line that ends once the status of gazebo_direct says the arm is held."""
    topic = f'{node}/status diagnostic_msgs/msg/DiagnosticStatus'
    qos = '--qos-durability transient_local --qos-reliability reliable'
    is_held = "('held', 'True') in [(value.key, value.value) for value in m.values]"
    return [
        *f'ros2 topic echo {topic} --once --no-daemon {qos} --filter'.split(),
        is_held,
    ]


def direct_control_actions(arguments, arm):
    """Return the actions that start Gazebo paused, with the arm, and resume once it is held."""
    shapes = load_shapes(arm.name)
    hand = (shape.expressed_in(arm.flange_transform()) for shape in load_hand_shapes(arm.hand))
    shapes[arm.n] = (*shapes.get(arm.n, ()), *hand)
    folder = write_temporary_files(
        {
            'bridge.yaml': yaml.safe_dump(gazebo.bridge_configuration(arm.joint_names)),
            'arm.urdf': gazebo.gazebo_urdf(arm, arm.home_position, shapes=shapes),
        }
    )
    # The arm stands in the world from the start, because a reset drops what is added later.
    world = Path(arguments.world)
    text = gazebo.world_with_arm(world, folder / 'arm.urdf')
    (folder / 'world.sdf').write_text(text, encoding='utf-8')
    arguments.world = str(folder / 'world.sdf')
    name = full_node_name(arguments.namespace, 'gazebo_direct')
    held = ExecuteProcess(cmd=wait_command(name))
    kinds = '--reqtype gz.msgs.WorldControl --reptype gz.msgs.Boolean --timeout 5000'
    service = f'gz service -s /world/{gazebo.WORLD_NAME}/control {kinds} --req'
    resume = ExecuteProcess(output='screen', cmd=[*service.split(), 'pause: false'])
    return [
        # What the given world names relative to its own folder.
        AppendEnvironmentVariable('GZ_SIM_RESOURCE_PATH', str(world.parent)),
        gazebo_server(arguments, ''),  # without -r Gazebo starts paused
        gazebo_bridge(arguments, folder),
        robot_state_publisher(arguments.namespace, urdf_text(arm, root='world')),
        # gazebo_direct_node takes torques on the same topic as ros2_control's forward controller.
        feedforward_for_simulator(arguments, TARGET, f'{EFFORT_CONTROLLER_NAME}/commands'),
        package_node(
            'gazebo_direct',
            arguments.namespace,
            parameters=[{'robot_type': arguments.robot_type, 'hand': arguments.hand}],
        ),
        held,
        start_after_success(held, 'waiting until the arm is held', resume),
        start_after_success(resume, "Gazebo's start"),
    ]
