# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
The feedforward node beside franka_ros2's bringup, which must be running.

The launch file loads one controller into franka_ros2's controller manager and connects the node to
that controller, with the joint states at their full rate and target fci (the robot adds gravity).
When the launch file ends, the controller is unloaded, whatever has happened to it. Controller and
node are named by the arm's prefix, so that two arms can have one controller manager. See
docs/howto/drivers.md.
"""

from launch.actions import LogInfo

from franka_dynamics.arm import load
from franka_dynamics.errors import SettingsError
from franka_dynamics.ros.launching import (
    argument_file_list,
    controller_parameters_text,
    EFFORT_CONTROLLER_NAME,
    feedforward_node,
    launch_description,
    loaded_controller,
    params_file_argument,
    RECEIVER_HELP,
    string_parameter,
    torque_controller,
    TorqueController,
    write_lasting_file,
)

TORQUES = 'torques'
TRAJECTORY = 'feedforward_trajectory_controller'
ARGUMENTS = {
    'robot_type': (
        'fr3',
        'An arm of the FR3 generation: a file name of config/arms, or an arm file.',
    ),
    'arm_prefix': (
        '',
        'Prefix of every joint name, verbatim; franka_ros2 adds an underscore to its own, so left '
        'there is left_ here. Node and controller get it, too.',
    ),
    'namespace': ('', "The namespace of franka_ros2's bringup."),
    'controller': (
        TORQUES,
        'Where the torques go: to a controller that takes them every cycle (torques), or to '
        'feedforward_trajectory_controller, which adds them to its own feedback.',
        [TORQUES, TRAJECTORY],
    ),
    'receiver': (
        '',
        f'{RECEIVER_HELP} It must be given with controller:=torques; without it, the launch '
        'names the receivers that are installed.',
    ),
    'controllers_file': (
        '',
        'Parameters of the controllers. If empty, those of the receiver, or '
        'config/franka_ros2_controllers.yaml with the joint names of the arm.',
    ),
    'joint_states_topic': (
        'franka/joint_states',
        "The full-rate stream; franka_ros2's joint_states has 30 Hz only.",
    ),
    'params_file': params_file_argument('fci'),
}


def generate_launch_description():
    """Return the launch arguments, and the actions that start controller and node."""
    return launch_description(ARGUMENTS, launch_actions)


def launch_actions(arguments):
    """Return the actions that load the controller and start the node."""
    controllers_file = argument_file_list('controllers_file', arguments.controllers_file)
    prefix = arguments.arm_prefix
    arm = load(arguments.robot_type, prefix=prefix)
    require_fr3(arguments.robot_type, arm.joint_names[0].removeprefix(prefix))
    forward = controller_parameters_text('franka_ros2_controllers.yaml', arm.joint_names, prefix)
    if arguments.controller == TORQUES:
        chosen = torque_controller(arm, arguments, 'fci', forward, prefix)
    elif arguments.receiver:
        raise SettingsError(
            f'receiver:={arguments.receiver} takes torques, and controller:={TRAJECTORY} takes '
            f'whole motions: leave receiver out, or give controller:={TORQUES}.'
        )
    else:
        # It takes whole trajectories with torques; to ~/command nobody listens.
        chosen = TorqueController(
            f'{prefix}{TRAJECTORY}',
            f'{prefix}{EFFORT_CONTROLLER_NAME}/commands',
            forward,
            f'{prefix}{TRAJECTORY} adds the torques of whole motions to its own feedback.',
        )
    if controllers_file:
        (parameters,) = controllers_file
    else:
        parameters = str(write_lasting_file(f'{chosen.name}.yaml', chosen.parameters_text))
    controller = loaded_controller(arguments.namespace, chosen.name, parameters)
    feedforward = feedforward_node(
        arguments,
        'fci',
        {
            'robot_type': string_parameter(arguments.robot_type),
            'arm_prefix': string_parameter(prefix),
            'target': 'fci',
            'use_sim_time': False,
        },
        {
            'joint_states': arguments.joint_states_topic,
            '~/command': chosen.command_topic,
            '~/feedforward_trajectory': f'{prefix}{TRAJECTORY}/joint_trajectory',
        },
        name=f'{prefix}feedforward',
    )
    return [LogInfo(msg=chosen.log_text), controller, feedforward]


def require_fr3(robot_type, joint):
    """Refuse a FER: libfranka from 0.10 on, which franka_ros2 needs, cannot control a FER."""
    if joint.startswith(('fer_', 'panda_')):
        raise RuntimeError(
            f'robot_type:={robot_type} is a FER (its first joint is {joint}), and franka_ros2 '
            'speaks to the FR3 generation only: the page "Drivers" of the '
            'documentation has the drivers for it and starts feedforward.launch.py beside them. '
            'Nothing is started.'
        )
