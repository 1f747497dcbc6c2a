# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Functions of launch files for arguments, files, processes and nodes."""

import atexit
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
import os
from pathlib import Path
import shutil
import signal
import tempfile
from types import MappingProxyType, SimpleNamespace
from typing import Any

from launch import actions, LaunchDescription  # type: ignore[attr-defined]
from launch.event_handlers import OnProcessExit
from launch.substitutions import Command, LaunchConfiguration, PathJoinSubstitution
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue
from launch_ros.substitutions import FindPackageShare
import yaml

from . import SIMULATION_NAMESPACE
from ..errors import SettingsError
from ..files import expanded_path, share_directory, write_text

PACKAGE_NAME = 'franka_dynamics'
CONFIG_FOLDER = share_directory() / 'config'
# A launch argument: its default, its description and, if they are limited, its choices.
LaunchArgument = tuple[Any, ...]


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

    declarations = [_declaration(name, argument) for name, argument in arguments.items()]
    return LaunchDescription([*declarations, actions.OpaqueFunction(function=make_actions)])


def _declaration(name: str, argument: LaunchArgument) -> Any:
    """Return the action that declares a launch argument."""
    default, description, *choices = argument
    limits = {'choices': choices[0]} if choices else {}
    return actions.DeclareLaunchArgument(
        name, default_value=default, description=description, **limits
    )


def namespace_argument(nodes: str) -> LaunchArgument:
    """Return the launch argument `namespace` of a simulation, whose help text names `nodes`."""
    description = (
        f"Namespace of {nodes}. With / they get a real arm's names: a real arm's controller in "
        'the same ROS domain would then take the torques.'
    )
    return SIMULATION_NAMESPACE, description


def params_file_argument(target: str) -> LaunchArgument:
    """Return the launch argument `params_file`, a file that overrides a target's parameters."""
    description = (
        'A file with parameters of the feedforward node, which override those of '
        f'config/feedforward/{target}.yaml; the target stays {target}.'
    )
    return '', description


def argument_file_list(argument_name: str, path: str) -> list[str]:
    """
    Return the file that a launch argument names, in a list for launch_ros; [] without a name.

    A leading ~ is expanded: in `params_file:=~/mine.yaml` no shell does. launch_ros would only
    warn of a file that does not exist, and start the node without it.

    Raises
    ------
    SettingsError
        If there is no such file.

    """
    if not path:
        return []
    file = str(expanded_path(path))
    if not os.path.isfile(file):
        raise SettingsError(f'{argument_name}: there is no file {path}. Nothing is started.')
    return [file]


def full_node_name(namespace: str, name: str) -> str:
    """Return a node's full name, by a namespace with or without slashes at its ends."""
    return '/'.join(['', *filter(None, namespace.split('/')), name])


def string_parameter(value: Any) -> Any:
    """Return a value as a ROS parameter of type string, also if it looks like a number or list."""
    return ParameterValue(value, value_type=str)


def exit_callback(
    process_name: str,
    next_actions: Sequence[Any] | None = None,
    *,
    fails_at_shutdown: bool = False,
) -> Any:
    """
    Return an exit callback: start `next_actions` or (None) end the launch; raise after a failure.

    After a failure the callback raises, because only then `ros2 launch` exits with 1. A process
    that launch itself ends does not fail, unless `fails_at_shutdown`: then it must end with 0, or
    by the interrupt itself, before it has begun.
    """

    def on_exit(event: Any, context: Any) -> list[Any]:
        """Return what to do after the process's end; raise RuntimeError if it failed."""
        is_failure = event.returncode != 0
        if context.is_shutdown:
            is_failure = fails_at_shutdown and event.returncode not in (0, -signal.SIGINT)
        if is_failure:
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
    return node_action(
        PACKAGE_NAME,
        f'{executable}_node',
        namespace,
        name=name,
        emulate_tty=True,
        on_exit=exit_callback(f'the node {name}'),
        **node_options,
    )


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
        # In a file, because launch would put a dictionary into the node's own section, which
        # ROS prefers to a section /** of params_file.
        text = yaml.safe_dump({'/**': {'ros__parameters': dict(defaults)}})
        files.append(str(write_temporary_files({'defaults.yaml': text}) / 'defaults.yaml'))
    files += argument_file_list('params_file', arguments.params_file)
    return package_node(
        'feedforward',
        arguments.namespace,
        name=name,
        parameters=[*files, parameters],
        remappings=list(remappings.items()),
    )


def feedforward_for_simulator(arguments: SimpleNamespace, target: str, command_topic: str) -> Node:
    """
    Return the action that starts the feedforward node for an arm in another simulator.

    Torques go to `command_topic`. Until the node's first command, the simulated hardware or
    another node holds the arm.
    """
    parameters: dict[str, Any] = {
        'robot_type': arguments.robot_type,
        'hand': arguments.hand,
        'target': target,
        'use_sim_time': True,
    }
    return feedforward_node(arguments, target, parameters, {'~/command': command_topic})


def xacro_command(arguments: SimpleNamespace, xacro_arguments: Mapping[str, Any]) -> Command:
    """Return the command line that expands this package's xacro file and prints the URDF."""
    values = {
        'robot_type': arguments.robot_type,
        'hand': arguments.hand,
        'connected_to': 'world',
        **xacro_arguments,
    }
    words = [f' "{name}:={value}"' for name, value in values.items()]
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
