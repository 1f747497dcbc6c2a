# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Declarations of the commands `franka-dynamics arm ...`; modules beside this do their work."""

import click

from . import _options as shared
from ._command import choice_or_flag, CommaList, flag, Group, option, with_xacro_arguments
from ..names import AS_LISTED, Convention, EXPORT_FORMATS, GRAVITY_DIRECTIONS

_CONVENTIONS = [one.value for one in Convention]


@click.group(cls=Group)
def arm() -> None:
    """Show, check, import and export arms."""


@arm.command()
@click.argument('positional', type=shared.ARM_TYPE, required=False, metavar='[ARM]')
@option('--q', 'show inertias in the space frame at this pose', CommaList('zero|home|Q1,...'))
@choice_or_flag('--base-parameters', 'print the base parameters', GRAVITY_DIRECTIONS)
@choice_or_flag('--symbolic', 'print the base parameters in symbols', ('text', 'latex'))
@shared.json_option
@shared.arm_options
def show() -> None:
    """
    Print an arm's Denavit-Hartenberg and inertia tables, or its base parameters.

    ARM is the same as --arm. Base parameters are the smallest set of inertial parameters that the
    torques depend on, with gravity along -z of the space frame (vertical), in any direction
    (tilted) or none.
    """


@arm.command(work='arm_check.check_arms')
@click.argument('arms', type=click.Path(), nargs=-1, metavar='[ARM]...')
@option('--states', 'number of random states', click.IntRange(1, 1000000), default=1000)
@shared.gravity_option
@flag('--all', 'print everything: the tables of every quantity', 'everything')
@shared.json_option
@shared.arm_options
def check() -> None:
    """
    Compare three independent formulations of an arm's dynamics.

    ARM is a shipped arm or a file, as of --arm; of a folder, or of several files, each is checked.
    A URDF or MJCF is compared with the reading of Pinocchio or MuJoCo, too. Exit status: 0 pass, 1
    a difference or a link that no real body can be, 2 a file that cannot be read.
    """


@arm.command(work='arm_check.compare_arms')
@click.argument('first', type=click.Path())
@click.argument('second', type=click.Path())
@option('--set', "inertial set (default: a shipped arm's nearest to a URDF)", dest='inertial_set')
@option(
    '--hand', 'hand of an arm that is no URDF', click.Path(), default=AS_LISTED, show_default=False
)
@option('--arm-prefix', 'prefix of joint names in a URDF (default: found)', dest='prefix')
@with_xacro_arguments
@shared.json_option
def compare() -> None:
    """
    Compare two arms, each a shipped arm, arm file, URDF, MJCF or xacro file.

    A line for each joint and its link has the largest difference and its effect on torques. Exit
    status: 0 if no torque differs, 1 if one does, 2 a file that cannot be read.
    """


@arm.command('import', work='arm_files.import_arm')
@click.argument('urdf', type=click.Path())
@option('--output', 'the arm file to write (.yaml)', shared.FILE_TYPE, required=True)
@shared.force_option
@flag('--anyway', 'write an arm file that differs from the URDF, too')
@option('--name', "name of the arm (default: the URDF's robot name)")
@shared.joints_option
@shared.hold_option
@with_xacro_arguments
@option('--tip', 'link of the flange (default: tool0 or another usual name, or the last)')
@shared.arm_prefix_option()
@option('--convention', 'convention of the DH rows', _CONVENTIONS, default='modified')
def import_() -> None:
    """
    Convert a URDF to an arm file (DH rows, inertias, limits) and check it against Pinocchio.

    A xacro file is expanded.
    """


@arm.command(work='arm_files.export_arm')
@option('--output', 'file to write (default: print)', shared.FILE_TYPE)
@shared.force_option
@option('--format', 'format of the output', EXPORT_FORMATS, 'form', default=EXPORT_FORMATS[0])
@flag('--ideal', "leave the joints' armature and friction out of an MJCF")
@shared.arm_prefix_option(callback=shared.validate_prefix)
@shared.arm_options
def export() -> None:
    """Write an arm as URDF or MJCF, for the C++ controller, or its friction for others."""
