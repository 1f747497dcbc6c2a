# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Parts that the launch files share; ROS's launch is needed here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import pairwise
import os
from pathlib import Path
import re
import shutil
import sys
from typing import Any

import yaml

from ..errors import SettingsError

PACKAGE = 'franka_dynamics'
RECEIVER, FORWARD, NO_RECEIVER = 'receiver', 'effort_controller', 'none'
# Arguments that `ros2 launch` and launch's own actions take without a declaration.
_OF_LAUNCH = (
    'emulate_tty',
    'launch-prefix',
    'launch-prefix-filter',
    'sigkill_timeout',
    'sigterm_timeout',
)


def launch_description(arguments: Sequence[Any], function: Callable[[Any], Sequence[Any]]) -> Any:
    """
    Return a launch description: its arguments, and a function that returns what they start.

    A function is needed because a substitution cannot omit a parameter whose argument was not
    given.
    """
    from launch import LaunchDescription  # type: ignore[attr-defined]
    from launch.actions import OpaqueFunction

    names = [one.name for one in arguments]

    def start(context: Any) -> Sequence[Any]:
        _refuse_undeclared(context, names)
        return function(context)

    return LaunchDescription([*arguments, OpaqueFunction(function=start)])


def _refuse_undeclared(context: Any, declared: Sequence[str]) -> None:
    """
    Refuse an argument of the command line that the launch file does not declare.

    launch ignores such an argument: with robot_typ:=fr3 the arm would be the default one. Another
    launch file that includes ours may have arguments of its own, so only the file that the
    command line names is judged.
    """
    file = Path(context.locals.current_launch_file_path)
    named = (PACKAGE, file.name) in pairwise(sys.argv)
    if not named and not any(Path(word).resolve() == file.resolve() for word in sys.argv):
        return
    for name in (word.partition(':=')[0] for word in context.argv if ':=' in word):
        if name not in (*declared, *_OF_LAUNCH):
            close = get_close_matches(name, declared, n=1)
            raise SettingsError(
                f'{file.name} has no argument {name}{f" ({close[0]}?)" if close else ""}; '
                '--show-args lists all of them. Nothing is started.'
            )


def require_packages(packages: Sequence[str], needed_by: str, page: str) -> None:
    """
    Refuse to start without the ROS packages that are needed.

    Raises
    ------
    RuntimeError
        If some are not installed; the message has the line that installs them.

    """
    from ament_index_python.packages import get_package_prefix, PackageNotFoundError

    missing = []
    for package in packages:
        try:
            get_package_prefix(package)
        except PackageNotFoundError:
            missing.append(package)
    if missing:
        distribution = os.environ.get('ROS_DISTRO', 'jazzy')
        names = ' '.join(f'ros-{distribution}-{name.replace("_", "-")}' for name in missing)
        raise RuntimeError(
            f'{needed_by} needs {", ".join(missing)}: sudo apt install {names}. {page} has the '
            'rest. Nothing is started.'
        )


def text(name: str) -> Any:
    """Return an argument as a parameter of type string; launch would take 'on' for a bool."""
    from launch.substitutions import LaunchConfiguration
    from launch_ros.parameter_descriptions import ParameterValue

    return ParameterValue(LaunchConfiguration(name), value_type=str)


def own_node(name: str, **given: Any) -> Any:
    """
    Return one of this package's nodes under its own name.

    launch_ros writes parameters into a section with the name of the node only if it knows name
    and namespace, else into one for all nodes (/**). A parameter file that names the node, as
    `ros2 param dump` writes it, would win over such a section.
    """
    from launch_ros.actions import Node

    return Node(
        package=PACKAGE,
        executable=f'{name}_node',
        name=name,
        output='screen',
        emulate_tty=True,
        **{'namespace': '', **given},
    )


def target_file(target: str) -> str:
    """Return the parameter file of a target."""
    from ..resources import share_directory

    return str(share_directory() / 'config' / 'feedforward' / f'{target}.yaml')


def argument(name: str, default: Any, description: str, choices: Sequence[str] = ()) -> Any:
    """Return the declaration of a launch argument."""
    from launch.actions import DeclareLaunchArgument

    limited = {'choices': list(choices)} if choices else {}
    return DeclareLaunchArgument(name, default_value=default, description=description, **limited)


def arm_arguments() -> list[Any]:
    """Return the arguments that name a simulated arm and its hand."""
    return [
        argument('robot_type', 'fr3', 'The arm: fer, fr3, fr3v2 or fr3v2_1.'),
        argument('hand', 'none', 'The hand: none, franka_hand, or another of config/hands.'),
    ]


def parameters_argument(target: str) -> Any:
    """Return the argument that names a parameter file, read over the target's."""
    return argument(
        'params_file',
        '',
        "A file with parameters of the feedforward node's, over those of "
        f'config/feedforward/{target}.yaml.',
    )


def robot_state_publisher(values: Mapping[str, Any]) -> Any:
    """Return the publisher of robot_description: our xacro, expanded with these arguments."""
    from launch.substitutions import Command, PathJoinSubstitution
    from launch_ros.actions import Node
    from launch_ros.parameter_descriptions import ParameterValue
    from launch_ros.substitutions import FindPackageShare

    share = FindPackageShare(PACKAGE)
    words = [word for name, value in values.items() for word in (' ', f'"{name}:={value}"')]
    urdf = Command(['xacro ', PathJoinSubstitution([share, 'urdf', 'franka.urdf.xacro']), *words])
    return Node(
        package='robot_state_publisher',
        executable='robot_state_publisher',
        output='screen',
        parameters=[
            {'robot_description': ParameterValue(urdf, value_type=str), 'use_sim_time': True}
        ],
    )


