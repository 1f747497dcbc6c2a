# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What the actions of `arm` can be given."""

from __future__ import annotations

from dataclasses import dataclass, MISSING
from pathlib import Path
from typing import ClassVar

from ._arm_options import ArmOptions
from ._options import (
    arm_prefix_option,
    file_option,
    gravity_option,
    json_option,
    NewFile,
    picture_option,
)
from ..names import Convention, FORMATS
from ..options import argument, option, switch

DIRECTIONS = ('vertical', 'tilted', 'none')  # of gravity, for base parameters


@dataclass(frozen=True, kw_only=True)
class Show(ArmOptions):
    """
    Print an arm's Denavit-Hartenberg and inertia tables, or its base parameters.

    Base parameters are the smallest set of inertial parameters that the torques depend on, with
    gravity along -z of the space frame (vertical), in any direction (tilted) or none.
    """

    work: ClassVar[str] = 'arm_show'
    q: tuple[str, ...] = option(
        'show inertias in the space frame at this pose: zero, home, or each joint [rad, m]',
        default=(),
    )
    base_parameters: str | None = option(
        'print the base parameters; alone: vertical', choices=DIRECTIONS, const=DIRECTIONS[0]
    )
    symbolic: str | None = option(
        'print the base parameters in symbols', choices=('text', 'latex', 'python'), const='text'
    )
    json: Path | None = json_option()
    plot: Path | None = picture_option('draw the frames and centres of mass at --q')


@dataclass(frozen=True, kw_only=True)
class Check(ArmOptions):
    """
    Compare three independent formulations of an arm's dynamics, or the arm with OTHER.

    OTHER is a shipped arm or an arm file, which gets the same --hand and --payload, or a URDF.
    Listed are the numbers that differ and their effects on torques. Without --arm, a file is
    compared with the shipped arm of its name or joint names; for a URDF, in the set nearest to it.
    """

    work: ClassVar[str] = 'arm_check'
    other: str | None = argument(
        'a shipped arm, an arm file, a URDF, xacro', 'OTHER', default=None
    )
    states: int = option('number of random states', 'N', least=1, most=1e6, default=1000)
    seed: int = option('seed of the random states', 'N', default=0)
    gravity: tuple[float, float, float] = gravity_option()
    all: bool = switch('print everything: the tables of every quantity')
    json: Path | None = json_option()
    prefix: str | None = option(
        'prefix of the joint names in OTHER, a URDF (default: found)', flags=('--arm-prefix',)
    )


@dataclass(frozen=True, kw_only=True)
class Import(NewFile):
    """Convert a URDF to an arm file (DH rows, inertias, limits) and check it against Pinocchio."""

    work: ClassVar[str] = 'arm_import'
    output: Path = file_option('the arm file to write (.yaml)', default=MISSING)
    anyway: bool = switch('write an arm file that differs from the URDF, too')
    urdf: Path = argument('the URDF; .xacro is expanded', 'URDF')
    name: str | None = option("name of the arm (default: the URDF's robot name)")
    joints: tuple[str, ...] = option(
        'joints from base to tip (default: the only chain)', 'JOINT', default=()
    )
    tip: str | None = option('flange (default: link8, flange, tool0 or the last link)', 'LINK')
    arm_prefix: str = arm_prefix_option()
    convention: str = option(
        'convention of the DH rows', choices=[one.value for one in Convention], default='modified'
    )


@dataclass(frozen=True, kw_only=True)
class Export(NewFile, ArmOptions):
    """Write an arm as URDF or MJCF."""

    work: ClassVar[str] = 'arm_export'
    arm_prefix: str = arm_prefix_option()
    format: str = option('format of the output', choices=FORMATS, default=FORMATS[0])
    ideal: bool = switch("leave the joints' armature and friction out of an MJCF")
