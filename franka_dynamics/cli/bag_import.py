# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`franka-dynamics bag import`: a log file -> a rosbag2."""

from __future__ import annotations

from pathlib import Path

from ._options import new_bag
from ._say import ProgressBar, say, say_each, show
from .actions import BagImport
from ..recordings.log_file import LogColumns, read_log
from ..recordings.log_import import import_log, require_columns
from ..recordings.options import ColumnMap, LAYOUTS
from ..recordings.plausibility import require_units, suspicions
from ..recordings.recording import write_recording
from ..report.table import Head, Table


def run(given: BagImport) -> int:
    """Write the bag, print its content and warnings; with --list print the log's columns."""
    if given.list:
        show(_contents(read_log(given.log)))
        return 0
    if given.layout is not None:
        named = ('position', 'velocity', 'effort', 'stamp', 'rate')
        given.refuse('--layout, which names them', *named)
    elif not (given.position and given.velocity and given.effort):
        require_columns(read_log(given.log), given)
    columns = LAYOUTS[given.layout] if given.layout else given.part(ColumnMap)
    arm = given.load_arm()
    bag = given.output or new_bag(f'{Path(given.log).with_suffix("")}')
    with ProgressBar() as bar:
        bar.add_task(f'reading {given.log}', total=None)
        recording = import_log(given.log, columns, given.names_in_bag(arm), topic=given.topic)
        require_units(recording, arm)
        warnings = suspicions(recording, arm)
        bar.add_task(f'writing {bag}', total=None)
        write_recording(recording, bag)
    say(
        f'{bag}: {len(recording)} messages in {recording.duration:.2f} s on '
        f'{recording.topic}, joints {recording.joint_names[0]} ... '
        f'{recording.joint_names[-1]}'
    )
    say_each(recording.remarks, 'note')
    say_each(warnings, 'warning')
    return 0


def _contents(log: LogColumns) -> Table:
    """Return a table of the first, last, least and largest value of each column of a log."""
    rows = []
    for name, array in log.arrays.items():
        for place, column in enumerate(array.reshape(len(array), -1).T, start=1):
            shown = name if array.ndim == 1 else f'{name}[{place}]' if name else str(place)
            rows.append([shown, column[0], column[-1], column.min(), column.max()])
    heads = [Head(name, form='.6g') for name in ('first', 'last', 'least', 'largest')]
    count = len(next(iter(log.arrays.values())))
    return Table(f'{log.source}: {count} rows', ['column', *heads], rows)
