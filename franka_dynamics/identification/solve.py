# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Weighted least squares with a prior: estimates, the joints' noise, errors on left-out parts.

Least squares assumes an exact regressor. Encoder noise biases the estimates; more data does not
remove this bias, and the standard deviations do not include it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from .prior import Prior, PRIOR_PRECISION
from .samples import QRFactors, total
from ..errors import IdentificationError, needing
from ..typing import Array

# Largest number of rounds of iterative reweighting, and relative change of the noise below which
# the rounds end.
_REWEIGHTINGS, _SETTLED = 20, 1e-6
# For the weights, a joint's residual is raised to at least _LEAST_RESIDUAL times the root mean
# square over joints. If a wrist joint were weighted by its own residual, its torque would be
# fitted nearly exactly at the cost of all other joints.
_LEAST_RESIDUAL = 0.5
# For the starting and published sets the prior standard deviation of friction is
# _PUBLISHED_FREEDOM times larger. Fitted inertias can absorb friction that the narrow prior
# suppresses, but the inertias of these sets are fixed. With the narrow prior the comparison would
# be unfair.
_PUBLISHED_FREEDOM = 10.0
# Equations with a column-scaled condition number above SINGULAR are not solved without a prior.
SINGULAR = 1e6
Equations = tuple[Array, Array]  # R (r, p) and z (r,) of |R theta - z|^2


@dataclass(frozen=True, eq=False)
class Noise:
    """
    Noise of the joints' torque residuals.

    `deviation` (n,) is the standard deviation of a filtered sample's residual [N m], `inflation`
    (n,) the number of filtered samples per independent sample, and `least` the smallest deviation
    for the weights, relative to the root mean square of the joints' deviations.
    """

    deviation: Array
    inflation: Array
    least: float = _LEAST_RESIDUAL

    @property
    def weights(self) -> Array:
        """Weight of each joint's samples [1 / (N m)], lower where samples are correlated."""
        least = self.least * np.sqrt(np.mean(self.deviation**2))
        return 1.0 / (np.maximum(self.deviation, least) * np.sqrt(self.inflation))


@dataclass(frozen=True, eq=False)
class Estimate:
    """
    Parameters with their covariance.

    `theta` (p,) are base parameters, then friction parameters. `factor` (p, p) is the triangular
    factor F of the weighted equations and the prior: without `misfit`, covariance = (F^T F)^-1.
    `misfit` (b, b), from `prior_misfit`, raises the covariance if the starting set errs more than
    the prior assumes.
    """

    theta: Array
    factor: Array
    misfit: Array | None = None

    @cached_property
    def covariance(self) -> Array:
        """Covariance of theta, (p, p): posterior covariance, plus the contribution of `misfit`."""
        inverse = np.linalg.inv(self.factor)
        found = np.asarray(inverse @ inverse.T)
        if self.misfit is None:
            return found
        b = len(self.misfit)
        return np.asarray(found + found[:, :b] @ self.misfit @ found[:b])

    @property
    def deviations(self) -> Array:
        """Standard deviation of each parameter, shape (p,)."""
        return np.sqrt(np.diag(self.covariance))

    @property
    def condition_number(self) -> float:
        """Condition number of the weighted equations with the prior, columns of unit length."""
        return float(np.linalg.cond(self.factor / np.linalg.norm(self.factor, axis=0)))

    def determined(self, equations: Equations) -> float:
        """
        Return the number of parameters determined by the samples rather than by the prior.

        The number (effective degrees of freedom) is the trace of the matrix that maps measured to
        fitted torques (Hastie, Tibshirani and Friedman 2009, "The Elements of Statistical
        Learning", section 7.6).
        """
        return float(np.sum(np.linalg.solve(self.factor.T, equations[0].T) ** 2))


def solve(equations: Sequence[Equations]) -> Estimate:
    """
    Return the least-squares solution of several sets of equations together.

    The matrices (r, p), stacked, must have full column rank; right-hand sides have shape (r,).
    """
    stacked = np.concatenate([np.column_stack(one) for one in equations])
    triangle = np.asarray(np.linalg.qr(stacked, mode='r'))
    p = stacked.shape[1] - 1
    factor = triangle[:p, :p]
    return Estimate(np.linalg.solve(factor, triangle[:p, p]), factor)


