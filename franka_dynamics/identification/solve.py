# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Weighted least squares under a prior: estimates, the joints' noise, errors on parts left out.

Encoder noise shifts the estimates, which no amount of data averages away: least squares assumes an
exact regressor, and the standard deviations do not include this error.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from .prior import Prior, PRIOR_PRECISION, PriorMisfit
from .samples import QRFactors, total
from ..errors import IdentificationError, needing
from ..typing import Array

# Largest number of rounds, and the relative change that ends them.
_REWEIGHTINGS, _SETTLED = 20, 1e-6
# No joint counts as if its residual were less than this part of the joints' root mean square: the
# inertias of a wrist can fit one joint's torque nearly exactly at the cost of all others.
_LEAST_RESIDUAL = 0.5
# Friction of a published set has a prior so many times wider: with inertias fitted too, these take
# on what a narrow prior keeps friction from explaining, which a published set's cannot.
_PUBLISHED_FREEDOM = 10.0
# Column-scaled condition number above which an estimate without a prior has no correct digit.
SINGULAR = 1e6
Equations = tuple[Array, Array]  # R (r, p) and z (r,) of |R theta - z|^2


@dataclass(frozen=True, eq=False)
class Noise:
    """
    Noise of the joints' residuals.

    Attributes
    ----------
    deviation : ndarray, shape (n,)
        Standard deviation of a filtered sample [N m].
    inflation : ndarray, shape (n,)
        Number of filtered samples per independent sample.
    least : float
        Smallest deviation for the weights, relative to the joints' root mean square.

    """

    deviation: Array
    inflation: Array
    least: float = _LEAST_RESIDUAL

    @property
    def weights(self) -> Array:
        """Weight of each joint's samples [1 / (N m)], by the number of independent ones."""
        least = self.least * np.sqrt(np.mean(self.deviation**2))
        return 1.0 / (np.maximum(self.deviation, least) * np.sqrt(self.inflation))


@dataclass(frozen=True, eq=False)
class Estimate:
    """
    Parameters with their covariance.

    Attributes
    ----------
    theta : ndarray, shape (p,)
        The parameters.
    factor : ndarray, shape (p, p)
        The triangle of the weighted equations, prior included.
    misfit : PriorMisfit, optional
        Of a starting set that is only as good as the samples show.

    """

    theta: Array
    factor: Array
    misfit: PriorMisfit | None = None

    @cached_property
    def covariance(self) -> Array:
        """Of the estimate, (p, p): under a prior of the posterior, with a misfit beyond it."""
        inverse = np.linalg.inv(self.factor)
        found = np.asarray(inverse @ inverse.T)
        return found if self.misfit is None else found + self.misfit.excess(found)

    @property
    def deviations(self) -> Array:
        """Standard deviation of each parameter, shape (p,)."""
        return np.sqrt(np.diag(self.covariance))

    @property
    def condition_number(self) -> float:
        """Of the weighted equations (with the prior), columns scaled to unit length."""
        return float(np.linalg.cond(self.factor / np.linalg.norm(self.factor, axis=0)))

    def determined(self, equations: Equations) -> float:
        """
        Return the number of parameters determined by the samples rather than by the prior.

        The trace of the matrix that maps measured to fitted torques (Hastie, Tibshirani and
        Friedman 2009, "The Elements of Statistical Learning", section 7.6): the effective degrees
        of freedom of a fit with a prior.
        """
        return float(np.sum(np.linalg.solve(self.factor.T, equations[0].T) ** 2))


def solve(equations: Sequence[Equations]) -> Estimate:
    """
    Return the least squares of some equations, of the samples and of a prior, put together.

    Parameters
    ----------
    equations : sequence of (ndarray (r, p), ndarray (r,))
        Together of full column rank.

    """
    stacked = np.concatenate([np.column_stack(one) for one in equations])
    triangle = np.asarray(np.linalg.qr(stacked, mode='r'))
    p = stacked.shape[1] - 1
    factor = triangle[:p, :p]
    return Estimate(np.linalg.solve(factor, triangle[:p, p]), factor)


def estimate(equations: Equations, prior: Prior, regularization: float) -> Estimate:
    """
    Return the parameters that minimise weighted squares plus regularization times the prior.

    Parameters
    ----------
    equations : tuple of ndarray
        What `QRFactors.weighted` gives.
    prior : Prior
        Of inertias towards the starting set, to second order, and of friction towards zero.
    regularization : float
        Precision s of the prior on inertias, above zero: relative deviation 1 / sqrt(s).

    """
    return solve([equations, prior.rows(regularization)])


