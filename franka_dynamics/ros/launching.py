# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Arguments, nodes, controllers and parameter files that several launch files need."""

from __future__ import annotations

import atexit
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
import re
import shutil
import tempfile
from types import SimpleNamespace
from typing import Any, NamedTuple

from ament_index_python.packages import get_packages_with_prefixes
from launch import LaunchDescription  # type: ignore[attr-defined]
from launch.actions import (
    DeclareLaunchArgument,
    LogInfo,
    OpaqueFunction,
    RegisterEventHandler,
    Shutdown,
)
from launch.event_handlers import OnProcessExit
from launch.substitutions import Command, LaunchConfiguration, PathJoinSubstitution
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue
from launch_ros.substitutions import FindPackageShare
import yaml

from . import SIMULATION
from ..arm import ArmDescription
from ..errors import SettingsError
from ..resources import share_directory
from ..simulation.gazebo import format_numbers, gazebo_start

PACKAGE = 'franka_dynamics'
RECEIVER, FORWARD = 'receiver', 'effort_controller'
CONFIG = share_directory() / 'config'
# A launch argument: its default, its description and, if they are limited, its choices.
Argument = tuple[Any, ...]


def launch_description(
    arguments: Mapping[str, Argument], function: Callable[[SimpleNamespace], Sequence[Any]]
) -> LaunchDescription:
    """
    Return a launch description of named arguments and of the actions that depend on them.

    `function` returns the actions. It receives the arguments' values, all strings, as attributes
    of one object, and can omit a parameter whose argument was not given, unlike launch's
    substitutions.
    """

    def start(context: Any) -> Sequence[Any]:
        values = {name: LaunchConfiguration(name).perform(context) for name in arguments}
        return function(SimpleNamespace(**values))

    declared = [
        DeclareLaunchArgument(
            name,
            default_value=default,
            description=sentence,
            choices=choices[0] if choices else None,
        )
        for name, (default, sentence, *choices) in arguments.items()
    ]
    return LaunchDescription([*declared, OpaqueFunction(function=start)])


def namespace_argument(of: str) -> Argument:
    """Return the argument for the namespace of a simulation; its help names `of`, the nodes."""
    return (
        SIMULATION,
        f"Namespace of {of}. With / they have a real arm's names: a real arm's controller in the "
        'same ROS domain would then take the torques.',
    )


RECEIVER_HELP = (
    'What takes the torques: effort_controller, a forward controller, which holds the last torque '
    'for ever if the node is killed, or a package that franka-dynamics codegen generated for this '
    'arm, whose controller then brakes the arm.'
)


def parameters_argument(target: str) -> Argument:
    """Return the argument params_file: a file whose parameters override those of the target."""
    return (
        '',
        'A file with parameters of the feedforward node, which override those of '
        f'config/feedforward/{target}.yaml; the target stays {target}.',
    )


def simulation_arguments(target: str) -> dict[str, Argument]:
    """Return the arguments of an arm that others simulate, and of its node."""
    return {
        'robot_type': ('fr3', 'The arm: a file name of config/arms.'),
        'hand': ('none', 'The hand: none, franka_hand, or another of config/hands.'),
        'namespace': namespace_argument('nodes, controllers and topics'),
        'receiver': (FORWARD, RECEIVER_HELP),
        'params_file': parameters_argument(target),
    }


def given_file(argument: str, name: str) -> list[str]:
    """
    Return [name], the file that a launch argument gives, or [] if the name is empty.

    launch_ros would only warn of a file that does not exist, and start the node without it. Raises
    SettingsError if there is no such file.
    """
    if name and not Path(name).is_file():
        raise SettingsError(f'{argument}: there is no file {name}. Nothing is started.')
    return [name] if name else []


def text(value: Any) -> Any:
    """Return a parameter value of type string; launch_ros would make a bool of 'on'."""
    return ParameterValue(value, value_type=str)


def ending(name: str, following: Sequence[Any] | None = None) -> Any:
    """
    Return what launch does when a process has ended: it ends all, or starts what is `following`.

    After a failure `ros2 launch` then exits with 1, which it does for no reason but an exception.
    """

    def end(event: Any, context: Any) -> list[Any]:
        if event.returncode and not context.is_shutdown:
            raise RuntimeError(f'{name} ended with exit status {event.returncode}')
        return [Shutdown(reason=f'{name} has ended')] if following is None else list(following)

    return end


