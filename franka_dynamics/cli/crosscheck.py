# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`franka-dynamics arm check`: four formulations of an arm, or of random arms."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
import shlex
import sys
from typing import TYPE_CHECKING

from ._arm_options import ARM_OPTIONS, RepairableArm
from ._options import file_option, gravity_option, json_option
from ._say import say, terminal, write_json
from ..options import option

if TYPE_CHECKING:
    from rich.console import Console

_STATES, _STATES_OF_A_RANDOM_ARM = 1000, 20


@dataclass(frozen=True, kw_only=True)
class Check(RepairableArm):
    """Compare four independent formulations of an arm with each other."""

    states: int | None = option(
        'random states within the limits (default: 1000, of a random arm 20)',
        'N',
        least=1,
        default=None,
    )
    seed: int = option('of the states', 'N', default=0)
    gravity: tuple[float, float, float] = gravity_option('space')
    random: int | None = option(
        'check N random arms of 1 to 8 revolute and prismatic joints in both conventions instead',
        'N',
        least=1,
        default=None,
    )
    json: Path | None = json_option()
    report: Path | None = file_option('write a page with tables and pictures')

    def run(self) -> int:
        """Print the tables and the verdict; exit 1 on a mismatch."""
        console = terminal()
        if self.random is not None:
            return _check_random(self, self.random, console)
        return _check_formulations(self, console)


def _check_formulations(arguments: Check, console: Console) -> int:
    from ._recording_options import progress_bar
    from ..files import write_text
    from ..report.agreement import agreement_as_data, agreement_page, agreement_tables
    from ..validation.agreement import compare_formulations
    from ..validation.crosscheck import QUANTITIES

    description = arguments.load_arm()
    with progress_bar(console) as bar:
        task = bar.add_task('comparing', total=len(QUANTITIES))
        agreement = compare_formulations(
            description,
            gravity=arguments.gravity,
            count=arguments.states or _STATES,
            seed=arguments.seed,
            progress=lambda: bar.advance(task),
        )
    say(
        console,
        f'{arguments.title(description)}: {agreement.states} states, seed {agreement.seed}',
    )
    for sentence in description.repairs:
        say(console, sentence, 'note')
    console.print(*agreement_tables(agreement, description))
    for sentence in agreement.warnings:
        say(console, sentence, 'warning')
    for sentence in agreement.findings:
        say(console, sentence, style='red')
    say(
        console,
        f'largest difference of any two {agreement.largest:.1e}, tolerance '
        f'{agreement.tolerance:.0e}',
        'pass' if agreement.passed else 'MISMATCH',
    )
    if arguments.json:
        write_json(arguments.json, agreement_as_data(agreement, description))
    if arguments.report:
        typed = f'franka-dynamics {shlex.join(sys.argv[1:])}'
        write_text(arguments.report, agreement_page(agreement, description, typed))
    return 0 if agreement.passed else 1


def _check_random(arguments: Check, count: int, console: Console) -> int:
    """Compare the formulations of random arms with random gravity; print those that fail."""
    import numpy as np

    from ._recording_options import progress_bar
    from ..arm.sampling import random_arm
    from ..validation.agreement import AGREEMENT, compare_formulations

    arguments.refuse(
        '--random: those arms, their gravity and no page about one are drawn',
        *ARM_OPTIONS,
        'gravity',
        'report',
    )
    first = arguments.seed
    results = []
    with progress_bar(console) as bar:
        for seed in bar.track(range(first, first + count), description='random arms'):
            rng = np.random.default_rng(seed)
            agreement = compare_formulations(
                random_arm(rng),
                gravity=9.81 * rng.normal(size=3),
                seed=seed,
                count=arguments.states or _STATES_OF_A_RANDOM_ARM,
            )
            results.append(
                {
                    'seed': seed,
                    'passed': agreement.passed,
                    'largest': agreement.largest,
                    'findings': list(agreement.findings),
                }
            )
            if not agreement.passed:
                say(console, f'seed {seed}: {" ".join(agreement.findings)}', style='red')
    failed = sum(not result['passed'] for result in results)
    # A NaN of any arm is to be seen, which Python's own max could pass over.
    largest = float(np.max([result['largest'] for result in results]))
    say(
        console,
        f'{count} random arms, seeds {first} to '
        f'{first + count - 1}, {failed} failed; largest difference '
        f'of any two formulations {largest:.1e}, tolerance {AGREEMENT:.0e}',
        'MISMATCH' if failed else 'pass',
    )
    if arguments.json:
        write_json(arguments.json, {'tolerance': AGREEMENT, 'passed': not failed, 'arms': results})
    return 1 if failed else 0
