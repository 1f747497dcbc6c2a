# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
The minimum inertial parameters of a serial arm, by Gautier and Khalil's direct method (seed 002).

    found = base_parameters(load('fer'))
    found.names                                 # 'ZZR_1', 'XXR_2', 'XY_2', ...
    tau = found.regressor(q, dq, ddq) @ found.values()

From the tip to the base, what a link's motion does not tell from the link before is moved there
(`elimination`); what is left has an effect of its own, and a matrix maps the 10 n standard
parameters to it. docs/base-parameters.md shows the method and its proof.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .elimination import eliminations, RankGap
from ..arm import ArmDescription, JointKind
from ..dynamics.model import GRAVITY
from ..dynamics.regressor import (
    parameter_names,
    parameter_vector,
    PER_LINK,
    torque_regressor,
    with_parameter_vector,
)
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


def relations(names: Sequence[str], columns: Sequence[int], matrix: NDArray[np.float64],
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
        # Near the base first, as the seed writes them.
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

NO_GRAVITY = (0.0, 0.0, 0.0)
# Base parameters for these three hold for every direction of gravity: an arm mounted at any tilt.
ANY_GRAVITY = ((9.81, 0.0, 0.0), (0.0, 9.81, 0.0), (0.0, 0.0, 9.81))
# A gravity vector is within a span if what sticks out is this part of it: rounding.
_SPAN_TOLERANCE = 1e-9
_CANCELLED = 1e-14


@dataclass(frozen=True, eq=False)
class BaseParameters:
    """
    The base parameters of an arm's geometry under given gravity: which they are, and the map.

    With H = torque_regressor(...) and X = parameter_vector(...), H X = H[..., columns] @
    (matrix @ X) for every state: the regressor's columns stay, the parameters are regrouped.
    Nothing but the values depends on the arm's inertial set.
    """

    description: ArmDescription
    gravity: Array  # (k, 3), the vectors it holds for, and every combination of them
    rotor_inertia: bool  # whether the standard vector has 11 n entries or 10 n
    columns: tuple[int, ...]  # which standard parameter each base parameter keeps the place of
    matrix: Array  # (b, 10 n or 11 n)
    rank_gap: RankGap

    def __len__(self) -> int:
        """Return the number of base parameters."""
        return len(self.columns)

    @cached_property
    def standard_names(self) -> tuple[str, ...]:
        """Names of the standard parameters, in the order of the matrix's columns."""
        return parameter_names(self.description.n, rotor_inertia=self.rotor_inertia)

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

    def values(self, description: ArmDescription | None = None) -> Array:
        """
        Return the base parameters' values, shape (b,) [kg m^2, kg m, kg].

        Parameters
        ----------
        description : ArmDescription, optional
            An arm of the same geometry with other inertias (a payload, another set); the one
            that was analysed if not given.

        Raises
        ------
        BaseParameterError
            If its geometry is another.

        """
        arm = self.description if description is None else description
        if not _same_geometry(arm, self.description):
            raise BaseParameterError(
                f'{arm.name} has another geometry than {self.description.name}, for which these '
                'base parameters were found: joints, rows, convention and the pose of the base '
                'must be the same. Find its own with base_parameters().')
        return self.matrix @ parameter_vector(arm, rotor_inertia=self.rotor_inertia)

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
                f'...; got shape {given.shape}.')
        vector = np.zeros(self.matrix.shape[1])
        vector[list(self.columns)] = given
        return vector

    def grouped(self, values: ArrayLike | None = None) -> ArmDescription:
        """
        Return the arm with the regrouped inertias in place of its links': most numbers are zero.

        It has the same torques under the gravity that this was found for, and none of its links
        is physical: it is for customised equations and `NewtonEulerModel`, not for simulators.

        Parameters
        ----------
        values : array_like, shape (b,), optional
            Base parameters; those of the description if not given.

        """
        vector = self.standard_vector(self.values() if values is None else values)
        return with_parameter_vector(self.description, vector)

    def regressor(self, q: ArrayLike, dq: ArrayLike, ddq: ArrayLike,
                  gravity: ArrayLike | None = None) -> Array:
        """
        Return the torque regressor's columns of the base parameters.

        Parameters
        ----------
        q, dq, ddq : array_like, shape (..., n)
            States in joint order.
        gravity : array_like, shape (3,), optional
            Gravity in the space frame [m/s^2]; needed only where this was found for several.

        Returns
        -------
        ndarray, shape (..., n, b)
            tau = regressor @ values.

        Raises
        ------
        BaseParameterError
            If gravity is missing, or outside what the parameters were found for.
        JointVectorError
            If a state is at fault.

        """
        if gravity is None:
            if len(self.gravity) > 1:
                raise BaseParameterError('These base parameters hold for several directions of '
                                         'gravity; say which one the torques are for.')
            gravity = self.gravity[0]
        self._require_covered(np.asarray(gravity, dtype=float))
        return torque_regressor(self.description, q, dq, ddq, gravity,
                                rotor_inertia=self.rotor_inertia, columns=self.columns)

    def _require_covered(self, gravity: Array) -> None:
        if gravity.shape != (3,) or not np.isfinite(gravity).all():
            return  # the regressor says it
        inside, *_ = np.linalg.lstsq(self.gravity.T, gravity, rcond=None)
        outside = np.linalg.norm(gravity - self.gravity.T @ inside)
        if outside > _SPAN_TOLERANCE * np.linalg.norm(gravity):
            raise BaseParameterError(
                f'These base parameters were found for gravity along {self.gravity.tolist()}; '
                f'under {gravity.tolist()} more parameters act. Find them with '
                'base_parameters(description, ANY_GRAVITY), or for that vector.')


