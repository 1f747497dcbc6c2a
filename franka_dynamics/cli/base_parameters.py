# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`franka-dynamics base-parameters`: which inertial parameters an arm's torques depend on."""

from __future__ import annotations

import argparse
import json
from typing import Any, TYPE_CHECKING

from ._arm_options import add_arm_options, load_arm

if TYPE_CHECKING:
    from rich.console import Console

    from ..identification.base_parameters import BaseParameters

SUMMARY = 'List the minimum inertial parameters of an arm, regrouped, with their values.'
_UNITS = {'m': 'kg', 'mX': 'kg m', 'mY': 'kg m', 'mZ': 'kg m'}
# Between the singular values of real arms (0.05 and more) and rounding (1e-15) there should be
# none; one in this range is a twist or a length that nearly vanishes.
_DOUBTFUL = (1e-12, 1e-5)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's options."""
    add_arm_options(parser)
    parser.add_argument('--gravity', choices=('vertical', 'tilted', 'none'), default='vertical',
                        help='vertical: along -z of the space frame; tilted: what suffices for '
                        'every direction; none (default: %(default)s)')
    parser.add_argument('--rotors', action='store_true',
                        help='count the rotor inertia of each joint as a parameter, even where '
                        'the arm file gives none')
    parser.add_argument('--json', metavar='FILE',
                        help='write values, relations and the map from the standard parameters')


def run(arguments: argparse.Namespace) -> int:
    """Print the table; exit 1 if the regressor's rank does not confirm the number."""
    import numpy as np
    from rich.console import Console

    from ..dynamics import GRAVITY
    from ..identification.base_parameters import ANY_GRAVITY, base_parameters, NO_GRAVITY
    from ..identification.numerical_base_parameters import numerical_base_parameters
    from ..report.files import write_text

    gravity = np.array({'vertical': [GRAVITY], 'tilted': ANY_GRAVITY,
                        'none': [NO_GRAVITY]}[arguments.gravity])
    description = load_arm(arguments)
    found = base_parameters(description, gravity,
                            rotor_inertia=True if arguments.rotors else None)
    rank = numerical_base_parameters(description, gravity,
                                     rotor_inertia=found.rotor_inertia).rank
    console = Console(highlight=False)
    _print_table(console, found, arguments.gravity)
    _print_summary(console, found, rank)
    if arguments.json:
        content = {'gravity': arguments.gravity, 'rank': rank, **_content(found)}
        write_text(arguments.json, json.dumps(content, indent=2) + '\n')
        console.print(f'written: {arguments.json}')
    return 0 if rank == len(found) else 1


def _print_table(console: Console, found: BaseParameters, gravity: str) -> None:
    from rich.table import Table

    arm = found.description
    table = Table(title=f'{arm.name}, set {arm.inertial_set}, hand {arm.hand}: base parameters, '
                  f'gravity {gravity}')
    table.add_column('parameter', no_wrap=True)
    table.add_column('value', justify='right', no_wrap=True)
    table.add_column('unit', no_wrap=True)
    table.add_column('regrouped from')
    link = None
    for relation, value, column in zip(found.relations, found.values(), found.columns):
        symbol, number = found.standard_names[column].rsplit('_', 1)
        if link not in (None, number):
            table.add_section()
        link = number
        text = str(relation)
        table.add_row(relation.name, f'{value:.6f}', _UNITS.get(symbol, 'kg m²'),
                      '' if text == relation.name else text)
    console.print(table)


def _print_summary(console: Console, found: BaseParameters, rank: int) -> None:
    from ..identification.base_parameters import upper_bound

    names = found.standard_names
    console.print(f'no effect: {", ".join(names[k] for k in found.no_effect) or "none"}')
    console.print(f'only as a part of others: '
                  f'{", ".join(names[k] for k in found.regrouped) or "none"}')
    bound = f'; at most {upper_bound(found.description)} by Gautier and Khalil, eq. 23'
    console.print(f'{len(found)} base parameters of {len(names)} standard ones'
                  + ('' if found.rotor_inertia else bound)
                  + f'; rank of the regressor over random states: {rank}'
                  + ('' if rank == len(found) else '  MISMATCH'))
    gap = found.rank_gap
    if gap.smallest_kept < _DOUBTFUL[1] or gap.largest_dropped > _DOUBTFUL[0]:
        console.print(f'[yellow]note:[/] the geometry is close to one with fewer base parameters '
                      f'(a rank decision rests on {gap.smallest_kept:.1e}, the next lower is '
                      f'{gap.largest_dropped:.1e}). If a twist is meant to be a quarter turn, '
                      'write it as pi/2 in the arm file.')


def _content(found: BaseParameters) -> dict[str, Any]:
    """Return what the table shows and the map behind it, SI units."""
    arm, names = found.description, found.standard_names
    return {
        'arm': arm.name, 'inertial_set': arm.inertial_set, 'hand': arm.hand,
        'base_parameters': [
            {'name': relation.name, 'value': float(value), 'relation': str(relation)}
            for relation, value in zip(found.relations, found.values())],
        'no_effect': [names[k] for k in found.no_effect],
        'regrouped': [names[k] for k in found.regrouped],
        'standard_parameters': list(names),
        'matrix': found.matrix.tolist(),
    }
