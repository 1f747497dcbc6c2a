# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
An arm in Gazebo Sim, held by feedforward and weak gains. See docs/howto/gazebo.md.

control:=direct drives the arm by Gazebo's own ApplyJointForce and JointStatePublisher, and Gazebo
starts paused. control:=ros2_control drives it by gz_ros2_control's effort interface.
"""

from launch.actions import ExecuteProcess, IncludeLaunchDescription, RegisterEventHandler, Shutdown
from launch.event_handlers import OnProcessIO
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import PathJoinSubstitution
from launch_ros.actions import Node
from launch_ros.substitutions import FindPackageShare
import yaml

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
    own_node,
    robot_state_publisher,
    simulated_feedforward,
    spawner,
)
from franka_dynamics.ros.launch_receiver import controllers_text, FORWARD, receiver

SHARE = FindPackageShare('franka_dynamics')
TARGET = 'gz_ros2_control'
# Required ROS packages; each one's Debian package is ros-<distribution>-<name>, with hyphens.
PACKAGES = ('ros_gz_sim', 'ros_gz_bridge', 'robot_state_publisher', 'xacro')
ROS2_CONTROL = ('gz_ros2_control', 'controller_manager', 'joint_state_broadcaster')


def generate_launch_description():
    """Return the launch arguments, and the actions that start Gazebo, the arm and the node."""
    arguments = [
        *arm_arguments(),
        argument(
            'control',
            'direct',
            "What drives the joints: Gazebo's own joint systems, or gz_ros2_control.",
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
        namespace_argument('nodes, controllers and topics'),
        receiver_argument(),
        parameters_argument(TARGET),
    ]
    return launch_description(arguments, everything)


def everything(given):
    """Return the actions for the argument control; refuse an unusable params_file or world."""
    from franka_dynamics.arm import load
    from franka_dynamics.ros.parameter_files import given_file, require_file

    own_file = given_file('params_file', given.params_file)
    require_file('world', given.world)
    arm = load(given.robot_type, hand=given.hand)
    way = direct_way if given.control == 'direct' else ros2_control_way
    return way(given, arm, own_file)


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


def bridge(given, folder):
    """Return the node of ros_gz_bridge, configured by the file bridge.yaml in `folder`."""
    return Node(
        package='ros_gz_bridge',
        namespace=given.namespace,
        executable='parameter_bridge',
        output='screen',
        parameters=[{'config_file': str(folder / 'bridge.yaml')}],
    )


def spawned(given, *source):
    """Return the process that spawns the arm in Gazebo."""
    from franka_dynamics.simulation.gazebo import MODEL

    return Node(
        package='ros_gz_sim',
        executable='create',
        namespace=given.namespace,
        output='screen',
        arguments=[*source, '-name', MODEL],
    )


def ros2_control_way(given, arm, own_file):
    """Return the actions that start Gazebo and the node, spawn the arm, then its controllers."""
    from franka_dynamics.simulation import gazebo

    controllers = controllers_text('gazebo_controllers.yaml', arm.joint_names)
    chosen = receiver(arm, given.robot_type, given.receiver, TARGET, controllers)
    require_packages(
        [*PACKAGES, *ROS2_CONTROL, *chosen.packages],
        'control:=ros2_control',
        'Simulate in Gazebo, or in MuJoCo under ros2_control',
    )
    folder, removal = generated_files(
        {
            'bridge.yaml': yaml.safe_dump(gazebo.bridges()),
            'controllers.yaml': controllers,
            'receiver.yaml': chosen.parameters,
        }
    )
    start = gazebo.start_of(arm)
    publisher = robot_state_publisher(
        {
            'robot_type': given.robot_type,
            'hand': given.hand,
            'connected_to': 'world',
            'ros2_control': 'gz_ros2_control/GazeboSimSystem',
            'controllers': folder / 'controllers.yaml',
            'namespace': f'/{given.namespace.strip("/")}',
            'initial_positions': gazebo.numbers(start.position),
            'initial_efforts': gazebo.numbers(start.torque),
        },
        given.namespace,
    )
    spawn = spawned(given, '-topic', 'robot_description')
    active = spawner(
        'joint_state_broadcaster',
        chosen.controller,
        '--param-file',
        str(folder / 'receiver.yaml'),
        namespace=given.namespace,
    )
    return [
        removal,
        server(given, '-r'),  # controllers cannot be activated while Gazebo is paused
        bridge(given, folder),
        chosen.said,
        publisher,
        spawn,
        simulated_feedforward(given, TARGET, own_file, chosen.command),
        after(spawn, active),
        after(active),
    ]


def direct_way(given, arm, own_file):
    """Return the actions that start Gazebo paused, spawn the arm, and resume once it is held."""
    from franka_dynamics.arm import available_hands
    from franka_dynamics.arm.shapes import load_hand_shapes, load_shapes
    from franka_dynamics.simulation import gazebo

    require_packages(
        PACKAGES, 'control:=direct', 'Simulate in Gazebo, or in MuJoCo under ros2_control'
    )
    shapes = load_shapes(arm.name)
    if given.hand in available_hands():  # Franka's hand; a hand of a file has no shapes
        flange = arm.flange_transform()
        shapes[arm.n] = (
            *shapes.get(arm.n, ()),
            *(shape.moved(flange) for shape in load_hand_shapes()),
        )
    start = gazebo.start_of(arm).position
    folder, removal = generated_files(
        {
            'bridge.yaml': yaml.safe_dump(gazebo.bridges(arm.joint_names)),
            'arm.urdf': gazebo.direct_urdf(arm, start, shapes=shapes),
        }
    )
    spawn = spawned(given, '-file', str(folder / 'arm.urdf'))
    parameters = {'robot_type': given.robot_type, 'hand': given.hand}
    direct = own_node(
        'gazebo_direct',
        namespace=given.namespace,
        on_exit=Shutdown(),
        parameters=[parameters],
    )
    kinds = '--reqtype gz.msgs.WorldControl --reptype gz.msgs.Boolean --timeout 5000'
    asked = f'gz service -s /world/{gazebo.WORLD}/control {kinds} --req'
    unpause = ExecuteProcess(output='screen', cmd=[*asked.split(), 'pause: false'])
    done = []

    def when_holding(event):
        if b'every force topic has a listener' not in event.text or done:
            return []
        done.append(True)
        return [unpause]

    started = RegisterEventHandler(
        OnProcessIO(target_action=direct, on_stdout=when_holding, on_stderr=when_holding)
    )
    return [
        removal,
        server(given, ''),  # without -r Gazebo starts paused
        bridge(given, folder),
        robot_state_publisher({**parameters, 'connected_to': 'world'}, given.namespace),
        spawn,
        started,
        # gazebo_direct_node takes torques on the same topic as ros2_control's forward controller.
        simulated_feedforward(given, TARGET, own_file, f'{FORWARD}/commands'),
        after(spawn, direct),
    ]
