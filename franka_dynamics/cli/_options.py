# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""One spelling for one option, and output paths that are checked before the work."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ._action import Action
from ._say import PRINTED
from ..errors import OutputError, SettingsError
from ..files import writable_file, writable_folder, write_text
from ..options import option

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


def desk_option() -> Any:
    """Return --desk FILE: a payload as Franka's end-effector file."""
    return file_option(
        "write Franka's endeffector-config.json, which Desk's settings take (mass, centre of "
        'mass, inertia)'
    )


def seed_option(what: str) -> Any:
    """Return --seed N: `what` it is of."""
    return option(what, 'N', default=0)


def arm_prefix_option() -> Any:
    """Return --arm-prefix."""
    return option('in front of every joint name, verbatim', 'PREFIX', default='')


def shipped_files_option(what: str) -> Any:
    """Return --all FOLDER: the files that the package ships, `what` says which and where."""
    return folder_option(f'write {what}')


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


def add_gravity_option(
    container: Any, frame: str = 'space', default: Sequence[float] | None = None, note: str = ''
) -> None:
    """
    Add --gravity X Y Z.

    Parameters
    ----------
    container : ArgumentParser or argument group
        What the option is added to.
    frame : str
        Whose axes the numbers are in, for the help.
    default : sequence of 3 float, optional
        In place of None, by which a verb tells that nothing was given and takes 0 0 -9.81.
    note : str
        What the help adds.

    """
    container.add_argument(
        '--gravity',
        type=float,
        nargs=3,
        default=default,
        metavar=('X', 'Y', 'Z'),
        help=f'in the {frame} frame [m/s^2]{note} (default: 0 0 -9.81)',
    )


def add_output_option(container: Any, what: str, **settings: Any) -> None:
    """Add --output FILE; `what` is its help, `settings` are as for `add_argument`."""
    settings.setdefault('type', output_file)
    settings.setdefault('metavar', 'FILE')
    container.add_argument('--output', help=what, **settings)


def add_new_file_option(container: Any, what: str, **settings: Any) -> None:
    """Add --output FILE, which must not be there yet, and --force; see `refuse_existing`."""
    add_output_option(container, what, **settings)
    container.add_argument('--force', action='store_true', help='write over a file that is there')


def refuse_existing(arguments: argparse.Namespace) -> None:
    """Raise OutputError if --output is there already, unless --force is given."""
    path = arguments.output
    if path is not None and path.exists() and not arguments.force:
        raise OutputError(f'{path} exists already; choose another name, or add --force.')


def add_desk_option(container: Any) -> None:
    """Add --desk FILE: a payload as Franka's end-effector file."""
    container.add_argument(
        '--desk',
        type=output_file,
        metavar='FILE',
        help="write Franka's endeffector-config.json, which Desk's settings take (mass, centre of "
        'mass, inertia)',
    )


def add_plot_option(container: Any, what: str) -> None:
    """Add --plot FILE: `what` is drawn into a picture."""
    container.add_argument(
        '--plot',
        type=picture_file,
        metavar='FILE',
        help=f'draw {what} ({", ".join(PICTURES)})',
    )


def add_seed_option(container: Any, what: str) -> None:
    """Add --seed N: `what` it is of, for the help."""
    container.add_argument(
        '--seed',
        type=whole_number,
        default=0,
        metavar='N',
        help=f'{what} (default: %(default)s)',
    )


def whole_number(text: str) -> int:
    """Return a whole number of at least 0, or raise argparse's error."""
    if not (text.isascii() and text.isdigit()):
        raise argparse.ArgumentTypeError(f'{text} is not a whole number of at least 0')
    return int(text)


def count(text: str) -> int:
    """Return a whole number of at least 1, or raise argparse's error."""
    if whole_number(text) < 1:
        raise argparse.ArgumentTypeError(f'{text} is not a whole number of at least 1')
    return int(text)


def add_shipped_files_option(container: Any, what: str) -> None:
    """Add --all FOLDER: the files that the package ships, `what` says which and where."""
    container.add_argument('--all', type=output_folder, metavar='FOLDER', help=f'write {what}')


def add_json_option(container: Any, what: str = 'write all figures to this file') -> None:
    """Add --json FILE: what is printed, for programs; `what` is its help."""
    container.add_argument('--json', type=output_file, metavar='FILE', help=what)


def add_joint_name_options(parser: argparse.ArgumentParser, names: str) -> None:
    """Add --arm-prefix and --joint-names; `names` is the help of the latter."""
    parser.add_argument(
        '--arm-prefix', default='', metavar='PREFIX', help='in front of every joint name, verbatim'
    )
    parser.add_argument('--joint-names', nargs='+', metavar='NAME', help=names)


def add_topic_options(parser: argparse.ArgumentParser) -> None:
    """Add --topic and --command: where joint states and commanded torques are heard."""
    parser.add_argument(
        '--topic',
        default='joint_states',
        metavar='TOPIC',
        help='of the joint states; franka_ros2: franka/joint_states (default: %(default)s)',
    )
    parser.add_argument(
        '--command',
        default='effort_controller/commands',
        metavar='TOPIC',
        help='of the commanded torques (default: %(default)s)',
    )


def output_file(text: str) -> Path:
    """Return the path of a file to be written; OutputError if that cannot be."""
    return writable_file(text)


def output_folder(text: str) -> Path:
    """Return the path of a folder to be written into; OutputError if that cannot be."""
    return writable_folder(text)


def picture_file(text: str) -> Path:
    """Return the path of a picture to be drawn; OutputError if that cannot be."""
    path = writable_file(text)
    if path.suffix.lower() not in PICTURES:
        raise OutputError(
            f'{path}: {path.suffix[1:]!r} is no picture format; the name must end '
            f'in {", ".join(PICTURES)}.'
        )
    return path


def add_printed_json_option(container: Any, what: str) -> None:
    """Add --json [FILE], of a verb whose only output may be JSON: without FILE it is printed."""
    container.add_argument(
        '--json',
        type=output_file,
        nargs='?',
        const=PRINTED,
        metavar='FILE',
        help=f'{what} as JSON: to this file, or printed instead of the text',
    )


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


def refuse(arguments: argparse.Namespace, why: str, **options: str) -> None:
    """
    Refuse options that cannot be honoured.

    Parameters
    ----------
    arguments : Namespace
        What was given; `options_given` has the names, the defaults left out.
    why : str
        What they have no meaning with, and the reason.
    options : str
        Spellings by the names of the values.

    Raises
    ------
    SettingsError
        Naming the first of them that was given.

    """
    for name, spelling in options.items():
        if name in arguments.options_given:
            raise SettingsError(f'{spelling} has no meaning with {why}. Leave one of them out.')