def base_parameters(description: ArmDescription, gravity: ArrayLike = GRAVITY, *,
                    rotor_inertia: bool | None = None) -> BaseParameters:
    """
    Return the base parameters of an arm (seed 002, sections 5-8).

    Parameters
    ----------
    description : ArmDescription
        A serial arm of revolute and prismatic joints, in either DH convention, its base as it
        is. The parameters stay in the description's own link frames; in the standard convention,
        whose joints do not turn about their link's own z, others of them go than the seed's.
    gravity : array_like, shape (3,) or (k, 3)
        Gravity in the space frame; several vectors ask for what suffices for all of them
        (ANY_GRAVITY: every direction), and NO_GRAVITY for none. Only the direction counts.
    rotor_inertia : bool, optional
        Whether each joint's rotor is one more parameter. If not given: if the arm has any.

    Returns
    -------
    BaseParameters
        Which they are, and the map from the standard parameters to them.

    Raises
    ------
    BaseParameterError
        If gravity has another shape or is not finite.

    """
    vectors = np.array(gravity, dtype=float)
    if vectors.shape[-1:] != (3,) or vectors.ndim > 2 or not np.isfinite(vectors).all() \
            or vectors.size == 0:
        raise BaseParameterError(
            f'Gravity must be three finite numbers [m/s^2] in the space frame, such as {GRAVITY}, '
            f'or a list of such vectors; got {np.asarray(gravity).tolist()}.')
    vectors = np.atleast_2d(vectors)
    if rotor_inertia is None:
        rotor_inertia = any(joint.rotor_inertia != 0.0 for joint in description.joints)
    square, gap = _cascade(description, vectors, rotor_inertia)
    columns = tuple(int(k) for k in np.flatnonzero(square.any(axis=1)))
    matrix = square[list(columns)]
    for array in (vectors, matrix):
        array.setflags(write=False)
    return BaseParameters(description, vectors, rotor_inertia, columns, matrix, gap)


def upper_bound(description: ArmDescription) -> int:
    """
    Return the bound on the number of base parameters (seed 002, theorem 7, eq. 23, corrected).

    7 n_r + 4 n_t - 3, and one less where joint 1 is revolute. Rotors are not counted.
    """
    revolute = [joint.kind is JointKind.REVOLUTE for joint in description.joints]
    return 7 * sum(revolute) + 4 * (len(revolute) - sum(revolute)) - 3 - int(revolute[0])


def _cascade(description: ArmDescription, gravity: Array, rotor_inertia: bool,
             ) -> tuple[Array, RankGap]:
    """
    Return the square map from standard to regrouped parameters: step b from link n to link 1.

    Rows of eliminated parameters are zero. Row k says what stands at place k after regrouping.
    `size` sums the same without signs: an entry far below its size is a sum that has cancelled.
    """
    n = description.n
    found, gap = eliminations(description, gravity, rotor_inertia=rotor_inertia)
    width = (PER_LINK + int(rotor_inertia)) * n
    matrix, size = np.eye(width), np.eye(width)
    for i in reversed(range(n)):
        places = list(range(PER_LINK * i, PER_LINK * (i + 1)))
        if rotor_inertia:
            places.append(PER_LINK * n + i)
        going = [places[place] for place in found[i].places]
        within, onto = found[i].within, found[i].onto
        moved, moved_size = matrix[going], size[going]
        matrix[places] -= within @ moved
        size[places] += np.abs(within) @ moved_size
        matrix[going] = size[going] = 0.0
        if i:
            before = slice(PER_LINK * (i - 1), PER_LINK * i)
            matrix[before] += onto @ moved
            size[before] += np.abs(onto) @ moved_size
    matrix[np.abs(matrix) <= _CANCELLED * size] = 0.0
    return matrix, gap


def _same_geometry(one: ArmDescription, other: ArmDescription) -> bool:
    return (one.convention is other.convention
            and [(joint.kind, joint.row) for joint in one.joints]
            == [(joint.kind, joint.row) for joint in other.joints]
            and np.array_equal(one.base, other.base))
