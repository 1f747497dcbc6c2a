# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Declarations of the commands `franka-dynamics bag ...`."""

import click

from .. import options as shared
from ..choices import RecordRequest
from ..command import Group
from ..option_types import (
    CommaList,
    NEW_BAG_TYPE,
    Number,
    OUT_DIR_TYPE,
    OUT_PATH_TYPE,
)
from ..options import flag, option
from ...constants import GAINS_LAW_NAME, LAW_NAMES
from ...fit.options import IdentificationOptions
from ...recordings import options as log_options


@click.group(cls=Group)
def bag() -> None:
    """Record, import and replay bags."""


@bag.command('record')
@shared.options_as('request', RecordRequest)
@option('--output', 'the new bag (default: recording-DATE-TIME)', NEW_BAG_TYPE)
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
@option(
    '--output',
    'the new bag, or with --episodes the folder of bags (default: the name of the first FILE)',
    OUT_DIR_TYPE,
)
@flag(
    '--list',
    'only print the columns, each with its first, last, least and largest value',
    dest='columns_only',
)
@shared.layout_option
@option('--position', 'columns of joint positions', metavar='COLUMNS')
@option(
    '--velocity',
    f'columns of joint velocities, or {log_options.DERIVED_VELOCITY}: differences of the '
    'positions',
    metavar='COLUMNS',
)
@option('--effort', 'columns of torques, or of currents with --torque-constant', metavar='COLUMNS')
@option('--stamp', 'column with the time of each row, or two: SECONDS,NANOSECONDS')
@option('--log-rate', 'rows per second, if no column has the time', Number(), dest='rate')
@option('--position-unit', 'unit of position', [*log_options.POSITION_UNITS], default='rad')
@option('--velocity-unit', 'unit of velocity', [*log_options.VELOCITY_UNITS], default='rad/s')
@option('--stamp-unit', 'unit of the stamp', [*log_options.STAMP_UNITS], default='s')
@option('--episode', 'which episode to read, if the log has several', click.IntRange(0))
@option('--episodes', 'import each episode of a data set (FILE) as a bag', ['all'])
@shared.workers_option
@shared.resume_option
@flag('--skip-incomplete', 'leave out rows in which values are missing, as in merged topics')
@shared.effort_scale_option
@shared.options_as('columns', log_options.ColumnMap)
@shared.bag_options
@shared.arm_chain_options
def import_log() -> None:
    """
    Convert a log to a rosbag2 of joint states.

    FILE is a .csv, .tsv, .txt, .dat, .json, .jsonl, .parquet, .h5, .hdf5, .mat, .npy or .npz file.
    Several files must have the same rows; their columns are called FILE/COLUMN, such as dq/q1.

    COLUMNS names one column for each joint in one of these ways: q{} for q1, q2, ... and q{0} for
    q0, q1, ...; names with commas; numbers of columns, counted from 1, such as 2-8; the name of an
    array with a column for each joint, such as a dataset of HDF5; or some columns of a wider
    array, such as q[1-7].

    With --episodes all FILE is a data set, as for `bag replay`, and the columns of its logs are
    those of --layout.
    """


@bag.command('replay')
@click.argument('bag', type=click.Path(), metavar='BAG|DATASET')
@option(
    '--set', "the arm's inertial sets to try (default: all)", CommaList('SET,...'), dest='sets'
)
@option(
    '--hand',
    "hands to try (default: the arm's own, none and franka_hand)",
    CommaList('HAND,...'),
    dest='hands',
)
@shared.options_as('fit', IdentificationOptions)
@shared.gravity_option
@shared.effort_scale_option
@shared.add_gravity_option
@flag('--all', 'print all sets and hands, not only the best', dest='everything')
@option(
    '--output',
    'folder for plots, or for the table of a DATASET (default: its name with _replay)',
    OUT_DIR_TYPE,
    default='replay_output',
)
@flag('--no-plots', 'draw no plots')
@shared.layout_option
@shared.workers_option
@shared.resume_option
@shared.json_option
@option(
    '--external',
    'write external torque and flange wrench to this file (.csv), of a DATASET into a new folder',
    OUT_PATH_TYPE,
)
@flag(
    '--write',
    "with --external: the folder is a copy of LeRobot's DATASET with these columns beside its own",
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
    dest='laws',
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

    BAG is a rosbag2 folder, or one .mcap, .db3 or (ROS 1) .bag file. The sets and hands are those
    of --arm; a URDF has one of each. Those that fit best are most likely those of your arm.

    The exit status is 1 if the recording is NOT sound, but not with --external, for which an arm
    may be touched. With --require E alone decides.
    """
