# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Base parameters written as sums of standard parameters."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

# Coefficients equal within _EQUAL_TOLERANCE, relative, are written as one number.
_EQUAL_TOLERANCE = 1e-12
Coefficient = TypeVar('Coefficient')


@dataclass(frozen=True)
class Relation:
    """One base parameter as a linear combination of standard parameters."""

    name: str
    terms: tuple[tuple[float, str], ...]  # coefficients [1, m or m^2] and standard parameters

    def __str__(self) -> str:
        """Return the relation as text, 'XXR_5 = XX_5 - YY_5', or the name if it is alone."""
        if len(self.terms) == 1 and self.terms[0] == (1.0, self.name):
            return self.name
        groups = grouped_terms(
            self.terms,
            lambda a, b: not _is_unit(a) and abs(a - b) <= _EQUAL_TOLERANCE * abs(b),
        )
        texts = []
        for coefficient, names in groups:
            factor = '' if _is_unit(coefficient) else f'{abs(coefficient):.6g} '
            texts.append((coefficient < 0.0, factor, names))
        return f'{self.name} = {sum_text(texts)}'


def relations(
    standard_names: Sequence[str],
    kept_indices: Sequence[int],
    matrix: NDArray[np.float64],
) -> tuple[Relation, ...]:
    """
    Return each base parameter's relation, from the map from standard to base parameters.

    `standard_names` are p, such as XX_1. `kept_indices` has for each base parameter that of the
    standard one whose column it keeps and which comes first in the relation. `matrix` (b, p) is
    the map from standard to base parameters.
    """
    all_relations = []
    for kept, coefficients in zip(kept_indices, matrix):
        eliminated = [int(k) for k in np.flatnonzero(coefficients) if k != kept]
        # As in Gautier and Khalil 1990, the kept parameter comes first, then the others in the
        # order of `standard_names`.
        terms = tuple((float(coefficients[k]), standard_names[k]) for k in [kept, *eliminated])
        name = standard_names[kept]
        if eliminated:
            symbol, link = name.rsplit('_', 1)
            name = f'{symbol}R_{link}'
        all_relations.append(Relation(name, terms))
    return tuple(all_relations)


def grouped_terms(
    terms: Iterable[tuple[Coefficient, str]],
    is_alike: Callable[[Coefficient, Coefficient], bool],
) -> list[tuple[Coefficient, list[str]]]:
    """Return (weight, names) pairs that merge the terms whose weights `is_alike` equates."""
    groups: list[tuple[Coefficient, list[str]]] = []
    for weight, name in terms:
        names_of_equal = [
            names for known_weight, names in groups if is_alike(weight, known_weight)
        ]
        if names_of_equal:
            names_of_equal[0].append(name)
        else:
            groups.append((weight, [name]))
    return groups


def sum_text(groups: Iterable[tuple[bool, str, Sequence[str]]]) -> str:
    """Return a sum as text, from groups of (is subtracted, factor, names)."""
    text = ''
    for is_subtracted, factor, names in groups:
        sign = '-' if is_subtracted else '+'
        names_sum = ' + '.join(names)
        if len(names) > 1:
            names_sum = f'({names_sum})'
        text += f' {sign} {factor}{names_sum}'
    return text.removeprefix(' + ')


def _is_unit(weight: float) -> bool:
    """Return whether a coefficient is 1 or -1 up to rounding."""
    return abs(abs(weight) - 1.0) <= _EQUAL_TOLERANCE
