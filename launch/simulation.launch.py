# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A simulated arm and the feedforward node that holds it; if either ends, the other is ended."""

from importlib.util import find_spec
from types import SimpleNamespace

from launch import LaunchDescription
from launch.actions import Shutdown
from launch_ros.actions import Node

from franka_dynamics.ros.launch_arguments import (
    argument,
    launch_description,
    namespace_argument,
)
from franka_dynamics.ros.launch_processes import own_node, target_file, text

TARGET = 'mujoco'
# On a busy computer the simulated arm waits for the node's torque instead of falling, but for less
# than the node's state_timeout, because the node stops if joint states are missing that long.
PACING = {'pacing': 'lockstep', 'lockstep_rate': 1000.0, 'lockstep_timeout': 0.1}
COMMAND_TOPIC = 'effort_controller/commands'  # where the simulated arm listens


def generate_launch_description() -> LaunchDescription:
    """Return the launch arguments and the two nodes."""
    return launch_description(
        [
            argument(
                'robot_type',
                'fr3',
                'The arm that is simulated and whose model is used: fer, fr3, fr3v2, fr3v2_1 or '
                'the path of an arm file. It overrides the parameter files.',
            ),
            argument(
                'arm_prefix',
                '',
                'Put in front of every joint name, verbatim. It overrides the parameter files.',
            ),
            namespace_argument('both nodes and their topics'),
            argument(
                'params_file',
                '',
                'A parameter file for the feedforward node, read after '
                'config/feedforward/mujoco.yaml; default.yaml beside it lists all parameters.',
            ),
            argument(
                'simulator_params_file',
                '',
                'A parameter file for the simulated arm: noise, friction, payload, pushes; '
                'config/simulator/default.yaml lists all parameters.',
            ),
            argument(
                'use_sim_time',
                'true',
                'Whether the simulated arm publishes its time on clock, in the namespace, and the '
                'node uses it. On a busy machine the node then does not take a slow arm for a '
                'silent one.',
                ['true', 'false'],
            ),
        ],
        simulation,
    )


def simulation(given: SimpleNamespace) -> list[Node]:
    """Return the simulator's and the feedforward node's actions."""
    from franka_dynamics.ros.parameter_files import given_file

    if find_spec('mujoco') is None:
        raise RuntimeError(
            'the simulated arm needs MuJoCo, which no apt package brings: pip install --user '
            '--break-system-packages mujoco. Nothing is started.'
        )
    own_file, simulator_file = (
        given_file(name, getattr(given, name)) for name in ('params_file', 'simulator_params_file')
    )
    both = {'robot_type': text(given.robot_type), 'arm_prefix': text(given.arm_prefix)}
    simulated = given.use_sim_time == 'true'
    simulator = own_node(
        'simulator',
        namespace=given.namespace,
        parameters=[PACING, *simulator_file, {**both, 'publish_clock': simulated}],
        on_exit=Shutdown(reason='the simulated arm ended'),
    )
    feedforward = own_node(
        'feedforward',
        namespace=given.namespace,
        parameters=[
            target_file(TARGET),
            *own_file,
            {**both, 'target': TARGET, 'use_sim_time': simulated},
        ],
        remappings=[('~/command', COMMAND_TOPIC), ('/clock', 'clock')],
        on_exit=Shutdown(reason='the feedforward node ended'),
    )
    return [simulator, feedforward]
