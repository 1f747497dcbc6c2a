# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Functions of launch files for arms under ros2_control: controllers and their spawners."""

from collections.abc import Mapping, Sequence
from pathlib import Path
import re
import shlex
import sys
from types import SimpleNamespace
from typing import Any, NamedTuple

from ament_index_python.packages import get_packages_with_prefixes
from launch import actions  # type: ignore[attr-defined]
from launch_ros.actions import Node
import yaml

from .launch_actions import (
    argument_file_list,
    CONFIG_FOLDER,
    exit_callback,
    feedforward_for_simulator,
    full_node_name,
    LaunchArgument,
    namespace_argument,
    node_action,
    params_file_argument,
    robot_state_publisher,
    start_after_success,
    write_lasting_file,
    xacro_command,
)
from .parameter_tables import ARM_MODEL_SOURCE, parameters_of_node, read_parameter_file
from ..arm import ArmDescription
from ..cpp_package.package import controller_arm_text
from ..cpp_package.package import CONTROLLER_PACKAGE_NAME as BRAKING_PACKAGE
from ..errors import SettingsError
from ..simulation.gazebo import holding_torque, xacro_numbers

# Names of controllers: of the one that brakes the arm, and of the forward controller.
BRAKING_CONTROLLER_NAME = 'receiver'
EFFORT_CONTROLLER_NAME = 'effort_controller'
# Parameters that the braking controller must have as the node has them: it brakes and holds the
# same arm, with the same load, on the same mount.
_PARAMETERS_OF_BOTH = (
    'gravity_vector',
    'mount_tilt_compensated_by',
    'payload',
    'payload_known_to_robot',
)
RECEIVER_HELP = (
    'What takes the torques: effort_controller, a forward controller, which holds the last torque '
    'if the node is killed (until launch has deactivated it; for ever if launch is killed, too), '
    f'or {BRAKING_PACKAGE} (franka-dynamics codegen --package), whose controller then brakes the '
    'arm.'
)


def simulation_arguments(target: str) -> dict[str, LaunchArgument]:
    """Return the launch arguments common to arms in other simulators, such as Gazebo, by name."""
    return {
        'robot_type': ('fr3', 'The arm: a file name of config/arms.'),
        'hand': ('none', 'The hand: none, franka_hand, or another of config/hands.'),
        'namespace': namespace_argument('nodes, controllers and topics'),
        'receiver': (EFFORT_CONTROLLER_NAME, RECEIVER_HELP),
        'params_file': params_file_argument(target),
    }


def controller_spawner(namespace: str, *args: str, params_file: str, **node_options: Any) -> Node:
    """
    Return the action that loads and activates ros2_control controllers with a parameter file.

    `args` are its options, then the controllers' names.
    """
    words = [*args, '--param-file', params_file, '--controller-manager-timeout', '30']
    return node_action('controller_manager', 'spawner', namespace, arguments=words, **node_options)


def loaded_controller(
    namespace: str, controller_name: str, params_file: str, *, sigkill_timeout_s: float = 30.0
) -> Node:
    """
    Return the action that loads and activates a controller, which is unloaded when launch ends.

    `loaded_controller` does that, in front of the spawner. The launch ends when it does, with
    status 1 if it fails. It has `sigkill_timeout_s` [s] to unload the controller.
    """
    manager = full_node_name(namespace, 'controller_manager')
    module = f'{__package__}.clients.loaded_controller'
    words = [sys.executable, '-m', module, manager, controller_name]
    process_name = f'the spawner of {controller_name}'
    return controller_spawner(
        namespace,
        controller_name,
        params_file=params_file,
        prefix=shlex.join(words),
        exec_name='spawner',  # in the log, and not Python
        sigkill_timeout=str(sigkill_timeout_s),
        on_exit=exit_callback(process_name, fails_at_shutdown=True),
    )


class TorqueController(NamedTuple):
    """Name, topic, parameters and log text of a ros2_control controller that takes torques."""

    name: str  # in the controller manager
    command_topic: str
    parameters_text: str  # the text of its parameter file
    log_text: str  # what launch logs about it


def controller_parameters_text(file: str, joint_names: Sequence[str], prefix: str = '') -> str:
    """
    Return the text of a controller parameter file of config/ with an arm's joint names.

    They replace fr3_joint1 to fr3_joint7. `prefix` is put before the controllers' names, so that
    two arms can have one manager. The file is changed as text, so that its comments stay.

    Raises
    ------
    SettingsError
        If the file is for another number of joints.

    """
    text = (CONFIG_FOLDER / file).read_text(encoding='utf-8')
    count = len(set(re.findall(r'fr3_joint\d', text)))
    if len(joint_names) != count:
        raise SettingsError(
            f'{file} is for arms of {count} joints, and this one has {len(joint_names)}: choose '
            'another robot_type, or in Gazebo control:=direct.'
        )
    text = re.sub(r'fr3_joint(\d)', lambda found: joint_names[int(found[1]) - 1], text)
    return re.sub(r'/\*\*/(?=effort|feedforward)', f'/**/{prefix}', text)


def torque_controller(
    arm: ArmDescription,
    arguments: SimpleNamespace,
    target: str,
    param_text: str,
    prefix: str = '',
) -> TorqueController:
    """
    Return the torque controller that the launch argument `receiver` selects.

    `arm` has the joint names of the robot description. `target` is the node's target: it tells the
    braking controller whether to add gravity torque while it brakes and holds the arm.
    `param_text` is that of the forward controller's parameter file. `prefix` is put before the
    controller's name.

    Raises
    ------
    SettingsError
        If there is no such receiver, and what `controller_arm_text` raises for an arm that the
        braking controller cannot take.

    """
    receiver = arguments.receiver
    if receiver == EFFORT_CONTROLLER_NAME:
        return _forward_controller(param_text, prefix)
    is_braking_installed = BRAKING_PACKAGE in get_packages_with_prefixes()
    if receiver == BRAKING_PACKAGE and is_braking_installed:
        return _braking_controller(arm, arguments, target, prefix)
    raise SettingsError(_receivers_sentence(receiver, is_braking_installed=is_braking_installed))


