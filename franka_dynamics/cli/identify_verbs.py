# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What the actions of `identify` can be given."""

from __future__ import annotations

from dataclasses import dataclass, MISSING
from pathlib import Path
from typing import ClassVar

from ._arm_options import ArmOptions
from ._options import file_option, gravity_option, json_option, NewFile, PayloadFiles
from ._recording_options import BagNames, RecordingOptions
from ..identification.options import ExcitationLimits, IdentificationOptions
from ..options import argument, option, switch

FEWEST, MOST = 10, 200  # range of repetitions if their number is not given


@dataclass(frozen=True, kw_only=True)
class Arm(RecordingOptions, IdentificationOptions, ArmOptions, NewFile):
    """
    Identify an arm's inertias and friction from recordings of it.

    The arm file is written if it predicts motion that the fit has not seen better than the best
    published set; it is fitted to all bags.
    """

    work: ClassVar[str] = 'identify_arm'
    bags: tuple[str, ...] = argument('rosbag2 folders, .mcap or .db3 files of one arm', 'BAG')
    tests: tuple[str, ...] = option(
        'bags that decide, not fitted (default: parts of the bags in turn)',
        'BAG',
        flags=('--test',),
        default=(),
    )
    output: Path | None = file_option('file for the identified arm')
    gravity: tuple[float, float, float] = gravity_option()
    processes: int = option('number of processes that read bags and make fits', 'N', default=1)
    dask: str | None = option('read and fit on this Dask cluster (tcp://host:8786)', 'ADDRESS')
    all: bool = switch('print everything: base parameters and friction with standard deviations')
    skip_bad_bags: bool = switch('go on without bags that cannot be used, and name them')
    report: Path | None = file_option('write an HTML page with plots')
    json: Path | None = json_option()
    require: float | None = option(
        'reject the arm unless E on the left-out parts is at most this [N m; % if a joint slides]',
        'E',
    )


@dataclass(frozen=True, kw_only=True)
class Payload(PayloadFiles, RecordingOptions, ArmOptions):
    """Identify a payload on the flange from recordings with and without it."""

    work: ClassVar[str] = 'identify_payload'
    without: tuple[str, ...] = option('recordings without the payload', 'BAG', default=MISSING)
    loaded: tuple[str, ...] = option(
        'the same motion or poses with the payload', 'BAG', flags=('--with',), default=MISSING
    )
    static: bool = switch('use only poses at rest; finds mass and centre of mass only')
    gravity: tuple[float, float, float] = gravity_option()
    json: Path | None = json_option()


@dataclass(frozen=True, kw_only=True)
class Plan(ExcitationLimits, BagNames, ArmOptions):
    """
    Compute a trajectory for identification, within the arm's limits and above the table.

    It is planned for the parameters that the bags of --given leave uncertain.
    """

    work: ClassVar[str] = 'identify_plan'
    gravity: tuple[float, float, float] = gravity_option()
    output: Path = file_option('a JointTrajectory as YAML', default=Path('excitation.yaml'))
    period: float = option('duration of the motion [s]', 'S', default=10.0)
    repetitions: int | None = option(
        f'how often it will be recorded (default: as needed, {FEWEST} to {MOST})', 'N', least=1
    )
    given: tuple[str, ...] = option('bags that were recorded before', 'BAG', default=())
    start: tuple[float, ...] = option('first and last pose (default: home)', 'RAD', default=())
    draws: int = option('random trajectories to start from', 'N', default=100, least=1)
    iterations: int = option('most iterations of the optimisation', 'N', default=300, least=1)
