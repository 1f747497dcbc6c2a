# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A simulated arm and the feedforward node that holds it; when one of them ends, so does all."""

from pathlib import Path

from launch import LaunchContext, LaunchDescription
from launch.actions import DeclareLaunchArgument, OpaqueFunction, Shutdown
from launch.substitutions import LaunchConfiguration, PathJoinSubstitution
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue
from launch_ros.substitutions import FindPackageShare

PACKAGE, TARGET = 'franka_dynamics', 'mujoco'
COMMAND_TOPIC = 'effort_controller/commands'  # where the simulated arm listens


def generate_launch_description() -> LaunchDescription:
    """Return the arguments and the two nodes."""
    return LaunchDescription([
        DeclareLaunchArgument(
            'robot_type', default_value='fer',
            description='The arm that is simulated and whose model is used: fer, fr3 or the path '
                        'of an arm file. It overrides the parameter files.'),
        DeclareLaunchArgument(
            'arm_prefix', default_value='',
            description='Put in front of every joint name, verbatim. It overrides the parameter '
                        'files.'),
        DeclareLaunchArgument(
            'namespace', default_value='',
            description='Namespace of both nodes and their topics.'),
        DeclareLaunchArgument(
            'params_file', default_value='',
            description='A parameter file for the feedforward node, read after '
                        'config/feedforward/mujoco.yaml; default.yaml beside it lists all '
                        'parameters.'),
        DeclareLaunchArgument(
            'simulator_params_file', default_value='',
            description='A parameter file for the simulated arm: noise, friction, payload, '
                        'pushes; config/simulator/default.yaml lists all parameters.'),
        DeclareLaunchArgument(
            'use_sim_time', default_value='false', choices=['true', 'false'],
            description='Whether the simulated arm publishes its time on /clock and the node '
                        'goes by it.'),
        OpaqueFunction(function=simulation),
    ])


def simulation(context: LaunchContext) -> list[Node]:
    """Return both nodes; a function, because substitutions cannot leave an ungiven file out."""
    both = {'robot_type': as_type('robot_type', str), 'arm_prefix': as_type('arm_prefix', str)}
    common = {'package': PACKAGE, 'namespace': LaunchConfiguration('namespace'),
              'output': 'screen', 'emulate_tty': True}
    target_file = PathJoinSubstitution(
        [FindPackageShare(PACKAGE), 'config', 'feedforward', f'{TARGET}.yaml'])
    simulator = Node(
        executable='simulator_node', **common,
        parameters=[*given_file(context, 'simulator_params_file'),
                    {**both, 'publish_clock': as_type('use_sim_time', bool)}],
        on_exit=Shutdown(reason='the simulated arm ended'))
    feedforward = Node(
        executable='feedforward_node', **common,
        parameters=[target_file, *given_file(context, 'params_file'),
                    {**both, 'target': TARGET, 'use_sim_time': as_type('use_sim_time', bool)}],
        remappings=[('~/command', COMMAND_TOPIC)],
        on_exit=Shutdown(reason='the feedforward node ended'))
    return [simulator, feedforward]


def as_type(argument: str, kind: type) -> ParameterValue:
    """Return an argument as a parameter; without a type a text such as 'on' becomes a bool."""
    return ParameterValue(LaunchConfiguration(argument), value_type=kind)


def given_file(context: LaunchContext, argument: str) -> list[str]:
    """Return the file an argument names, if any."""
    name = LaunchConfiguration(argument).perform(context)
    if name and not Path(name).is_file():
        # launch_ros would warn and start the node without it.
        raise FileNotFoundError(f'{argument}: there is no file {name}.')
    return [name] if name else []
