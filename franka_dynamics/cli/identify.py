# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Declarations of the commands `franka-dynamics identify ...`; other modules do their work."""

import re
from typing import Any

import click

from . import _options as shared
from ._command import CommaList, flag, Group, Number, option
from ..identification import options as of
from ..identification.options import ExcitationLimits, FRICTION_MODELS, IdentificationOptions

_BAGS_TYPE = CommaList('BAG,...', click.Path())
_DEFAULT_LIMITS = ExcitationLimits()
_REPETITIONS_RANGE_TEXT = f'{of.MIN_REPETITIONS} to {of.MAX_REPETITIONS}'


def _validate_workers(_context: Any, _parameter: Any, text: str) -> str:
    """Return a positive number or an address; otherwise raise click.BadParameter."""
    if not re.fullmatch(r'[1-9]\d*|\w+://\S+', text, re.ASCII):
        raise click.BadParameter(f'{text!r} is neither a number from 1 on nor tcp://host:port')
    return text


@click.group(cls=Group)
def identify() -> None:
    """Identify an arm or a payload from bags, or plan a motion to record."""


@identify.command()
@click.argument('bags', type=click.Path(), nargs=-1, required=True, metavar='BAG...')
@option('--test', 'bags that decide, not fitted (default: parts of BAGs)', _BAGS_TYPE, 'tests')
@option('--output', 'new file for the identified arm', shared.NEW_FILE_TYPE)
@option('--report', 'write an HTML page with plots', shared.FILE_TYPE)
@shared.json_option
@shared.options_as(
    'fit',
    IdentificationOptions,
    shared.gravity_option,
    option(
        '--friction', 'friction model to identify', FRICTION_MODELS, default=FRICTION_MODELS[0]
    ),
    flag('--rotor-inertia', 'identify one rotor inertia per joint as well'),
    shared.effort_scale_option,
    flag('--anyway', 'accept unsound recordings, and an arm not better than the published sets'),
)
@option(
    '--workers',
    'processes that read and fit, or a Dask cluster (tcp://host:8786)',
    default='1',
    metavar='NUMBER|ADDRESS',
    callback=_validate_workers,
)
@shared.stamped_bag_options
@shared.arm_file_options
def arm() -> None:
    """
    Identify an arm's inertias and friction from recordings of it.

    BAGs are rosbag2 folders, .mcap or .db3 files of one arm. The arm file is written if it
    predicts motion that the fit has not seen better than the best published set; it is fitted to
    all bags. A URDF with several chains is imported first (`arm import`); fd.identify has more
    options.
    """


@identify.command(work='payload.identify_payload_from_bags')
@option('--without', 'recordings without the payload', _BAGS_TYPE, required=True)
@option('--with', 'the same motion with the payload', _BAGS_TYPE, 'loaded', required=True)
@option('--known-mass', 'real mass of the payload [kg]: tells the scale of efforts', Number(0.0))
@shared.effort_scale_option
@shared.gravity_option
@shared.json_option
@shared.payload_file_options
@shared.stamped_bag_options
@shared.arm_options
def payload() -> None:
    """Identify a payload on the flange from recordings with and without it."""


@identify.command()
@shared.gravity_option
@option('--output', 'a JointTrajectory as YAML', shared.FILE_TYPE, default='excitation.yaml')
@option('--period', 'duration of the motion [s]', Number(), default=10.0)
@option(
    '--repetitions',
    f'how often it is recorded (default: as needed, {_REPETITIONS_RANGE_TEXT})',
    click.IntRange(1),
)
@option('--given', 'bags that were recorded before', _BAGS_TYPE)
@option('--start', 'first and last pose [rad, m] (default: home)', CommaList('Q1,...', Number()))
@option('--draws', 'random trajectories to start from', click.IntRange(1), default=100)
@option('--iterations', 'most iterations of the optimisation', click.IntRange(1), default=300)
@shared.options_as(
    'limits',
    ExcitationLimits,
    option('--fraction', 'share of the limits to use', Number(), default=_DEFAULT_LIMITS.fraction),
    option('--table', 'height of the table [m]', Number(), default=_DEFAULT_LIMITS.table),
    option('--clearance', 'between links [m]', Number(), default=_DEFAULT_LIMITS.clearance),
    option('--tool', 'length of the mounted tool [m]', Number(), default=_DEFAULT_LIMITS.tool),
)
@shared.bag_options
@shared.arm_options
def plan() -> None:
    """
    Compute a trajectory for identification, within the arm's limits and above the table.

    It is planned for the parameters that the bags of --given leave uncertain.
    """
