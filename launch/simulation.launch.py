# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A simulated arm and the feedforward node that holds it; if either ends, the other is ended."""

from franka_dynamics.ros.launching import (
    argument,
    given_file,
    launch_description,
    namespace_argument,
    own_node,
    target_file,
    text,
)

TARGET = 'mujoco'
# On a busy computer the simulated arm waits for the node's torque instead of falling, but for less
# than the node's state_timeout, because the node stops if joint states are missing that long.
PACING = {'pacing': 'lockstep', 'lockstep_rate': 1000.0, 'lockstep_timeout': 0.1}
COMMAND_TOPIC = 'effort_controller/commands'  # where the simulated arm listens


def generate_launch_description():
    """Return the launch arguments and the two nodes."""
    arguments = [
        argument(
            'robot_type',
            'fr3',
            'The arm that is simulated and whose model is used: a file name of config/arms, or '
            'the path of an arm file. It overrides the parameter files.',
        ),
        argument(
            'arm_prefix',
            '',
            'Put in front of every joint name, verbatim. It overrides the parameter files.',
        ),
        namespace_argument('both nodes, their topics and their clock'),
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
    ]
    return launch_description(arguments, simulation)


def simulation(given):
    """
    Return the simulator's and the feedforward node's actions.

    The simulated arm publishes its time on clock, in the namespace, and the node uses it: on a
    busy machine the node then does not take a slow arm for a silent one.
    """
    both = {'robot_type': text(given.robot_type), 'arm_prefix': text(given.arm_prefix)}
    files = {
        name: given_file(name, getattr(given, name))
        for name in ('params_file', 'simulator_params_file')
    }
    simulator = own_node(
        'simulator',
        given.namespace,
        parameters=[PACING, *files['simulator_params_file'], {**both, 'publish_clock': True}],
    )
    feedforward = own_node(
        'feedforward',
        given.namespace,
        parameters=[
            target_file(TARGET),
            *files['params_file'],
            {**both, 'target': TARGET, 'use_sim_time': True},
        ],
        remappings=[('~/command', COMMAND_TOPIC), ('/clock', 'clock')],
    )
    return [simulator, feedforward]
