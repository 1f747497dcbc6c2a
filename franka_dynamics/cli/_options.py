# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Options that several actions share; output paths are checked before the work starts."""

from __future__ import annotations

from dataclasses import dataclass
import math
from pathlib import Path
import sys
from typing import Any

from ._action import Action
from ..errors import OutputError
from ..files import writable_file, writable_folder
from ..names import GRAVITY
from ..options import option, switch

PRINTED = Path('-')  # path that stands for standard output
_EARTH = 9.75, 9.85  # least and largest gravity on the Earth, rounded outwards [m/s^2]
_PICTURES = ('.png', '.svg', '.pdf')


def gravity_option() -> Any:
    """Return the option --gravity: gravity in the axes of the space frame {S} [m/s^2]."""
    text = 'gravity in the space frame [m/s^2]'
    return option(text, ('X', 'Y', 'Z'), default=GRAVITY, callback=_with_remark)


def _with_remark(_context: Any, _parameter: Any, gravity: tuple[float, ...]) -> tuple[float, ...]:
    """Return gravity; print a note if it points up or has not the strength of the Earth's."""
    given, strength = ' '.join(f'{one:g}' for one in gravity), math.hypot(*gravity)
    said = ''
    if gravity[2] > 0.0:
        said = 'points up, as for an arm that hangs; for an upright arm it is 0 0 -9.81'
    elif strength and not _EARTH[0] <= strength <= _EARTH[1]:
        said = f"has the strength {strength:.3g} m/s^2; the Earth's is 9.81"
    if said:
        print(f'note: gravity {given} {said}.', file=sys.stderr)
    return gravity


def file_option(what: str, **more: Any) -> Any:
    """Return an option of a file to be written."""
    return option(what, 'FILE', **{'kind': writable_file, **more})


def folder_option(what: str, **more: Any) -> Any:
    """Return an option of a folder to be written into."""
    return option(what, 'FOLDER', **{'kind': writable_folder, **more})


def picture_option(what: str) -> Any:
    """Return the option --plot FILE, a .png, .svg or .pdf to be written."""
    return file_option(f'{what} ({", ".join(_PICTURES)})', kind=_picture_file)


def _picture_file(text: str) -> Path:
    path = writable_file(text)
    if path.suffix.lower() not in _PICTURES:
        raise OutputError(f'{path} is no picture; the name must end in {", ".join(_PICTURES)}.')
    return path


def json_option() -> Any:
    """Return the option --json [FILE]; without FILE the action prints JSON instead of text."""
    return file_option('all figures as JSON, in this file or in place of text', const=PRINTED)


def arm_prefix_option() -> Any:
    """Return the option --arm-prefix."""
    return option('prefix of every joint name, such as left_', 'PREFIX', default='')


@dataclass(frozen=True, kw_only=True)
class NewFile(Action):
    """An output file that users may edit: an existing file is only overwritten with --force."""

    output: Path | None = file_option('file to write (default: print)')
    force: bool = switch('overwrite an existing file')

    def require_new(self) -> None:
        """Raise OutputError if the file --output exists already, unless --force is given."""
        if self.output is not None and self.output.exists() and not self.force:
            raise OutputError(f'{self.output} exists; choose another name, or add --force.')


@dataclass(frozen=True, kw_only=True)
class PayloadFiles(Action):
    """The options --output and --desk: files into which the computed payload is written."""

    output: Path | None = file_option('write a ROS parameter file for the feedforward node')
    desk: Path | None = file_option("write an endeffector-config.json for Desk's settings")


@dataclass(frozen=True, kw_only=True)
class Topics(Action):
    """The options --topic and --command: topics of joint states and commanded torques."""

    topic: str = option(
        'topic of joint states; of franka_ros2: franka/joint_states', default='joint_states'
    )
    command: str = option('topic of the torques', 'TOPIC', default='effort_controller/commands')


def new_bag(text: str) -> Path:
    """Return the path of a new bag; raise OutputError if it exists or cannot be made."""
    path = writable_folder(text)
    if path.exists():
        raise OutputError(f'{path} exists already; a bag is never overwritten: choose another.')
    return path
