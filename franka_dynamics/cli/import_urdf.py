# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`franka-dynamics arm import`: any serial arm's URDF -> an arm file, cross-checked."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from ._options import add_new_file_option, refuse_existing
from ._say import say, terminal
from ..arm.denavit_hartenberg import Convention

SUMMARY = "Turn a URDF into an arm file: DH rows, inertials, limits; checked against Pinocchio's."
# Of poses (m, 1) and torques (N m). Angles with 11 digits, which the rows take as multiples of
# pi/2, change torques of 1000 N m by 3e-9; what more is off is nearly parallel axes, or wrong.
TOLERANCE = 1e-6


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's options."""
    parser.add_argument('urdf', type=Path, metavar='URDF', help='the URDF; .xacro is expanded')
    add_new_file_option(parser, 'the arm file to write (.yaml)', required=True)
    parser.add_argument('--name', help="of the arm (default: the URDF's robot name)")
    parser.add_argument(
        '--joints',
        nargs='+',
        metavar='JOINT',
        help="the arm's joints from base to tip (default: the only chain)",
    )
    parser.add_argument(
        '--tip',
        metavar='LINK',
        help='the link that is the flange (default: flange, tool0 or link8, else the last link)',
    )
    parser.add_argument(
        '--arm-prefix',
        default='',
        metavar='PREFIX',
        help='only joints with this prefix; the arm file has them without it',
    )
    parser.add_argument(
        '--convention',
        choices=[c.value for c in Convention],
        default=Convention.MODIFIED.value,
        help='of the DH rows (default: %(default)s)',
    )


def run(arguments: argparse.Namespace) -> int:
    """Write the file and say what became of the URDF; 1 if the readings differ."""
    from ..arm import load
    from ..arm.arm_file_writer import arm_file_text
    from ..files import write_text
    from ..urdf.document import read_urdf
    from ..urdf.importer import import_urdf
    from ..validation.pinocchio_urdf import largest_difference, largest_flange_difference

    refuse_existing(arguments)
    console = terminal()
    text = read_urdf(arguments.urdf)
    arm = import_urdf(
        text,
        source=str(arguments.urdf),
        name=arguments.name,
        joint_names=arguments.joints,
        tip=arguments.tip,
        prefix=arguments.arm_prefix,
        convention=Convention(arguments.convention),
    )
    write_text(
        arguments.output,
        arm_file_text(arm.description, source=f'imported from {arguments.urdf.name}'),
    )
    for note in arm.notes:
        say(console, note, 'note')
    say(
        console,
        f'{arguments.output}: {arm.description.n} joints from '
        f'{arm.description.joint_names[0]} to {arm.description.joint_names[-1]}, flange '
        f'{arm.tip}, {arguments.convention} DH rows.',
    )
    # What is checked is the file, as it will be loaded.
    written = load(arguments.output)
    named = replace(
        written,
        joints=tuple(
            replace(joint, name=name) for joint, name in zip(written.joints, arm.urdf_joint_names)
        ),
    )
    torque = largest_difference(text, named, arm.mount)
    pose = largest_flange_difference(text, named, arm.mount, arm.tip)
    passed = torque <= TOLERANCE and pose <= TOLERANCE
    verdict = 'pass' if passed else 'MISMATCH'
    say(
        console,
        f"{verdict}: against Pinocchio's own reading of the URDF, flange poses differ "
        f'by up to {pose:.2g} (m, 1) and joint torques by up to {torque:.2g} N m '
        f'(tolerance {TOLERANCE:.0e}).',
    )
    return 0 if passed else 1
