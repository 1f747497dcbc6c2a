# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""One spelling for one option, and output paths that are checked before the work."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TYPE_CHECKING

from ._action import Action
from ._say import PRINTED, say
from ..arm.payload import desk_json, payload_parameter_file
from ..errors import OutputError
from ..files import writable_file, writable_folder, write_text
from ..options import option
from ..typing import Array

if TYPE_CHECKING:
    from rich.console import Console

    from ..arm import ArmDescription

PICTURES = ('.png', '.svg', '.pdf')
GRAVITY = (0.0, 0.0, -9.81)


def gravity_option(frame: str = 'space', note: str = '') -> Any:
    """Return --gravity: three numbers in the axes of a frame."""
    return option(f'in the {frame} frame [m/s^2]{note}', ('X', 'Y', 'Z'), default=GRAVITY)


def file_option(what: str, **more: Any) -> Any:
    """Return an option of a file to be written."""
    return option(what, 'FILE', **{'kind': writable_file, 'default': None, **more})


def folder_option(what: str, **more: Any) -> Any:
    """Return an option of a folder to be written into."""
    return option(what, 'FOLDER', **{'kind': writable_folder, 'default': None, **more})


def json_option(what: str = 'write all figures to this file') -> Any:
    """Return --json FILE: what is printed, for programs."""
    return file_option(what)


def printed_json_option(what: str) -> Any:
    """Return --json [FILE], of an action whose only output may be JSON: it is printed."""
    what = f'{what} as JSON: to this file, or printed instead of the text'
    return file_option(what, const=PRINTED)


def plot_option(what: str) -> Any:
    """Return --plot FILE: `what` is drawn into a picture."""
    return file_option(f'draw {what} ({", ".join(PICTURES)})', kind=picture_file)


def arm_prefix_option() -> Any:
    """Return --arm-prefix."""
    return option('in front of every joint name, verbatim', 'PREFIX', default='')


def shipped_files_option(what: str) -> Any:
    """Return --all FOLDER: the files that the package ships, `what` says which and where."""
    return folder_option(f'write {what}')


@dataclass(frozen=True, kw_only=True)
class NewFile(Action):
    """An arm's file, which somebody may have edited: written over only where that is asked for."""

    output: Path | None = file_option('write there, not to the screen')
    force: bool = option('write over a file that is there', default=False)

    def require_new(self) -> None:
        """Raise OutputError if --output is there already, unless --force is given."""
        if self.output is not None and self.output.exists() and not self.force:
            raise OutputError(
                f'{self.output} exists already; choose another name, or add --force.'
            )


@dataclass(frozen=True, kw_only=True)
class PayloadFiles(Action):
    """What a payload that was found is written to."""

    output: Path | None = file_option('write a ROS parameter file for the feedforward node')
    desk: Path | None = file_option(
        "write Franka's endeffector-config.json, which Desk's settings take (mass, centre of "
        'mass, inertia)'
    )

    def hand_over(
        self, console: Console, arm: ArmDescription, payload: Array, comment: str, name: str
    ) -> None:
        """Print a payload (10,) and write it; `comment` is of the file, `name` for Desk."""
        if arm.rated_load is not None and payload[0] > arm.rated_load:
            say(
                console,
                f'{payload[0]:.4g} kg is above the {arm.rated_load:g} kg that {arm.name} is '
                'rated for',
                'warning',
            )
        say(console, 'payload: [' + ', '.join(f'{number:.9g}' for number in payload) + ']')
        texts = {
            self.output: lambda: payload_parameter_file(payload, comment),
            self.desk: lambda: desk_json(payload, name),
        }
        for path, text in texts.items():
            if path is not None:
                write_text(path, text())
                say(console, f'written: {path}')


@dataclass(frozen=True, kw_only=True)
class Topics(Action):
    """Where joint states and commanded torques are heard."""

    topic: str = option(
        'of the joint states; franka_ros2: franka/joint_states', 'TOPIC', default='joint_states'
    )
    command: str = option(
        'of the commanded torques', 'TOPIC', default='effort_controller/commands'
    )


def absolute(topic: str) -> str:
    """Return a topic's or node's name with its leading slash."""
    return f'/{topic.lstrip("/")}'


def picture_file(text: str) -> Path:
    """Return the path of a picture to be drawn; OutputError if that cannot be."""
    path = writable_file(text)
    if path.suffix.lower() not in PICTURES:
        raise OutputError(
            f'{path}: {path.suffix[1:]!r} is no picture format; the name must end '
            f'in {", ".join(PICTURES)}.'
        )
    return path


def new_bag(text: str) -> Path:
    """Return the path of a bag to be made; OutputError if it cannot be, or is there already."""
    path = writable_folder(text)
    if path.exists():
        raise OutputError(f'{path} exists already; a bag is never overwritten: choose another.')
    return path


def print_or_write(text: str, path: Path | None) -> None:
    """Print a text, or write it to a file and say so."""
    if path is None or path == PRINTED:
        print(text, end='')
    else:
        write_text(path, text)
        print(path)


def write_files(files: Mapping[str, str], folder: Path) -> None:
    """Write texts to the files of these names below a folder; print where they are."""
    for name, text in files.items():
        print_or_write(text, folder / name)
