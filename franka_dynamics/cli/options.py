# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Functions that make decorators for options, and the options that several commands share.

A decorator that adds an option has a lower-case name, as `json_option`. The file `__init__.py` of
this folder tells how the values reach the function that does a command's work.
"""

from collections.abc import Callable
import math
import re
import sys
from typing import Any

import click

from .choices import ArmChoice, BagReader
from .command import with_xacro_arguments
from .option_types import (
    ARM_TYPE,
    Assignment,
    CommaList,
    HAND_TYPE,
    JSON_TYPE,
    LayoutType,
    Number,
    OUT_FILE_TYPE,
    STDOUT_PATH,
    VECTOR_TYPE,
)
from ..constants import AS_LISTED, GRAVITY
from ..recordings.options import HEADER_STAMP, SignalOptions, STAMP_KINDS

_EARTH_GRAVITY_RANGE_M_S2 = 9.75, 9.85  # [m/s^2], rounded outwards
_EARTH_GRAVITY_TEXT = ','.join(f'{number:g}' for number in GRAVITY)
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


# Decorators --------------------------------------------------------------------------------------
def option(
    flags: str, help: str, value_type: Any = None, *, dest: str = '', **options: Any
) -> Any:
    """
    Return a decorator that adds an option to a command, as `click.option` does.

    `flags` are separated by spaces; a tuple or a list as `value_type` is a choice. The value gets
    the name `dest`, by default that of the first flag. Values of a repeated option with a list of
    any length are joined.
    """

    def join_values(_context: Any, _parameter: Any, given: tuple[tuple[Any, ...], ...]) -> Any:
        """Return the values of a repeated option's lists as one tuple."""
        return tuple(value for values in given for value in values)

    if isinstance(value_type, (tuple, list)):
        value_type = click.Choice(value_type)
    if isinstance(value_type, CommaList):
        options['metavar'] = value_type.metavar
        if value_type.count is None:
            options['multiple'] = True
            options['callback'] = join_values
    return click.option(*flags.split(), *dest.split(), type=value_type, help=help, **options)


def flag(name: str, help: str, *, dest: str = '') -> Any:
    """Return a decorator that adds to a command an option without a value."""
    return click.option(name, *dest.split(), is_flag=True, help=help)


def choice_or_flag(name: str, help: str, values: tuple[str, ...]) -> Any:
    """Return a decorator for an option with choices `values`; given alone it means the first."""
    return option(name, f'{help}; alone: {values[0]}', values, is_flag=False, flag_value=values[0])


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

    The function that does the command's work gets an argument `arg_name` of type `cls`. It holds
    the values of all options of the command that are named as a field of `cls`; these are not in
    `options` then.
    """

    def decorate(command: Any) -> Any:
        """Add the options and the dataclass of their values to a command, and return it."""
        command.dataclasses = {arg_name: cls, **getattr(command, 'dataclasses', {})}
        return with_options(*options)(command)

    return decorate


# Options that several commands share -------------------------------------------------------------
def _check_gravity(_context: Any, _option: Any, gravity: tuple[float, ...]) -> tuple[float, ...]:
    """Return gravity; print a note if it points up or differs in strength from the Earth's."""
    values = ','.join(f'{component:g}' for component in gravity)
    strength = math.hypot(*gravity)
    weakest, strongest = _EARTH_GRAVITY_RANGE_M_S2
    if gravity[2] > 0.0:
        print(
            f'note: gravity {values} points up, as for an arm that hangs; for an upright arm it '
            'is 0,0,-9.81.',
            file=sys.stderr,
        )
    elif strength and not weakest <= strength <= strongest:
        print(
            f"note: gravity {values} has the strength {strength:.3g} m/s^2; the Earth's is 9.81.",
            file=sys.stderr,
        )
    return gravity


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


# Without a path the command prints JSON instead of text; see `console.make_console`.
json_option = option(
    '--json',
    'write all figures as JSON to this file; without PATH print them in place of text',
    JSON_TYPE,
    metavar='[PATH]',
    is_flag=False,
    flag_value=f'{STDOUT_PATH}',
)
force_option = flag('--force', 'overwrite an existing file')


def _validate_ros_name(_context: Any, _parameter: Any, name: str | None) -> str | None:
    """Return a ROS name, or raise click.BadParameter if ROS would refuse the name."""
    if name and not re.fullmatch(r'(~/|/)?([A-Za-z_]\w*/)*[A-Za-z_]\w*', name, re.ASCII):
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


def _validate_workers(_context: Any, _parameter: Any, text: str) -> str:
    """Return the text of a whole number from 1 on or an address; else raise click.BadParameter."""
    if not re.fullmatch(r'[1-9]\d*|\w+://\S+', text, re.ASCII):
        raise click.BadParameter(f'{text!r} is neither a number from 1 on nor tcp://host:port')
    return text


workers_option = option(
    '--workers',
    'processes that read and fit, or a Dask cluster (tcp://host:8786)',
    default='1',
    metavar='NUMBER|ADDRESS',
    callback=_validate_workers,
)
payload_file_options = with_options(
    option('--output', 'write a ROS parameter file for the feedforward node', OUT_FILE_TYPE),
    option('--desk', "write an endeffector-config.json for Desk's settings", OUT_FILE_TYPE),
)


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
held_joints_option = option(
    '--hold',
    'positions of other joints of a URDF, such as a lift [rad or m]',
    CommaList('JOINT=POSITION,...', Assignment()),
    dest='held',
)
_chain_options = with_options(_arm_option, joints_option, held_joints_option, with_xacro_arguments)
arm_chain_options = options_as('choice', ArmChoice, _chain_options)
arm_payload_options = options_as('choice', ArmChoice, _chain_options, _payload_option)
_hand_option = option(
    '--hand',
    "a shipped hand, a hand file, Desk's .json file, or none",
    HAND_TYPE,
    default=AS_LISTED,
    show_default="the arm's own",
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
arm_file_options = options_as('choice', ArmChoice, _arm_file_option, _inertia_options)
# A view shows the hand, and neither inertias nor payload.
arm_hand_options = options_as('choice', ArmChoice, _chain_options, _hand_option)
arm_options = options_as('choice', ArmChoice, _chain_options, _inertia_options)
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
    '--stamps',
    'time stamps: header, those of the messages; received, those of the recorder',
    STAMP_KINDS,
    dest='stamp_kind',
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
layout_option = option(
    '--layout',
    "columns of a data set's logs: droid, or FIELD=COLUMNS,... such as effort=observation.effort",
    LayoutType(),
    metavar='LAYOUT',
    callback=lambda _context, _option, columns: columns or {},
)
resume_option = flag('--resume', 'go on with the table of a data set that was interrupted')
bag_and_stamp_options = with_options(bag_options, stamp_option)
