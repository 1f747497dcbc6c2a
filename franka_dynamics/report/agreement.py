# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A comparison of formulations as data for JSON and as tables for a terminal."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import cycle
from typing import Any

import numpy as np

from .elements import figure_of_size, heading, page, paragraph, picture
from .table import Cell, Head, plain, Table
from ..arm import ArmDescription
from ..validation.agreement import AGREEMENT, Agreement
from ..validation.crosscheck import QUANTITIES

LINK_ASPECTS = ('frames', 'twists', 'wrenches')
# What JSON has as the agreement has it.
_SAME = (*('gravity', 'states', 'seed', 'passed', 'largest', 'formulations', 'pairs', 'findings'),)


def agreement_as_data(agreement: Agreement) -> dict[str, Any]:
    """Return everything in types that JSON has; a difference that is no number is null."""
    arm = agreement.description
    data = {name: getattr(agreement, name) for name in _SAME} | {
        'arm': arm.name,
        'inertial_set': arm.inertial_set,
        'hand': arm.hand,
        'tolerance': AGREEMENT,
        'warnings': arm.inconsistencies(),
        'difference': 'largest |a - b| / max(1, |median|)',
        'from_median': {
            quantity.name: dict(zip(agreement.formulations, row))
            for quantity, row in zip(QUANTITIES, agreement.deviations)
        },
        'links': {
            fault.formulation: {
                'from': fault.link,
                **{aspect: getattr(fault, aspect) for aspect in LINK_ASPECTS},
            }
            for fault in agreement.faults
        },
        'consistency': [
            {
                'joint': joint,
                'mass': link.mass,
                'pseudo_inertia_eigenvalue': link.consistency_margin(),
                'triangle_inequality': link.triangle_margin(),
                'physical': link.is_physical(),
            }
            for joint, link in zip(arm.joint_names, arm.links)
        ],
    }
    result: dict[str, Any] = plain(data)
    return result


def agreement_tables(agreement: Agreement) -> tuple[Table, ...]:
    """Return three tables: quantities by formulations, links by formulations, consistency."""
    heads = [Head(name, form='.1e') for name in agreement.formulations]
    quantities = Table(
        'largest difference from the median, of max(1, |value|)',
        ['quantity', *heads],
        [
            [f'{quantity.name} [{quantity.unit}]', *_marked(row)]
            for quantity, row in zip(QUANTITIES, agreement.deviations)
        ],
    )
    links = Table(
        'per link: where a difference would come from',
        ['link', *heads],
        [
            [
                f'{link + 1} {aspect}',
                *_marked([getattr(fault, aspect)[link] for fault in agreement.faults]),
            ]
            for link in range(len(agreement.faults[0].frames))
            for aspect in LINK_ASPECTS
        ],
    )
    return quantities, links, consistency_table(agreement.description)


def consistency_table(arm: ArmDescription) -> Table:
    """Return every link's margins to what no real body can be."""
    return Table(
        'physical consistency (negative: no such body exists)',
        [
            'link behind',
            Head('mass', 'kg', '.4f'),
            Head('eigenvalue of the pseudo-inertia', form='.3g'),
            Head('A + B - C', 'kg m^2', '.3g'),
        ],
        [
            [
                joint,
                link.mass,
                *(
                    Cell(value, '' if link.is_physical() else 'bad')
                    for value in (link.consistency_margin(), link.triangle_margin())
                ),
            ]
            for joint, link in zip(arm.joint_names, arm.links)
        ],
    )


def _marked(row: Iterable[float]) -> list[Cell]:
    return [Cell(value, '' if value <= AGREEMENT else 'bad') for value in row]


# Okabe and Ito's colours, which the colour-blind tell apart.
_COLORS = ('#0072b2', '#d55e00', '#009e73', '#cc79a7', '#e69f00', '#56b4e9')
_LEAST = 1e-17  # exact agreement has no logarithm


def pair_table(agreement: Agreement) -> Table:
    """Return the largest difference of every pair of formulations in any quantity."""
    largest = np.max(list(agreement.pairs.values()), axis=0)
    return Table(
        'largest difference of every pair in any quantity',
        ['', *(Head(name, form='.1e') for name in agreement.formulations)],
        [[name, *_marked(row)] for name, row in zip(agreement.formulations, largest)],
    )


def link_figure(agreement: Agreement) -> Any:
    """Return frames, twists and wrenches of every link, a line for each formulation."""
    figure = figure_of_size((12.0, 3.6))
    panels = figure.subplots(1, 3, sharey=True)
    for axes, aspect in zip(panels, LINK_ASPECTS):
        for fault, color in zip(agreement.faults, cycle(_COLORS)):
            values = np.maximum(getattr(fault, aspect), _LEAST)
            axes.semilogy(
                np.arange(1, len(values) + 1),
                values,
                'o-',
                color=color,
                ms=4,
                lw=1.2,
                label=fault.formulation,
            )
        axes.axhline(AGREEMENT, color='#888888', lw=1.0, ls='--')
        axes.set_title(aspect, fontsize=10)
        axes.set_xlabel('link, from base to tip')
        axes.set_xticks(np.arange(1, len(values) + 1))
        axes.grid(alpha=0.25)
    panels[0].set_ylabel('largest difference')
    panels[0].legend(fontsize=8)
    return figure


def agreement_page(agreement: Agreement, command: str) -> str:
    """
    Return the page's HTML.

    Parameters
    ----------
    agreement : Agreement
        What was found.
    command : str
        The command that makes this page again.

    Raises
    ------
    MissingDependencyError
        If matplotlib is not installed.

    """
    arm = agreement.description
    quantities, links, consistency = agreement_tables(agreement)
    verdict = (
        f'{"All agree" if agreement.passed else "They do not agree"}: largest difference '
        f'of any two {agreement.largest:.2e}, tolerance {AGREEMENT:.0e}.'
    )
    return page(
        f'Cross-check of {arm.name}',
        [
            paragraph(
                f'Inertial set {arm.inertial_set}, hand {arm.hand}, gravity '
                f'{agreement.gravity} m/s², {agreement.states} random states within the limits '
                f'(seed {agreement.seed}). Formulations: '
                f'{", ".join(agreement.formulations)}. Differences are |a - b| / max(1, |m|), '
                'm the median over the formulations, the largest over states and entries.'
            ),
            paragraph(verdict, 'good' if agreement.passed else 'bad'),
            *(paragraph(sentence, 'bad') for sentence in agreement.findings),
            *(paragraph(sentence, 'warning') for sentence in arm.inconsistencies()),
            heading('Quantities by formulations'),
            quantities,
            heading('Every pair'),
            pair_table(agreement),
            heading('Link by link'),
            paragraph(
                'Poses and twists pass from the base to the tip, wrenches from the tip to the '
                'base: the first link that is off, in that direction, is where a difference '
                'comes from.'
            ),
            picture(link_figure(agreement), 'differences of frames, twists and wrenches per link'),
            links,
            heading('Physical consistency'),
            consistency,
            heading('Again'),
            paragraph(command),
        ],
    )
