# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Declarations of the commands `franka-dynamics bag ...`; modules beside this do their work."""

from pathlib import Path

import click

from . import _options as shared
from ._command import CommaList, flag, Group, Number, option, OutputPath
from ..errors import OutputError
from ..files import writable_file
from ..identification.options import IdentificationOptions
from ..recordings import options as logs


@click.group(cls=Group)
def bag() -> None:
    """Record, import and replay bags."""


@bag.command(work='bag_record.record_and_check')
@option('--output', 'the new bag (default: recording-DATE-TIME)', shared.NEW_BAG_TYPE)
@option('--duration', 'end after this time [s] (default: at Ctrl-C)', Number(1e-3, 86400.0))
@shared.node_option
@shared.topic_options
@shared.arm_prefix_option()
@shared.arm_options
def record() -> None:
    """Record joint states, commands, references, diagnostics; say if the recording is usable."""


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
@shared.arm_payload_options
def import_() -> None:
    """
    Convert a log to a rosbag2 of joint states.

    FILE is a .csv, .tsv, .txt, .dat, .parquet, .h5, .hdf5, .mat, .npy or .npz file. Columns of
    several files with the same rows are called FILE/COLUMN, such as dq/q1. COLUMNS is the
    name of an array with one column per joint, such as a dataset of HDF5, some columns of a wider
    one such as q[1-7], a pattern such as q{} (q1, q2, ...; q{0} counts from 0), names separated by
    commas, or numbers counted from 1 such as 2-8.
    """


def _csv_path(text: str) -> Path:
    """Return --external as the path of a CSV file."""
    if Path(text).suffix.lower() != '.csv':
        raise OutputError(f'{text}: the name must end in .csv.')
    return writable_file(text)


@bag.command()
@click.argument('bag', type=click.Path())
@option('--set', 'inertial sets to try (default: all)', CommaList('SET,...'), 'sets')
@option('--hand', 'hands to try, as for the arm (default: all)', CommaList('HAND,...'), 'hands')
@shared.options_as('fit', IdentificationOptions, shared.gravity_option, shared.effort_scale_option)
@flag('--all', 'print everything: all sets and hands', 'everything')
@option('--output', 'folder for plots', shared.FOLDER_TYPE, default='replay_output')
@flag('--no-plots', 'draw no plots')
@shared.json_option
@option('--external', 'write external torque and flange wrench (.csv)', OutputPath(_csv_path))
@option('--require', 'exit with 1 if E is above this [N m; % if a joint slides]', Number(0.0))
@option('--gains', "predict a PD's tracking error: kp as KP,..., or franka_ros2")
@shared.stamped_bag_options
@shared.signal_options
@shared.arm_payload_options
def replay() -> None:
    """
    Compare a recording's measured torques with the model's, for each inertial set and hand.

    BAG is a rosbag2 folder, or one .mcap or .db3 file.
    """
