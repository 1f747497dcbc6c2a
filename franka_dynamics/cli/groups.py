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
        'height [m]',
        Number(),
        'table_height',
        default=_PLAN_DEFAULTS.table_height,
    ),
    option('--clearance', 'between links [m]', Number(), default=_PLAN_DEFAULTS.clearance),
    option('--tool', 'length [m]', Number(), 'tool_length', default=_PLAN_DEFAULTS.tool_length),
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
    'show inertias in the space frame at this pose',
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
@option('--states', 'number of random states', click.IntRange(1, 1000000), default=1000)
@shared.gravity_option
@flag('--all', 'print everything: the tables of every quantity', 'everything')
@shared.json_option
@shared.arm_options
def check_arms() -> None:
    """
    Compare three independent formulations of an arm's dynamics.

    ARM is a shipped arm or a file, as of --arm; of a folder, or of several files, each is checked.
    A URDF or MJCF is compared with the reading of Pinocchio or MuJoCo, too. Exit status: 0 pass, 1
    a difference or a link that no real body can be, 2 a file that cannot be read.
    """


@arm.command('compare', func='arm_check.compare_arms')
@click.argument('first', type=click.Path())
@click.argument('second', type=click.Path())
@option(
    '--set',
    "inertial set (default: a shipped arm's nearest to a URDF)",
    dest='inertial_set',
)
@option(
    '--hand',
    'hand of an arm that is no URDF',
    click.Path(),
    default=AS_LISTED,
    show_default=False,
)
@option('--arm-prefix', 'prefix of joint names in a URDF (default: found)', dest='prefix')
@with_xacro_arguments
@shared.json_option
def compare_arms() -> None:
    """
    Compare two arms joint by joint, link by link.

    Each is a shipped arm, arm file, URDF, MJCF or xacro file. A line for each joint and its link
    has the largest difference and its effect on torques. Exit status: 0 if no torque differs, 1 if
    one does, 2 a file that cannot be read.
    """