def simulated_feedforward(files: Sequence[str], given: Mapping[str, Any], command: str) -> Any:
    """
    Return the node that commands a simulated arm.

    Until the node's first command comes the arm is carried on purpose, by the initial efforts of
    the hardware or by another node.

    Parameters
    ----------
    files : sequence of str
        Parameter files of the node, later ones winning.
    given : mapping
        Parameters of the node over those of the files.
    command : str
        The topic of its torques.

    """
    from launch.actions import Shutdown

    return own_node(
        'feedforward',
        on_exit=Shutdown(reason='the feedforward node has ended'),
        parameters=[*files, {**given, 'held_until_commanded': True}],
        remappings=[('~/command', command)],
    )


def controllers_file(name: str, joint_names: Sequence[str], folder: Path) -> str:
    """Write a file of config/ into a folder, an arm's joint names for fr3_joint1..7 in it."""
    from ..resources import share_directory

    template = (share_directory() / 'config' / name).read_text(encoding='utf-8')
    path = folder / 'controllers.yaml'
    path.write_text(
        re.sub(r'fr3_joint(\d)', lambda found: joint_names[int(found[1]) - 1], template),
        encoding='utf-8',
    )
    return str(path)


def receiver_argument(default: str = '') -> Any:
    """Return the argument that names the package of the controller which takes the torques."""
    return argument(
        'receiver',
        default,
        'A package that franka-dynamics codegen generated for this arm; its controller takes the '
        "torques, and brakes the arm when they cease. If empty, the arm's name with _feedforward "
        'where that is installed; otherwise, or with none, a forward controller, which holds the '
        'last torque for ever.',
    )


@dataclass(frozen=True)
class Receiver:
    """A controller that takes torques: its name, topic, parameter file, and what is said of it."""

    controller: str
    command: str
    file: str
    said: Any


def receiver(arm: Any, package: str, target: str, forward_file: str, folder: Path) -> Receiver:
    """
    Return the controller that takes an arm's torques.

    Parameters
    ----------
    arm : ArmDescription
        The arm, joint names as they are in the robot description.
    package : str
        The launch argument `receiver`.
    target : str
        Of the node: who carries the arm decides how the generated controller brakes and leaves it.
    forward_file : str
        Parameter file of the forward controller.
    folder : Path
        Where the parameter file of a generated controller is written.

    Raises
    ------
    RuntimeError
        If the package that was named is not installed.
    SettingsError
        If it was generated for another arm.

    """
    from ament_index_python.packages import get_package_share_directory, PackageNotFoundError
    from launch.actions import LogInfo

    usual = f'{arm.name}_feedforward'
    name = package or usual
    build = (
        f'franka-dynamics codegen --package {usual} --arm {arm.name} --output src, then colcon '
        'build (docs/howto/cpp.md)'
    )
    try:
        if name == NO_RECEIVER:
            raise PackageNotFoundError(name)
        share = Path(get_package_share_directory(name))
    except PackageNotFoundError:
        if package not in ('', NO_RECEIVER):
            raise RuntimeError(
                f'receiver: {package} is not installed: {build}. Nothing is started.'
            ) from None
        said = (
            f'{FORWARD} holds the last torque for ever if the node is killed. For a controller '
            f'that brakes the arm instead: {build}.'
        )
        return Receiver(FORWARD, f'{FORWARD}/commands', forward_file, LogInfo(msg=said))
    table = yaml.safe_load((share / 'config' / 'receiver.yaml').read_text(encoding='utf-8'))
    values = table[f'/**/{RECEIVER}']['ros__parameters']
    if not all(own.endswith(its) for own, its in zip(arm.joint_names, values['joints'])):
        raise SettingsError(
            f'receiver: {name} was generated for {values["joints"][0]} and so on, not for '
            f'{arm.joint_names[0]}. Nothing is started.'
        )
    values.update(joints=list(arm.joint_names), target=target)
    path = folder / 'receiver.yaml'
    path.write_text(yaml.safe_dump(table), encoding='utf-8')
    said = f'{name} takes the torques, and brakes the arm when they cease'
    return Receiver(RECEIVER, f'{RECEIVER}/reference', str(path), LogInfo(msg=said))


def removal_at_shutdown(folder: Path) -> Any:
    """Return the action that removes a folder of generated files when the launch ends."""
    from launch.actions import RegisterEventHandler
    from launch.event_handlers import OnShutdown

    return RegisterEventHandler(
        OnShutdown(on_shutdown=lambda event, context: shutil.rmtree(folder, ignore_errors=True))
    )


def unloading(manager: str, controller: str, **given: Any) -> Any:
    """Return the process that deactivates and unloads a controller if it is loaded."""
    from launch.actions import ExecuteProcess

    module = f'{PACKAGE}.ros.controller_unloading'
    return ExecuteProcess(
        cmd=[sys.executable, '-m', module, manager, controller], output='screen', **given
    )


def spawner(controller: str, *arguments: Any, **given: Any) -> Any:
    """Return the process that loads and activates a controller."""
    from launch_ros.actions import Node

    return Node(
        package='controller_manager',
        executable='spawner',
        output='screen',
        arguments=[controller, *arguments, '--controller-manager-timeout', '30'],
        **given,
    )


def after(process: Any, *following: Any) -> Any:
    """Start processes when another has done its work; end everything if it failed."""
    from launch.actions import RegisterEventHandler, Shutdown
    from launch.event_handlers import OnProcessExit

    def start(event: Any, _: Any) -> list[Any]:
        if event.returncode == 0:
            return list(following)
        return [Shutdown(reason=f'{event.process_name} failed')]

    return RegisterEventHandler(OnProcessExit(target_action=process, on_exit=start))
