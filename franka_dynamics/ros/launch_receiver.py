# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The ros2_control controller that receives the torques of the launched feedforward node."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
import re
from typing import Any

import yaml

from ..arm import ArmDescription
from ..errors import SettingsError

RECEIVER, FORWARD, NO_RECEIVER = 'receiver', 'effort_controller', 'none'


@dataclass(frozen=True)
class Receiver:
    """A ros2_control controller that receives torques."""

    controller: str  # its name in the controller manager
    command: str  # the topic on which it receives torques
    packages: tuple[str, ...]  # ROS packages that it needs
    parameters: str  # the text of its parameter file
    said: Any  # launch's log message about it


def controllers_text(name: str, joint_names: Sequence[str]) -> str:
    """Return the text of a file of config/, with an arm's joint names instead of fr3_joint1..7."""
    from ..resources import share_directory

    template = (share_directory() / 'config' / name).read_text(encoding='utf-8')
    return re.sub(r'fr3_joint(\d)', lambda found: joint_names[int(found[1]) - 1], template)


def receiver(
    arm: ArmDescription, robot_type: str, package: str, target: str, forward: str
) -> Receiver:
    """
    Return the controller that receives an arm's torques, generated or else the forward controller.

    `arm` is the arm of the launch argument `robot_type`, with the joint names of the robot
    description. `package` is the launch argument `receiver`. `target` is the node's target: it
    tells the generated controller whether to add gravity torque while it brakes and holds the arm.
    `forward` is the text of the forward controller's parameter file, taken if `package` is 'none',
    or is empty and no generated package is installed. Raises RuntimeError if `package` names
    another package that is not installed. Raises SettingsError if the package was generated for
    other joint names; the arm's names may have a prefix that the package's lack.
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
        said = (
            f'WARNING: {FORWARD} holds the last torque for ever if the node is killed. For a '
            f'controller that brakes the arm instead: {build}.'
        )
        packages = ('forward_command_controller',)
        return Receiver(FORWARD, f'{FORWARD}/commands', packages, forward, LogInfo(msg=said))
    table = yaml.safe_load((share / 'config' / 'receiver.yaml').read_text(encoding='utf-8'))
    values = table[f'/**/{RECEIVER}']['ros__parameters']
    if not all(own.endswith(its) for own, its in zip(arm.joint_names, values['joints'])):
        raise SettingsError(
            f'receiver: {name} was generated for {values["joints"][0]} and so on, not for '
            f'{arm.joint_names[0]}. Nothing is started.'
        )
    values.update(joints=list(arm.joint_names), target=target)
    said = f'{name} takes the torques, and brakes the arm when they cease.'
    return Receiver(
        RECEIVER, f'{RECEIVER}/reference', (name,), yaml.safe_dump(table), LogInfo(msg=said)
    )
