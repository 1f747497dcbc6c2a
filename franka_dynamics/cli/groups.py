# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Declarations of the commands `franka-dynamics arm`, `bag`, `identify` and `node ...`.

Other modules do their work.
"""

from pathlib import Path
import re
from typing import Any

import click

from . import options as shared
from .command import Group, with_xacro_arguments
from .options import choice_or_flag, CommaList, flag, Number, option, OutputPath
from ..constants import (
    AS_LISTED,
    Convention,
    EXPORT_FORMATS,
    GAINS_LAW_NAME,
    GRAVITY_DIRECTIONS,
    LAW_NAMES,
)
from ..errors import OutputError
from ..files import writable_path
from ..identification import options as of
from ..recordings import options as logs

_DH_CONVENTIONS = [one.value for one in Convention]
_BAGS_TYPE = CommaList('BAG,...', click.Path())
_PLAN_DEFAULTS = of.ExcitationLimits()
_REPETITIONS_RANGE_TEXT = f'{of.MIN_REPETITIONS} to {of.MAX_REPETITIONS}'
_NODE_NAMES = ('feedforward', 'simulator')
_TRANSITIONS = ('configure', 'activate', 'deactivate', 'cleanup', 'shutdown')
# What a planned motion keeps free, and where it begins.
_start_option = option(
    '--start',
    'first and last pose [rad, m] (default: home)',
    CommaList('Q1,...', Number()),
)
_space_options = shared.options_as(
    'limits',
    of.ExcitationLimits,
    option(
        '--table',
        'height of the table, above which the arm stays [m]',
        Number(),
        'table_height',
        default=_PLAN_DEFAULTS.table_height,
    ),
    option(
        '--clearance',
        'least distance between links [m]',
        Number(),
        default=_PLAN_DEFAULTS.clearance,
    ),
    option(
        '--tool',
        'length of the tool on the flange [m]',
        Number(),
        'tool_length',
        default=_PLAN_DEFAULTS.tool_length,
    ),
)
_node_options = shared.with_options(
    shared.node_option,
    option(
        '--timeout',
        'how long to wait for the node [s]',
        Number(0.1, 3600.0),
        default=5.0,
    ),
)


@click.group(cls=Group)
def arm() -> None:
    """Show, check, import and export arms."""


@arm.command('show', func='arm_files.show_arm')
@click.argument('positional', type=shared.ARM_TYPE, required=False, metavar='[ARM]')
@option(
    '--q',
    'show the inertias in the space frame at this pose',
    CommaList('zero|home|Q1,...'),
)
@choice_or_flag('--base-parameters', 'print the base parameters', GRAVITY_DIRECTIONS)
@choice_or_flag('--symbolic', 'print the base parameters in symbols', ('text', 'latex'))
@shared.json_option
@shared.arm_options
def show_arm() -> None:
    """
    Print an arm's DH and inertia tables, or its base parameters.

    ARM is the same as --arm. Base parameters are the smallest set of inertial parameters that the
    torques depend on, with gravity along -z of the space frame (vertical), in any direction
    (tilted) or none.
    """


@arm.command('check', func='arm_check.check_arms')
@click.argument('arms', type=click.Path(), nargs=-1, metavar='[ARM]...')
@option(
    '--states',
    'number of random states that are compared',
    click.IntRange(1, 1000000),
    default=1000,
)
@shared.gravity_option
@flag('--all', 'print everything: the tables of every quantity', 'everything')
@shared.json_option
@shared.arm_options
def check_arms() -> None:
    """
    Compare three independent formulations of an arm's dynamics.

    ARM is a shipped arm or a file, as for --arm. Of several files, or of a folder, each is
    checked. A URDF or MJCF is also compared with Pinocchio's or MuJoCo's own reading of it. Exit
    status: 0 if all agree, 1 if they differ or no real body can be like a link, 2 if a file cannot
    be read.
    """


@arm.command('compare', func='arm_check.compare_arms')
@click.argument('first', type=click.Path())
@click.argument('second', type=click.Path())
@option(
    '--set',
    'inertial set (default: of a shipped arm the one nearest to the URDF)',
    dest='inertial_set',
)
@option(
    '--hand',
    'hand of an arm that is no URDF, as for `arm show`',
    click.Path(),
    default=AS_LISTED,
    show_default=False,
)
@option(
    '--arm-prefix', "prefix of the joints' names in a URDF (default: it is found)", dest='prefix'
)
@with_xacro_arguments
@shared.json_option
def compare_arms() -> None:
    """
    Compare two arms joint by joint, link by link.

    Each is a shipped arm, an arm file, a URDF, an MJCF or a xacro file. For each joint and its
    link one line says what differs most, and how much it changes the torques. Exit status: 0 if no
    torque differs, 1 if one does, 2 if a file cannot be read.
    """


@arm.command('import', func='arm_files.import_arm')
@click.argument('urdf', type=click.Path())
@option('--output', 'the arm file to write (.yaml)', shared.OUT_FILE_TYPE, required=True)
@shared.force_option
@flag('--anyway', 'write the arm file even if it differs from the URDF')
@option('--name', "name of the arm (default: the URDF's robot name)")
@shared.joints_option
@shared.held_joints_option
@with_xacro_arguments
@option(
    '--tip', 'link that is the flange (default: tool0 or another usual name, else the last link)'
)
@shared.arm_prefix_option()
@option('--convention', 'DH convention of the arm file', _DH_CONVENTIONS, default='modified')
def import_urdf() -> None:
    """
    Convert a URDF to an arm file, checked against Pinocchio.

    The arm file has DH rows, inertias and limits. A xacro file is expanded.
    """


@arm.command('export', func='arm_files.export_arm')
@option('--output', 'file to write (default: print)', shared.OUT_FILE_TYPE)
@shared.force_option
@option(
    '--format',
    'format of the output',
    EXPORT_FORMATS,
    'form',
    default=EXPORT_FORMATS[0],
)
@flag('--ideal', "leave the joints' armature and friction out of an MJCF")
@shared.arm_prefix_option(callback=shared.validate_prefix)
@shared.arm_options
def export_arm() -> None:
    """
    Write an arm, its friction or its load for other programs.

    The formats urdf, mjcf and controller (a file for the C++ controller) hold the whole arm,
    franky and crisp its friction alone, and desk hand and payload alone, as an end effector for
    Franka's Desk.
    """


@click.group(cls=Group)
def bag() -> None:
    """Record, import and replay bags."""


@bag.command('record', func='bag_record.record_and_check')
@option('--output', 'the new bag (default: recording-DATE-TIME)', shared.NEW_BAG_TYPE)
@option('--duration', 'end after this time [s] (default: at Ctrl-C)', Number(1e-3, 86400.0))
@shared.node_option
@shared.topic_options
@shared.arm_prefix_option()
@shared.arm_chain_options
def record_bag() -> None:
    """
    Record a running system, and check the recording.

    Recorded are joint states, torques, references and diagnostics. At the end the command says
    whether the recording is usable.
    """


@bag.command('import')
@click.argument('log', type=click.Path(), metavar='FILE...', nargs=-1, required=True)
@option('--output', 'the new bag (default: the name of the first FILE)', shared.NEW_BAG_TYPE)
@flag(
    '--list',
    'only print the columns, each with its first, last, least and largest value',
    'columns_only',
)
@option(
    '--layout',
    "a known format, in place of columns: droid, DROID's trajectory.h5",
    [*logs.LOG_LAYOUTS],
)
@option('--position', 'columns of joint positions', metavar='COLUMNS')
@option(
    '--velocity',
    f'columns of joint velocities, or {logs.DERIVED_VELOCITY}: differences of the positions',
    metavar='COLUMNS',
)
@option('--effort', 'columns of torques, or of currents with --torque-constant', metavar='COLUMNS')
@option('--stamp', 'column with the time of each row, or two: SECONDS,NANOSECONDS')
@option('--log-rate', 'rows per second, if no column has the time', Number(), 'rate')
@option('--position-unit', 'unit of position', [*logs.POSITION_UNITS], default='rad')
@option('--velocity-unit', 'unit of velocity', [*logs.VELOCITY_UNITS], default='rad/s')
@option('--stamp-unit', 'unit of the stamp', [*logs.STAMP_UNITS], default='s')
@option('--episode', 'which episode to read, if the log has several', click.IntRange(0))
@flag('--skip-incomplete', 'leave out rows in which values are missing, as in merged topics')
@shared.effort_scale_option
@shared.options_as('columns', logs.ColumnMap)
@shared.bag_options
@shared.arm_chain_options
def import_log() -> None:
    """
    Convert a log to a rosbag2 of joint states.

    FILE is a .csv, .tsv, .txt, .dat, .parquet, .h5, .hdf5, .mat, .npy or .npz file. Several files
    must have the same rows; their columns are called FILE/COLUMN, such as dq/q1.

    COLUMNS names one column for each joint in one of these ways: q{} for q1, q2, ... and q{0} for
    q0, q1, ...; names with commas; numbers of columns, counted from 1, such as 2-8; the name of an
    array with a column for each joint, such as a dataset of HDF5; or some columns of a wider
    array, such as q[1-7].
    """


def _csv_path(text: str) -> Path:
    """Return --external as a path; raise OutputError unless it is writable and ends in .csv."""
    if Path(text).suffix.lower() != '.csv':
        raise OutputError(f'{text}: the name must end in .csv.')
    return writable_path(text)


@bag.command('replay')
@click.argument('bag', type=click.Path())
@option('--set', "the arm's inertial sets to try (default: all)", CommaList('SET,...'), 'sets')
@option(
    '--hand',
    "hands to try (default: the arm's own, none and franka_hand)",
    CommaList('HAND,...'),
    'hands',
)
@shared.options_as('fit', of.IdentificationOptions)
@shared.gravity_option
@shared.effort_scale_option
@shared.add_gravity_option
@flag('--all', 'print all sets and hands, not only the best', 'everything')
@option('--output', 'folder for plots', shared.OUT_DIR_TYPE, default='replay_output')
@flag('--no-plots', 'draw no plots')
@shared.json_option
@option(
    '--external',
    'write external torque and flange wrench to this file (.csv)',
    OutputPath(_csv_path),
)
@option(
    '--require',
    'exit with 1 only if the torque error E is larger [N m; % if a joint slides]',
    Number(0.0),
)
@option(
    '--gains', "predict the tracking error of a PD with these kp (KP,...), or with franka_ros2's"
)
@option(
    '--damping',
    'kd of --gains [N m s/rad] (default: 0.05 s times kp)',
    CommaList('KD,...', Number(0.0)),
)
@option(
    '--law',
    'predict the lag and error of arms that follow the motion under these laws, and what changes '
    'from the first to the last; gains is the PD of --gains',
    CommaList('LAW,...', click.Choice((*LAW_NAMES, GAINS_LAW_NAME))),
    'laws',
)
@option('--policy-rate', 'last law: targets per second [Hz]', Number())
@option('--latency', 'last law: age of its targets [s]', Number(0.0, 0.5))
@option('--target-filter', 'last law: cut-off of a low-pass on its targets [Hz]', Number())
@shared.bag_and_stamp_options
@shared.signal_options
@shared.arm_payload_options
def replay_bag() -> None:
    """
    Compare recorded torques with those of each set and hand.

    BAG is a rosbag2 folder, or one .mcap or .db3 file. The sets and hands are those of --arm; a
    URDF has one of each. Those that fit best are most likely those of your arm.

    The exit status is 1 if the recording is NOT sound, but not with --external, for which an arm
    may be touched. With --require E alone decides.
    """


def _validate_workers(_context: Any, _parameter: Any, text: str) -> str:
    """Return the text of a whole number from 1 on or an address; else raise click.BadParameter."""
    if not re.fullmatch(r'[1-9]\d*|\w+://\S+', text, re.ASCII):
        raise click.BadParameter(f'{text!r} is neither a number from 1 on nor tcp://host:port')
    return text


@click.group(cls=Group)
def identify() -> None:
    """Identify an arm or a payload from recordings of it."""


@identify.command(
    'arm',
    func='identify.run',
    former_options=dict.fromkeys(('--processes', '--dask'), '--workers'),
)
@click.argument('bags', type=click.Path(), nargs=-1, required=True, metavar='BAG...')
@option(
    '--test',
    'bags that judge the fit to BAGs; then the arm is fitted to all (default: parts of BAGs)',
    _BAGS_TYPE,
    'tests',
)
@option('--output', 'new file for the identified arm', shared.NEW_FILE_TYPE)
@option('--report', 'write an HTML page with plots', shared.OUT_FILE_TYPE)
@shared.json_option
@shared.options_as('fit', of.IdentificationOptions)
@shared.gravity_option
@option('--friction', 'friction model', of.FRICTION_MODELS, default=of.FRICTION_MODELS[0])
@flag('--rotor-inertia', 'identify one rotor inertia per joint as well')
@shared.effort_scale_option
@shared.add_gravity_option
@flag(
    '--anyway',
    'write the arm file even if recordings are unsound or the arm is no better',
    'accept_unsound',
)
@option(
    '--workers',
    'processes that read and fit, or a Dask cluster (tcp://host:8786)',
    default='1',
    metavar='NUMBER|ADDRESS',
    callback=_validate_workers,
)
@shared.bag_and_stamp_options
@shared.arm_file_options
def identify_arm() -> None:
    """
    Identify an arm's inertias and friction from recordings of it.

    BAGs are rosbag2 folders, .mcap or .db3 files of one arm. The identified arm must predict
    motion that the fit has not seen better than the best published set does. If it does, the arm
    file is written, fitted to all bags. If only its friction does better, the arm file has the
    published inertias. Import a URDF first (`arm import`). fd.identify has more options.
    """


@identify.command('payload', func='payload.plan_or_identify_payload')
@option(
    '--plan',
    'write a motion for `node play` to poses at which the arm rests; takes no recordings',
    shared.OUT_FILE_TYPE,
)
@option(
    '--poses',
    'number of poses in the motion of --plan',
    click.IntRange(of.MIN_REST_POSES, of.MAX_REST_POSES),
    'pose_count',
    default=of.DEFAULT_REST_POSES,
)
@_start_option
@_space_options
@option('--without', 'recordings without the payload', _BAGS_TYPE)
@option('--with', 'recordings of the same motion with the payload', _BAGS_TYPE, 'loaded')
@option(
    '--known-mass',
    'weighed mass of the payload [kg], which tells the scale of the efforts',
    Number(1e-3),
)
@shared.effort_scale_option
@shared.gravity_option
@shared.json_option
@shared.payload_file_options
@shared.bag_and_stamp_options
@shared.arm_options
def identify_payload() -> None:
    """
    Identify a payload from recordings with and without it.

    First plan the motion to record by --plan. It goes to poses within the arm's limits and above
    --table. At each the arm rests twice, once for each sign of friction.
    """


@identify.command('plan', func='identify.plan')
@shared.gravity_option
@option(
    '--output',
    'file to write, a JointTrajectory as YAML',
    shared.OUT_FILE_TYPE,
    default='excitation.yaml',
)
@option('--period', 'duration of the motion [s]', Number(), default=10.0)
@option(
    '--repetitions',
    f'how often it is recorded (default: as needed, {_REPETITIONS_RANGE_TEXT})',
    click.IntRange(1),
)
@option('--given', 'bags that were recorded before, for a second motion', _BAGS_TYPE)
@_start_option
@option('--draws', 'number of random trajectories to start from', click.IntRange(1), default=100)
@option(
    '--iterations',
    'largest number of iterations of the optimisation',
    click.IntRange(1),
    default=300,
)
@option(
    '--fraction',
    "share of the arm's limits to use",
    Number(),
    default=_PLAN_DEFAULTS.fraction,
)
@_space_options
@shared.bag_options
@shared.arm_options
def plan_excitation() -> None:
    """
    Compute a trajectory for identification.

    The motion stays within the arm's limits and above the table. With --given it is planned for
    the parameters that these bags leave uncertain.
    """


@click.group(cls=Group)
def node() -> None:
    """
    Show or change a node, send motions, clear a fault.

    A command exits with 1 if the node fails or is silent, with 2 if it refuses a value.
    """


@node.command('state', func='node_requests.print_or_change_state')
@click.argument('transition', type=click.Choice(_TRANSITIONS), required=False)
@shared.json_option
@_node_options
def node_state() -> None:
    """Print a node's state, rates and torques, or change its state."""


