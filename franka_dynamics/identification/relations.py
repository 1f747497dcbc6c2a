# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Base parameters written as sums of standard parameters."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

# Coefficients equal within _WEIGHT_TOLERANCE, relative, are written as one number.
_WEIGHT_TOLERANCE = 1e-12


@dataclass(frozen=True)
class Relation:
    """One base parameter as a linear combination of standard parameters."""

    name: str
    terms: tuple[tuple[float, str], ...]  # coefficients [1, m or m^2] and standard parameters

    def __str__(self) -> str:
        """Return the relation as text, such as 'XXR_5 = XX_5 - YY_5 + YY_6'."""
        if len(self.terms) == 1 and self.terms[0] == (1.0, self.name):
            return self.name
        return f'{self.name} = {_sum_text(self.terms)}'


def relations(
    names: Sequence[str], columns: Sequence[int], matrix: NDArray[np.float64]
) -> tuple[Relation, ...]:
    """
    Return one relation per row of the map from standard to base parameters.

    `names` are those of the p standard parameters, such as XX_1. `columns` has for each base
    parameter the index of the standard parameter whose column it keeps and which comes first in
    the relation. `matrix` (b, p) is the map from standard to base parameters.
    """
    found = []
    for column, row in zip(columns, matrix):
        others = [int(k) for k in np.flatnonzero(row) if k != column]
        # As in Gautier and Khalil 1990, the kept parameter comes first, then the others in the
        # order of `names`.
        terms = tuple((float(row[k]), names[k]) for k in [column, *others])
        symbol, link = names[column].rsplit('_', 1)
        found.append(Relation(f'{symbol}R_{link}' if others else names[column], terms))
    return tuple(found)


def _sum_text(terms: Sequence[tuple[float, str]]) -> str:
    """Return a sum as text; parameters with equal coefficients other than +-1 share brackets."""
    groups: list[tuple[float, list[str]]] = []
    for weight, name in terms:
        for size, members in groups:
            if not _is_unit(weight) and abs(weight - size) <= _WEIGHT_TOLERANCE * abs(size):
                members.append(name)
                break
        else:
            groups.append((weight, [name]))
    text = ''
    for weight, members in groups:
        sign = '-' if weight < 0.0 else '+'
        body = members[0] if len(members) == 1 else f'({" + ".join(members)})'
        factor = '' if _is_unit(weight) else f'{abs(weight):.6g} '
        text += f' {sign} {factor}{body}'
    return text[3:] if text.startswith(' + ') else text[1:]


def _is_unit(weight: float) -> bool:
    """Return whether a coefficient is 1 or -1 up to rounding."""
    return abs(abs(weight) - 1.0) <= _WEIGHT_TOLERANCE
