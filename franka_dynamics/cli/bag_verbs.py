# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What the actions of `bag` can be given."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from ._action import Action
from ._arm_options import ArmOptions
from ._options import (
    arm_prefix_option,
    file_option,
    folder_option,
    gravity_option,
    json_option,
    new_bag,
    Topics,
)
from ._recording_options import BagNames, RecordingOptions
from ..errors import OutputError
from ..files import writable_file
from ..options import argument, option, switch
from ..recordings.options import ColumnMap, effort_scale_option, LAYOUTS


@dataclass(frozen=True, kw_only=True)
class Record(Topics, ArmOptions):
    """Record joint states, commands, references, diagnostics; say if the recording is usable."""

    work: ClassVar[str] = 'bag_record'
    arm_prefix: str = arm_prefix_option()
    output: Path | None = folder_option('the new bag (default: recording-DATE-TIME)', kind=new_bag)
    duration: float | None = option(
        'end after this time of the stamps [s] (default: at Ctrl-C)', 'S', least=1e-3, most=86400.0
    )
    node: str = option('the feedforward node, if one runs', 'NAME', default='feedforward')


@dataclass(frozen=True, kw_only=True)
class Import(ColumnMap, BagNames):
    """
    Convert a log (CSV, parquet, HDF5, npy, npz) to a rosbag2 of joint states.

    COLUMNS is the name of an array with one column per joint, such as a dataset of HDF5, some
    columns of a wider one such as q[1-7], a pattern such as q{} (q1, q2, ...; q{0} counts from
    0), names separated by commas, or numbers counted from 1 such as 2-8.
    """

    work: ClassVar[str] = 'bag_import'
    log: str = argument(
        'a .csv, .tsv, .txt, .dat, .parquet, .h5, .hdf5, .npy or .npz file', 'FILE'
    )
    output: Path | None = folder_option('the new bag (default: the name of FILE)', kind=new_bag)
    list: bool = switch('print columns with first, last, least and largest values; write nothing')
    layout: str | None = option("a known format: droid is DROID's trajectory.h5", choices=LAYOUTS)
    topic: str = option('topic of the joint states in the bag', default='/joint_states')

    def __post_init__(self) -> None:
        """Leave out the check of ColumnMap, because --list needs no column options."""


def _external_path(text: str) -> Path:
    """Return --external as a path: a .csv or .h5 file, or the folder of a new bag."""
    suffix = Path(text).suffix.lower()
    if suffix not in ('', '.csv', '.h5'):
        raise OutputError(
            f'{text}: the name must end in .csv or .h5, or in nothing for a rosbag2.'
        )
    return writable_file(text) if suffix else new_bag(text)


@dataclass(frozen=True, kw_only=True)
class ExternalTorque(Action):
    """The options for a file or bag of a recording's external torque and wrench."""

    heading: ClassVar[str] = 'the external torque'
    external: Path | None = option(
        'write the external torque and wrench: .csv, .h5, or a new rosbag2',
        'PATH',
        kind=_external_path,
    )
    frame: str = option("frame of the wrench: 'flange' or a joint's number", default='flange')
    tool_center: tuple[float, float, float] = option(
        'point in --frame at which the wrench acts [m]', ('X', 'Y', 'Z'), default=(0.0, 0.0, 0.0)
    )


@dataclass(frozen=True, kw_only=True)
class Replay(RecordingOptions, ExternalTorque):
    """Compare a recording's measured torques with the model's, for each inertial set and hand."""

    work: ClassVar[str] = 'bag_replay'
    bag: str = argument('a rosbag2 folder, or one .mcap or .db3 file', 'BAG')
    sets: tuple[str, ...] = option(
        'inertial sets to try (default: all)', 'SET', flags=('--set',), default=()
    )
    hands: tuple[str, ...] = option(
        'hands to try, as for the arm (default: all)', 'HAND', flags=('--hand',), default=()
    )
    gravity: tuple[float, float, float] = gravity_option()
    effort_scale: tuple[float, ...] = effort_scale_option()
    output: Path = folder_option('folder for plots', default=Path('replay_output'))
    all: bool = switch('print everything: all sets and hands')
    no_plots: bool = switch('draw no plots')
    json: Path | None = json_option()
    learn: Path | None = file_option(
        "write the guard's bounds for this arm, untouched here, as parameters of the node"
    )
    require: float | None = option(
        "exit with 1 unless the best set's E is at most this [N m; % if a joint slides]", 'E'
    )
