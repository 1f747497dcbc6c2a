# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A simulated arm and the feedforward node that holds it; if either ends, the other is ended."""

from importlib.util import find_spec
from pathlib import Path

import numpy as np

from franka_dynamics.arm import load
from franka_dynamics.arm.friction import LinearFriction
from franka_dynamics.errors import SettingsError
from franka_dynamics.ros import COMMAND_TOPIC
from franka_dynamics.ros.launching import (
    argument_file_list,
    feedforward_node,
    full_node_name,
    launch_description,
    namespace_argument,
    package_node,
    string_parameter,
)
from franka_dynamics.ros.parameter_tables import (
    parameters_of_node,
    read_parameter_file,
    SIMULATED_MODEL_SOURCE,
)

TARGET = 'mujoco'
# On a busy computer the simulated arm waits for the node's torque instead of falling, but for less
# than four of the node's periods, because the node stops if joint states are missing that long.
PACING = {'lockstep_rate': 1000.0, 'lockstep_timeout': 0.1}
ARGUMENTS = {
    'robot_type': (
        'fr3',
        'The arm that is simulated and whose model is used: a file name of config/arms, or the '
        'path of an arm file. It overrides the parameter files.',
    ),
    'arm_prefix': (
        '',
        'Put in front of every joint name, verbatim. It overrides the parameter files.',
    ),
    'urdf_file': (
        '',
        'A URDF or xacro file that holds the arm: mount and masses of the simulated arm and of '
        'the node.',
    ),
    'namespace': namespace_argument('both nodes, their topics and their clock'),
    'params_file': (
        '',
        'A parameter file for the feedforward node, read after config/feedforward/mujoco.yaml; '
        'default.yaml beside it lists all parameters.',
    ),
    'simulator_params_file': (
        '',
        'A parameter file for the simulated arm: noise, friction, payload; '
        'config/simulator/default.yaml lists all parameters.',
    ),
}


def generate_launch_description():
    """Return the launch arguments and the two nodes."""
    return launch_description(ARGUMENTS, simulation)


def simulation(arguments):
    """
    Return the simulator's and the feedforward node's actions.

    The simulated arm publishes its time on clock, in the namespace, and the node uses it: on a
    busy machine the node then does not take a slow arm for a silent one.
    """
    if find_spec('mujoco') is None:
        # Nodes run with launch's Python. rosdep's key installs by pip, which Ubuntu 24.04 refuses.
        raise SettingsError(
            'MuJoCo, which simulates the arm, is not installed, and apt has no package. Install '
            f"it beside the system's Python: pip install --target ~/mujoco mujoco 'numpy=="
            f"{np.__version__}'; then, in each shell, export PYTHONPATH=~/mujoco:$PYTHONPATH. "
            'Nothing is started.'
        )
    both = {
        'robot_type': string_parameter(arguments.robot_type),
        'arm_prefix': string_parameter(arguments.arm_prefix),
    }
    if arguments.urdf_file:
        both['model_source'] = string_parameter(arguments.urdf_file)
    simulator_files = argument_file_list('simulator_params_file', arguments.simulator_params_file)
    defaults = {}
    if not (arguments.urdf_file or is_ideal(simulator_files, arguments.namespace)):
        # The node knows the drives of the arm that is simulated beside it: with its friction
        # unknown the arm would rest up to 0.07 rad beside a motion's end.
        arm = load(arguments.robot_type)
        friction = arm.friction or arm.simulated_friction
        defaults = {
            'model_source': SIMULATED_MODEL_SOURCE,
            'terms.friction': friction is not None,
            'terms.offset': isinstance(friction, LinearFriction),
        }
    return [
        package_node(
            'simulator',
            arguments.namespace,
            parameters=[PACING, *simulator_files, {**both, 'publish_clock': True}],
        ),
        feedforward_node(
            arguments,
            TARGET,
            {**both, 'target': TARGET, 'use_sim_time': True},
            {'~/command': COMMAND_TOPIC, '/clock': 'clock'},
            defaults=defaults,
        ),
    ]


def is_ideal(simulator_files, namespace):
    """Return whether a parameter file makes the simulated arm ideal, without its drives."""
    name = full_node_name(namespace, 'simulator')
    return any(
        parameters_of_node(read_parameter_file(Path(file)), name).get('ideal')
        for file in simulator_files
    )
