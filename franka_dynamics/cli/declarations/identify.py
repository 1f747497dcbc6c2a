# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Declarations of the commands `franka-dynamics identify ...`."""

import click

from .. import options as shared
from ..command import Group
from ..option_types import Assignment, CommaList, NEW_FILE_TYPE, Number, OUT_FILE_TYPE
from ..options import flag, option
from ...excitation import limits
from ...fit import options as identification_options

_BAGS_TYPE = CommaList('BAG,...', click.Path())
_PLAN_DEFAULTS = limits.ExcitationLimits()
_REPETITIONS_RANGE_TEXT = f'{limits.MIN_REPETITIONS} to {limits.MAX_REPETITIONS}'
# Where a planned motion begins, and the space that it keeps free.
_start_option = option(
    '--start',
    'first and last pose [rad, m] (default: home)',
    CommaList('Q1,...', Number()),
)
_space_options = shared.options_as(
    'limits',
    limits.ExcitationLimits,
    option(
        '--table',
        'height of the table, above which the arm stays [m]',
        Number(),
        dest='table_height',
        default=_PLAN_DEFAULTS.table_height,
    ),
    option(
        '--clearance',
        'least distance between links [m]',
        Number(),
        default=_PLAN_DEFAULTS.clearance,
    ),
    option(
        '--tool',
        'length of the tool on the flange [m]',
        Number(),
        dest='tool_length',
        default=_PLAN_DEFAULTS.tool_length,
    ),
)


@click.group(cls=Group)
def identify() -> None:
    """Identify an arm or a payload from recordings of it."""


@identify.command('arm', func='identify.run')
@click.argument('bags', type=click.Path(), nargs=-1, required=True, metavar='BAG|DATASET...')
@option(
    '--test',
    'bags that judge the fit to BAGs; then the arm is fitted to all (default: parts of BAGs)',
    _BAGS_TYPE,
    dest='tests',
)
@option('--output', 'new file for the identified arm', NEW_FILE_TYPE)
@option('--report', 'write an HTML page with plots', OUT_FILE_TYPE)
@shared.json_option
@shared.options_as('fit', identification_options.IdentificationOptions)
@shared.gravity_option
@option(
    '--friction',
    'friction model',
    identification_options.FRICTION_MODELS,
    default=identification_options.FRICTION_MODELS[0],
)
@option(
    '--regularization',
    'precision of the prior on inertias (default: what makes the torques likeliest)',
    Number(0.0, min_open=True),
)
@option(
    '--prior-widths',
    'widths of the prior, instead of what makes the torques likeliest: friction, offset and slip '
    'as shares of the torque limit, load as a share of the load; slip=0 or load=0 leaves it out',
    CommaList('NAME=WIDTH,...', Assignment('NAME=WIDTH')),
    default=(),
)
@flag('--rotor-inertia', 'identify one rotor inertia per joint as well')
@shared.effort_scale_option
@shared.add_gravity_option
@flag(
    '--anyway',
    'write the arm file even if recordings are unsound or the arm is no better',
    dest='accept_unsound',
)
@shared.workers_option
@shared.layout_option
@shared.bag_and_stamp_options
@shared.arm_file_options
def identify_arm() -> None:
    """
    Identify an arm's inertias and friction from recordings of it.

    BAGs are rosbag2 folders, .mcap or .db3 files of one arm; of a DATASET, as for `bag replay`,
    episodes that cannot be used are left out and told. The identified arm must predict
    motion that the fit has not seen better than the best published set does. If it does, the arm
    file is written, fitted to all bags. If only its friction does better, the arm file has the
    published inertias. Import a URDF first (`arm import`). fd.identify has more options.
    """


@identify.command('payload', func='payload.plan_or_identify_payload')
@option(
    '--plan',
    'write a motion for `node play` to poses at which the arm rests; takes no recordings',
    OUT_FILE_TYPE,
)
@option(
    '--poses',
    'number of poses in the motion of --plan',
    click.IntRange(limits.MIN_REST_POSES, limits.MAX_REST_POSES),
    dest='pose_count',
    default=limits.DEFAULT_REST_POSES,
)
@_start_option
@_space_options
@option('--without', 'recordings without the payload', _BAGS_TYPE)
@option('--with', 'recordings of the same motion with the payload', _BAGS_TYPE, dest='loaded')
@option(
    '--known-mass',
    'weighed mass of the payload [kg], which tells the scale of the efforts',
    Number(1e-3),
)
@shared.effort_scale_option
@shared.gravity_option
@shared.json_option
@shared.payload_file_options
@shared.bag_and_stamp_options
@shared.arm_options
def identify_payload() -> None:
    """
    Identify a payload from recordings with and without it.

    First plan the motion to record by --plan. It goes to poses within the arm's limits and above
    --table. At each the arm rests twice, once for each sign of friction.
    """


@identify.command('plan')
@shared.gravity_option
@option(
    '--output',
    'file to write, a JointTrajectory as YAML',
    OUT_FILE_TYPE,
    default='excitation.yaml',
)
@option('--period', 'duration of the motion [s]', Number(), default=10.0)
@option(
    '--repetitions',
    f'how often it is recorded (default: as needed, {_REPETITIONS_RANGE_TEXT})',
    click.IntRange(1),
)
@option('--given', 'bags that were recorded before, for a second motion', _BAGS_TYPE)
@_start_option
@option('--draws', 'number of random trajectories to start from', click.IntRange(1), default=100)
@option(
    '--iterations',
    'largest number of iterations of the optimisation',
    click.IntRange(1),
    default=300,
)
@option(
    '--fraction',
    "share of the arm's limits to use",
    Number(),
    default=_PLAN_DEFAULTS.fraction,
)
@_space_options
@shared.bag_options
@shared.arm_options
def plan_excitation() -> None:
    """
    Compute a trajectory for identification.

    The motion stays within the arm's limits and above the table. With --given it is planned for
    the parameters that these bags leave uncertain.
    """
