# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`franka-dynamics crosscheck`: hold the independent models against each other."""

from __future__ import annotations

import argparse

from ._arm_options import add_arm_options, load_arm
from ._urdf_check import add_urdf_options, check_urdf

SUMMARY = 'Hold the independent models of an arm against each other.'
DEFAULT_ARM = 'fer'


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's options."""
    add_arm_options(parser, default=None)
    parser.add_argument('--states', type=int, default=1000, metavar='N',
                        help='random states within the limits (default: %(default)s)')
    parser.add_argument('--seed', type=int, default=0, help='of the states (default: %(default)s)')
    parser.add_argument('--gravity', type=float, nargs=3, default=(0.0, 0.0, -9.81),
                        metavar=('X', 'Y', 'Z'), help='in the base frame [m/s^2]')
    add_urdf_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print the table; exit 1 on a mismatch."""
    from rich.console import Console
    from rich.table import Table

    from ..dynamics.crosscheck import crosscheck

    if arguments.urdf is not None:
        return check_urdf(arguments, Console())
    arguments.arm = arguments.arm or DEFAULT_ARM
    description = load_arm(arguments)
    report = crosscheck(description, gravity=arguments.gravity, count=arguments.states,
                        seed=arguments.seed)
    console = Console()
    for sentence in description.inconsistencies():
        console.print(f'[yellow]warning:[/] {sentence}', highlight=False)
    table = Table(title=f'{report.arm}, set {report.inertial_set}, hand {report.hand}: Pinocchio '
                  f'against Newton-Euler in DH frames, {report.states} states')
    table.add_column('quantity')
    table.add_column('largest difference', justify='right')
    for name, value in report.differences.items():
        table.add_row(name, f'{value:.2e}')
    console.print(table)
    verdict = 'pass' if report.passed else 'MISMATCH'
    console.print(f'{verdict}: largest {report.largest:.2e}, tolerance {report.tolerance:.0e}')
    return 0 if report.passed else 1
