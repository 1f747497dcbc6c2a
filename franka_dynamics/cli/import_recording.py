# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`franka-dynamics import-recording`: a log of any form -> a rosbag2."""

from __future__ import annotations

import argparse
from pathlib import Path

from ._options import add_joint_name_options, add_option, output_folder
from ._recording_options import joint_names
from ._say import say, terminal
from ..arm import load

SUMMARY = 'Turn a log (CSV, npy, npz, MAT, parquet) into a rosbag2 of joint states.'
GROUP = 'from recordings'


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's options."""
    parser.add_argument(
        'log', metavar='FILE', help='a .csv, .tsv, .txt, .dat, .npy, .npz, .mat or .parquet file'
    )
    add_option(
        parser,
        '--output',
        type=output_folder,
        metavar='BAG',
        help="the bag's folder, which must not exist (default: the file's name "
        'without its ending)',
    )
    parser.add_argument(
        '--list', action='store_true', help='print what columns the file has, and write nothing'
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
        'COLUMNS is the name of an array with one column per joint, a pattern such as '
        'q{} (q1, q2, ...; q{0} counts from 0), names separated by commas, or numbers counted '
        'from 1 such as 2-8.',
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
    from ..errors import RecordingError
    from ..recordings.log_file import read_log
    from ..recordings.log_import import ColumnMap, import_log
    from ..recordings.plausibility import faults, suspicions
    from ..recordings.recording import write_recording

    console = terminal()
    if arguments.list:
        console.print(
            f'{arguments.log}: {read_log(arguments.log).in_words()}',
            soft_wrap=True,
        )
        return 0
    missing = [
        option
        for option in ('position', 'velocity', 'effort')
        if getattr(arguments, option) is None
    ]
    if missing:
        raise RecordingError(
            f'{arguments.log}: --{missing[0]} is missing; it has '
            f'{read_log(arguments.log).in_words()}.'
            + (
                ' Where no velocity was logged, say --velocity derived.'
                if missing[0] == 'velocity'
                else ''
            )
        )
    arm = load(arguments.arm, prefix=arguments.arm_prefix)
    columns = ColumnMap(
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
    bag = Path(arguments.output or Path(arguments.log).with_suffix(''))
    with progress_bar(console) as bar:
        bar.add_task(f'reading {arguments.log}', total=None)
        recording = import_log(
            arguments.log, columns, joint_names(arguments, arm), topic=arguments.topic
        )
        raw = arguments.effort_unit == 'raw'
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