def after(process: Any, what: str, *following: Any) -> Any:
    """Return a handler that starts actions if a process succeeds, and else ends launch."""
    return RegisterEventHandler(
        OnProcessExit(target_action=process, on_exit=ending(what, following))
    )


def own_node(executable: str, namespace: str, *, name: str = '', **given: Any) -> Node:
    """
    Return one of this package's nodes; if it ends, so does everything else.

    With a name and a namespace launch_ros writes the parameters into a section for this node.
    Otherwise the section is for all nodes (/**), and a parameter file that names the node, as
    `ros2 param dump` writes it, would override that section.
    """
    return Node(
        package=PACKAGE,
        executable=f'{executable}_node',
        name=name or executable,
        namespace=namespace,
        output='screen',
        emulate_tty=True,
        on_exit=ending(f'the node {name or executable}'),
        **given,
    )


def feedforward_node(
    given: SimpleNamespace,
    target: str,
    parameters: Mapping[str, Any],
    topics: Mapping[str, str],
    name: str = 'feedforward',
) -> Node:
    """
    Return the feedforward node: with the target's file, then params_file, then `parameters`.

    `given` has the launch arguments namespace and params_file. `topics` remaps the node's topics.
    """
    own_file = given_file('params_file', given.params_file)
    return own_node(
        'feedforward',
        given.namespace,
        name=name,
        parameters=[str(CONFIG / 'feedforward' / f'{target}.yaml'), *own_file, parameters],
        remappings=list(topics.items()),
    )


def simulated_feedforward(given: SimpleNamespace, target: str, command: str) -> Node:
    """
    Return the feedforward node, which commands an arm that others simulate on topic `command`.

    Until the node's first command, the simulated hardware or another node holds the arm.
    """
    own = {'robot_type': given.robot_type, 'hand': given.hand, 'target': target}
    parameters = {**own, 'use_sim_time': True, 'held_until_commanded': True}
    return feedforward_node(given, target, parameters, {'~/command': command})


def expanded(given: SimpleNamespace, values: Mapping[str, Any]) -> Command:
    """Return this package's xacro, expanded with `values`."""
    every = {'robot_type': given.robot_type, 'hand': given.hand, 'connected_to': 'world', **values}
    words = [word for name, value in every.items() for word in (' ', f'"{name}:={value}"')]
    file = PathJoinSubstitution([FindPackageShare(PACKAGE), 'urdf', 'franka.urdf.xacro'])
    return Command(['xacro ', file, *words])


def robot_state_publisher(namespace: str, urdf: Any) -> Node:
    """Return robot_state_publisher with a URDF's text, or a command that prints it."""
    return Node(
        package='robot_state_publisher',
        executable='robot_state_publisher',
        namespace=namespace,
        output='screen',
        parameters=[{'robot_description': text(urdf), 'use_sim_time': True}],
    )


def generated_files(texts: Mapping[str, str]) -> Path:
    """Write files to a new folder, which goes when this process ends; return the folder."""
    folder = Path(tempfile.mkdtemp(prefix='franka_dynamics_launch_'))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    for name, content in texts.items():
        (folder / name).write_text(content, encoding='utf-8')
    return folder


def spawner(namespace: str, *words: str, file: str, **given: Any) -> Node:
    """
    Return the process that loads and activates controllers with the parameters of a file.

    `words` are its options, then the controllers' names.
    """
    options = ['--param-file', file, '--controller-manager-timeout', '30']
    return Node(
        package='controller_manager',
        executable='spawner',
        namespace=namespace,
        output='screen',
        arguments=[*words, *options],
        **given,
    )


class TorqueReceiver(NamedTuple):
    """A ros2_control controller that receives torques."""

    controller: str  # its name in the controller manager
    command: str  # the topic on which it receives torques
    parameters: str  # the text of its parameter file
    log: list[Any]  # launch's log message about it, if any


def controllers_text(name: str, joint_names: Sequence[str], prefix: str = '') -> str:
    """
    Return the text of a file of config/ for an arm: its joint names instead of fr3_joint1..7.

    `prefix` is put before the controllers' names, so that two arms can have one manager.
    """
    text = (CONFIG / name).read_text(encoding='utf-8')
    text = re.sub(r'fr3_joint(\d)', lambda found: joint_names[int(found[1]) - 1], text)
    return re.sub(r'/\*\*/(?=effort|feedforward)', f'/**/{prefix}', text)


