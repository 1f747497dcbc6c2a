# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`franka-dynamics bag import`: a log file -> a rosbag2."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ._options import new_bag
from ._recording_options import BagNames
from ._say import ProgressBar, say, say_each, show
from ..options import option
from ..recordings.log_file import LogColumns, read_log
from ..recordings.log_import import ColumnMap, import_log, LAYOUTS, require_columns
from ..recordings.plausibility import require_radians, suspicions
from ..recordings.recording import write_recording
from ..report.table import Head, Table


@dataclass(frozen=True, kw_only=True)
class Import(ColumnMap, BagNames):
    """
    Convert a log (CSV, parquet, HDF5, npy, npz) to a rosbag2 of joint states.

    COLUMNS is the name of an array with one column per joint, such as a dataset of HDF5, some
    columns of a wider one such as q[1-7], a pattern such as q{} (q1, q2, ...; q{0} counts from
    0), names separated by commas, or numbers counted from 1 such as 2-8.
    """

    log: str = option(
        'a .csv, .tsv, .txt, .dat, .parquet, .h5, .hdf5, .npy or .npz file',
        'FILE',
        positional=True,
    )
    output: Path | None = option(
        "the bag's folder, which must not exist (default: the file's name without its ending)",
        'BAG',
        kind=new_bag,
        default=None,
    )
    list: bool = option(
        "print the file's columns with first, last, least and largest values, and write nothing",
        default=False,
    )
    layout: str | None = option(
        "columns and stamps of a known file format: droid is DROID's trajectory.h5",
        choices=LAYOUTS,
        default=None,
    )
    topic: str = option('topic of the joint states in the bag', default='/joint_states')

    def __post_init__(self) -> None:
        """Leave out the check of ColumnMap, because --list needs no column options."""

    def run(self) -> int:
        """Write the bag, print its content and warnings; with --list print the log's columns."""
        if self.list:
            show(_contents(read_log(self.log)))
            return 0
        if self.layout is not None:
            given = ('position', 'velocity', 'effort', 'stamp', 'rate')
            self.refuse('--layout, which names them', *given)
        elif not (self.position and self.velocity and self.effort):
            require_columns(read_log(self.log), self)
        columns = LAYOUTS[self.layout] if self.layout else self.part(ColumnMap)
        arm = self.load_arm()
        bag = self.output or new_bag(f'{Path(self.log).with_suffix("")}')
        with ProgressBar() as bar:
            bar.add_task(f'reading {self.log}', total=None)
            recording = import_log(self.log, columns, self.names_in_bag(arm), topic=self.topic)
            require_radians(recording, arm)
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
