# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What the actions of `identify` can be given."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from ._arm_options import ArmOptions
from ._options import file_option, gravity_option, json_option, NewFile, PayloadFiles
from ._recording_options import BagNames, RecordingOptions
from ..identification.options import ExcitationLimits, IdentificationOptions
from ..options import option

FEWEST, MOST = 10, 200  # range of repetitions if their number is not given


@dataclass(frozen=True, kw_only=True)
class Identify(RecordingOptions, IdentificationOptions, ArmOptions, NewFile):
    """Identify an arm's inertias and friction from recordings of it."""

    work: ClassVar[str] = 'identify_arm'
    bags: tuple[str, ...] = option(
        'rosbag2 folders, or .mcap or .db3 files, of one arm and one load', 'BAG', positional=True
    )
    tests: tuple[str, ...] = option(
        'more bags of the same arm and load, not used in the fit, that decide whether the '
        'result is better; by default parts of the bags are left out in turn',
        'BAG',
        flags=('--test',),
        default=(),
    )
    output: Path | None = file_option(
        'file for the identified arm, fitted to all bags; written if the arm is better than the '
        'best published set'
    )
    gravity: tuple[float, float, float] = gravity_option()
    processes: int = option('number of processes that read bags and make fits', 'N', default=1)
    dask: str | None = option(
        'read and fit on the Dask cluster whose scheduler has this address (tcp://host:8786); '
        'its workers must see the bags under the same paths',
        'ADDRESS',
        default=None,
    )
    all: bool = option(
        'print everything: base parameters and friction with standard deviations', default=False
    )
    skip_bad_bags: bool = option(
        'go on without bags that cannot be used, and name them', default=False
    )
    report: Path | None = file_option('write an HTML page with plots')
    json: Path | None = json_option()
    require: float | None = option(
        'exit with 1, and write no arm file, unless the error E on the left-out parts is at most '
        'this [N m; percent of the limits if a joint is prismatic]',
        'E',
        default=None,
    )


@dataclass(frozen=True, kw_only=True)
class IdentifyPayload(PayloadFiles, RecordingOptions, ArmOptions):
    """Identify a payload on the flange from recordings with and without it."""

    work: ClassVar[str] = 'identify_payload'
    without: tuple[str, ...] = option('recordings without the payload', 'BAG')
    loaded: tuple[str, ...] = option(
        'recordings with the payload, preferably of the same motion or poses',
        'BAG',
        flags=('--with',),
    )
    static: bool = option(
        'use only poses in which the arm stands still; finds mass and centre of mass only',
        default=False,
    )
    gravity: tuple[float, float, float] = gravity_option()
    json: Path | None = json_option()


@dataclass(frozen=True, kw_only=True)
class Plan(ExcitationLimits, BagNames, ArmOptions):
    """Compute a trajectory for identification, within the arm's limits and above the table."""

    work: ClassVar[str] = 'identify_plan'
    gravity: tuple[float, float, float] = gravity_option()
    output: Path = file_option(
        'trajectory_msgs/JointTrajectory as YAML', default=Path('excitation.yaml')
    )
    period: float = option('duration of the motion [s]', 'S', default=10.0)
    repetitions: int | None = option(
        'how often the motion will be recorded (default: until every base parameter that '
        f'matters is identifiable, {FEWEST} to {MOST} times)',
        'N',
        default=None,
        least=1,
    )
    given: tuple[str, ...] = option(
        'bags that were recorded before; the motion is planned for the parameters that they leave '
        'uncertain',
        'BAG',
        default=(),
    )
    start: tuple[float, ...] = option(
        "pose at the start and the end (default: the arm file's home)", 'RAD', default=()
    )
    draws: int = option(
        'number of random trajectories; the optimisation starts from the best one',
        'N',
        default=100,
        least=1,
    )
    iterations: int = option(
        'largest number of iterations of the optimisation', 'N', default=300, least=1
    )
