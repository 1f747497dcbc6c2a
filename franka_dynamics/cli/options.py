# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Options that several commands share: annotations of parameters, and of dataclasses."""

from dataclasses import replace
import math
from pathlib import Path
import re
import sys
from typing import Annotated

import click

from .choices import ArmChoice, BagReader
from .command import Fields, Option, XacroArguments
from .option_types import (
    ARM_TYPE,
    Assignment,
    CommaList,
    FILE_TYPE,
    HAND_TYPE,
    JSON_TYPE,
    LayoutType,
    Number,
    OUT_FILE_TYPE,
    STDOUT_PATH,
    VECTOR_TYPE,
)
from ..excitation.limits import ExcitationLimits
from ..recordings.options import SignalOptions, STAMP_KINDS

_EARTH_GRAVITY_RANGE_M_S2 = 9.75, 9.85  # [m/s^2], rounded outwards


# Gravity and efforts -----------------------------------------------------------------------------
def _check_gravity(gravity: tuple[float, ...]) -> tuple[float, ...]:
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


GRAVITY_OPTION = Option('gravity in the space frame [m/s^2]', VECTOR_TYPE, check=_check_gravity)
EFFORT_SCALE_OPTION = Option(
    'N m per recorded unit of effort, one number or one per joint: 0.001 for mN m; for '
    'currents N m/A',
    CommaList('NM_PER_UNIT,...', Number()),
    flags='--effort-scale --torque-constant',
)
ADD_GRAVITY_OPTION = Option(
    "add the arm's gravity torque to efforts that lack it, as a UR's, iiwa's or Flexiv's do"
)
GravityVector = Annotated[tuple[float, ...], GRAVITY_OPTION]
EffortScale = Annotated[tuple[float, ...], EFFORT_SCALE_OPTION]

# Outputs -----------------------------------------------------------------------------------------
# Without a path the command prints JSON instead of text; see `console.make_console`.
JsonPath = Annotated[
    Path | None,
    Option(
        'write all figures as JSON to this file; without PATH print them in place of text',
        JSON_TYPE,
        flags='--json',
        metavar='[PATH]',
        alone=f'{STDOUT_PATH}',
    ),
]
Force = Annotated[bool, Option('overwrite an existing file')]
ParameterFile = Annotated[
    Path | None,
    Option('write a ROS parameter file for the feedforward node', OUT_FILE_TYPE),
]
DeskFile = Annotated[
    Path | None,
    Option("write an endeffector-config.json for Desk's settings", OUT_FILE_TYPE),
]


# Nodes and topics --------------------------------------------------------------------------------
def _check_ros_name(name: str) -> str:
    """Return a ROS name, or raise click.BadParameter if ROS would refuse the name."""
    if name and not re.fullmatch(r'(~/|/)?([A-Za-z_]\w*/)*[A-Za-z_]\w*', name, re.ASCII):
        raise click.BadParameter(f'{name!r} is no ROS name: letters, digits, _, / between them')
    return name


def _ros_name_option(help: str) -> Option:
    """Return an option whose value is the name of a ROS topic or node."""
    return Option(help, metavar='NAME', check=_check_ros_name)


NodeName = Annotated[str, _ros_name_option('name of the node, with its namespace')]
StateTopic = Annotated[
    str, _ros_name_option('topic of joint states (franka_ros2: franka/joint_states)')
]
CommandTopic = Annotated[
    str | None,
    _ros_name_option('topic of the torques (default: the one on which the node publishes)'),
]


# The arm -----------------------------------------------------------------------------------------
def _check_prefix(prefix: str) -> str:
    """Return the prefix; raise click.BadParameter if names in URDF and TF cannot begin with it."""
    if not re.fullmatch(r'[\w./-]*', prefix, re.ASCII):
        raise click.BadParameter(f'{prefix!r} cannot begin a name: use letters, digits, _-./')
    return prefix


