# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""An arm's base parameters as a table and sentences."""

from __future__ import annotations

from collections.abc import Iterator

from .table import Header, Table
from ..arm import ArmDescription
from ..identification.base_parameters import BaseParameters, max_base_parameter_count

_UNITS = {'m': 'kg', 'mX': 'kg m', 'mY': 'kg m', 'mZ': 'kg m'}


def base_parameter_table(base: BaseParameters, title: str) -> Table:
    """Return a table of base parameters, values and relations."""
    heads = ('parameter', Header('value', form='.6f'), 'unit', 'regrouped from')
    kinds = [base.standard_names[column].rpartition('_')[0] for column in base.columns]
    rows = [
        (one.name, value, _UNITS.get(kind, 'kg m^2'), '' if len(one.terms) == 1 else one)
        for one, value, kind in zip(base.relations, base.values(), kinds)
    ]
    return Table(title, heads, rows)


def identifiability_sentences(base: BaseParameters) -> Iterator[str]:
    """Yield which inertial parameters have no effect on torque, and which only with others."""
    for text, indices in (
        ('no effect', base.unidentifiable_indices),
        ('only in combination with others', base.eliminated_indices),
    ):
        yield f'{text}: {", ".join(base.standard_names[k] for k in indices) or "none"}'


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
    if gap.is_clear:
        return []
    return [
        'the geometry is close to one with fewer base parameters (a rank decision rests on '
        f'{gap.smallest_kept:.1e}, the next lower is {gap.largest_dropped:.1e}). If a twist is '
        'meant to be a quarter turn, write it as pi/2 in the arm file.'
    ]