def _receivers_sentence(receiver: str, *, is_braking_installed: bool) -> str:
    """Return an error text on a receiver that is not there, with those that are."""
    problem = f'{receiver} is not installed' if receiver else 'say what takes the torques'
    forward = (
        f'receiver:={EFFORT_CONTROLLER_NAME} (it holds the last torque if the node is killed)'
    )
    braking = f'receiver:={BRAKING_PACKAGE} (it then brakes the arm)'
    choice = f'{forward}, {braking}.'
    if not is_braking_installed:
        making = 'franka-dynamics codegen --package --output src, then colcon build'
        choice = f'{forward}. For {braking} {making}.'
    return f'receiver: {problem}. There is: {choice} Nothing is started.'


def _forward_controller(param_text: str, prefix: str) -> TorqueController:
    """Return the forward controller, which holds the last torque, with a parameter file's text."""
    name = f'{prefix}{EFFORT_CONTROLLER_NAME}'
    note = (
        f'WARNING: {name} holds the last torque if the node is killed: until launch, which sees '
        'that, has deactivated it, and for ever if launch is killed, too.'
    )
    return TorqueController(name, f'{name}/commands', param_text, note)


def _braking_controller(
    arm: ArmDescription, arguments: SimpleNamespace, target: str, prefix: str
) -> TorqueController:
    """
    Return the controller that brakes the arm when torques cease.

    It gets the load and the tilt of the base that params_file gives to the node. If the node's
    model is that of a URDF, the controller's arm is that of robot_description.
    """
    name = f'{prefix}{BRAKING_CONTROLLER_NAME}'
    node_name = full_node_name(arguments.namespace, f'{prefix}feedforward')
    node_values: dict[str, Any] = {}
    for file in argument_file_list('params_file', arguments.params_file):
        node_values |= parameters_of_node(read_parameter_file(Path(file)), node_name)
    values = {
        'type': f'{BRAKING_PACKAGE}/FeedforwardController',
        'target': target,
        'reference': 'total_torque',
        **{key: node_values[key] for key in _PARAMETERS_OF_BOTH if key in node_values},
    }
    if node_values.get('model_source', ARM_MODEL_SOURCE) == ARM_MODEL_SOURCE:
        arm_file = write_lasting_file(f'{arm.name}.yaml', controller_arm_text(arm))
        values['arm_file'] = str(arm_file)
    else:
        values['joints'] = list(arm.joint_names)  # of robot_description
    note = f'{BRAKING_PACKAGE} takes the torques, and brakes the arm when they cease.'
    text = yaml.safe_dump({f'/**/{name}': {'ros__parameters': values}})
    return TorqueController(name, f'{name}/reference', text, note)


def ros2_control_actions(
    arguments: SimpleNamespace,
    arm: ArmDescription,
    target: str,
    folder: Path,
    hardware_parameters: Mapping[str, Any],
    *actions_with_node: Any,
) -> tuple[Node, list[Any]]:
    """
    Write controller files; return the first spawner, and the other actions, of a simulated arm.

    The first spawner loads the controller of torques, which the node must find to ask for it. Once
    there are joint states, the feedforward node and `actions_with_node` start: it then waits for
    nothing but the controller, which is activated last, because the simulator lets the joints go
    with that. The other actions contain robot_state_publisher with `hardware_parameters`; the
    simulator is not among them. `folder` receives the parameter files: controllers.yaml is the
    controller manager's.
    """
    controllers = controller_parameters_text('gazebo_controllers.yaml', arm.joint_names)
    chosen = torque_controller(arm, arguments, target, controllers)
    (folder / 'controllers.yaml').write_text(controllers, encoding='utf-8')
    (folder / 'receiver.yaml').write_text(chosen.parameters_text, encoding='utf-8')
    # The initial efforts must hold the arm, because the physics runs before any controller.
    positions = xacro_numbers(arm.home_position)
    efforts = xacro_numbers(holding_torque(arm))
    initial = {'initial_positions': positions, 'initial_efforts': efforts}
    receiver_file = str(folder / 'receiver.yaml')
    torque_spawner = controller_spawner(
        arguments.namespace, '--inactive', chosen.name, params_file=receiver_file
    )
    broadcaster = 'joint_state_broadcaster'
    state_spawner = controller_spawner(arguments.namespace, broadcaster, params_file=receiver_file)
    node = feedforward_for_simulator(arguments, target, chosen.command_topic)
    activation = _activation(arguments.namespace, chosen.name)
    urdf = xacro_command(arguments, {**hardware_parameters, **initial})
    return torque_spawner, [
        actions.LogInfo(msg=chosen.log_text),
        robot_state_publisher(arguments.namespace, urdf),
        start_after_success(torque_spawner, f'the spawner of {chosen.name}', state_spawner),
        start_after_success(
            state_spawner, f'the spawner of {broadcaster}', node, activation, *actions_with_node
        ),
    ]


def _activation(namespace: str, controller_name: str) -> Any:
    """Return the action that activates a controller once the feedforward node waits for it."""
    node, manager = (
        full_node_name(namespace, name) for name in ('feedforward', 'controller_manager')
    )
    module = f'{__package__}.clients.awaited_controller'
    return actions.ExecuteProcess(
        cmd=[sys.executable, '-m', module, node, manager, controller_name],
        output='screen',
        on_exit=exit_callback(f'the activation of {controller_name}', ()),
    )