@arm.command('import', func='arm_files.import_arm')
@click.argument('urdf', type=click.Path())
@option('--output', 'the arm file to write (.yaml)', shared.OUT_FILE_TYPE, required=True)
@shared.force_option
@flag('--anyway', 'write an arm file that differs from the URDF, too')
@option('--name', "name of the arm (default: the URDF's robot name)")
@shared.joints_option
@shared.held_joints_option
@with_xacro_arguments
@option('--tip', 'link of the flange (default: tool0 or another usual name, or the last)')
@shared.arm_prefix_option()
@option('--convention', 'convention of the DH rows', _DH_CONVENTIONS, default='modified')
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

    As URDF, as MJCF, as a file that the C++ controller reads; its friction alone for franky or
    CRISP; or hand and payload alone as an end effector for Franka's Desk.
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
    Record joint states, commands and more; check the recording.

    More are references and diagnostics. At the end it says whether the recording is usable.
    """


@bag.command('import')
@click.argument('log', type=click.Path(), metavar='FILE...', nargs=-1, required=True)
@option('--output', 'the new bag (default: the name of the first FILE)', shared.NEW_BAG_TYPE)
@flag(
    '--list',
    'print columns with first, last, least and largest values; write nothing',
    'columns_only',
)
@option('--layout', "a known format: droid is DROID's trajectory.h5", [*logs.LOG_LAYOUTS])
@option('--position', 'of joint positions', metavar='COLUMNS')
@option(
    '--velocity',
    f'of joint velocities, or {logs.DERIVED_VELOCITY!r} from position',
    metavar='COLUMNS',
)
@option('--effort', 'of torques, or currents with --torque-constant', metavar='COLUMNS')
@option('--stamp', 'column with the time of each row, or SECONDS,NANOSECONDS')
@option('--log-rate', 'rows per second, where there is no stamp column', Number(), 'rate')
@option('--position-unit', 'unit of position', [*logs.POSITION_UNITS], default='rad')
@option('--velocity-unit', 'unit of velocity', [*logs.VELOCITY_UNITS], default='rad/s')
@option('--stamp-unit', 'unit of the stamp', [*logs.STAMP_UNITS], default='s')
@option('--episode', 'the episode to read, in a log of several', click.IntRange(0))
@flag('--skip-incomplete', 'leave out rows without all values, as of merged topics')
@shared.effort_scale_option
@shared.options_as('columns', logs.ColumnMap)
@shared.bag_options
@shared.arm_chain_options
def import_log() -> None:
    """
    Convert a log to a rosbag2 of joint states.

    FILE is a .csv, .tsv, .txt, .dat, .parquet, .h5, .hdf5, .mat, .npy or .npz file. Columns of
    several files with the same rows are called FILE/COLUMN, such as dq/q1. COLUMNS is the
    name of an array with one column per joint, such as a dataset of HDF5, some columns of a wider
    one such as q[1-7], a pattern such as q{} (q1, q2, ...; q{0} counts from 0), names separated by
    commas, or numbers counted from 1 such as 2-8.
    """


def _csv_path(text: str) -> Path:
    """Return --external as a path; raise OutputError unless it is writable and ends in .csv."""
    if Path(text).suffix.lower() != '.csv':
        raise OutputError(f'{text}: the name must end in .csv.')
    return writable_path(text)


@bag.command('replay')
@click.argument('bag', type=click.Path())
@option('--set', 'inertial sets to try (default: all)', CommaList('SET,...'), 'sets')
@option(
    '--hand',
    'hands to try, as for the arm (default: all)',
    CommaList('HAND,...'),
    'hands',
)
@shared.options_as('fit', of.IdentificationOptions)
@shared.gravity_option
@shared.effort_scale_option
@shared.add_gravity_option
@flag('--all', 'print everything: all sets and hands', 'everything')
@option('--output', 'folder for plots', shared.OUT_DIR_TYPE, default='replay_output')
@flag('--no-plots', 'draw no plots')
@shared.json_option
@option(
    '--external',
    'write external torque and flange wrench (.csv)',
    OutputPath(_csv_path),
)
@option(
    '--require',
    'exit with 1 if E is above this [N m; % if a joint slides]',
    Number(0.0),
)
@option('--gains', "predict a PD's tracking error: kp as KP,..., or franka_ros2")
@option(
    '--damping',
    'kd of --gains [N m s/rad] (default: 0.05 s times kp)',
    CommaList('KD,...', Number(0.0)),
)
@option(
    '--law',
    'predict lag and error of laws that follow the motion: trained at the first, run at the last; '
    'gains: those of --gains',
    CommaList('LAW,...', click.Choice((*LAW_NAMES, GAINS_LAW_NAME))),
    'laws',
)
@option('--policy-rate', 'targets per second of the last --law [Hz]', Number())
@option('--latency', 'age of its targets [s]', Number(0.0, 0.5))
@option('--target-filter', 'cut-off of a low-pass on its targets [Hz]', Number())
@shared.bag_and_stamp_options
@shared.signal_options
@shared.arm_file_payload_options
def replay_bag() -> None:
    """
    Compare recorded torques with those of each model and hand.

    BAG is a rosbag2 folder, or one .mcap or .db3 file.
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
    'bags that decide, not fitted (default: parts of BAGs)',
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
    'accept unsound recordings or an arm no better than others',
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

    BAGs are rosbag2 folders, .mcap or .db3 files of one arm. The arm file is written if it
    predicts motion that the fit has not seen better than the best published set; it is fitted to
    all bags. If only its friction is better, it gets the published inertias. A URDF with several
    chains is imported first (`arm import`); fd.identify has more options.
    """


@identify.command('payload', func='payload.plan_or_identify_payload')
@option(
    '--plan',
    'in place of BAGs: write a motion to poses at which the arm rests, for `node play`',
    shared.OUT_FILE_TYPE,
)
@option(
    '--poses',
    'number of poses of --plan',
    click.IntRange(of.MIN_REST_POSES, of.MAX_REST_POSES),
    'pose_count',
    default=of.DEFAULT_REST_POSES,
)
@_start_option
@_space_options
@option('--without', 'recordings without the payload', _BAGS_TYPE)
@option('--with', 'the same motion with the payload', _BAGS_TYPE, 'loaded')
@option(
    '--known-mass',
    'real mass of the payload [kg]: tells the scale of efforts',
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

    With --plan it plans their motion: to poses within the arm's limits and above --table, at each
    of which the arm rests twice, once for each sign of friction.
    """


@identify.command('plan', func='identify.plan')
@shared.gravity_option
@option(
    '--output',
    'a JointTrajectory as YAML',
    shared.OUT_FILE_TYPE,
    default='excitation.yaml',
)
@option('--period', 'duration of the motion [s]', Number(), default=10.0)
@option(
    '--repetitions',
    f'how often it is recorded (default: as needed, {_REPETITIONS_RANGE_TEXT})',
    click.IntRange(1),
)
@option('--given', 'bags that were recorded before', _BAGS_TYPE)
@_start_option
@option('--draws', 'random trajectories to start from', click.IntRange(1), default=100)
@option(
    '--iterations',
    'most iterations of the optimisation',
    click.IntRange(1),
    default=300,
)
@option(
    '--fraction',
    'share of the limits to use',
    Number(),
    default=_PLAN_DEFAULTS.fraction,
)
@_space_options
@shared.bag_options
@shared.arm_options
def plan_excitation() -> None:
    """
    Compute a trajectory for identification.

    It stays within the arm's limits and above the table. It is planned for the parameters that the
    bags of --given leave uncertain.
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

    VALUE is written in YAML; of the parameter payload also as the option --payload, or none.
    """


@node.command('play', func='node_requests.play_motion')
@click.argument('file', type=click.Path(), required=False)
@flag(
    '--joints-one-by-one',
    'in place of FILE: move each joint alone by 0.1 rad and back, and stop if another moves',
)
@option('--lead', "time to the motion's beginning [s]", Number(0.0, 60.0), default=0.0)
@option('--record', 'record all topics in this new bag', shared.NEW_BAG_TYPE)
@shared.topic_options
@_node_options
def play_motion() -> None:
    """
    Send a motion to a node and wait until it ends.

    With --record it is recorded in a bag, which is checked. FILE is a file of `identify plan`, or
    an arm with a shipped motion.
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
