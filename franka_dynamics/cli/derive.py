# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`franka-dynamics arm derive`: an arm's kinematics and equations of motion in letters."""

from __future__ import annotations

import argparse
import sys

from ._arm_options import add_arm_options, load_arm, MASS_OPTIONS
from ._options import add_output_option, refuse
from ._say import terminal
from ..arm import ArmDescription
from ..errors import DescriptionError, SettingsError

SUMMARY = "Write an arm's kinematics or equations of motion in letters."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's options."""
    add_arm_options(parser)
    parser.add_argument(
        '--kinematics',
        action='store_true',
        help='T_i, r_i, omega_i, xi_i, J_i, J_mi of every frame, instead of M, C '
        'and g (rpr: its kinematics are part of the report)',
    )
    parser.add_argument(
        '--reference-frame',
        choices=('LOCAL_WORLD_ALIGNED', 'WORLD', 'LOCAL'),
        help='of the J_i in --kinematics: mixed, space or body Jacobians '
        '(default: LOCAL_WORLD_ALIGNED)',
    )
    parser.add_argument(
        '--steps',
        action='store_true',
        help='the whole derivation step by step, from the rows to M, C and g',
    )
    parser.add_argument(
        '--format',
        choices=('text', 'latex', 'html'),
        default='text',
        help='text that assigns as Python does, a LaTeX document, or one HTML '
        'page with MathML, which needs no scripts (default: %(default)s)',
    )
    add_output_option(parser, 'write there instead of to the terminal')


def run(arguments: argparse.Namespace) -> int:
    """Derive, render and write."""
    from ..files import write_text
    from ..symbolic import derivations
    from ..symbolic.rendering import as_html, as_latex, as_text

    if arguments.steps and (arguments.kinematics or arguments.reference_frame):
        raise SettingsError(
            '--steps has all of the derivation: leave out --kinematics and --reference-frame.'
        )
    if arguments.reference_frame and not arguments.kinematics:
        raise SettingsError('--reference-frame is for the Jacobians of --kinematics.')
    if arguments.kinematics:
        refuse(arguments, '--kinematics, which knows no masses', **MASS_OPTIONS)
    description = load_arm(arguments)
    rpr = _is_rpr(description)
    if rpr:
        refuse(arguments, 'the equations of an RPR arm, whose masses are letters', **MASS_OPTIONS)
    with terminal(stderr=True).status('deriving ...'):
        if arguments.kinematics:
            sections = derivations.kinematics(
                description, arguments.reference_frame or 'LOCAL_WORLD_ALIGNED'
            )
        elif rpr:
            sections = derivations.rpr_report()
        elif arguments.steps:
            sections = derivations.step_by_step(description)
        else:
            sections = derivations.equations(description)
        text = {'text': as_text, 'latex': as_latex, 'html': as_html}[arguments.format](sections)
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
