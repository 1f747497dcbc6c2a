# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The commands `franka-dynamics bag ...`."""

from pathlib import Path
from typing import Annotated

import click

from ..command import Argument, command_of, Fields, Group, Option
from ..option_types import FILE_TYPE, OUT_DIR_TYPE
from ..options import (
    ADD_GRAVITY_OPTION,
    DataSetOptions,
    EFFORT_SCALE_OPTION,
    FilterOptions,
    GRAVITY_OPTION,
    LogOptions,
    RecordedChainOptions,
    RecordedLoadOptions,
    Resume,
    Workers,
)
from ..requests import RecordRequest, ReplayRequest
from ...fit.options import IdentificationOptions
from ...recordings import options as log_options

bag = Group('bag', help='Record, import and replay bags.')
_COLUMN_OPTIONS = Fields(
    position=Option('columns of joint positions', metavar='COLUMNS'),
    velocity=Option(
        f'columns of joint velocities, or {log_options.DERIVED_VELOCITY}: differences of the '
        'positions',
        metavar='COLUMNS',
    ),
    effort=Option('columns of torques, or of currents with --torque-constant', metavar='COLUMNS'),
    stamp=Option('column with the time of each row, or two: SECONDS,NANOSECONDS'),
    rate=Option('rows per second, if no column has the time', flags='--log-rate'),
    position_unit=Option('unit of position', [*log_options.POSITION_UNITS]),
    velocity_unit=Option('unit of velocity', [*log_options.VELOCITY_UNITS]),
    stamp_unit=Option('unit of the stamp', [*log_options.STAMP_UNITS]),
    episode=Option('which episode to read, if the log has several', click.IntRange(0)),
    skip_incomplete=Option('leave out rows in which values are missing, as in merged topics'),
    effort_scale=EFFORT_SCALE_OPTION,
)


@command_of(bag, 'record')
def record(*, request: RecordRequest, choice: RecordedChainOptions) -> int:
    """
    Record a running system, and check the recording.

    Recorded are joint states, torques, references and diagnostics. At the end the command says
    whether the recording is usable.
    """
    from ..bag_record import record_and_check

    return record_and_check(choice, request)


@command_of(bag, 'import')
def import_(
    *,
    log: Annotated[tuple[str, ...], Argument('FILE...', FILE_TYPE)],
    output: Annotated[
        Path | None,
        Option(
            'the new bag, or with --episodes the folder of bags (default: the name of the first '
            'FILE)',
            OUT_DIR_TYPE,
        ),
    ] = None,
    columns_only: Annotated[
        bool,
        Option(
            'only print the columns, each with its first, last, least and largest value',
            flags='--list',
        ),
    ] = False,
    columns: Annotated[log_options.ColumnMap, _COLUMN_OPTIONS],
    episodes: Annotated[
        str | None, Option('import each episode of a data set (FILE) as a bag', ['all'])
    ] = None,
    workers: Workers = '1',
    resume: Resume = False,
    reader: LogOptions,
    choice: RecordedChainOptions,
) -> int:
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
    from ..bag_import import import_bags, print_columns

    if columns_only:
        return print_columns(log)
    return import_bags(
        log, output, columns, reader, choice, workers, all_episodes=bool(episodes), resume=resume
    )


@command_of(bag, 'replay')
def replay(
    *,
    request: ReplayRequest,
    fit: Annotated[
        IdentificationOptions,
        Fields(
            gravity=GRAVITY_OPTION,
            effort_scale=EFFORT_SCALE_OPTION,
            add_gravity=ADD_GRAVITY_OPTION,
        ),
    ],
    reader: DataSetOptions,
    signal: FilterOptions,
    choice: RecordedLoadOptions,
) -> int:
    """
    Compare recorded torques with those of each set and hand.

    BAG is a rosbag2 folder, or one .mcap, .db3 or (ROS 1) .bag file. The sets and hands are those
    of --arm; a URDF has one of each. Those that fit best are most likely those of your arm.

    The exit status is 1 if the recording is NOT sound, but not with --external, for which an arm
    may be touched. With --require E alone decides.
    """
    from ..bag_replay import replay_bag

    return replay_bag(choice, reader, signal, fit, request)
