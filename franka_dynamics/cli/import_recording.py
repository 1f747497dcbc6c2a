# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`franka-dynamics bag import`: a log of any form -> a rosbag2."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from ._options import add_joint_name_options, output_folder, refuse
from ._recording_options import joint_names
from ._say import say, terminal
from ..arm import load

if TYPE_CHECKING:
    from ..recordings.log_file import LogColumns
    from ..recordings.log_import import ColumnMap
    from ..report.table import Table

SUMMARY = 'Turn a log (CSV, parquet, HDF5, MAT, npy, npz) into a rosbag2 of joint states.'


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's options."""
    parser.add_argument(
        'log',
        metavar='FILE',
        help='a .csv, .tsv, .txt, .dat, .parquet, .h5, .hdf5, .mat, .npy or .npz file',
    )
    parser.add_argument(
        '--output',
        type=output_folder,
        metavar='BAG',
        help="the bag's folder, which must not exist (default: the file's name "
        'without its ending)',
    )
    parser.add_argument(
        '--list',
        action='store_true',
        help="print the file's columns, their first values and ranges, and write nothing",
    )
    parser.add_argument(
        '--arm',
        default='fer',
        metavar='ARM',
        help='a shipped arm or the path of an arm file, for the number and names '
        'of the joints (default: %(default)s)',
    )
    add_joint_name_options(parser, 'how the joints are to be called in the bag, from base to tip')
    columns = parser.add_argument_group(
        'columns',
        'COLUMNS is the name of an array with one column per joint, such as a dataset of HDF5, '
        'some columns of a wider one such as q[1-7], a pattern such as q{} (q1, q2, ...; q{0} '
        'counts from 0), names separated by commas, or numbers counted from 1 such as 2-8.',
    )
    columns.add_argument(
        '--layout',
        metavar='NAME',
        help='columns and stamps as a well-known kind of file has them: droid (trajectory.h5)',
    )
    columns.add_argument('--position', metavar='COLUMNS', help='joint positions')
    columns.add_argument(
        '--velocity',
        metavar='COLUMNS',
        help="joint velocities, or 'derived' from position by central differences",
    )
    columns.add_argument(
        '--effort', metavar='COLUMNS', help='measured joint torques or motor currents'
    )
    columns.add_argument('--stamp', metavar='COLUMN', help='when each row was sampled')
    columns.add_argument(
        '--rate', type=float, metavar='HZ', help='rows per second, where there is no stamp column'
    )
    units = parser.add_argument_group('units')
    units.add_argument(
        '--position-unit', choices=('rad', 'deg'), default='rad', help='(default: %(default)s)'
    )
    units.add_argument(
        '--velocity-unit',
        choices=('rad/s', 'deg/s', 'rpm'),
        default='rad/s',
        help='(default: %(default)s)',
    )
    units.add_argument(
        '--effort-unit',
        choices=('Nm', 'mNm', 'A', 'mA', 'raw'),
        default='Nm',
        help='raw: as it is, whatever it is (default: %(default)s)',
    )
    units.add_argument(
        '--torque-constant',
        type=float,
        nargs='+',
        metavar='NM_PER_A',
        help='joint torque per motor current, one for all or one per joint; gear '
        'ratio and sign included',
    )
    units.add_argument(
        '--stamp-unit', choices=('s', 'ms', 'us', 'ns'), default='s', help='(default: %(default)s)'
    )
    parser.add_argument('--topic', default='/joint_states', help='(default: %(default)s)')
    parser.add_argument(
        '--storage', choices=('mcap', 'sqlite3'), default='mcap', help='(default: %(default)s)'
    )


def run(arguments: argparse.Namespace) -> int:
    """Write the bag; print what went into it and what looks wrong about it."""
    from ._recording_options import progress_bar
    from ..recordings.log_file import read_log
    from ..recordings.log_import import import_log
    from ..recordings.plausibility import faults, suspicions
    from ..recordings.recording import write_recording

    console = terminal()
    if arguments.list:
        console.print(_contents(read_log(arguments.log)))
        return 0
    columns = _columns(arguments)
    arm = load(arguments.arm, prefix=arguments.arm_prefix)
    bag = Path(arguments.output or Path(arguments.log).with_suffix(''))
    with progress_bar(console) as bar:
        bar.add_task(f'reading {arguments.log}', total=None)
        recording = import_log(
            arguments.log, columns, joint_names(arguments, arm), topic=arguments.topic
        )
        raw = columns.effort_unit == 'raw'
        warnings = faults(recording, arm, torque=False) if raw else suspicions(recording, arm)
        bar.add_task(f'writing {bag}', total=None)
        write_recording(recording, bag, storage=arguments.storage)
    console.print(
        f'{bag}: {len(recording)} messages in {recording.duration:.2f} s on '
        f'{recording.topic}, joints {recording.joint_names[0]} ... '
        f'{recording.joint_names[-1]}',
        soft_wrap=True,
    )
    for sentence in recording.remarks:
        say(console, sentence, 'note')
    for sentence in warnings:
        say(console, sentence, 'warning')
    return 0


def _contents(log: LogColumns) -> Table:
    """Return what a log holds, column by column."""
    from ..report.table import Head, Table

    rows = []
    for name, array in log.arrays.items():
        for place, column in enumerate(array.reshape(len(array), -1).T, start=1):
            shown = name if array.ndim == 1 else f'{name}[{place}]' if name else str(place)
            rows.append([shown, column[0], column[-1], column.min(), column.max()])
    heads = [Head(name, form='.6g') for name in ('first', 'last', 'least', 'largest')]
    count = len(next(iter(log.arrays.values())))
    return Table(f'{log.source}: {count} rows', ['column', *heads], rows)


def _columns(arguments: argparse.Namespace) -> ColumnMap:
    """Return where the log has what, by a layout or by the options."""
    from ..errors import RecordingError
    from ..recordings.log_file import read_log
    from ..recordings.log_import import ColumnMap, LAYOUTS

    if arguments.layout is not None:
        if arguments.layout not in LAYOUTS:
            raise RecordingError(
                f'There is no layout {arguments.layout!r}; known are {", ".join(LAYOUTS)}. Name '
                'the columns with --position, --velocity, --effort and --stamp.'
            )
        given = ('position', 'velocity', 'effort', 'stamp', 'rate')
        refuse(arguments, '--layout, which names them', **{one: f'--{one}' for one in given})
        return LAYOUTS[arguments.layout]
    for option in ('position', 'velocity', 'effort'):
        if getattr(arguments, option) is None:
            raise RecordingError(
                f'{arguments.log}: --{option} is missing; it has '
                f'{read_log(arguments.log).in_words()}.'
                + (
                    ' Where no velocity was logged, say --velocity derived.'
                    if option == 'velocity'
                    else ''
                )
            )
    return ColumnMap(
        arguments.position,
        arguments.effort,
        arguments.velocity,
        arguments.stamp,
        arguments.rate,
        arguments.position_unit,
        arguments.velocity_unit,
        arguments.effort_unit,
        arguments.stamp_unit,
        None if arguments.torque_constant is None else tuple(arguments.torque_constant),
    )
