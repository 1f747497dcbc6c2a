# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Types of command-line options, options that several commands share, and checks of values."""

from collections.abc import Callable
import math
from pathlib import Path
import re
import sys
from typing import Any

import click
from click.shell_completion import CompletionItem

from .choices import ArmChoice, BagReader
from .command import with_xacro_arguments
from ..constants import AS_LISTED, GRAVITY
from ..errors import OutputError
from ..files import share_directory, writable_folder, writable_path
from ..recordings.options import HEADER_STAMP, SignalOptions, STAMP_KINDS

STDOUT_PATH = Path('-')  # path that stands for standard output
_EARTH_GRAVITY_RANGE_M_S2 = 9.75, 9.85  # [m/s^2], rounded outwards
_PICTURE_SUFFIXES = ('.png', '.svg', '.pdf')
# Arm options that change inertias, not kinematics; a hand only adds its inertia to the last link.
INERTIA_OPTION_NAMES = ('hand', 'inertial_set', 'payload')
# Frames of --mount in the flange frame: offset along z [m] and rotation about z [rad].
# The Franka hand is mounted at -45 degrees, and its tool centre point lies 103.4 mm in front of
# the flange (franka_description).
_HAND_YAW = -math.pi / 4
MOUNT_OFFSETS = {
    'flange': (0.0, 0.0),
    'hand': (0.0, _HAND_YAW),
    'hand_tcp': (0.1034, _HAND_YAW),
}


class Number(click.FloatRange):
    """Option type of a finite number in a range; click's own ranges also accept NaN."""

    name = 'number'

    def _describe_range(self) -> str:
        """Return the allowed range as text for the help, or '' if it has no bounds."""
        return '' if self.min is self.max is None else super()._describe_range()

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the option's value as a finite float; otherwise raise click.BadParameter."""
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f'{value} is not a finite number', param, ctx)
        return number


class JointPositionType(click.ParamType):
    """Option type of a pair of a joint's name and its position, written JOINT=POSITION."""

    name = 'assignment'

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the pair (name, position) in a text; otherwise raise click.BadParameter."""
        joint, sign, position = f'{value}'.partition('=')
        if not (joint and sign):
            self.fail(f'{value!r} is no JOINT=POSITION', param, ctx)
        return joint, Number().convert(position, param, ctx)


class CommaList(click.ParamType):
    """Option type of a tuple of values separated by commas; `count` fixes their number."""

    name = 'values'

    def __init__(
        self,
        metavar: str,
        item_type: click.ParamType = click.STRING,
        count: int | None = None,
    ) -> None:
        """Make the type of `count` items of `item_type`; help shows `metavar` for it."""
        self.metavar = metavar
        self.item_type = item_type
        self.count = count

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return a text's values as a tuple, a non-text unchanged; or raise click.BadParameter."""
        if not isinstance(value, str):
            return value
        parts = [self.item_type.convert(part.strip(), param, ctx) for part in value.split(',')]
        if self.count not in (None, len(parts)):
            self.fail(
                f'{value!r} has {len(parts)} of {self.count} values with commas',
                param,
                ctx,
            )
        return tuple(parts)


class ShippedNameOrPath(click.Path):
    """Option type of a path or the name of a file shipped in a folder of config/."""

    def __init__(self, config_folder: str) -> None:
        """Make the type of names of files in config/`config_folder`, and of paths."""
        super().__init__()
        self.config_folder = config_folder

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Return files and names of shipped files as shell completions of the typed text."""
        shipped = (share_directory() / 'config' / self.config_folder).glob(f'{incomplete}*.yaml')
        names = [CompletionItem(path.stem) for path in sorted(shipped)]
        return super().shell_complete(ctx, param, incomplete) + names


class OutputPath(click.Path):
    """Option type of an output's path, which `check_path` checks before the command runs."""

    def __init__(self, check_path: Callable[[str], Path]) -> None:
        """Make the type of paths that `check_path` accepts."""
        super().__init__()
        self.check_path = check_path

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path that `check_path` accepts; otherwise raise its OutputError."""
        return self.check_path(f'{value}')


def option(flags: str, help: str, value_type: Any = None, dest: str = '', **options: Any) -> Any:
    """
    Return a decorator that adds an option to a command, as `click.option` does.

    `flags` are separated by spaces; a tuple or a list as `value_type` is a choice. Values of a
    repeated option with a list of any length are joined.
    """

    def join_values(_context: Any, _parameter: Any, given: tuple[tuple[Any, ...], ...]) -> Any:
        """Return the values of a repeated option's lists as one tuple."""
        return tuple(value for each in given for value in each)

    if isinstance(value_type, (tuple, list)):
        value_type = click.Choice(value_type)
    if isinstance(value_type, CommaList):
        options['metavar'] = value_type.metavar
        options |= {'multiple': True, 'callback': join_values} if value_type.count is None else {}
    return click.option(*flags.split(), *dest.split(), type=value_type, help=help, **options)