def estimate(
    equations: Equations, prior: Prior, regularization: float, shared: ArrayLike = ()
) -> Estimate:
    """
    Return the parameters that minimise weighted squared residuals plus the prior's cost.

    `equations` are those of `QRFactors.weighted`; `regularization` and `shared` are as for
    `Prior.rows`.
    """
    return solve([equations, prior.rows(regularization, shared)])


def without_prior(equations: Equations) -> Estimate | None:
    """Return the estimate without a prior, or None if samples leave a parameter undetermined."""
    rows = equations[0]
    lengths = np.linalg.norm(rows, axis=0)
    singular = np.linalg.svd(rows / np.where(lengths > 0.0, lengths, 1.0), compute_uv=False)
    return None if singular[-1] * SINGULAR < singular[0] else solve([equations])


def find_noise(
    factors: QRFactors,
    prior: Prior,
    inflation: Array,
    regularization: float = PRIOR_PRECISION,
    shared: ArrayLike = (),
    *,
    least: float = _LEAST_RESIDUAL,
) -> Noise:
    """
    Return the joints' noise from the residuals of a fit, by iteratively reweighted least squares.

    `prior`, `regularization` and `shared` are as for `estimate`; the default `regularization`
    prevents overfitting if the motion is poor. `inflation` (n,) and `least` become those of
    the returned `Noise`. Raises IdentificationError if there are no more independent samples than
    parameters that the samples determine.
    """
    noise = Noise(np.ones(len(inflation)), inflation, least)
    independent = float(np.sum(factors.samples / inflation))
    for _ in range(_REWEIGHTINGS):
        equations = factors.weighted(noise.weights)
        found = estimate(equations, prior, regularization, shared)
        parameters = found.determined(equations)
        freedom = 1.0 - parameters / independent
        if freedom <= 0.0:
            raise IdentificationError(
                f'The recording holds {independent:.0f} independent torque samples, too few '
                f'for {parameters:.0f} parameters; record longer.'
            )
        variance = factors.squares(found.theta) / factors.samples / freedom
        before = noise.deviation
        noise = replace(noise, deviation=np.sqrt(np.maximum(variance, np.finfo(float).tiny)))
        if np.allclose(noise.deviation, before, rtol=_SETTLED, atol=0.0):
            break
    return noise


def left_out_error(
    parts: Sequence[QRFactors], noise: Noise, prior: Prior, regularization: float
) -> float:
    """
    Return the root mean square residual of parts, each predicted by a fit to the other parts.

    The residual is the Euclidean norm of the joints' torque errors [N m]. The two or more parts
    are bags or stretches, not samples, because the filter correlates the noise of nearby samples.
    """
    squares = 0.0
    for k, part in enumerate(parts):
        rest = total([*parts[:k], *parts[k + 1 :]]).weighted(noise.weights)
        squares += part.squares(estimate(rest, prior, regularization).theta).sum()
    return float(np.sqrt(squares / sum(part.samples for part in parts)))


def friction_alone(factors: QRFactors, noise: Noise, prior: Prior, base_values: Array) -> Array:
    """
    Return theta, (p,): the given base parameters (b,), and friction fitted to the samples.

    Friction has the same terms and bounds as in the consistent fit, and a wider prior. Raises
    MissingDependencyError if scipy is not installed.
    """
    with needing('Fitting friction needs scipy', 'identify'):
        from scipy.optimize import lsq_linear
    b = len(base_values)
    # `lsq_linear`, unlike `solve`, has bounds: friction parameters other than offsets must be at
    # least zero, so that friction brakes.
    triangle, effort = factors.less_rigid(base_values).weighted(noise.weights)
    rows, right = (one[b:] / _PUBLISHED_FREEDOM for one in prior.rows(1.0))
    values = lsq_linear(
        np.concatenate([triangle[:, b:], rows[:, b:]]),
        np.concatenate([effort, right]),
        (np.where(prior.model.friction.braking, 0.0, -np.inf), np.inf),
        method='bvls',
        max_iter=1000,
    ).x
    return np.concatenate([base_values, values])