def without_prior(equations: Equations) -> Estimate | None:
    """Return plain weighted least squares; None if a parameter is not determined."""
    rows = equations[0]
    lengths = np.linalg.norm(rows, axis=0)
    singular = np.linalg.svd(rows / np.where(lengths > 0.0, lengths, 1.0), compute_uv=False)
    return None if singular[-1] * SINGULAR < singular[0] else solve([equations])


def reweighted(
    fit: Callable[[Array], tuple[Array, float]],
    samples: int,
    inflation: Array,
    least: float = _LEAST_RESIDUAL,
) -> Noise:
    """
    Return the joints' noise by iterated reweighting.

    Parameters
    ----------
    fit : callable
        Takes the joints' weights, (n,), and returns the sums of squares that a fit leaves, (n,),
        and how many parameters it took.
    samples : int
        Number of samples of each joint.
    inflation : ndarray, shape (n,)
        How many filtered samples make an independent one, joint by joint.
    least : float
        As for `Noise`.

    Raises
    ------
    IdentificationError
        If there are fewer independent samples than parameters.

    """
    noise = Noise(np.ones(len(inflation)), inflation, least)
    independent = float(np.sum(samples / inflation))
    for _ in range(_REWEIGHTINGS):
        squares, parameters = fit(noise.weights)
        freedom = 1.0 - parameters / independent
        if freedom <= 0.0:
            raise IdentificationError(
                f'The recording holds {independent:.0f} independent torque samples, too few '
                f'for {parameters:.0f} parameters; record longer.'
            )
        variance = np.maximum(squares / samples / freedom, np.finfo(float).tiny)
        found = replace(noise, deviation=np.sqrt(variance))
        settled = np.allclose(found.deviation, noise.deviation, rtol=_SETTLED, atol=0.0)
        noise = found
        if settled:
            break
    return noise


def find_noise(factors: QRFactors, prior: Prior, inflation: Array) -> Noise:
    """
    Return the joints' noise in some samples, (n,) each.

    A weak prior prevents that a fit to a poor motion explains its noise.
    """

    def fit(weights: Array) -> tuple[Array, float]:
        found = estimate(factors.weighted(weights), prior, PRIOR_PRECISION)
        return factors.squares(found.theta), len(found.theta)

    return reweighted(fit, factors.samples, inflation)


def left_out_error(
    parts: Sequence[QRFactors], noise: Noise, prior: Prior, regularization: float
) -> float:
    """
    Return the root mean square of torque vectors [N m] whose part was left out of the fit.

    Parameters
    ----------
    parts : sequence of QRFactors
        Two or more bags, or consecutive stretches; neighbours in time share the filter's noise, so
        that single samples must not be left out.
    noise : Noise
        The joints' weights.
    prior, regularization
        As for `estimate`.

    """
    squares = 0.0
    for k, part in enumerate(parts):
        rest = total([*parts[:k], *parts[k + 1 :]]).weighted(noise.weights)
        squares += part.squares(estimate(rest, prior, regularization).theta).sum()
    return float(np.sqrt(squares / sum(part.samples for part in parts)))


def friction_alone(
    factors: QRFactors,
    noise: Noise,
    prior: Prior,
    base_values: Array,
    base_scale: Array | float = 1.0,
) -> Array:
    """
    Return theta, (p,), of a published set whose friction is fitted alike.

    Friction has the same terms and bounds as where inertias are fitted too, and a wider prior.

    Parameters
    ----------
    factors : QRFactors
        The samples.
    noise, prior
        The joints' weights, and friction's prior.
    base_values : ndarray, shape (b,)
        The set's base parameters.
    base_scale : ndarray, shape (n,), optional
        What each joint's rigid torque is multiplied by.

    Raises
    ------
    MissingDependencyError
        If scipy is not installed.

    """
    with needing('Fitting friction needs scipy', 'identify'):
        from scipy.optimize import lsq_linear
    b = len(base_values)
    triangle, effort = factors.less_rigid(base_values, base_scale).weighted(noise.weights)
    rows, right = (one[b:] / _PUBLISHED_FREEDOM for one in prior.rows(1.0))
    values = lsq_linear(
        np.concatenate([triangle[:, b:], rows[:, b:]]),
        np.concatenate([effort, right]),
        (np.where(prior.model.friction.braking, 0.0, -np.inf), np.inf),
        method='bvls',
        max_iter=1000,
    ).x
    return np.concatenate([base_values, values])
