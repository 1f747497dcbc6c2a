# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The work of `franka-dynamics bag import`, which converts a log to a rosbag2."""

from collections.abc import Sequence
from dataclasses import replace
from os.path import splitext
from pathlib import Path

import click
import numpy as np

from .choices import ArmChoice, BagReader, forbid_options, forbid_without
from .console import echo, echo_each, print_rich, ProgressBar
from .data_set import import_data_set
from .option_types import new_bag_path
from ..recordings.data_set import column_map
from ..recordings.log_file import read_log
from ..recordings.log_import import import_log
from ..recordings.log_table import LogTable
from ..recordings.options import ColumnMap, DERIVED_VELOCITY
from ..recordings.plausibility import plausibility_warnings, require_plausible_units
from ..recordings.recording import write_recording
from ..recordings.rosbag import DEFAULT_JOINT_STATE_TOPIC
from ..report.elements import Header, Table

# Columns of a layout are known; these say which rows of it are read.
_ROW_OPTIONS = ('episode', 'skip_incomplete')


def print_columns(log: Sequence[str]) -> int:
    """Print a table of the columns of logs; return 0."""
    others = click.get_current_context().params.keys() - {'log', 'columns_only'}
    forbid_options('--list, which prints columns and writes nothing', *sorted(others))
    print_rich(_contents_table(read_log(*log)))
    return 0


def import_bags(
    log: Sequence[str],
    output: Path | None,
    columns: ColumnMap,
    reader: BagReader,
    choice: ArmChoice,
    workers: str,
    *,
    all_episodes: bool,
    resume: bool,
) -> int:
    """Write a bag from logs, print size and warnings; or a bag for each episode of a data set."""
    if all_episodes:
        forbid_options('--episodes, with which --layout says it', *vars(columns).keys())
        if len(log) > 1:
            raise click.UsageError('--episodes takes one FILE: the folder or file of a data set.')
        choice = reader.arm_in(log[0], choice)
        return import_data_set(choice, reader, log[0], output, workers, resume=resume)
    forbid_without('--episodes', 'workers', 'resume')
    if reader.layout:
        row_options = {name: getattr(columns, name) for name in _ROW_OPTIONS}
        forbid_options('--layout, which says it', *vars(columns).keys() - row_options.keys())
        columns = replace(column_map(reader.layout), **row_options)
    if columns.velocity == DERIVED_VELOCITY:
        forbid_options(f'--velocity {DERIVED_VELOCITY}, which is in rad/s', 'velocity_unit')
    if columns.stamp is None:
        forbid_without('--stamp', 'stamp_unit')
    arm = choice.load()
    bag = new_bag_path(f'{output or splitext(log[0])[0]}')
    with ProgressBar() as bar:
        bar.add_task(f'reading {log[0]}', total=None)
        names = reader.joint_names_in_bag(arm)
        topic = reader.topic or DEFAULT_JOINT_STATE_TOPIC
        kinds = [joint.kind for joint in arm.joints]
        recording = import_log(log, columns, names, topic=topic, joint_kinds=kinds)
        require_plausible_units(recording, arm)
        warnings = plausibility_warnings(recording, arm)
        bar.add_task(f'writing {bag}', total=None)
        write_recording(recording, bag)
    span = f'{recording.joint_names[0]} ... {recording.joint_names[-1]}'
    size = f'{len(recording)} messages in {recording.duration:.2f} s'
    echo(f'{bag}: {size} on {recording.topic}, joints {span}')
    echo_each((*recording.remarks, *warnings), 'warning')
    return 0


def _contents_table(log: LogTable) -> Table:
    """Return a table of the first, last, least and largest value of each column of a log."""
    rows = []
    for name, array in log.columns.items():
        for number, values in enumerate(array.reshape(len(array), -1).T, start=1):
            is_single = array.ndim == 1
            label = _column_label(name, None if is_single else number)
            least = np.fmin.reduce(values)
            largest = np.fmax.reduce(values)
            rows.append([label, values[0], values[-1], least, largest])
    heads = [Header(name, format='.6g') for name in ('first', 'last', 'least', 'largest')]
    count = len(next(iter(log.columns.values())))
    return Table(f'{log.source}: {count} rows', ['column', *heads], rows)


def _column_label(array_name: str, number: int | None) -> str:
    """Return how --position names a column: by its array, and its number if that has several."""
    if number is None:
        return array_name
    return f'{array_name}[{number}]' if array_name else f'{number}'
