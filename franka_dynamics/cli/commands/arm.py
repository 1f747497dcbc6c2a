# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The commands `franka-dynamics arm ...`."""

from pathlib import Path
from typing import Annotated, Literal

import click

from ..command import Argument, command_of, Group, Option, XacroArguments
from ..option_types import ARM_TYPE, CommaList, FILE_TYPE, OUT_FILE_TYPE
from ..options import ArmOptions, ExportedArmOptions, Force, GravityVector, JsonPath
from ..requests import ImportRequest
from ...constants import AS_LISTED, EXPORT_FORMATS, GRAVITY, GRAVITY_DIRECTIONS

arm = Group('arm', help='Show, check, import and export arms.')


@command_of(arm, 'show')
def show(
    *,
    positional: Annotated[str | None, Argument('[ARM]', ARM_TYPE)] = None,
    q: Annotated[
        tuple[str, ...],
        Option('show the inertias in the space frame at this pose', CommaList('zero|home|Q1,...')),
    ] = (),
    base_parameters: Annotated[
        str | None,
        Option(
            f'print the base parameters; alone: {GRAVITY_DIRECTIONS[0]}',
            GRAVITY_DIRECTIONS,
            alone=GRAVITY_DIRECTIONS[0],
        ),
    ] = None,
    symbolic: Annotated[
        Literal['text', 'latex'] | None,
        Option('print the base parameters in symbols; alone: text', alone='text'),
    ] = None,
    json: JsonPath = None,
    choice: ArmOptions,
) -> int:
    """
    Print an arm's DH and inertia tables, or its base parameters.

    ARM is the same as --arm. Base parameters are the smallest set of inertial parameters that the
    torques depend on, with gravity along -z of the space frame (vertical), in any direction
    (tilted) or none.
    """
    from ..arm_files import show_arm

    return show_arm(choice, positional, q, base_parameters, symbolic, json)


@command_of(arm, 'check')
def check(
    *,
    arms: Annotated[tuple[str, ...], Argument('[ARM]...', FILE_TYPE)] = (),
    states: Annotated[
        int, Option('number of random states that are compared', click.IntRange(1, 1000000))
    ] = 1000,
    gravity: GravityVector = GRAVITY,
    everything: Annotated[
        bool, Option('print everything: the tables of every quantity', flags='--all')
    ] = False,
    json: JsonPath = None,
    choice: ArmOptions,
) -> int:
    """
    Compare three independent formulations of an arm's dynamics.

    ARM is a shipped arm or a file, as for --arm. Of several files, or of a folder, each is
    checked. A URDF or MJCF is also compared with Pinocchio's or MuJoCo's own reading of it. Exit
    status: 0 if all agree, 1 if they differ or no real body can be like a link, 2 if a file cannot
    be read.
    """
    from ..arm_check import check_arms

    return check_arms(choice, arms, states, gravity, json, show_all=everything)


@command_of(arm, 'compare')
def compare(
    *,
    first: Annotated[str, Argument(type=FILE_TYPE)],
    second: Annotated[str, Argument(type=FILE_TYPE)],
    inertial_set: Annotated[
        str | None,
        Option(
            'inertial set (default: of a shipped arm the one nearest to the URDF)', flags='--set'
        ),
    ] = None,
    hand: Annotated[
        str,
        Option('hand of an arm that is no URDF, as for `arm show`', FILE_TYPE, shown_default=''),
    ] = AS_LISTED,
    prefix: Annotated[
        str | None,
        Option(
            "prefix of the joints' names in a URDF (default: it is found)", flags='--arm-prefix'
        ),
    ] = None,
    xacro: Annotated[dict[str, str], XacroArguments()],
    json: JsonPath = None,
) -> int:
    """
    Compare two arms joint by joint, link by link.

    Each is a shipped arm, an arm file, a URDF, an MJCF or a xacro file. For each joint and its
    link one line says what differs most, and how much it changes the torques. Exit status: 0 if no
    torque differs, 1 if one does, 2 if a file cannot be read.
    """
    from ..arm_check import compare_arms

    return compare_arms(first, second, inertial_set, hand, prefix, xacro, json)


@command_of(arm, 'import')
def import_(*, request: ImportRequest, xacro: Annotated[dict[str, str], XacroArguments()]) -> int:
    """
    Convert a URDF to an arm file, checked against Pinocchio.

    The arm file has DH rows, inertias and limits. A xacro file is expanded.
    """
    from ..arm_files import import_arm

    return import_arm(request, xacro)


@command_of(arm, 'export')
def export(
    *,
    output: Annotated[Path | None, Option('file to write (default: print)', OUT_FILE_TYPE)] = None,
    force: Force = False,
    form: Annotated[
        str, Option('format of the output', EXPORT_FORMATS, flags='--format')
    ] = EXPORT_FORMATS[0],
    ideal: Annotated[
        bool, Option("leave the joints' armature and friction out of an MJCF")
    ] = False,
    choice: ExportedArmOptions,
) -> int:
    """
    Write an arm, its friction or its load for other programs.

    The formats urdf, mjcf and controller (a file for the C++ controller) hold the whole arm.
    franky and crisp hold only its friction. desk holds only the hand and the payload, as an end
    effector for Franka's Desk. It puts the tool's tip at the flange, so the robot's Cartesian
    commands then refer to the flange.
    """
    from ..arm_files import export_arm

    return export_arm(choice, output, form, force=force, ideal=ideal)
