# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Functions of launch files for arguments, nodes, ros2_control controllers and parameter files."""

import atexit
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
import os
from pathlib import Path
import re
import shutil
import sys
import tempfile
from types import MappingProxyType, SimpleNamespace
from typing import Any, NamedTuple

from ament_index_python.packages import get_packages_with_prefixes
from launch import actions, LaunchDescription  # type: ignore[attr-defined]
from launch.event_handlers import OnProcessExit
from launch.substitutions import Command, LaunchConfiguration, PathJoinSubstitution
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue
from launch_ros.substitutions import FindPackageShare
import yaml

from . import SIMULATION_NAMESPACE
from .parameter_tables import ARM_MODEL_SOURCE, parameters_of_node, read_parameter_file
from ..arm import ArmDescription
from ..cpp_package.package import controller_arm_text
from ..cpp_package.package import CONTROLLER_PACKAGE_NAME as BRAKING_PACKAGE
from ..errors import SettingsError
from ..files import expanded_path, share_directory, write_text
from ..simulation.gazebo import holding_torque, xacro_numbers

PACKAGE_NAME = 'franka_dynamics'
# Names of controllers: of the one that brakes the arm, and of the forward controller.
BRAKING_CONTROLLER_NAME = 'receiver'
EFFORT_CONTROLLER_NAME = 'effort_controller'
CONFIG_FOLDER = share_directory() / 'config'
# Parameters that the controller that brakes must have as the node has them: it brakes and holds
# the same arm, with the same load, on the same mount.
_PARAMETERS_OF_BOTH = (
    'gravity_vector',
    'mount_tilt_compensated_by',
    'payload',
    'payload_known_to_robot',
)
# A launch argument: its default, its description and, if they are limited, its choices.
LaunchArgument = tuple[Any, ...]
RECEIVER_HELP = (
    'What takes the torques: effort_controller, a forward controller, which holds the last torque '
    'if the node is killed (until launch has deactivated it; for ever if launch is killed, too), '
    f'or {BRAKING_PACKAGE} (franka-dynamics codegen --package), whose controller then brakes the '
    'arm.'
)


def launch_description(
    arguments: Mapping[str, LaunchArgument],
    to_actions: Callable[[SimpleNamespace], Sequence[Any]],
) -> LaunchDescription:
    """
    Return a launch description that declares arguments and starts what `to_actions` returns.

    `to_actions` receives the arguments' values, all strings, as attributes of one object. Unlike
    launch's substitutions, it can omit a parameter whose argument has no value.
    """

    def make_actions(context: Any) -> Sequence[Any]:
        """Return the launch actions for the values of the arguments in a launch context."""
        values = {name: LaunchConfiguration(name).perform(context) for name in arguments}
        return to_actions(SimpleNamespace(**values))

    keywords = 'default_value', 'description', 'choices'
    options = {name: dict(zip(keywords, given)) for name, given in arguments.items()}
    declared = [actions.DeclareLaunchArgument(name, **given) for name, given in options.items()]
    return LaunchDescription([*declared, actions.OpaqueFunction(function=make_actions)])


def namespace_argument(nodes: str) -> LaunchArgument:
    """Return the launch argument `namespace` of a simulation, whose help text names `nodes`."""
    why = "a real arm's controller in the same ROS domain would then take the torques."
    return (
        SIMULATION_NAMESPACE,
        f"Namespace of {nodes}. With / they get a real arm's names: {why}",
    )


