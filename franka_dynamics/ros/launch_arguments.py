# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Arguments of the launch files, and the checks that run before any process starts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from difflib import get_close_matches
from itertools import pairwise
import os
from pathlib import Path
import sys
from types import SimpleNamespace
from typing import Any

from . import SIMULATION
from ..errors import SettingsError

PACKAGE = 'franka_dynamics'
# Arguments that `ros2 launch` and the actions of the package launch accept undeclared.
_OF_LAUNCH = (
    'emulate_tty',
    'launch-prefix',
    'launch-prefix-filter',
    'sigkill_timeout',
    'sigterm_timeout',
)


def launch_description(
    arguments: Sequence[Any], function: Callable[[SimpleNamespace], Sequence[Any]]
) -> Any:
    """
    Return a launch description with these arguments and the actions that a function returns.

    The function receives the arguments' values, all strings, as attributes of one object; an
    undeclared argument of `ros2 launch` raises SettingsError first. Unlike launch's substitutions,
    a function can omit a parameter whose argument was not given.
    """
    from launch import LaunchDescription  # type: ignore[attr-defined]
    from launch.actions import OpaqueFunction
    from launch.substitutions import LaunchConfiguration

    names = [one.name for one in arguments]

    def start(context: Any) -> Sequence[Any]:
        _refuse_undeclared(context, names)
        values = {name: LaunchConfiguration(name).perform(context) for name in names}
        return function(SimpleNamespace(**values))

    return LaunchDescription([*arguments, OpaqueFunction(function=start)])


def _refuse_undeclared(context: Any, declared: Sequence[str]) -> None:
    """
    Raise an error for a command-line argument that the launch file does not declare.

    launch itself ignores such an argument: with robot_typ:=fr3 the default arm would start. A
    launch file that includes this one may have more arguments, so this launch file is checked only
    if the command line names it.
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
    """Raise RuntimeError, with the apt command to type, if ROS packages are missing."""
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
            f'{needed_by} needs {", ".join(missing)}: sudo apt install {names}. The page '
            f'"{page}" of the documentation has all steps. Nothing is started.'
        )


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


def namespace_argument(of: str) -> Any:
    """Return the argument for the namespace of a simulation; `of` is what it contains."""
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
