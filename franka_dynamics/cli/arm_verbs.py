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
from ..options import option

DIRECTIONS = ('vertical', 'tilted', 'none')  # of gravity, for base parameters


@dataclass(frozen=True, kw_only=True)
class Show(ArmOptions):
    """Print an arm's Denavit-Hartenberg and inertia tables, or its base parameters."""

    work: ClassVar[str] = 'arm_show'
    q: tuple[str, ...] = option(
        'centres of mass and inertia in the space frame {S} at a pose: zero, home, or one '
        "position per joint [rad, m] (default: in the links' own frames)",
        'Q',
        default=(),
    )
    base_parameters: str | None = option(
        'instead of the tables the base parameters: the smallest set of inertial parameters that '
        'the torques depend on, regrouped, with their values, for gravity along -z of the space '
        'frame (vertical), in any direction (tilted) or none; alone: vertical',
        choices=DIRECTIONS,
        const=DIRECTIONS[0],
        default=None,
    )
    symbolic: str | None = option(
        'the base parameters as sums of standard parameters, with symbols (lengths D3, RL4, ... '
        'of the modified DH rows); alone: text',
        choices=('text', 'latex', 'python'),
        const='text',
        default=None,
    )
    json: Path | None = json_option()
    plot: Path | None = picture_option(
        'draw the frames and centres of mass at --q (default: zero)'
    )


@dataclass(frozen=True, kw_only=True)
class Check(ArmOptions):
    """
    Compare three independent formulations of an arm's dynamics, or the arm with OTHER.

    With OTHER, list the numbers that differ between the two descriptions and their effects on
    torques.
    """

    work: ClassVar[str] = 'arm_check'
    other: str | None = option(
        'a shipped arm or an arm file, which gets the same --hand and --payload; or a URDF '
        '(.urdf, .xml; .xacro is expanded). Without --arm an arm file is compared with the '
        'shipped arm of its name, a URDF with the shipped arm that has its joint names, in the '
        'published set nearest to its inertials',
        'OTHER',
        positional=True,
        default=None,
    )
    states: int = option(
        'number of random states within the limits', 'N', least=1, most=1e6, default=1000
    )
    seed: int = option('seed of the random states', 'N', default=0)
    gravity: tuple[float, float, float] = gravity_option()
    all: bool = option('print everything: the tables of every quantity', default=False)
    json: Path | None = json_option()
    prefix: str | None = option(
        'prefix of the joint names in OTHER, a URDF (default: found automatically)',
        'PREFIX',
        flags=('--arm-prefix',),
        default=None,
    )


@dataclass(frozen=True, kw_only=True)
class ImportUrdf(NewFile):
    """Convert a URDF to an arm file (DH rows, inertias, limits) and check it against Pinocchio."""

    work: ClassVar[str] = 'arm_import'
    output: Path = file_option('the arm file to write (.yaml)', default=MISSING)
    anyway: bool = option('write an arm file that differs from the URDF, too', default=False)
    urdf: Path = option('the URDF; .xacro is expanded', 'URDF', positional=True)
    name: str | None = option("name of the arm (default: the URDF's robot name)", default=None)
    joints: tuple[str, ...] = option(
        "the arm's joints from base to tip (default: the only chain, without a gripper's)",
        'JOINT',
        default=(),
    )
    tip: str | None = option(
        'the link that is the flange (default: one called link8, flange or tool0, else the last)',
        'LINK',
        default=None,
    )
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
    ideal: bool = option(
        "leave the real joints' armature and friction out of an MJCF, so that MuJoCo's M, C and g "
        "are the models'",
        default=False,
    )
