# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`arm show --base-parameters`: which inertial parameters an arm's torques depend on."""

from __future__ import annotations

from pathlib import Path
import sys
from typing import Any

import numpy as np

from ._say import say, show, write_json
from ..arm import ArmDescription
from ..arm.dh_conversion import in_modified_convention
from ..identification.base_parameters import (
    ANY_GRAVITY,
    base_parameters,
    BaseParameters,
    NO_GRAVITY,
    upper_bound,
)
from ..identification.symbolic_parameters import symbolic_base_parameters
from ..names import GRAVITY
from ..report.table import Head, Table
from ..typing import Array

DIRECTIONS = ('vertical', 'tilted', 'none')
_UNITS = {'m': 'kg', 'mX': 'kg m', 'mY': 'kg m', 'mZ': 'kg m'}
# For the shipped arms `RankGap.smallest_kept` is at least 0.03 and `RankGap.largest_dropped` at
# most 1e-15, a rounding error. If one of the two lies between the bounds of _DOUBTFUL, a length in
# the DH rows is nearly zero or an angle is nearly a multiple of pi/2.
_DOUBTFUL = (1e-12, 1e-5)
# Largest rounding error that regrouping may cause in an entry of a regressor whose columns have
# unit length.
_SAME_TORQUE = 1e-9


def print_base_parameters(arm: ArmDescription, name: str, gravity: str, json: Path | None) -> int:
    """
    Print the base parameters of an arm called `name`; write them as JSON if asked for.

    `gravity` is one of DIRECTIONS. Return 1 if random states contradict the table.
    """
    found = base_parameters(arm, _direction(gravity))
    rank, lost = found.confirmed()
    agree = rank == len(found) and lost < _SAME_TORQUE
    show(_table(found, f'{name}: base parameters, gravity {gravity}'))
    _print_summary(arm, found, rank, lost)
    if json:
        write_json(json, {'gravity': gravity, 'rank': rank, **_content(arm, found)})
    return 0 if agree else 1


def print_symbolic(description: ArmDescription, gravity: str, form: str) -> None:
    """Print the base parameters as sums of standard parameters, as text, latex or python."""
    arm = in_modified_convention(description)
    if arm is not description:
        print(
            f'{description.name} has standard DH rows; the parameters are in the frames '
            "of the equivalent modified rows, whose z axes are the joints' axes.",
            file=sys.stderr,
        )
    symbols = symbolic_base_parameters(arm, _direction(gravity))
    sys.stdout.write(getattr(symbols, f'as_{form}')())


def _direction(gravity: str) -> Array:
    vectors = {'vertical': [GRAVITY], 'tilted': ANY_GRAVITY, 'none': [NO_GRAVITY]}
    return np.array(vectors[gravity])


def _table(found: BaseParameters, title: str) -> Table:
    rows = []
    for relation, value, column in zip(found.relations, found.values(), found.columns):
        symbol, _ = found.standard_names[column].rsplit('_', 1)
        text = str(relation)
        meaning = '' if text == relation.name else text
        rows.append((relation.name, value, _UNITS.get(symbol, 'kg m²'), meaning))
    heads = ('parameter', Head('value', form='.6f'), 'unit', 'regrouped from')
    return Table(title, heads, rows)


def _print_summary(arm: ArmDescription, found: BaseParameters, rank: int, lost: float) -> None:
    names = found.standard_names
    for what, members in (
        ('no effect', found.no_effect),
        ('only in combination with others', found.regrouped),
    ):
        say(f'{what}: {", ".join(names[k] for k in members) or "none"}')
    bound = f'; at most {upper_bound(arm)} by Gautier and Khalil, eq. 23'
    if found.rotor_inertia:
        bound = ''
    say(
        f'{len(found)} base parameters of {len(names)} standard ones{bound}; rank of the '
        f'regressor over random states: {rank}',
        '' if rank == len(found) else 'MISMATCH',
    )
    say(
        f'regrouping changes torques at other states by {lost:.1e}',
        '' if lost < _SAME_TORQUE else 'MISMATCH',
    )
    gap = found.rank_gap
    if gap.smallest_kept < _DOUBTFUL[1] or gap.largest_dropped > _DOUBTFUL[0]:
        say(
            f'the geometry is close to one with fewer base parameters '
            f'(a rank decision rests on {gap.smallest_kept:.1e}, the next lower is '
            f'{gap.largest_dropped:.1e}). If a twist is meant to be a quarter turn, '
            'write it as pi/2 in the arm file.',
            'note',
        )


def _content(arm: ArmDescription, found: BaseParameters) -> dict[str, Any]:
    """Return base parameters, their values and relations, and the map from standard parameters."""
    names = found.standard_names
    return {
        'arm': arm.name,
        'inertial_set': arm.inertial_set,
        'hand': arm.hand,
        'base_parameters': [
            {'name': relation.name, 'value': float(value), 'relation': str(relation)}
            for relation, value in zip(found.relations, found.values())
        ],
        'no_effect': [names[k] for k in found.no_effect],
        'regrouped': [names[k] for k in found.regrouped],
        'standard_parameters': list(names),
        'matrix': found.matrix.tolist(),
    }
