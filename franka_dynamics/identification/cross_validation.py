# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The strength of the pull, chosen by what predicts unseen stretches of the training data best."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add

import numpy as np

from .least_squares import Noise, solve
from .prior import Pull
from .qr_factors import TorqueFactors
from ..errors import IdentificationError
from ..typing import Array

# From parameters that may be anything to parameters held within a part of 3e-3 of the start's.
STRENGTHS = (0.0, *np.logspace(-2.0, 5.0, 15).tolist())


@dataclass(frozen=True)
class CrossValidation:
    """
    How well each strength predicts stretches that were left out of the fit.

    Attributes
    ----------
    strengths : tuple of float
        What was tried, rising.
    errors : tuple of float
        Root mean weighted square of the left-out torques; 1 would be the fit's own noise,
        infinite where nothing could be estimated.

    """

    strengths: tuple[float, ...]
    errors: tuple[float, ...]

    @property
    def chosen(self) -> float:
        """The strength with the smallest error."""
        return self.strengths[int(np.argmin(self.errors))]


def cross_validate(folds: Sequence[TorqueFactors], noise: Noise, pull: Pull,
                   strengths: Sequence[float] = STRENGTHS) -> CrossValidation:
    """
    Predict each fold from the others, for every strength.

    Parameters
    ----------
    folds : sequence of TorqueFactors
        Consecutive stretches of the training data; neighbours in time share the filter's noise,
        so that single samples must not be left out.
    noise : Noise
        The joints' weights.
    pull : Pull
        Towards the starting set.
    strengths : sequence of float
        What to try.

    Raises
    ------
    IdentificationError
        If there are fewer than two folds.

    """
    if len(folds) < 2:
        raise IdentificationError(f'Cross-validation needs at least two folds; got {len(folds)}.')
    rest = [reduce(add, [*folds[:k], *folds[k + 1:]]).weighted(noise.weights)
            for k in range(len(folds))]
    errors = [_error(folds, rest, noise, pull, strength) for strength in strengths]
    if not np.isfinite(errors).any():
        raise IdentificationError('No strength of the pull allows an estimate on every part of '
                                  'the training data; record a richer motion.')
    return CrossValidation(tuple(strengths), tuple(errors))


def _error(folds: Sequence[TorqueFactors], rest: Sequence[tuple[Array, Array]], noise: Noise,
           pull: Pull, strength: float) -> float:
    total, count = 0.0, 0
    for left_out, others in zip(folds, rest):
        try:
            theta = solve(others, pull, strength).theta
        except IdentificationError:
            return float('inf')
        total += float(np.sum(left_out.squares(theta) / noise.deviation**2))
        count += left_out.samples * len(noise.deviation)
    return float(np.sqrt(total / count))