def flag(name: str, help: str, dest: str = '') -> Any:
    """Return a decorator that adds to a command an option without a value."""
    return click.option(name, *dest.split(), is_flag=True, help=help)


def choice_or_flag(name: str, help: str, values: tuple[str, ...]) -> Any:
    """Return a decorator for an option with choices `values`; given alone it means the first."""
    return option(name, f'{help}; alone: {values[0]}', values, is_flag=False, flag_value=values[0])


VECTOR_TYPE = CommaList('X,Y,Z', Number(), 3)


def with_options(*options: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a decorator that adds several options to a command."""

    def decorate(command: Any) -> Any:
        """Add the options to a command, and return it."""
        for add in reversed(options):
            command = add(command)
        return command

    return decorate


def options_as(arg_name: str, cls: type, *options: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """
    Return a decorator that adds options and passes their values as one dataclass `cls`.

    `run` of the command's module gets an argument `arg_name` of type `cls` in place of all values
    that are named as a field of `cls`.
    """

    def decorate(command: Any) -> Any:
        """Add the options and the dataclass of their values to a command, and return it."""
        command.dataclasses = {arg_name: cls, **getattr(command, 'dataclasses', {})}
        return with_options(*options)(command)

    return decorate


def _check_gravity(_context: Any, _option: Any, gravity: tuple[float, ...]) -> tuple[float, ...]:
    """Return gravity; print a note if it points up or differs in strength from the Earth's."""
    note = ''
    strength = math.hypot(*gravity)
    if gravity[2] > 0.0:
        note = 'points up, as for an arm that hangs; for an upright arm it is 0,0,-9.81'
    elif strength and not _EARTH_GRAVITY_RANGE_M_S2[0] <= strength <= _EARTH_GRAVITY_RANGE_M_S2[1]:
        note = f"has the strength {strength:.3g} m/s^2; the Earth's is 9.81"
    if note:
        print(
            f'note: gravity {",".join(f"{one:g}" for one in gravity)} {note}.',
            file=sys.stderr,
        )
    return gravity


_EARTH_GRAVITY_TEXT = ','.join(f'{number:g}' for number in GRAVITY)
gravity_option = option(
    '--gravity',
    'gravity in the space frame [m/s^2]',
    VECTOR_TYPE,
    default=_EARTH_GRAVITY_TEXT,
    callback=_check_gravity,
)
effort_scale_option = option(
    '--effort-scale --torque-constant',
    'N m per recorded unit of effort, one number or one per joint: 0.001 for mN m; for '
    'currents N m/A',
    CommaList('NM_PER_UNIT,...', Number()),
    default=('1',),
)
add_gravity_option = flag(
    '--add-gravity',
    "add the arm's gravity torque to efforts that lack it, as a UR's, iiwa's or Flexiv's do",
)


def picture_path(text: str) -> Path:
    """Return a picture's path; raise OutputError if not writable, or no .png, .svg or .pdf."""
    path = writable_path(text)
    if path.suffix.lower() not in _PICTURE_SUFFIXES:
        suffixes = ', '.join(_PICTURE_SUFFIXES)
        raise OutputError(f'{path} is no picture; the name must end in {suffixes}.')
    return path


def _require_new_path(path: Path, fix: str) -> Path:
    """Return a path, or raise OutputError with a fix if something exists there already."""
    if path.exists():
        raise OutputError(f'{path} exists already; {fix}')
    return path


def new_bag_path(text: str) -> Path:
    """Return a path for a new bag; raise OutputError if it exists or cannot be written."""
    return _require_new_path(writable_folder(text), 'a bag is never overwritten: choose another.')


def new_file_path(text: str) -> Path:
    """Return a path for a new file; raise OutputError if it exists or cannot be written."""
    return _require_new_path(writable_path(text), 'remove it, or choose another name.')


def _json_path(text: str) -> Path:
    """Return --json as a path, '-' for standard output; raise OutputError if not writable."""
    return STDOUT_PATH if text == f'{STDOUT_PATH}' else writable_path(text)


# Types of options for outputs.
OUT_FILE_TYPE = OutputPath(writable_path)
OUT_DIR_TYPE = OutputPath(writable_folder)
PICTURE_TYPE = OutputPath(picture_path)
NEW_BAG_TYPE = OutputPath(new_bag_path)
NEW_FILE_TYPE = OutputPath(new_file_path)
# Without a path the command prints JSON instead of text; see `console.make_console`.
json_option = option(
    '--json',
    'write all figures as JSON to this file; without PATH print them in place of text',
    OutputPath(_json_path),
    metavar='[PATH]',
    is_flag=False,
    flag_value=f'{STDOUT_PATH}',
)
force_option = flag('--force', 'overwrite an existing file')


def require_not_existing(output: Path | None, overwrite: bool) -> None:
    """Raise OutputError if the output file exists, unless `overwrite` (--force) is true."""
    if output is not None and output.exists() and not overwrite:
        raise OutputError(f'{output} exists; choose another name, or add --force.')


def _validate_ros_name(_context: Any, _parameter: Any, name: str | None) -> str | None:
    """Return a ROS name, or raise click.BadParameter if ROS would refuse the name."""
    if name and not re.fullmatch(r'[~/]?/?([A-Za-z_]\w*/)*[A-Za-z_]\w*', name, re.ASCII):
        raise click.BadParameter(f'{name!r} is no ROS name: letters, digits, _, / between them')
    return name


def ros_name_option(name: str, help: str, default: str | None) -> Any:
    """Return a decorator that adds an option whose value is the name of a ROS topic or node."""
    return option(name, help, default=default, metavar='NAME', callback=_validate_ros_name)


node_option = ros_name_option('--node', 'name of the node, with its namespace', 'feedforward')
topic_options = with_options(
    ros_name_option(
        '--topic', 'topic of joint states (franka_ros2: franka/joint_states)', 'joint_states'
    ),
    ros_name_option(
        '--command', 'topic of the torques (default: the one on which the node publishes)', None
    ),
)


def validate_prefix(_context: Any, _parameter: Any, prefix: str) -> str:
    """Return the prefix; raise click.BadParameter if names in URDF and TF cannot begin with it."""
    if not re.fullmatch(r'[\w./-]*', prefix, re.ASCII):
        raise click.BadParameter(f'{prefix!r} cannot begin a name: use letters, digits, _-./')
    return prefix


def arm_prefix_option(**options: Any) -> Any:
    """Return a decorator that adds the option --arm-prefix to a command."""
    help = "prefix of every joint's name, such as left_"
    return option('--arm-prefix', help, dest='prefix', default='', show_default=False, **options)


payload_file_options = with_options(
    option('--output', 'write a ROS parameter file for the feedforward node', OUT_FILE_TYPE),
    option('--desk', "write an endeffector-config.json for Desk's settings", OUT_FILE_TYPE),
)


ARM_TYPE = ShippedNameOrPath('arms')
_arm_option = option(
    '--arm',
    'a shipped arm, an arm file, a URDF, an MJCF, or a xacro file with NAME:=VALUE',
    ARM_TYPE,
    default='fr3',
)
_payload_option = option(
    '--payload',
    "load on the flange: mass,x,y,z[,ixx,ixy,ixz,iyy,iyz,izz], or a .yaml or Desk's .json file",
    click.Path(),
)
joints_option = option(
    '--joints',
    "the arm's joints in a URDF, base to tip (default: its only chain)",
    CommaList('JOINT,...'),
)
_HELD_POSITIONS_TYPE = CommaList('JOINT=POSITION,...', JointPositionType())
held_joints_option = option(
    '--hold',
    'positions of other joints of a URDF, such as a lift [rad or m]',
    _HELD_POSITIONS_TYPE,
    'held',
)
_chain_options = with_options(_arm_option, joints_option, held_joints_option, with_xacro_arguments)
arm_chain_options = options_as('arm', ArmChoice, _chain_options)
arm_payload_options = options_as('arm', ArmChoice, _chain_options, _payload_option)
_hand_option = option(
    '--hand',
    "a shipped hand, a hand file, Desk's .json file, or none",
    ShippedNameOrPath('hands'),
    default=AS_LISTED,
    show_default="the arm's own; of demo franka_hand",
)
_inertia_options = with_options(
    _hand_option,
    option(
        '--set',
        "which of the arm's inertial sets (default: its default_set)",
        dest='inertial_set',
    ),
    _payload_option,
)
_arm_file_option = option('--arm', 'a shipped arm or an arm file', ARM_TYPE, default='fr3')
arm_file_options = options_as('arm', ArmChoice, _arm_file_option, _inertia_options)
# Of the inertias a view shows the hand alone.
arm_hand_options = options_as('arm', ArmChoice, _chain_options, _hand_option)
arm_options = options_as('arm', ArmChoice, _chain_options, _inertia_options)
joint_names_option = option(
    '--joint-names',
    "names of the arm's joints in the bag, base to tip (default: the arm's)",
    CommaList('NAME,...'),
)
bag_options = options_as(
    'reader',
    BagReader,
    arm_prefix_option(),
    joint_names_option,
    ros_name_option(
        '--topic', 'topic of joint states (default: /joint_states, or the only one)', None
    ),
)
stamp_option = option(
    '--stamps stamp_kind',
    'time stamps: header, those of the messages; received, those of the recorder',
    STAMP_KINDS,
    default=HEADER_STAMP,
)
# SignalOptions checks the values, for programs as well.
signal_options = options_as(
    'signal',
    SignalOptions,
    option(
        '--rate',
        'samples per second after resampling',
        Number(),
        default=SignalOptions.rate,
    ),
    option(
        '--cutoff',
        'cut-off of the low-pass [Hz]',
        Number(),
        default=SignalOptions.cutoff,
    ),
    option('--trim', 'time dropped at each end [s]', Number(), default=SignalOptions.trim),
)
bag_and_stamp_options = with_options(bag_options, stamp_option)
