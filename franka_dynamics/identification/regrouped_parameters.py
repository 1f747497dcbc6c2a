# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What base parameters of arms and of trees share: relations, the map, the cascade to the base."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..dynamics.body_tree import BASE
from ..dynamics.model import GRAVITY
from ..dynamics.regressor import parameter_names, PER_LINK
from ..errors import BaseParameterError
from ..typing import Array

# Coefficients that agree to this part are one number to a reader.
_SAME = 1e-12


@dataclass(frozen=True)
class Relation:
    """One base parameter as a sum of standard ones."""

    name: str
    terms: tuple[tuple[float, str], ...]  # coefficients [1, m, m^2] and standard parameters

    def __str__(self) -> str:
        """Return 'XXR_5 = XX_5 - YY_5 + YY_6'; a parameter that stands alone is its name."""
        if len(self.terms) == 1 and self.terms[0] == (1.0, self.name):
            return self.name
        return f'{self.name} = {_sum(self.terms)}'


def relations(
    names: Sequence[str],
    columns: Sequence[int],
    matrix: NDArray[np.float64],
) -> tuple[Relation, ...]:
    """
    Return one relation per row of the map from standard to base parameters.

    Parameters
    ----------
    names : sequence of str, length p
        Standard parameters, such as XX_1.
    columns : sequence of int, length b
        The standard parameter that each base parameter keeps the place of; it comes first.
    matrix : ndarray, shape (b, p)
        The map.

    """
    found = []
    for column, row in zip(columns, matrix):
        others = [int(k) for k in np.flatnonzero(row) if k != column]
        # Near the base first, as the paper writes them.
        terms = tuple((float(row[k]), names[k]) for k in [column, *others])
        symbol, link = names[column].rsplit('_', 1)
        found.append(Relation(f'{symbol}R_{link}' if others else names[column], terms))
    return tuple(found)


def _sum(terms: Sequence[tuple[float, str]]) -> str:
    """Return the sum as text, parameters of equal weight in one bracket."""
    groups: list[tuple[float, list[str]]] = []
    for weight, name in terms:
        for size, members in groups:
            if not _is_one(weight) and abs(weight - size) <= _SAME * abs(size):
                members.append(name)
                break
        else:
            groups.append((weight, [name]))
    text = ''
    for weight, members in groups:
        sign = '-' if weight < 0.0 else '+'
        body = members[0] if len(members) == 1 else f'({" + ".join(members)})'
        factor = '' if _is_one(weight) else f'{abs(weight):.6g} '
        text += f' {sign} {factor}{body}'
    return text[3:] if text.startswith(' + ') else text[1:]


def _is_one(weight: float) -> bool:
    return abs(abs(weight) - 1.0) <= _SAME


# A gravity vector is within a span if what sticks out is this part of it: rounding.
_SPAN_TOLERANCE = 1e-9
_CANCELLED = 1e-14


class Step(NamedTuple):
    """
    What leaves one link's parameters for those of its antecedent.

    `places` are the eliminated ones among XX, ..., m (0..9) and, with rotors, Ia (10). Column k
    of `within`, shape (10 or 11, k), is the combination that vanishes from link j with places[k]
    (1 there, 0 at the other places); column k of `onto`, shape (10, k), is what it adds to the
    antecedent.
    """

    places: tuple[int, ...]
    within: Array
    onto: Array


@dataclass(frozen=True)
class RankGap:
    """The singular values on either side of the rank decisions, in units of order one."""

    smallest_kept: float
    largest_dropped: float


