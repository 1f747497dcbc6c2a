# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`crosscheck --urdf`: hold a URDF against the described arm, as the node does."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import UrdfError, UrdfMismatchError

if TYPE_CHECKING:
    from rich.console import Console


def add_urdf_options(parser: argparse.ArgumentParser) -> None:
    """Add --urdf and what goes with it."""
    group = parser.add_argument_group(
        'a URDF', 'hold a URDF against the described arm: geometry by DH rows, inertials by '
        'every published set; --hand names the hand that it must carry (default: any)')
    group.add_argument('--urdf', type=Path, metavar='FILE',
                       help='the URDF (xacro expanded); --arm is found by joint names')
    group.add_argument('--prefix', metavar='PREFIX',
                       help="in front of the joints' names in it, verbatim (default: found)")
    group.add_argument('--accept-unknown-inertials', action='store_true',
                       help='pass inertials that are physical, but no published set')


def check_urdf(arguments: argparse.Namespace, console: Console) -> int:
    """Print the verdict on a URDF; 1 on a mismatch."""
    from ..arm.arm_file import AS_LISTED
    from ..urdf.document import parse_urdf, read_urdf
    from ..urdf.importer import detect_arm
    from ..validation.urdf_check import model_from_urdf

    if arguments.inertial_set is not None:
        raise UrdfError('--set has no meaning with --urdf: a URDF is compared with every set.')
    text, source = read_urdf(arguments.urdf), str(arguments.urdf)
    reference, names = detect_arm(parse_urdf(text, source), arm=arguments.arm,
                                  prefix=arguments.prefix)
    try:
        verdict = model_from_urdf(
            text, reference, source=source, joint_names=names,
            expected_hand=None if arguments.hand == AS_LISTED else arguments.hand,
            accept_unknown_inertials=arguments.accept_unknown_inertials).verdict
    except UrdfMismatchError as mismatch:
        verdict = mismatch.verdict
    style = '[green]pass[/]' if verdict.passed else '[red]MISMATCH[/]'
    console.print(style, end=': ')
    console.print(verdict.summary(), highlight=False, markup=False, soft_wrap=True)
    for finding in verdict.findings:
        console.print(f'- {finding}', highlight=False, markup=False, soft_wrap=True)
    for note in verdict.notes:
        console.print(f'note: {note}', highlight=False, markup=False, soft_wrap=True)
    return 0 if verdict.passed else 1