# A payload of -1,0,0,0 is no option.
@node.command(
    'set',
    func='node_requests.set_parameter',
    context_settings={'ignore_unknown_options': True},
)
@click.argument('parameter')
@click.argument('value')
@_node_options
def set_parameter() -> None:
    """
    Set a parameter of a node.

    VALUE is YAML. For the parameter payload it may also be what the option --payload takes, or
    none.
    """


@node.command('play', func='node_requests.play_motion')
@click.argument('file', type=click.Path(), required=False)
@flag(
    '--joints-one-by-one',
    'in place of FILE: move each joint alone by 0.1 rad and back, and stop if another moves',
)
@option(
    '--lead',
    "time in which the arm first moves to the motion's beginning [s]",
    Number(0.0, 60.0),
    default=0.0,
)
@option('--record', 'record all topics in this new bag', shared.NEW_BAG_TYPE)
@shared.topic_options
@_node_options
def play_motion() -> None:
    """
    Send a motion to a node and wait until it ends.

    FILE is a file of `identify plan`, or an arm with a shipped motion. With --record the motion is
    recorded in a bag, and the recording is checked.
    """


@node.command('clear', func='node_requests.clear_fault')
@_node_options
def clear_fault() -> None:
    """Clear a node's fault; exit 1 if it remains."""


@node.command('defaults')
@click.argument('node', type=click.Choice(_NODE_NAMES), default='feedforward')
@option('--output', 'file to write (default: print)', shared.OUT_FILE_TYPE)
def node_defaults() -> None:
    """Print a node's default parameters as a commented YAML file."""