class RegroupedParameters:
    """
    Which standard parameters base parameters keep the place of, and the map to them.

    For every state, H X = H[..., columns] @ (matrix @ X): the regressor's columns stay, the
    parameters are regrouped. `gravity` (k, 3) are the vectors for which that holds, and every
    combination of them; the standard vector has 10 n entries, or 11 n with rotors. `rank_gap` is
    None where no rank was decided (the closed form).
    """

    gravity: Array
    rotor_inertia: bool
    columns: tuple[int, ...]
    matrix: Array
    rank_gap: RankGap | None

    def __len__(self) -> int:
        """Return the number of base parameters."""
        return len(self.columns)

    @cached_property
    def standard_names(self) -> tuple[str, ...]:
        """Names of the standard parameters, in the order of the matrix's columns."""
        n = self.matrix.shape[1] // (PER_LINK + int(self.rotor_inertia))
        return parameter_names(n, rotor_inertia=self.rotor_inertia)

    @cached_property
    def relations(self) -> tuple[Relation, ...]:
        """What each base parameter is made of; `str()` writes it in the paper's notation."""
        return relations(self.standard_names, self.columns, self.matrix)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names in the paper's notation: XXR_2 is regrouped, XY_2 stands alone."""
        return tuple(relation.name for relation in self.relations)

    @cached_property
    def no_effect(self) -> tuple[int, ...]:
        """Standard parameters that no torque depends on (eq. 13)."""
        return tuple(int(k) for k in np.flatnonzero(~self.matrix.any(axis=0)))

    @cached_property
    def regrouped(self) -> tuple[int, ...]:
        """Standard parameters that act, but only as a part of base parameters (eq. 14, 15)."""
        others = {*self.columns, *self.no_effect}
        return tuple(k for k in range(self.matrix.shape[1]) if k not in others)

    def standard_vector(self, values: ArrayLike) -> Array:
        """
        Return standard parameters with the same torques: base values at their places, else zero.

        Parameters
        ----------
        values : array_like, shape (b,)
            Base parameters, such as an identification finds them.

        """
        given = np.asarray(values, dtype=float)
        if given.shape != (len(self),):
            raise BaseParameterError(
                f'{len(self)} base parameters are expected, ordered {", ".join(self.names[:3])}, '
                f'...; got shape {given.shape}.'
            )
        vector = np.zeros(self.matrix.shape[1])
        vector[list(self.columns)] = given
        return vector

    def covered(self, gravity: ArrayLike | None) -> ArrayLike:
        """
        Return the gravity that torques are asked for, if these parameters hold under it.

        Raises
        ------
        BaseParameterError
            If it is missing, or outside what the parameters were found for.

        """
        if gravity is None:
            if len(self.gravity) > 1:
                raise BaseParameterError(
                    'These base parameters hold for several directions of '
                    'gravity; say which one the torques are for.'
                )
            gravity = self.gravity[0]
        vector = np.asarray(gravity, dtype=float)
        if vector.shape != (3,) or not np.isfinite(vector).all():
            return gravity  # the regressor says it
        inside, *_ = np.linalg.lstsq(self.gravity.T, vector, rcond=None)
        outside = np.linalg.norm(vector - self.gravity.T @ inside)
        if outside > _SPAN_TOLERANCE * np.linalg.norm(vector):
            raise BaseParameterError(
                f'These base parameters were found for gravity along {self.gravity.tolist()}; '
                f'under {vector.tolist()} more parameters act. Find them with '
                'base_parameters(description, ANY_GRAVITY), or for that vector.'
            )
        return gravity


def gravity_vectors(gravity: ArrayLike) -> Array:
    """
    Return one or several gravity vectors as a new array, (k, 3).

    Raises
    ------
    BaseParameterError
        If it has another shape or is not finite.

    """
    vectors = np.array(gravity, dtype=float)
    if (
        vectors.shape[-1:] != (3,)
        or vectors.ndim > 2
        or not np.isfinite(vectors).all()
        or vectors.size == 0
    ):
        raise BaseParameterError(
            f'Gravity must be three finite numbers [m/s^2] in the space frame, such as {GRAVITY}, '
            f'or a list of such vectors; got {np.asarray(gravity).tolist()}.'
        )
    return np.atleast_2d(vectors)


def cascade(
    steps: Sequence[Step],
    parents: Sequence[int],
    *,
    rotor_inertia: bool,
) -> tuple[tuple[int, ...], Array]:
    """
    Regroup from the tips to the base: step b of Gautier and Khalil 1990.

    Parameters
    ----------
    steps : sequence of Step, length n
        What leaves each link.
    parents : sequence of int, length n
        Each link's antecedent, BASE (-1) for the ground; antecedents come first.
    rotor_inertia : bool
        Whether the standard vector has rotors behind the links.

    Returns
    -------
    tuple of tuple of int and ndarray
        The columns that stay, and the map from the standard to the base parameters, (b, 10 n) or
        (b, 11 n).

    """
    n = len(steps)
    width = (PER_LINK + int(rotor_inertia)) * n
    # Row k says what stands at place k after regrouping. `size` sums the same without signs: an
    # entry far below its size is a sum that has cancelled.
    matrix, size = np.eye(width), np.eye(width)
    for i in reversed(range(n)):
        places = list(range(PER_LINK * i, PER_LINK * (i + 1)))
        if rotor_inertia:
            places.append(PER_LINK * n + i)
        going = [places[place] for place in steps[i].places]
        within, onto = steps[i].within, steps[i].onto
        moved, moved_size = matrix[going], size[going]
        matrix[places] -= within @ moved
        size[places] += np.abs(within) @ moved_size
        matrix[going] = size[going] = 0.0
        if parents[i] != BASE:
            before = slice(PER_LINK * parents[i], PER_LINK * (parents[i] + 1))
            matrix[before] += onto @ moved
            size[before] += np.abs(onto) @ moved_size
    matrix[np.abs(matrix) <= _CANCELLED * size] = 0.0
    columns = tuple(int(k) for k in np.flatnonzero(matrix.any(axis=1)))
    kept = matrix[list(columns)]
    kept.setflags(write=False)
    return columns, kept
