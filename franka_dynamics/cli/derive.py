# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`franka-dynamics derive`: an arm's kinematics and equations of motion in letters."""

from __future__ import annotations

import argparse
import sys

from ._arm_options import add_arm_options, load_arm
from ._options import add_option, output_file
from ..arm import ArmDescription
from ..errors import DescriptionError

SUMMARY = "Write an arm's kinematics or equations of motion in letters."
GROUP = 'check a model'


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's options."""
    add_arm_options(parser)
    parser.add_argument('--kinematics', action='store_true',
                        help='T_i, r_i, omega_i, xi_i, J_i, J_mi of every frame, instead of M, C '
                        'and g (rpr: its kinematics are part of the report)')
    parser.add_argument('--format', choices=('text', 'latex'), default='text',
                        help='text that assigns as Python does, or a LaTeX document '
                        '(default: %(default)s)')
    add_option(parser, '--output', type=output_file, metavar='FILE',
               help='write there instead of to the terminal')


def run(arguments: argparse.Namespace) -> int:
    """Derive, render and write."""
    from rich.console import Console

    from ..files import write_text
    from ..symbolic import derivations
    from ..symbolic.rendering import as_latex, as_text

    description = load_arm(arguments)
    with Console(stderr=True).status('deriving ...'):
        if _is_rpr(description):
            sections = derivations.rpr_report()
        elif arguments.kinematics:
            sections = derivations.kinematics(description)
        else:
            sections = derivations.equations(description)
        text = as_latex(sections) if arguments.format == 'latex' else as_text(sections)
    if arguments.output is None:
        sys.stdout.write(text)
    else:
        write_text(arguments.output, text)
    return 0


def _is_rpr(description: ArmDescription) -> bool:
    """Return whether the arm has the form of the RPR report, whose letters are then used."""
    from ..rpr.kinematics import RprKinematics

    try:
        RprKinematics.from_description(description)
    except DescriptionError:
        return False
    return True
