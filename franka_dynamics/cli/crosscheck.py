# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`franka-dynamics crosscheck`: four formulations of an arm, or two descriptions of it."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from typing import TYPE_CHECKING

from ._arm_options import add_arm_options, load_arm
from ._crosscheck_against import add_against_options, check_against
from ._crosscheck_torques import add_torque_options, check_torques
from ._urdf_check import add_urdf_options, check_urdf

if TYPE_CHECKING:
    from rich.console import Console

    from ..validation.agreement import Agreement

SUMMARY = 'Hold the independent models of an arm against each other, or two descriptions of it.'
DEFAULT_ARM = 'fer'
_STATES_OF_A_RANDOM_ARM = 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's options."""
    add_arm_options(parser, default=None)
    parser.add_argument('--states', type=_count, default=1000, metavar='N',
                        help='random states within the limits (default: %(default)s)')
    parser.add_argument('--seed', type=_seed, default=0, metavar='N',
                        help='of the states (default: %(default)s)')
    parser.add_argument('--gravity', type=float, nargs=3, default=(0.0, 0.0, -9.81),
                        metavar=('X', 'Y', 'Z'), help='in the space frame [m/s^2]')
    parser.add_argument('--random', type=_count, metavar='N', help='check N random arms of 1 to 8 '
                        'revolute and prismatic joints in both conventions instead')
    parser.add_argument('--json', metavar='FILE', help='write all figures to this file')
    parser.add_argument('--html', metavar='FILE', help='write a page with tables and pictures')
    add_against_options(parser)
    add_torque_options(parser)
    add_urdf_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print the tables and the verdict; exit 1 on a mismatch."""
    from rich.console import Console

    console = Console()
    if arguments.urdf is not None:
        return check_urdf(arguments, console)
    if arguments.against is not None:
        if not arguments.against.endswith(('.urdf', '.xml')):
            arguments.arm = arguments.arm or DEFAULT_ARM
        return check_against(arguments, console)
    if arguments.random is not None:
        return _check_random(arguments, console)
    arguments.arm = arguments.arm or DEFAULT_ARM
    if arguments.torques is not None:
        return check_torques(arguments, console)
    return _check_formulations(arguments, console)


def _check_formulations(arguments: argparse.Namespace, console: Console) -> int:
    from ._recording_options import progress_bar
    from ..arm.consistency import margins
    from ..files import write_text
    from ..report.agreement import agreement_as_data, consistency_table, links_table, matrix_table
    from ..validation.agreement import compare_formulations
    from ..validation.formulations import QUANTITIES

    description = load_arm(arguments)
    with progress_bar(console) as bar:
        task = bar.add_task('comparing', total=len(QUANTITIES))
        agreement = compare_formulations(
            description, gravity=arguments.gravity, count=arguments.states, seed=arguments.seed,
            progress=lambda: bar.advance(task))
    found = margins(description)
    console.print(f'{agreement.arm}, set {agreement.inertial_set}, hand {agreement.hand}: '
                  f'{agreement.states} states, seed {agreement.seed}', highlight=False)
    for sentence in description.repairs:
        console.print(f'note: {sentence}', highlight=False)
    for table in (matrix_table(agreement), links_table(agreement), consistency_table(found)):
        console.print(table)
    _print_verdict(agreement, console)
    if arguments.json:
        write_text(arguments.json,
                   json.dumps(agreement_as_data(agreement, found), indent=2) + '\n')
    if arguments.html:
        from ..report.agreement import agreement_page
        write_text(arguments.html, agreement_page(agreement, found, _command()))
    return 0 if agreement.passed else 1


def _print_verdict(agreement: Agreement, console: Console) -> None:
    for sentence in agreement.warnings:
        console.print(f'[yellow]warning:[/] {sentence}', highlight=False)
    for sentence in agreement.findings:
        console.print(sentence, style='red', highlight=False)
    verdict = '[green]pass[/]' if agreement.passed else '[red]MISMATCH[/]'
    console.print(f'{verdict}: largest difference of any two {agreement.largest:.1e}, tolerance '
                  f'{agreement.tolerance:.0e}', highlight=False)


def _check_random(arguments: argparse.Namespace, console: Console) -> int:
    """Compare the formulations of random arms with random gravity; print those that fail."""
    import numpy as np

    from ._recording_options import progress_bar
    from ..arm.sampling import random_arm
    from ..validation.agreement import AGREEMENT, compare_formulations

    largest, failed = 0.0, 0
    with progress_bar(console) as bar:
        for seed in bar.track(range(arguments.seed, arguments.seed + arguments.random),
                              description='random arms'):
            rng = np.random.default_rng(seed)
            agreement = compare_formulations(
                random_arm(rng), gravity=9.81 * rng.normal(size=3), seed=seed,
                count=_STATES_OF_A_RANDOM_ARM)
            largest = float(np.max([largest, agreement.largest]))
            if not agreement.passed:
                failed += 1
                console.print(f'seed {seed}: {" ".join(agreement.findings)}', style='red',
                              highlight=False)
    verdict = '[red]MISMATCH[/]' if failed else '[green]pass[/]'
    console.print(f'{verdict}: {arguments.random} random arms, seeds {arguments.seed} to '
                  f'{arguments.seed + arguments.random - 1}, {failed} failed; largest difference '
                  f'of any two formulations {largest:.1e}, tolerance {AGREEMENT:.0e}',
                  highlight=False)
    return 1 if failed else 0


def _command() -> str:
    """Return what was typed, so that a page says how it is made again."""
    return 'franka-dynamics ' + shlex.join(sys.argv[1:])


def _count(text: str) -> int:
    value = _seed(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f'{text} is not a whole number of at least 1')
    return value


def _seed(text: str) -> int:
    try:
        value = int(text)
    except ValueError:
        value = -1
    if value < 0:
        raise argparse.ArgumentTypeError(f'{text} is not a whole number of at least 0')
    return value
