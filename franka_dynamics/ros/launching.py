# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What the launch files share: arguments, nodes, controllers and their parameter files."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
import re
import shutil
import tempfile
from types import SimpleNamespace
from typing import Any

import yaml

from . import SIMULATION
from ..arm import ArmDescription
from ..errors import SettingsError

PACKAGE = 'franka_dynamics'
RECEIVER, FORWARD, NO_RECEIVER = 'receiver', 'effort_controller', 'none'


def launch_description(
    arguments: Sequence[Any], function: Callable[[SimpleNamespace], Sequence[Any]]
) -> Any:
    """
    Return a launch description with these arguments and the actions that a function returns.

    The function receives the arguments' values, all strings, as attributes of one object. Unlike
    launch's substitutions, a function can omit a parameter whose argument was not given.
    """
    from launch import LaunchDescription  # type: ignore[attr-defined]
    from launch.actions import OpaqueFunction
    from launch.substitutions import LaunchConfiguration

    names = [one.name for one in arguments]

    def start(context: Any) -> Sequence[Any]:
        values = {name: LaunchConfiguration(name).perform(context) for name in names}
        return function(SimpleNamespace(**values))

    return LaunchDescription([*arguments, OpaqueFunction(function=start)])


def argument(name: str, default: Any, description: str, choices: Sequence[str] = ()) -> Any:
    """Return the declaration of a launch argument."""
    from launch.actions import DeclareLaunchArgument

    limited = {'choices': list(choices)} if choices else {}
    return DeclareLaunchArgument(name, default_value=default, description=description, **limited)


def simulation_arguments(target: str) -> list[Any]:
    """Return the arguments of an arm that others simulate, and of its node."""
    return [
        argument('robot_type', 'fr3', 'The arm: a file name of config/arms.'),
        argument('hand', 'none', 'The hand: none, franka_hand, or another of config/hands.'),
        namespace_argument('nodes, controllers and topics'),
        receiver_argument(),
        parameters_argument(target),
    ]


def namespace_argument(of: str) -> Any:
    """Return the argument for the namespace of a simulation; its help names `of`, the nodes."""
    return argument(
        'namespace',
        SIMULATION,
        f"Namespace of {of}. With / they have a real arm's names: a real arm's controller in the "
        'same ROS domain would then take the torques.',
    )


def receiver_argument() -> Any:
    """Return the argument for the package of the controller that receives the torques."""
    return argument(
        'receiver',
        '',
        'A package that franka-dynamics codegen generated for this arm; its controller takes the '
        'torques, and brakes the arm when they cease. If empty, fr3_feedforward (fr3: the arm; '
        'with a hand fr3_franka_hand_feedforward) where it is installed; otherwise, or with none, '
        'a forward controller, which holds the last torque for ever.',
    )


def parameters_argument(target: str) -> Any:
    """Return the argument params_file: a file whose parameters override those of the target."""
    return argument(
        'params_file',
        '',
        'A file with parameters of the feedforward node, which override those of '
        f'config/feedforward/{target}.yaml; the target stays {target}.',
    )


def given_file(argument: str, name: str) -> list[str]:
    """
    Return [name], the file that a launch argument gives, or [] if the name is empty.

    launch_ros would only warn of a file that does not exist, and start the node without it. Raises
    SettingsError if there is no such file.
    """
    if name and not Path(name).is_file():
        raise SettingsError(f'{argument}: there is no file {name}. Nothing is started.')
    return [name] if name else []


def text(value: str) -> Any:
    """Return a parameter value of type string; launch_ros would make a bool of 'on'."""
    from launch_ros.parameter_descriptions import ParameterValue

    return ParameterValue(value, value_type=str)


def target_file(target: str) -> str:
    """Return the path of the parameter file of a target."""
    from ..resources import share_directory

    return str(share_directory() / 'config' / 'feedforward' / f'{target}.yaml')