def params_file_argument(target: str) -> LaunchArgument:
    """Return the launch argument `params_file`, a file that overrides a target's parameters."""
    others = f'config/feedforward/{target}.yaml; the target stays {target}.'
    return (
        '',
        f'A file with parameters of the feedforward node, which override those of {others}',
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


def argument_file_list(argument_name: str, path: str) -> list[str]:
    """
    Return a launch argument's path as a list of one, [] if empty; raise SettingsError if no file.

    A leading ~ is expanded: in `params_file:=~/mine.yaml` no shell does. launch_ros would only
    warn of a file that does not exist, and start the node without it. Raises SettingsError if
    there is no such file.
    """
    found = [str(expanded_path(path))] if path else []
    if found and not os.path.isfile(*found):
        raise SettingsError(f'{argument_name}: there is no file {path}. Nothing is started.')
    return found


def string_parameter(value: Any) -> Any:
    """Return a value as a ROS parameter of type string, also if it looks like a number or list."""
    return ParameterValue(value, value_type=str)


def exit_callback(process_name: str, next_actions: Sequence[Any] | None = None) -> Any:
    """
    Return an exit callback: start `next_actions` or (None) end the launch; raise after a failure.

    After a failure the callback raises, because only then `ros2 launch` exits with 1.
    """

    def on_exit(event: Any, context: Any) -> list[Any]:
        """Return what to do after the process's end; raise RuntimeError if it failed by itself."""
        if event.returncode and not context.is_shutdown:
            raise RuntimeError(f'{process_name} ended with exit status {event.returncode}')
        if next_actions is None:
            return [actions.Shutdown(reason=f'{process_name} has ended')]
        return [*next_actions]

    return on_exit


def start_after_success(process: Any, process_name: str, *next_actions: Any) -> Any:
    """Return an action that starts others once a process succeeds; its failure ends the launch."""
    callback = exit_callback(process_name, next_actions)
    return actions.RegisterEventHandler(OnProcessExit(target_action=process, on_exit=callback))


def package_node(executable: str, namespace: str, *, name: str = '', **node_options: Any) -> Node:
    """
    Return the action that starts a node of this package; the launch ends when the node does.

    With a name and a namespace launch_ros writes the parameters into a section for this node.
    Otherwise the section is for all nodes (/**), and a parameter file that names the node, as
    `ros2 param dump` writes it, would override that section.
    """
    name = name or executable
    own = {
        'name': name,
        'emulate_tty': True,
        'on_exit': exit_callback(f'the node {name}'),
    }
    return node_action(PACKAGE_NAME, f'{executable}_node', namespace, **own, **node_options)


def feedforward_node(
    arguments: SimpleNamespace,
    target: str,
    parameters: Mapping[str, Any],
    remappings: Mapping[str, str],
    name: str = 'feedforward',
    defaults: Mapping[str, Any] = MappingProxyType({}),
) -> Node:
    """
    Return the action that starts the feedforward node with parameter files and parameters.

    Parameters come from the target's file, then `defaults`, params_file and `parameters`.
    `remappings` are those of the node's topics.
    """
    files = [f'{CONFIG_FOLDER}/feedforward/{target}.yaml']
    if defaults:
        # In a file: launch would put a dictionary into the node's own section, which comes before
        # whatever params_file says in /**.
        text = yaml.safe_dump({'/**': {'ros__parameters': dict(defaults)}})
        files.append(str(write_temporary_files({'defaults.yaml': text}) / 'defaults.yaml'))
    files += argument_file_list('params_file', arguments.params_file)
    options = {
        'parameters': [*files, parameters],
        'remappings': list(remappings.items()),
    }
    return package_node('feedforward', arguments.namespace, name=name, **options)


def feedforward_for_simulator(arguments: SimpleNamespace, target: str, command_topic: str) -> Node:
    """
    Return the action that starts the feedforward node for an arm in another simulator.

    Torques go to `command_topic`. Until the node's first command, the simulated hardware or
    another node holds the arm.
    """
    parameters = {
        'robot_type': arguments.robot_type,
        'hand': arguments.hand,
        'target': target,
    }
    parameters['use_sim_time'] = True
    return feedforward_node(arguments, target, parameters, {'~/command': command_topic})


def xacro_command(arguments: SimpleNamespace, xacro_arguments: Mapping[str, Any]) -> Command:
    """Return the command line that expands this package's xacro file and prints the URDF."""
    common = {
        'robot_type': arguments.robot_type,
        'hand': arguments.hand,
        'connected_to': 'world',
    }
    values = common | dict(xacro_arguments)
    words = [word for name, value in values.items() for word in (' ', f'"{name}:={value}"')]
    file = PathJoinSubstitution([FindPackageShare(PACKAGE_NAME), 'urdf', 'franka.urdf.xacro'])
    return Command(['xacro ', file, *words])


def node_action(package: str, executable: str, namespace: str, **node_options: Any) -> Node:
    """Return the action that starts a node of any package."""
    node_options = {'namespace': namespace, 'output': 'screen', **node_options}
    return Node(package=package, executable=executable, **node_options)


def robot_state_publisher(namespace: str, urdf: Any) -> Node:
    """Return the action that starts robot_state_publisher in simulated time, with a URDF."""
    parameters = [{'robot_description': string_parameter(urdf), 'use_sim_time': True}]
    name = 'robot_state_publisher'
    return node_action(name, name, namespace, parameters=parameters)


def write_temporary_files(file_texts: Mapping[str, str]) -> Path:
    """Write texts to files of a new temporary folder; return the folder, deleted at exit."""
    folder = Path(tempfile.mkdtemp(prefix='franka_dynamics_launch_'))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    for name, content in file_texts.items():
        (folder / name).write_text(content, encoding='utf-8')
    return folder


def write_lasting_file(name: str, text: str) -> Path:
    """
    Write a text to a file in ROS's own folder, which outlives the launch; return its path.

    A controller manager reads a controller's files again whenever it loads or configures it, also
    after the launch has ended. The file's name has a digest of its text: no start changes the file
    of another one, and equal files are one.
    """
    folder = expanded_path(os.environ.get('ROS_HOME') or '~/.ros') / PACKAGE_NAME
    stem, ending = os.path.splitext(name)
    path = folder / f'{stem}-{sha256(text.encode()).hexdigest()[:16]}{ending}'
    write_text(path, text)
    return path


def unload_after_failure(namespace: str, controller_name: str) -> Callable[[Any, Any], list[Any]]:
    """
    Return an exit callback of a controller's spawner, whose failure must not block later starts.

    After a failure `failed_controller` says who has the interfaces, and unloads the controller.
    Then the launch ends with status 1. Without a failure it is `exit_callback`.
    """
    ended = f'the spawner of {controller_name}'
    manager = f'/{namespace.strip("/")}/controller_manager'.replace('//', '/')

    def on_exit(event: Any, context: Any) -> list[Any]:
        """Return what to do after the spawner's end."""
        if not event.returncode or context.is_shutdown:
            return exit_callback(ended)(event, context)

        def end_launch(_: Any, context: Any) -> Any:
            """End the launch by the spawner's failure, whatever the program before it said."""
            return exit_callback(ended)(event, context)

        module = f'{__package__}.failed_controller'
        command = [sys.executable, '-m', module, manager, controller_name]
        return [actions.ExecuteProcess(cmd=command, output='screen', on_exit=end_launch)]

    return on_exit


def controller_spawner(namespace: str, *args: str, params_file: str, **node_options: Any) -> Node:
    """
    Return the action that loads and activates ros2_control controllers with a parameter file.

    `args` are its options, then the controllers' names.
    """
    argv = [*args, '--param-file', params_file, '--controller-manager-timeout', '30']
    return node_action('controller_manager', 'spawner', namespace, arguments=argv, **node_options)


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
    two arms can have one manager.
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
    Return the torque controller that the launch argument `receiver` selects; raise SettingsError.

    `arm` has the joint names of the robot description. `target` is the node's target: it tells the
    controller that brakes whether to add gravity torque while it brakes and holds the arm.
    `param_text` is that of the forward controller's parameter file. `prefix` is put before the
    controller's name. The controller that brakes gets the load and the tilt of the base that
    params_file gives to the node; if the node's model is that of a URDF, its arm is that of
    robot_description. Raises SettingsError if there is no such receiver, and what
    `controller_arm_text` raises for an arm that the controller cannot take.
    """
    name = arguments.receiver
    if name == EFFORT_CONTROLLER_NAME:
        controller = f'{prefix}{EFFORT_CONTROLLER_NAME}'
        note = (
            f'WARNING: {controller} holds the last torque if the node is killed: until launch, '
            'which sees that, has deactivated it, and for ever if launch is killed, too.'
        )
        return TorqueController(controller, f'{controller}/commands', param_text, note)
    installed = BRAKING_PACKAGE in get_packages_with_prefixes()
    if name != BRAKING_PACKAGE or not installed:
        here = f'receiver:={BRAKING_PACKAGE} (it then brakes the arm)'
        making = 'franka-dynamics codegen --package --output src, then colcon build'
        fix = f', {here}.' if installed else f'. For {here} {making}.'
        raise SettingsError(
            f'receiver: {f"{name} is not installed" if name else "say what takes the torques"}. '
            f'There is: receiver:={EFFORT_CONTROLLER_NAME} (it holds the last torque if the node '
            f'is killed){fix} Nothing is started.'
        )
    controller = f'{prefix}{BRAKING_CONTROLLER_NAME}'
    node_name = '/'.join(
        ('', *filter(None, arguments.namespace.split('/')), f'{prefix}feedforward')
    )
    of_node: dict[str, Any] = {}
    for file in argument_file_list('params_file', arguments.params_file):
        of_node |= parameters_of_node(read_parameter_file(Path(file)), node_name)
    values = {
        'type': f'{BRAKING_PACKAGE}/FeedforwardController',
        'target': target,
        'reference': 'total_torque',
        **{name: of_node[name] for name in _PARAMETERS_OF_BOTH if name in of_node},
    }
    if of_node.get('model_source', ARM_MODEL_SOURCE) == ARM_MODEL_SOURCE:
        text = controller_arm_text(arm)
        values['arm_file'] = str(write_lasting_file(f'{arm.name}.yaml', text))
    else:
        values['joints'] = list(arm.joint_names)  # of robot_description
    note = f'{name} takes the torques, and brakes the arm when they cease.'
    text = yaml.safe_dump({f'/**/{controller}': {'ros__parameters': values}})
    return TorqueController(controller, f'{controller}/reference', text, note)


def ros2_control_actions(
    arguments: SimpleNamespace,
    arm: ArmDescription,
    target: str,
    folder: Path,
    hardware_parameters: Mapping[str, Any],
) -> tuple[Node, list[Any]]:
    """
    Write controller files; return spawner, log and node actions of an arm under ros2_control.

    The nodes are the feedforward node and robot_state_publisher with `hardware_parameters`; the
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
    # The broadcaster comes first: the node then waits with good joint states, and little time
    # passes from the other's activation, which lets the joints go, to the node's first torque.
    file = f'{folder / "receiver.yaml"}'
    end = exit_callback(f'the spawner of {chosen.name}', ())
    torques = controller_spawner(arguments.namespace, chosen.name, params_file=file, on_exit=end)
    broadcaster = 'joint_state_broadcaster'
    states = controller_spawner(arguments.namespace, broadcaster, params_file=file)
    then = start_after_success(states, f'the spawner of {broadcaster}', torques)
    urdf = xacro_command(arguments, {**hardware_parameters, **initial})
    publisher = robot_state_publisher(arguments.namespace, urdf)
    node = feedforward_for_simulator(arguments, target, chosen.command_topic)
    return states, [actions.LogInfo(msg=chosen.log_text), publisher, node, then]