# Arm options that change inertias, not kinematics; a hand only adds its inertia to the last link.
INERTIA_OPTION_NAMES = ('hand', 'inertial_set', 'payload')
_ARM = Option(
    'a shipped arm, an arm file, a URDF, an MJCF, or a xacro file with NAME:=VALUE', ARM_TYPE
)
_ARM_FILE = Option('a shipped arm or an arm file', ARM_TYPE)
JOINTS_OPTION = Option(
    "the arm's joints in a URDF, base to tip (default: its only chain)", CommaList('JOINT,...')
)
HELD_JOINTS_OPTION = Option(
    'positions of other joints of a URDF, such as a lift [rad or m]',
    CommaList('JOINT=POSITION,...', Assignment()),
    flags='--hold',
)
_CHAIN = {
    'arm': _ARM,
    'joints': JOINTS_OPTION,
    'held': HELD_JOINTS_OPTION,
    'xacro': XacroArguments(),
}
_HAND = Option(
    "a shipped hand, a hand file, Desk's .json file, or none",
    HAND_TYPE,
    shown_default="the arm's own",
)
_SET = Option("which of the arm's inertial sets (default: its default_set)", flags='--set')
_PAYLOAD = Option(
    "load on the flange: mass,x,y,z[,ixx,ixy,ixz,iyy,iyz,izz], or a .yaml or Desk's .json file",
    FILE_TYPE,
)
_INERTIA = {'hand': _HAND, 'inertial_set': _SET, 'payload': _PAYLOAD}
PREFIX_OPTION = Option("prefix of every joint's name, such as left_", flags='--arm-prefix')
_CHECKED_PREFIX = replace(PREFIX_OPTION, check=_check_prefix)
_PREFIX = {'prefix': PREFIX_OPTION}
ArmOptions = Annotated[ArmChoice, Fields(**_CHAIN, **_INERTIA)]
ExportedArmOptions = Annotated[ArmChoice, Fields(prefix=_CHECKED_PREFIX, **_CHAIN, **_INERTIA)]
RecordedArmOptions = Annotated[ArmChoice, Fields(**_PREFIX, **_CHAIN, **_INERTIA)]
RecordedArmFileOptions = Annotated[ArmChoice, Fields(**_PREFIX, arm=_ARM_FILE, **_INERTIA)]
RecordedChainOptions = Annotated[ArmChoice, Fields(**_PREFIX, **_CHAIN)]
RecordedLoadOptions = Annotated[ArmChoice, Fields(**_PREFIX, **_CHAIN, payload=_PAYLOAD)]
# A view shows the hand, and neither inertias nor payload.
ShownArmOptions = Annotated[ArmChoice, Fields(**_PREFIX, **_CHAIN, hand=_HAND)]

# Recordings --------------------------------------------------------------------------------------
_BAG = {
    'joint_names': Option(
        "names of the arm's joints in the bag, base to tip (default: the arm's)",
        CommaList('NAME,...'),
    ),
    'topic': _ros_name_option('topic of joint states (default: /joint_states, or the only one)'),
}
_STAMPS = {
    'stamp_kind': Option(
        'time stamps: header, those of the messages; received, those of the recorder',
        STAMP_KINDS,
        flags='--stamps',
    )
}
_LAYOUT = {
    'layout': Option(
        "columns of a data set's logs: droid, or FIELD=COLUMNS,... such as "
        'effort=observation.effort',
        LayoutType(),
        metavar='LAYOUT',
    )
}
BagOptions = Annotated[BagReader, Fields(**_BAG)]
StampedBagOptions = Annotated[BagReader, Fields(**_BAG, **_STAMPS)]
LogOptions = Annotated[BagReader, Fields(**_LAYOUT, **_BAG)]
DataSetOptions = Annotated[BagReader, Fields(**_LAYOUT, **_BAG, **_STAMPS)]
# SignalOptions checks the values, for programs as well.
FilterOptions = Annotated[
    SignalOptions,
    Fields(
        rate=Option('samples per second after resampling'),
        cutoff=Option('cut-off of the low-pass [Hz]'),
        trim=Option('time dropped at each end [s]'),
    ),
]
BAGS_TYPE = CommaList('BAG,...', FILE_TYPE)


def _check_workers(text: str) -> str:
    """Return the text of a whole number from 1 on or an address; else raise click.BadParameter."""
    if not re.fullmatch(r'[1-9]\d*|\w+://\S+', text, re.ASCII):
        raise click.BadParameter(f'{text!r} is neither a number from 1 on nor tcp://host:port')
    return text


Workers = Annotated[
    str,
    Option(
        'processes that read and fit, or a Dask cluster (tcp://host:8786)',
        metavar='NUMBER|ADDRESS',
        check=_check_workers,
    ),
]
Resume = Annotated[bool, Option('go on with the table of a data set that was interrupted')]

# Planned motions ---------------------------------------------------------------------------------
# Where a planned motion begins, and the space that it keeps free.
StartPose = Annotated[
    tuple[float, ...],
    Option('first and last pose [rad, m] (default: home)', CommaList('Q1,...', Number())),
]
_SPACE = {
    'table_height': Option('height of the table, above which the arm stays [m]', flags='--table'),
    'clearance': Option('least distance between links [m]'),
    'tool_length': Option('length of the tool on the flange [m]', flags='--tool'),
}
SpaceOptions = Annotated[ExcitationLimits, Fields(**_SPACE)]
MotionLimitOptions = Annotated[
    ExcitationLimits,
    Fields(fraction=Option("share of the arm's limits to use"), **_SPACE),
]