def required(name: str) -> Any:
    """
    Return what launch does when a required process has ended: it ends all others.

    After a failure `ros2 launch` then exits with 1, which it does for no reason but an exception.
    """
    from launch.actions import Shutdown

    def end(event: Any, context: Any) -> list[Any]:
        if event.returncode and not context.is_shutdown:
            raise RuntimeError(f'{name} ended with exit status {event.returncode}')
        return [Shutdown(reason=f'{name} has ended')]

    return end


def own_node(executable: str, namespace: str, *, name: str = '', **given: Any) -> Any:
    """
    Return one of this package's nodes; if it ends, so does everything else.

    With a name and a namespace launch_ros writes the parameters into a section for this node.
    Otherwise the section is for all nodes (/**), and a parameter file that names the node, as
    `ros2 param dump` writes it, would override that section.
    """
    from launch_ros.actions import Node

    return Node(
        package=PACKAGE,
        executable=f'{executable}_node',
        name=name or executable,
        namespace=namespace,
        output='screen',
        emulate_tty=True,
        on_exit=required(f'the node {name or executable}'),
        **given,
    )


def simulated_feedforward(given: Any, target: str, command: str) -> Any:
    """
    Return the feedforward node, which commands a simulated arm on the topic `command`.

    Until the node's first command, the simulated hardware or another node holds the arm. `given`
    has the launch arguments robot_type, hand, namespace and params_file, whose parameters override
    the target's file; the other arguments override both files.
    """
    parameters = {
        'robot_type': given.robot_type,
        'hand': given.hand,
        'target': target,
        'use_sim_time': True,
        'held_until_commanded': True,
    }
    own_file = given_file('params_file', given.params_file)
    return own_node(
        'feedforward',
        given.namespace,
        parameters=[target_file(target), *own_file, parameters],
        remappings=[('~/command', command)],
    )


def robot_state_publisher(given: Any, values: Mapping[str, Any]) -> Any:
    """Return robot_state_publisher with this package's xacro, expanded with `values`."""
    from launch.substitutions import Command, PathJoinSubstitution
    from launch_ros.actions import Node
    from launch_ros.parameter_descriptions import ParameterValue
    from launch_ros.substitutions import FindPackageShare

    share = FindPackageShare(PACKAGE)
    every = {'robot_type': given.robot_type, 'hand': given.hand, 'connected_to': 'world', **values}
    words = [word for name, value in every.items() for word in (' ', f'"{name}:={value}"')]
    urdf = Command(['xacro ', PathJoinSubstitution([share, 'urdf', 'franka.urdf.xacro']), *words])
    return Node(
        package='robot_state_publisher',
        executable='robot_state_publisher',
        namespace=given.namespace,
        output='screen',
        parameters=[
            {'robot_description': ParameterValue(urdf, value_type=str), 'use_sim_time': True}
        ],
    )


def generated_files(texts: Mapping[str, str]) -> tuple[Path, Any]:
    """Write files to a new folder; return it, and the handler that removes it when launch ends."""
    from launch.actions import RegisterEventHandler
    from launch.event_handlers import OnShutdown

    folder = Path(tempfile.mkdtemp(prefix='franka_dynamics_launch_'))
    for name, content in texts.items():
        (folder / name).write_text(content, encoding='utf-8')
    removal = OnShutdown(
        on_shutdown=lambda event, context: shutil.rmtree(folder, ignore_errors=True)
    )
    return folder, RegisterEventHandler(removal)


def spawner(namespace: str, *arguments: Any, **given: Any) -> Any:
    """Return the process that loads and activates controllers."""
    from launch_ros.actions import Node

    return Node(
        package='controller_manager',
        executable='spawner',
        namespace=namespace,
        output='screen',
        arguments=[*arguments, '--controller-manager-timeout', '30'],
        **given,
    )


