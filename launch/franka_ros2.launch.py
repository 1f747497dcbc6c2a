# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
The feedforward node beside franka_ros2's bringup, which must be running.

The launch file loads one controller into franka_ros2's controller manager and connects the node to
that controller, with the joint states at their full rate and target fci (the robot adds gravity).
The node deactivates and unloads this controller when it ends; if the node was killed, the launch
file unloads the controller. See docs/howto/franka_ros2.md.
"""

from launch.actions import Shutdown

from franka_dynamics.ros.launch_arguments import (
    argument,
    launch_description,
    parameters_argument,
    receiver_argument,
    require_packages,
)
from franka_dynamics.ros.launch_processes import (
    after,
    generated_files,
    own_node,
    spawner,
    target_file,
    text,
    unloading,
)
from franka_dynamics.ros.launch_receiver import controllers_text, receiver

TORQUES, TRAJECTORY = 'torques', 'feedforward_trajectory_controller'
TRAJECTORY_PACKAGE = 'joint_trajectory_controller'


def generate_launch_description():
    """Return the launch arguments, and the actions that start controller and node."""
    arguments = [
        argument('robot_type', 'fr3', 'fr3, fr3v2, fr3v2_1 or an arm file of one of them.'),
        argument(
            'arm_prefix',
            '',
            'Prefix of every joint name, verbatim; franka_ros2 adds an underscore to its own, so '
            'left there is left_ here.',
        ),
        argument('namespace', '', "The namespace of franka_ros2's bringup."),
        argument(
            'controller',
            TORQUES,
            'Where the torques go: to a controller that takes them every cycle (torques), or to '
            'feedforward_trajectory_controller, which adds them to its own feedback.',
            [TORQUES, TRAJECTORY],
        ),
        receiver_argument(),
        argument(
            'controllers_file',
            '',
            'Parameters of the controllers. If empty, receiver.yaml of the generated package, or '
            'else config/franka_ros2_controllers.yaml with the joint names of the arm.',
        ),
        argument(
            'joint_states_topic',
            'franka/joint_states',
            "The full-rate stream; franka_ros2's joint_states has 30 Hz only.",
        ),
        parameters_argument('fci'),
    ]
    return launch_description(arguments, everything)


def everything(given):
    """Return the actions that unload an earlier start's controller, load one, start the node."""
    from franka_dynamics.arm import load
    from franka_dynamics.ros.parameter_files import given_file, require_file

    own_file = given_file('params_file', given.params_file)
    if given.controllers_file:
        require_file('controllers_file', given.controllers_file)
    arm = load(given.robot_type, prefix=given.arm_prefix)
    require_fr3(given.robot_type, load(given.robot_type).joint_names[0])
    forward = controllers_text('franka_ros2_controllers.yaml', arm.joint_names)
    chosen = receiver(arm, given.robot_type, given.receiver, 'fci', forward)
    if given.controller == TORQUES:
        controller, packages, parameters = chosen.controller, chosen.packages, chosen.parameters
        said = [chosen.said]
    else:
        controller, packages, parameters, said = TRAJECTORY, (TRAJECTORY_PACKAGE,), forward, []
    require_packages(
        ['controller_manager', *packages], 'franka_ros2', 'On the real arm, beside franka_ros2'
    )
    folder, removal = generated_files({'controllers.yaml': parameters})
    file = given.controllers_file or str(folder / 'controllers.yaml')
    manager = f'/{given.namespace.strip("/")}/controller_manager'.replace('//', '/')
    feedforward = own_node(
        'feedforward',
        namespace=given.namespace,
        # Unloading does nothing if the node has unloaded its controller itself.
        on_exit=[
            unloading(
                manager, controller, on_exit=Shutdown(reason='the feedforward node has ended')
            )
        ],
        parameters=[
            target_file('fci'),
            *own_file,
            {
                'robot_type': text(given.robot_type),
                'arm_prefix': text(given.arm_prefix),
                'target': 'fci',
                'use_sim_time': False,
                'controller': controller,
            },
        ],
        remappings=[
            ('joint_states', given.joint_states_topic),
            ('~/command', chosen.command),
            ('~/feedforward_trajectory', f'{TRAJECTORY}/joint_trajectory'),
        ],
    )
    # controller_manager neither configures a controller that is still active nor gives new
    # parameters to one that is still loaded.
    left_over = unloading(manager, controller)
    active = spawner(controller, '--param-file', file, namespace=given.namespace)
    return [removal, *said, after(left_over, active), after(active, feedforward), left_over]


def require_fr3(robot_type, joint):
    """Refuse a FER: libfranka from 0.10 on, which franka_ros2 needs, cannot control a FER."""
    if joint.startswith(('fer_', 'panda_')):
        raise RuntimeError(
            f'robot_type:={robot_type} is a FER (its first joint is {joint}), and franka_ros2 '
            'speaks to the FR3 generation only: the page "FER (Panda) on hardware" of the '
            'documentation has the drivers for it and starts feedforward.launch.py beside them. '
            'Nothing is started.'
        )
