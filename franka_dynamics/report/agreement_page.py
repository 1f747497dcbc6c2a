# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A comparison of formulations as one HTML page: verdict, matrix, links, pictures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .agreement_data import link_rows
from .agreement_plots import link_figure, matrix_figure, pair_figure, torque_figure
from .html_page import Cell, heading, page, paragraph, picture, table
from ..arm.consistency import LinkMargins
from ..dynamics.agreement import Agreement


def agreement_page(agreement: Agreement, margins: Sequence[LinkMargins], command: str) -> str:
    """
    Return the page's HTML.

    Parameters
    ----------
    agreement : Agreement
        What was found.
    margins : sequence of LinkMargins
        Physical consistency of every link.
    command : str
        The command that makes this page again.

    Raises
    ------
    MissingDependencyError
        If matplotlib is not installed.

    """
    verdict = (f'{"All agree" if agreement.passed else "They do not agree"}: largest difference '
               f'of any two {agreement.largest:.2e}, tolerance {agreement.tolerance:.0e}.')
    return page(f'Cross-check of {agreement.arm}', [
        paragraph(f'Inertial set {agreement.inertial_set}, hand {agreement.hand}, gravity '
                  f'{agreement.gravity} m/s², {agreement.states} random states within the limits '
                  f'(seed {agreement.seed}). Formulations: '
                  f'{", ".join(agreement.formulations)}. Differences are |a - b| / max(1, |m|), '
                  'm the median over the formulations, the largest over states and entries.'),
        paragraph(verdict, 'good' if agreement.passed else 'bad'),
        *(paragraph(sentence, 'bad') for sentence in agreement.findings),
        *(paragraph(sentence, 'doubt') for sentence in agreement.warnings),
        heading('Quantities by formulations'),
        picture(matrix_figure(agreement), 'differences from the median, as colours'),
        table(['quantity', 'unit', *agreement.formulations],
              ([quantity.name, quantity.unit, *_marked(row, agreement)] for quantity, row in
               zip(agreement.quantities, agreement.deviations)),
              'largest difference from the median'),
        heading('Every pair'),
        picture(pair_figure(agreement), 'largest difference of every pair in any quantity'),
        heading('Link by link'),
        paragraph('Poses and twists pass from the base to the tip, wrenches from the tip to the '
                  'base: the first link that is off, in that direction, is where a difference '
                  'comes from.'),
        picture(link_figure(agreement), 'differences of frames, twists and wrenches per link'),
        table(['link', *agreement.formulations],
              ([label, *_marked(row, agreement)] for label, row in link_rows(agreement)),
              'largest difference from the median'),
        heading('State by state'),
        picture(torque_figure(agreement), 'difference of the inverse dynamics over states'),
        heading('Physical consistency'),
        _consistency(margins),
        heading('Again'), paragraph(command)])


def _marked(row: Iterable[float], agreement: Agreement) -> list[str]:
    return [f'{value:.1e}' if value <= agreement.tolerance else Cell(f'{value:.1e}')
            for value in row]


def _consistency(margins: Sequence[LinkMargins]) -> str:
    rows = []
    for margin in margins:
        texts = (f'{margin.pseudo_inertia:.3g}', f'{margin.triangle:.3g}')
        rows.append([margin.joint, f'{margin.mass:.4f}',
                     *(texts if margin.physical else map(Cell, texts))])
    return table(['link behind', 'mass [kg]', 'smallest eigenvalue of the pseudo-inertia',
                  'A + B - C of the principal moments [kg m²]'], rows,
                 'negative: no real body has these parameters')