def after(process: Any, what: str, *following: Any) -> Any:
    """Return a handler that starts actions if a process succeeds, and else ends launch."""
    from launch.actions import RegisterEventHandler
    from launch.event_handlers import OnProcessExit

    end = required(what)

    def start(event: Any, context: Any) -> list[Any]:
        return end(event, context) if event.returncode else list(following)

    return RegisterEventHandler(OnProcessExit(target_action=process, on_exit=start))


@dataclass(frozen=True)
class Receiver:
    """A ros2_control controller that receives torques."""

    controller: str  # its name in the controller manager
    command: str  # the topic on which it receives torques
    parameters: str  # the text of its parameter file
    said: Any  # launch's log message about it


def controllers_text(name: str, joint_names: Sequence[str], prefix: str = '') -> str:
    """
    Return the text of a file of config/ for an arm: its joint names instead of fr3_joint1..7.

    `prefix` is put before the controllers' names, so that two arms can have one manager.
    """
    from ..resources import share_directory

    template = (share_directory() / 'config' / name).read_text(encoding='utf-8')
    named = re.sub(r'fr3_joint(\d)', lambda found: joint_names[int(found[1]) - 1], template)
    return named.replace('/**/effort', f'/**/{prefix}effort').replace(
        '/**/feedforward', f'/**/{prefix}feedforward'
    )


def receiver(
    arm: ArmDescription,
    robot_type: str,
    package: str,
    target: str,
    forward: str,
    prefix: str = '',
) -> Receiver:
    """
    Return the controller that receives an arm's torques, generated or else the forward controller.

    `arm` is the arm of the launch argument `robot_type`, with the joint names of the robot
    description. `package` is the launch argument `receiver`. `target` is the node's target: it
    tells the generated controller whether to add gravity torque while it brakes and holds the arm.
    `forward` is the text of the forward controller's parameter file, taken if `package` is 'none',
    or is empty and no generated package is installed. `prefix` is put before the controller's
    name. Raises RuntimeError if `package` names another package that is not installed. Raises
    SettingsError if the package was generated for other joint names; the arm's names may have a
    prefix that the package's lack.
    """
    from ament_index_python.packages import get_package_share_directory, PackageNotFoundError
    from launch.actions import LogInfo

    hand = '' if arm.hand == 'none' else arm.hand
    generated = '_'.join(filter(None, [arm.name, hand, 'feedforward']))
    build = (
        f'franka-dynamics codegen --package {generated} --arm {robot_type}'
        f'{f" --hand {hand}" if hand else ""} --output src, then colcon build '
        '(see "The feedforward in C++" in the documentation)'
    )
    name = package or generated
    try:
        if name == NO_RECEIVER:
            raise PackageNotFoundError(name)
        share = Path(get_package_share_directory(name))
    except PackageNotFoundError:
        if package not in ('', NO_RECEIVER):
            raise RuntimeError(
                f'receiver: {package} is not installed: {build}. Nothing is started.'
            ) from None
        controller = f'{prefix}{FORWARD}'
        said = (
            f'WARNING: {controller} holds the last torque for ever if the node is killed. For a '
            f'controller that brakes the arm instead: {build}.'
        )
        return Receiver(controller, f'{controller}/commands', forward, LogInfo(msg=said))
    table = yaml.safe_load((share / 'config' / 'receiver.yaml').read_text(encoding='utf-8'))
    section = table.pop(f'/**/{RECEIVER}')
    values = section['ros__parameters']
    if not all(own.endswith(its) for own, its in zip(arm.joint_names, values['joints'])):
        raise SettingsError(
            f'receiver: {name} was generated for {values["joints"][0]} and so on, not for '
            f'{arm.joint_names[0]}. Nothing is started.'
        )
    values.update(joints=list(arm.joint_names), target=target)
    controller = f'{prefix}{RECEIVER}'
    said = f'{name} takes the torques, and brakes the arm when they cease.'
    parameters = yaml.safe_dump({f'/**/{controller}': section, **table})
    return Receiver(controller, f'{controller}/reference', parameters, LogInfo(msg=said))
