# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
The prior's regularization and the slip elements' reaches, by what predicts left-out parts best.

What is chosen must not be worse than the starting set where friction is left out, because that is
what a controller commands on a robot that compensates friction itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add

import numpy as np

from .least_squares import Noise, solve_quickly
from .prior import Prior
from .qr_factors import QRFactors
from ..errors import IdentificationError
from ..typing import Array

# From masses known to 32 % to a starting set held within a part of 3e-3. Weaker ones would let
# poor motion choose masses that no such arm has.
REGULARIZATIONS = tuple(np.logspace(1.0, 5.0, 9).tolist())
_REGULARIZATION_FOR_REACHES = 10.0
# Errors that differ by less are equal; the stronger prior among them departs least from the start.
_EQUAL = 0.01


@dataclass(frozen=True)
class CrossValidation:
    """
    How well each regularization predicts parts of the recordings that were left out of the fit.

    Attributes
    ----------
    regularizations : tuple of float
        What was tried, rising.
    errors : tuple of float
        Root mean square of the left-out torque vectors [N m].
    rigid_errors : tuple of float
        The same without friction and offset.
    start_rigid_error : float
        The starting set's without friction and offset.
    reaches : tuple of float
        The slip elements' reaches that predict best [rad]; empty without such elements.
    reach_errors : tuple of (tuple of float, float)
        Reaches that were tried, and the error each has.

    """

    regularizations: tuple[float, ...]
    errors: tuple[float, ...]
    rigid_errors: tuple[float, ...]
    start_rigid_error: float
    reaches: tuple[float, ...] = ()
    reach_errors: tuple[tuple[tuple[float, ...], float], ...] = ()

    @property
    def chosen(self) -> float:
        """
        The regularization with the smallest error, or the strongest whose error is as small.

        Weights whose rigid part predicts worse than the starting set's are passed over as long
        as there are others.
        """
        errors, rigid = np.array(self.errors), np.array(self.rigid_errors)
        allowed = rigid <= self.start_rigid_error
        if not allowed.any():
            return self.regularizations[-1]
        best = errors[allowed].min()
        return self.regularizations[
            int(np.flatnonzero(allowed & (errors <= (1.0 + _EQUAL) * best))[-1])
        ]


def cross_validate(
    parts: Sequence[QRFactors],
    noise: Noise,
    prior: Prior,
    regularizations: Sequence[float] = REGULARIZATIONS,
    reaches: Sequence[tuple[float, ...]] = (),
) -> CrossValidation:
    """
    Predict each part from the others: for every choice of reaches, then for every regularization.

    Parameters
    ----------
    parts : sequence of QRFactors
        Bags, or consecutive stretches; neighbours in time share the filter's noise, so that
        single samples must not be left out.
    noise : Noise
        The joints' weights.
    prior : Prior
        The prior.
    regularizations : sequence of float
        Of the prior on inertias, above zero, rising.
    reaches : sequence of tuple of float
        Reaches of the slip elements [rad] to choose from, among those of the model; of such
        that are equally good the first is taken.

    Raises
    ------
    IdentificationError
        If there are fewer than two parts.

    """
    if len(parts) < 2:
        raise IdentificationError(f'Cross-validation needs at least two parts; got {len(parts)}.')
    rest = [
        reduce(add, [*parts[:k], *parts[k + 1 :]]).weighted(noise.weights)
        for k in range(len(parts))
    ]
    tried = [
        (
            choice,
            _errors(
                parts,
                rest,
                prior.fitting(prior.model.friction.chosen(choice)),
                _REGULARIZATION_FOR_REACHES,
            )[0],
        )
        for choice in reaches
    ]
    best = _first_of_the_best(tried) if tried else ()
    chosen = prior.fitting(prior.model.friction.chosen(best)) if tried else prior
    errors = [_errors(parts, rest, chosen, regularization) for regularization in regularizations]
    start = sum(part.squares(prior.center).sum() for part in parts)
    samples = sum(part.samples for part in parts)
    return CrossValidation(
        tuple(regularizations),
        tuple(error for error, _ in errors),
        tuple(rigid for _, rigid in errors),
        float(np.sqrt(start / samples)),
        best,
        tuple(tried),
    )


def _first_of_the_best(tried: Sequence[tuple[tuple[float, ...], float]]) -> tuple[float, ...]:
    """Return the reaches of least error, or those tried before that are as good."""
    bound = (1.0 + _EQUAL) * min(error for _, error in tried)
    return next(choice for choice, error in tried if error <= bound)


def _errors(
    parts: Sequence[QRFactors],
    rest: Sequence[tuple[Array, Array]],
    prior: Prior,
    regularization: float,
) -> tuple[float, float]:
    """Return the root mean square of the left-out torques, and of those without friction."""
    squares, rigid = 0.0, 0.0
    for left_out, others in zip(parts, rest):
        theta = solve_quickly(others, prior, regularization)
        squares += float(left_out.squares(theta).sum())
        rigid += float(left_out.squares(prior.model.without_friction(theta)).sum())
    samples = sum(part.samples for part in parts)
    return float(np.sqrt(squares / samples)), float(np.sqrt(rigid / samples))
