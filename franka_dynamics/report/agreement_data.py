# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A comparison of formulations as data for JSON and as tables for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arm.consistency import LinkMargins
from ..dynamics.agreement import Agreement

LINK_ASPECTS = ('frames', 'twists', 'wrenches')


def agreement_as_data(agreement: Agreement, margins: Sequence[LinkMargins]) -> dict[str, Any]:
    """Return everything in types that JSON has; a difference that is no number is null."""
    return {
        'arm': agreement.arm, 'inertial_set': agreement.inertial_set, 'hand': agreement.hand,
        'gravity': list(agreement.gravity), 'states': agreement.states, 'seed': agreement.seed,
        'tolerance': agreement.tolerance, 'passed': agreement.passed,
        'largest': number(agreement.largest),
        'difference': 'largest |a - b| / max(1, |median|)',
        'formulations': list(agreement.formulations),
        'from_median': {quantity.name: dict(zip(agreement.formulations, map(number, row)))
                        for quantity, row in zip(agreement.quantities, agreement.deviations)},
        'pairs': {name: [[number(value) for value in row] for row in matrix]
                  for name, matrix in agreement.pairs.items()},
        'links': {blame.formulation: {
            'from': blame.link,
            **{aspect: [number(value) for value in getattr(blame, aspect)]
               for aspect in LINK_ASPECTS}} for blame in agreement.blames},
        'findings': list(agreement.findings), 'warnings': list(agreement.warnings),
        'consistency': [{
            'joint': margin.joint, 'mass': margin.mass,
            'pseudo_inertia_eigenvalue': margin.pseudo_inertia,
            'triangle_inequality': margin.triangle, 'physical': margin.physical}
            for margin in margins],
    }


def number(value: float) -> float | None:
    """Return a float, or None for what JSON has no number for."""
    return float(value) if math.isfinite(value) else None


def link_rows(agreement: Agreement) -> Iterator[tuple[str, NDArray[np.float64]]]:
    """Yield 'link 1 frames', ... with every formulation's difference, from base to tip."""
    count = len(agreement.blames[0].frames)
    for link in range(count):
        for aspect in LINK_ASPECTS:
            yield (f'{link + 1} {aspect}',
                   np.array([getattr(blame, aspect)[link] for blame in agreement.blames]))


def matrix_table(agreement: Agreement) -> Any:
    """Return a rich table of quantities by formulations."""
    rows = [(f'{quantity.name} [{quantity.unit}]', row)
            for quantity, row in zip(agreement.quantities, agreement.deviations)]
    return _table('largest difference from the median, of max(1, |value|)', 'quantity', rows,
                  agreement)


def links_table(agreement: Agreement) -> Any:
    """Return a rich table of every link's frame, twist and wrench by formulations."""
    return _table('per link: where a difference would come from', 'link', list(
        link_rows(agreement)), agreement)


def consistency_table(margins: Sequence[LinkMargins]) -> Any:
    """Return a rich table of every link's margins to what no real body can be."""
    from rich.table import Table

    table = Table(title='physical consistency (negative: no such body exists)',
                  title_justify='left')
    for heading in ('link behind', 'mass [kg]', 'eigenvalue of the pseudo-inertia',
                    'A + B - C [kg m^2]'):
        table.add_column(heading, justify='left' if heading == 'link behind' else 'right')
    for margin in margins:
        style = None if margin.physical else 'red'
        table.add_row(margin.joint, f'{margin.mass:.4f}', f'{margin.pseudo_inertia:.3g}',
                      f'{margin.triangle:.3g}', style=style)
    return table


def _table(title: str, first: str, rows: Sequence[tuple[str, NDArray[np.float64]]],
           agreement: Agreement) -> Any:
    from rich.table import Table

    table = Table(title=title, title_justify='left')
    table.add_column(first)
    for name in agreement.formulations:
        table.add_column(name, justify='right')
    for label, row in rows:
        # A bracket would be read as markup.
        table.add_row(label.replace('[', r'\['), *(
            f'{value:.1e}' if value <= agreement.tolerance else f'[red]{value:.1e}[/]'
            for value in row))
    return table
