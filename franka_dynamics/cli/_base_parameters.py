# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`arm show --base-parameters`: which inertial parameters an arm's torques depend on."""

from __future__ import annotations

from pathlib import Path
import sys

import numpy as np

from ._command import refuse
from ._options import ArmChoice, MASS_OPTIONS
from ._say import say, show, write_json
from ..arm.dh_conversion import in_modified_convention
from ..identification.base_parameters import ANY_GRAVITY, base_parameters, NO_GRAVITY, upper_bound
from ..identification.symbolic_parameters import symbolic_base_parameters
from ..names import GRAVITY
from ..report.table import Head, Table

_UNITS = {'m': 'kg', 'mX': 'kg m', 'mY': 'kg m', 'mZ': 'kg m'}
# For the shipped arms `RankGap.smallest_kept` is at least 0.03 and `RankGap.largest_dropped` at
# most 1e-15, a rounding error. If one of the two lies between the bounds of _DOUBTFUL, a length in
# the DH rows is nearly zero or an angle is nearly a multiple of pi/2.
_DOUBTFUL = (1e-12, 1e-5)
# Largest rounding error that regrouping may cause in an entry of a regressor whose columns have
# unit length.
_SAME_TORQUE = 1e-9


# By the names in `arm.DIRECTIONS`.
_GRAVITY = {'vertical': [GRAVITY], 'tilted': ANY_GRAVITY, 'none': [NO_GRAVITY]}


def print_symbolic(choice: ArmChoice, gravity: str, form: str) -> int:
    """Print the relations of base parameters as `form`, text or latex; return 0."""
    refuse('--symbolic: the relations hold for any masses', *MASS_OPTIONS)
    refuse('--symbolic, which writes the relations alone', 'json')
    arm = choice.load()
    modified = in_modified_convention(arm)
    if modified is not arm:
        print(
            f'{arm.name} has standard DH rows; the parameters are in the frames of the '
            "equivalent modified rows, whose z axes are the joints' axes.",
            file=sys.stderr,
        )
    symbols = symbolic_base_parameters(modified, np.array(_GRAVITY[gravity]))
    sys.stdout.write(getattr(symbols, f'as_{form}')())
    return 0


def print_base_parameters(choice: ArmChoice, gravity: str, json: Path | None) -> int:
    """Print the base parameters; return 1 if random states contradict them."""
    arm = choice.load()
    found = base_parameters(arm, np.array(_GRAVITY[gravity]))
    names, members = found.standard_names, zip(found.relations, found.values(), found.columns)
    rows = [
        (
            relation.name,
            value,
            _UNITS.get(names[column].rpartition('_')[0], 'kg m²'),
            '' if str(relation) == relation.name else str(relation),
        )
        for relation, value, column in members
    ]
    heads = ('parameter', Head('value', form='.6f'), 'unit', 'regrouped from')
    show(Table(f'{choice.title(arm)}: base parameters, gravity {gravity}', heads, rows))
    for what, numbers in (
        ('no effect', found.no_effect),
        ('only in combination with others', found.regrouped),
    ):
        say(f'{what}: {", ".join(names[k] for k in numbers) or "none"}')
    rank, lost = found.confirmed()
    agree = rank == len(found) and lost < _SAME_TORQUE
    bound = '' if found.rotor_inertia else f'; at most {upper_bound(arm)} by Gautier and Khalil'
    say(
        f'{len(found)} base parameters of {len(names)} standard ones{bound}; random states: rank '
        f'of the regressor {rank}, torques changed by regrouping {lost:.1e}',
        '' if agree else 'MISMATCH',
    )
    gap = found.rank_gap
    if gap.smallest_kept < _DOUBTFUL[1] or gap.largest_dropped > _DOUBTFUL[0]:
        say(
            f'the geometry is close to one with fewer base parameters (a rank decision rests on '
            f'{gap.smallest_kept:.1e}, the next lower is {gap.largest_dropped:.1e}). If a twist '
            'is meant to be a quarter turn, write it as pi/2 in the arm file.',
            'note',
        )
    if json:
        data = {
            **{'gravity': gravity, 'rank': rank},
            **{'arm': arm.name, 'inertial_set': arm.inertial_set, 'hand': arm.hand},
            'base_parameters': [
                {'name': relation.name, 'value': value, 'relation': str(relation)}
                for relation, value in zip(found.relations, found.values())
            ],
            'no_effect': [names[k] for k in found.no_effect],
            'regrouped': [names[k] for k in found.regrouped],
            'standard_parameters': names,
            'matrix': found.matrix,
        }
        write_json(json, data)
    return 0 if agree else 1
