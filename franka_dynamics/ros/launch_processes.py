# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Actions of the launch files: start nodes, load and unload controllers, write files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
import shutil
import sys
import tempfile
from typing import Any

from .launch_arguments import PACKAGE


def text(value: str) -> Any:
    """Return a parameter value of type string; launch_ros would make a bool of 'on'."""
    from launch_ros.parameter_descriptions import ParameterValue

    return ParameterValue(value, value_type=str)


def own_node(name: str, **given: Any) -> Any:
    """
    Return one of this package's nodes under its own name.

    If name and namespace are given, launch_ros writes the parameters into a section for this node.
    Otherwise the section is for all nodes (/**), and a parameter file that names the node, as
    `ros2 param dump` writes it, would override that section.
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
    """Return the path of the parameter file of a target."""
    from ..resources import share_directory

    return str(share_directory() / 'config' / 'feedforward' / f'{target}.yaml')


def robot_state_publisher(values: Mapping[str, Any], namespace: str) -> Any:
    """Return robot_state_publisher with this package's xacro, expanded with `values`."""
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
        namespace=namespace,
        output='screen',
        parameters=[
            {'robot_description': ParameterValue(urdf, value_type=str), 'use_sim_time': True}
        ],
    )


def simulated_feedforward(given: Any, target: str, own_file: Sequence[str], command: str) -> Any:
    """
    Return the feedforward node, which commands a simulated arm on the topic `command`.

    Until the node's first command, the simulated hardware or another node holds the arm.
    `given` has the launch arguments robot_type, hand and namespace. `own_file` holds at most one
    parameter file, which overrides the target's file; the other arguments override both files.
    """
    from launch.actions import Shutdown

    parameters = {
        'robot_type': given.robot_type,
        'hand': given.hand,
        'target': target,
        'use_sim_time': True,
        'held_until_commanded': True,
    }
    return own_node(
        'feedforward',
        namespace=given.namespace,
        on_exit=Shutdown(reason='the feedforward node has ended'),
        parameters=[target_file(target), *own_file, parameters],
        remappings=[('~/command', command)],
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


def unloading(manager: str, controller: str, **given: Any) -> Any:
    """Return the process that deactivates and unloads a controller if it is loaded."""
    from launch.actions import ExecuteProcess

    module = f'{PACKAGE}.ros.controller_unloading'
    return ExecuteProcess(
        cmd=[sys.executable, '-m', module, manager, controller], output='screen', **given
    )


def spawner(*arguments: Any, **given: Any) -> Any:
    """Return the process that loads and activates controllers."""
    from launch_ros.actions import Node

    return Node(
        package='controller_manager',
        executable='spawner',
        output='screen',
        arguments=[*arguments, '--controller-manager-timeout', '30'],
        **given,
    )


def after(process: Any, *following: Any) -> Any:
    """Return a handler that starts actions if a process succeeds, and else ends launch."""
    from launch.actions import RegisterEventHandler, Shutdown
    from launch.event_handlers import OnProcessExit

    def start(event: Any, _: Any) -> list[Any]:
        if event.returncode == 0:
            return list(following)
        return [Shutdown(reason=f'{event.process_name} failed')]

    return RegisterEventHandler(OnProcessExit(target_action=process, on_exit=start))
