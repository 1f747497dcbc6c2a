# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
`franka-dynamics arm check`: compare three formulations of an arm's dynamics.

The formulations are Pinocchio's, the package's own Newton-Euler recursion, and products of
exponentials.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
import shlex
import sys

from ._arm_options import ArmOptions
from ._options import file_option, gravity_option, json_option
from ._say import say, say_each, show, terminal, write_json
from ..files import write_text
from ..options import option


@dataclass(frozen=True, kw_only=True)
class Check(ArmOptions):
    """Compare three independent formulations of an arm's dynamics."""

    states: int = option(
        'number of random states within the limits', 'N', least=1, most=1e6, default=1000
    )
    seed: int = option('seed of the random states', 'N', default=0)
    gravity: tuple[float, float, float] = gravity_option()
    all: bool = option('print the tables of every quantity as well', default=False)
    json: Path | None = json_option()
    report: Path | None = file_option('write a page with the tables')

    def run(self) -> int:
        """Print the verdict, and with --all the tables; exit 1 for differences above TOLERANCE."""
        from ..report.agreement import agreement_as_data, agreement_page, agreement_tables
        from ..validation.crosscheck import compare_formulations, TOLERANCE

        description = self.load_arm()
        with terminal(stderr=True).status('comparing ...'):
            agreement = compare_formulations(
                description, gravity=self.gravity, count=self.states, seed=self.seed
            )
        say(
            f'{self.title(description)}: largest difference from Pinocchio '
            f'{agreement.largest:.1e}, tolerance {TOLERANCE:.0e} ({agreement.states} states, seed '
            f'{agreement.seed})',
            'pass' if agreement.passed else 'MISMATCH',
        )
        for sentence in agreement.findings:
            say(sentence, style='red')
        say_each((*description.notes, *description.repairs), 'note')
        say_each(description.inconsistencies(), 'warning')
        if self.all:
            show(*agreement_tables(agreement))
        if self.json:
            write_json(self.json, agreement_as_data(agreement))
        if self.report:
            typed = f'franka-dynamics {shlex.join(sys.argv[1:])}'
            write_text(self.report, agreement_page(agreement, typed))
        return 0 if agreement.passed else 1