def receiver(
    arm: ArmDescription, given: SimpleNamespace, target: str, forward: str, prefix: str = ''
) -> TorqueReceiver:
    """
    Return the controller that receives an arm's torques, by the launch argument receiver.

    `arm` has the joint names of the robot description. `target` is the node's target: it tells a
    generated controller whether to add gravity torque while it brakes and holds the arm. `forward`
    is the text of the forward controller's parameter file. `prefix` is put before the controller's
    name. Raises SettingsError if there is no such receiver, or the package was generated for other
    joint names; the arm's names may have a prefix that the package's lack.
    """
    name = given.receiver
    if name == FORWARD:
        controller = f'{prefix}{FORWARD}'
        note = f'WARNING: {controller} holds the last torque for ever if the node is killed.'
        return TorqueReceiver(controller, f'{controller}/commands', forward, [LogInfo(msg=note)])
    files = {
        package: file
        for package, folder in sorted(get_packages_with_prefixes().items())
        if (file := Path(folder, 'share', package, 'config', 'receiver.yaml')).is_file()
    }
    if name not in files:
        hand = '' if arm.hand == 'none' else arm.hand
        package = '_'.join(filter(None, [arm.name, hand, 'feedforward']))
        here = ''.join(f', receiver:={one} (it then brakes the arm)' for one in files)
        raise SettingsError(
            f'receiver: {f"{name} is not installed" if name else "say what takes the torques"}. '
            f'There are: receiver:={FORWARD} (it holds the last torque for ever if the node is '
            f'killed){here}. For one that brakes: franka-dynamics codegen --package {package} '
            f'--arm {given.robot_type}{f" --hand {hand}" if hand else ""} --output src, then '
            'colcon build. Nothing is started.'
        )
    table = yaml.safe_load(files[name].read_text(encoding='utf-8'))
    controller = f'{prefix}{RECEIVER}'
    table[f'/**/{controller}'] = section = table.pop(f'/**/{RECEIVER}')
    values = section['ros__parameters']
    if not all(own.endswith(its) for own, its in zip(arm.joint_names, values['joints'])):
        raise SettingsError(
            f'receiver: {name} was generated for {values["joints"][0]} and so on, not for '
            f'{arm.joint_names[0]}. Nothing is started.'
        )
    values.update(joints=list(arm.joint_names), target=target)
    note = f'{name} takes the torques, and brakes the arm when they cease.'
    text, topic = yaml.safe_dump(table), f'{controller}/reference'
    return TorqueReceiver(controller, topic, text, [LogInfo(msg=note)])


def simulated_hardware(
    given: SimpleNamespace,
    arm: ArmDescription,
    target: str,
    folder: Path,
    hardware: Mapping[str, Any],
) -> tuple[Node, list[Any]]:
    """
    Return the spawner of an arm's controllers under ros2_control, and all else but the simulator.

    That is the robot description with `hardware`, the feedforward node, and what is logged.
    `folder` receives the parameter files: controllers.yaml is the controller manager's.
    """
    controllers = controllers_text('gazebo_controllers.yaml', arm.joint_names)
    chosen = receiver(arm, given, target, controllers)
    (folder / 'controllers.yaml').write_text(controllers, encoding='utf-8')
    (folder / 'receiver.yaml').write_text(chosen.parameters, encoding='utf-8')
    # The initial efforts must hold the arm, because the physics runs before any controller.
    start = gazebo_start(arm)
    initial = {
        'initial_positions': format_numbers(start.position),
        'initial_efforts': format_numbers(start.torque),
    }
    # One process activates both controllers, to save time: until both run, the constant initial
    # efforts hold the arm in an unstable equilibrium.
    active = spawner(
        given.namespace,
        'joint_state_broadcaster',
        chosen.controller,
        file=str(folder / 'receiver.yaml'),
        on_exit=ending('the spawner of the controllers', ()),
    )
    return active, [
        *chosen.log,
        robot_state_publisher(given.namespace, expanded(given, {**hardware, **initial})),
        simulated_feedforward(given, target, chosen.command),
    ]
