# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""An arm's base parameters as JSON data, a table and sentences."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .table import Header, Table
from ..arm import ArmDescription
from ..identification.base_parameters import BaseParameters, max_base_parameter_count

_UNITS = {'m': 'kg', 'mX': 'kg m', 'mY': 'kg m', 'mZ': 'kg m'}
# For the shipped arms `RankGap.smallest_kept` is at least 0.03 and `RankGap.largest_dropped` at
# most 1e-15, a rounding error. If one of the two lies between these bounds, a length in the DH
# rows is nearly zero or an angle is nearly a multiple of pi/2.
_MAX_DROPPED = 1e-12
_MIN_KEPT = 1e-5


def base_parameters_as_data(arm: ArmDescription, base: BaseParameters) -> dict[str, Any]:
    """Return an arm's base parameters, their values and linear relations, as data for JSON."""
    names = base.standard_names
    values = zip(base.relations, base.values(), base.columns)
    return {
        'arm': arm.name,
        'inertial_set': arm.inertial_set,
        'hand': arm.hand,
        'base_parameters': [
            {
                'name': relation.name,
                'value': value,
                'unit': _UNITS.get(names[column].rpartition('_')[0], 'kg m^2'),
                'relation': str(relation),
            }
            for relation, value, column in values
        ],
        'no_effect': [names[k] for k in base.unidentifiable_indices],
        'regrouped': [names[k] for k in base.eliminated_indices],
        'standard_parameters': names,
        'matrix': base.matrix,
    }


def base_parameter_table(data: dict[str, Any], title: str) -> Table:
    """Return a table of base parameters, values and relations from `base_parameters_as_data`."""
    heads = ('parameter', Header('value', form='.6f'), 'unit', 'regrouped from')
    rows = [
        (name, value, unit, '' if relation == name else relation)
        for name, value, unit, relation in (one.values() for one in data['base_parameters'])
    ]
    return Table(title, heads, rows)


def identifiability_sentences(data: dict[str, Any]) -> Iterator[str]:
    """Yield which inertial parameters have no effect on torque, and which only with others."""
    yield f'no effect: {", ".join(data["no_effect"]) or "none"}'
    yield f'only in combination with others: {", ".join(data["regrouped"]) or "none"}'


def rank_sentence(arm: ArmDescription, base: BaseParameters, rank: int, error: float) -> str:
    """Return a sentence on the number of base parameters and the regressor's rank."""
    bound = ''
    if not base.rotor_inertia:
        bound = f'; at most {max_base_parameter_count(arm)} by Gautier and Khalil'
    return (
        f'{len(base)} base parameters of {len(base.standard_names)} standard ones{bound}; '
        f'random states: rank of the regressor {rank}, torques changed by regrouping {error:.1e}'
    )


def close_rank_notes(base: BaseParameters) -> list[str]:
    """Return a note if the rank of the regressor is hard to decide, else an empty list."""
    gap = base.rank_gap
    if gap.smallest_kept >= _MIN_KEPT and gap.largest_dropped <= _MAX_DROPPED:
        return []
    return [
        'the geometry is close to one with fewer base parameters (a rank decision rests on '
        f'{gap.smallest_kept:.1e}, the next lower is {gap.largest_dropped:.1e}). If a twist is '
        'meant to be a quarter turn, write it as pi/2 in the arm file.'
    ]
