# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Declarations of the commands `franka-dynamics arm ...`."""

import click

from .. import options as shared
from ..command import Group, with_xacro_arguments
from ..option_types import ARM_TYPE, CommaList, OUT_FILE_TYPE
from ..options import choice_or_flag, flag, option
from ...constants import AS_LISTED, Convention, EXPORT_FORMATS, GRAVITY_DIRECTIONS

_DH_CONVENTIONS = [convention.value for convention in Convention]


@click.group(cls=Group)
def arm() -> None:
    """Show, check, import and export arms."""


@arm.command('show', func='arm_files.show_arm')
@click.argument('positional', type=ARM_TYPE, required=False, metavar='[ARM]')
@option(
    '--q',
    'show the inertias in the space frame at this pose',
    CommaList('zero|home|Q1,...'),
)
@choice_or_flag('--base-parameters', 'print the base parameters', GRAVITY_DIRECTIONS)
@choice_or_flag('--symbolic', 'print the base parameters in symbols', ('text', 'latex'))
@shared.json_option
@shared.arm_options
def show_arm() -> None:
    """
    Print an arm's DH and inertia tables, or its base parameters.

    ARM is the same as --arm. Base parameters are the smallest set of inertial parameters that the
    torques depend on, with gravity along -z of the space frame (vertical), in any direction
    (tilted) or none.
    """


@arm.command('check', func='arm_check.check_arms')
@click.argument('arms', type=click.Path(), nargs=-1, metavar='[ARM]...')
@option(
    '--states',
    'number of random states that are compared',
    click.IntRange(1, 1000000),
    default=1000,
)
@shared.gravity_option
@flag('--all', 'print everything: the tables of every quantity', dest='everything')
@shared.json_option
@shared.arm_options
def check_arms() -> None:
    """
    Compare three independent formulations of an arm's dynamics.

    ARM is a shipped arm or a file, as for --arm. Of several files, or of a folder, each is
    checked. A URDF or MJCF is also compared with Pinocchio's or MuJoCo's own reading of it. Exit
    status: 0 if all agree, 1 if they differ or no real body can be like a link, 2 if a file cannot
    be read.
    """


@arm.command('compare', func='arm_check.compare_arms')
@click.argument('first', type=click.Path())
@click.argument('second', type=click.Path())
@option(
    '--set',
    'inertial set (default: of a shipped arm the one nearest to the URDF)',
    dest='inertial_set',
)
@option(
    '--hand',
    'hand of an arm that is no URDF, as for `arm show`',
    click.Path(),
    default=AS_LISTED,
    show_default=False,
)
@option(
    '--arm-prefix', "prefix of the joints' names in a URDF (default: it is found)", dest='prefix'
)
@with_xacro_arguments
@shared.json_option
def compare_arms() -> None:
    """
    Compare two arms joint by joint, link by link.

    Each is a shipped arm, an arm file, a URDF, an MJCF or a xacro file. For each joint and its
    link one line says what differs most, and how much it changes the torques. Exit status: 0 if no
    torque differs, 1 if one does, 2 if a file cannot be read.
    """


@arm.command('import', func='arm_files.import_arm')
@click.argument('urdf', type=click.Path())
@option('--output', 'the arm file to write (.yaml)', OUT_FILE_TYPE, required=True)
@shared.force_option
@flag('--anyway', 'write the arm file even if it differs from the URDF')
@option('--name', "name of the arm (default: the URDF's robot name)")
@shared.joints_option
@shared.held_joints_option
@with_xacro_arguments
@option(
    '--tip', 'link that is the flange (default: tool0 or another usual name, else the last link)'
)
@shared.arm_prefix_option()
@option('--convention', 'DH convention of the arm file', _DH_CONVENTIONS, default='modified')
def import_urdf() -> None:
    """
    Convert a URDF to an arm file, checked against Pinocchio.

    The arm file has DH rows, inertias and limits. A xacro file is expanded.
    """


@arm.command('export', func='arm_files.export_arm')
@option('--output', 'file to write (default: print)', OUT_FILE_TYPE)
@shared.force_option
@option(
    '--format',
    'format of the output',
    EXPORT_FORMATS,
    dest='form',
    default=EXPORT_FORMATS[0],
)
@flag('--ideal', "leave the joints' armature and friction out of an MJCF")
@shared.arm_prefix_option(callback=shared.validate_prefix)
@shared.arm_options
def export_arm() -> None:
    """
    Write an arm, its friction or its load for other programs.

    The formats urdf, mjcf and controller (a file for the C++ controller) hold the whole arm.
    franky and crisp hold only its friction. desk holds only the hand and the payload, as an end
    effector for Franka's Desk.
    """
