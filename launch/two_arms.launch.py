# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Two simulated arms, each with its feedforward node, namespace, clock and prefix."""

from types import SimpleNamespace

from launch import LaunchDescription
from launch.actions import GroupAction, IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import LaunchConfiguration, PathJoinSubstitution
from launch_ros.substitutions import FindPackageShare

from franka_dynamics.ros.launch_arguments import (
    argument,
    launch_description,
    namespace_argument,
)

SIDES = ('left', 'right')
# Arguments of simulation.launch.py that can be given for both arms or for one.
PER_ARM = {
    'robot_type': ('fr3', '{} arm: fer, fr3, fr3v2, fr3v2_1 or the path of an arm file.'),
    'params_file': ('', 'A parameter file for the feedforward node of {} arm.'),
    'simulator_params_file': ('', 'A parameter file for the simulation of {} arm.'),
}


def generate_launch_description() -> LaunchDescription:
    """Return the launch arguments and a group of actions for each arm."""
    both = [
        argument(
            name,
            default,
            f'{sentence_for(sentence, "each")[:-1]}, unless left_{name} or right_{name} is given.',
        )
        for name, (default, sentence) in PER_ARM.items()
    ]
    own = [
        argument(
            f'{side}_{name}', LaunchConfiguration(name), sentence_for(sentence, f'the {side}')
        )
        for side in SIDES
        for name, (_, sentence) in PER_ARM.items()
    ]
    names = [
        namespace_argument('the namespaces left and right'),
        argument('arm_prefix', '', 'Put before left_ and right_ in every joint name, verbatim.'),
    ]
    return launch_description([*both, *own, *names], both_arms)


def both_arms(given: SimpleNamespace) -> list[GroupAction]:
    """Return a group of actions for each arm; raise first if a parameter file is unusable."""
    from franka_dynamics.ros.parameter_files import given_file

    for side in SIDES:
        for name in PER_ARM:
            if name.endswith('_file'):
                given_file(f'{side}_{name}', getattr(given, f'{side}_{name}'))
    return [one_arm(side, given) for side in SIDES]


def sentence_for(sentence: str, arm: str) -> str:
    """Return a launch argument's description with `arm` filled in, beginning with a capital."""
    filled = sentence.format(arm)
    return filled[0].upper() + filled[1:]


def one_arm(side: str, given: SimpleNamespace) -> GroupAction:
    """Return a group that includes simulation.launch.py with the launch arguments of one arm."""
    simulation = PathJoinSubstitution(
        [FindPackageShare('franka_dynamics'), 'launch', 'simulation.launch.py']
    )
    return GroupAction(
        [
            IncludeLaunchDescription(
                PythonLaunchDescriptionSource(simulation),
                launch_arguments={
                    'namespace': f'{given.namespace.rstrip("/")}/{side}',
                    'arm_prefix': f'{given.arm_prefix}{side}_',
                    **{name: getattr(given, f'{side}_{name}') for name in PER_ARM},
                }.items(),
            )
        ]
    )
