# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Ambiguities of masses: a scale error of all efforts and an unknown load look like other masses.

Their columns are sums of base parameters' columns, in any recording. Published masses alone tell
them apart, within what a real arm differs from these. (A turn of the base about gravity has no
column at all.) What a single recording leaves open for want of motion is in
`solve.std_ratios`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .gram_sums import GramSums
from .options import DEFAULT_PRIOR_PRECISION
from .prior import Prior, starting_set_covariance, starting_set_precision, StartingSetPrecision
from .solve import equations, estimate, joint_noise
from .torque_model import MASS_AND_FIRST_MOMENT
from ..recordings.replay import hand_in_words
from ..typing import Array

# Two standard deviations (95.4 %) of one number and of four.
_CHI_SQUARE_1 = 4.0
_CHI_SQUARE_4 = 9.7
_WEAK = 0.01  # weight of a prior about no factor and no load [kg, kg m]


@dataclass(frozen=True)
class MassAmbiguity:
    """
    Ranges of the effort scale and of a flange load that torques and published masses allow.

    `scale` are the smallest and largest ratio of recorded to real effort, of all joints alike,
    that the torques and the published masses allow if the flange carries what is declared, `load`
    those of an undeclared mass on the flange [kg] if efforts are right. `together` are the
    likeliest ratio and mass if both may be wrong. `excludes` says whether right efforts without
    a load, anywhere beyond the flange, are outside the ranges. `where` is the published set.
    """

    scale: tuple[float, float]
    load: tuple[float, float]
    together: tuple[float, float]
    excludes: bool
    where: str

    @property
    def is_undetermined(self) -> bool:
        """Whether the range of the effort scale includes 0 and 1, so that it says nothing."""
        return self.scale[0] <= 0.0 and self.scale[1] >= 1.0

    @property
    def has_questions(self) -> bool:
        """Whether the user must be asked about effort scale or load."""
        return self.excludes or self.is_undetermined


def mass_ambiguity(sums: GramSums, prior: Prior) -> MassAmbiguity:
    """
    Estimate the ranges of the effort scale and of a flange load, within published masses.

    `prior` is about a published set. How far the real masses are from it follows from the torques
    (`starting_set_precision`), with the factor and the load free. The ranges are those of two
    standard deviations.
    """
    theta = estimate(sums, prior, DEFAULT_PRIOR_PRECISION, prior.expected_residual)
    triangle, effort = equations(sums, prior, joint_noise(sums, theta))
    b, known = len(prior.sqrt_precision), prior.reference
    scale = prior.center[:b, None]
    load = prior.model.load_matrix(known)[:, MASS_AND_FIRST_MOMENT]
    free = triangle[:, :b] @ np.concatenate([scale, load], axis=1)
    supported = starting_set_precision((triangle, effort), prior, free)
    supported = StartingSetPrecision(max(supported.masses, 1.0), max(supported.inertias, 1.0))
    rows = np.diag(1.0 / prior.std)
    rows[:b, :b] = np.linalg.inv(np.linalg.cholesky(starting_set_covariance(prior, supported)))
    p = len(rows)
    design = np.zeros((2 * p + 5, p + 5))
    design[:p, :p], design[:p, p:], design[p : 2 * p, :p] = triangle, free, rows
    design[2 * p :, p:] = _WEAK * np.eye(5)  # a short chain does not show all five
    right = np.concatenate([effort, rows @ prior.center, np.zeros(5)])

    def fitted(columns: Sequence[int]) -> tuple[Array, Array]:
        """Return values of some of the five columns, and their covariance."""
        chosen = [*range(len(rows)), *(len(rows) + k for k in columns)]
        covariance = np.linalg.inv(design[:, chosen].T @ design[:, chosen])
        values = covariance @ design[:, chosen].T @ right
        last = slice(-len(columns), None)
        return np.asarray(values[last]), np.asarray(covariance[last, last])

    (factor, spread), (loads, spreads) = fitted([0]), fitted([1, 2, 3, 4])
    both, _ = fitted(range(5))
    sides = 2.0 * np.array([-1.0, 1.0])
    return MassAmbiguity(
        tuple((1.0 + factor[0] + sides * np.sqrt(spread[0, 0])).tolist()),
        tuple((loads[0] + sides * np.sqrt(spreads[0, 0])).tolist()),
        (1.0 + float(both[0]), float(both[1] / (1.0 + both[0]))),
        bool(
            factor @ np.linalg.solve(spread, factor) > _CHI_SQUARE_1
            or loads @ np.linalg.solve(spreads, loads) > _CHI_SQUARE_4
        ),
        f'{known.inertial_set} {hand_in_words(known.hand)}',
    )
