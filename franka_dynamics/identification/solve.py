# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Weighted least squares under a prior: estimates, the joints' noise, the prior's precision.

Encoder noise shifts the estimates, which no amount of data averages away: least squares takes the
regressor for exact, and the deviations of an estimate do not cover that.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from .prior import Prior, PriorMisfit
from .samples import QRFactors, total
from ..errors import IdentificationError, needing
from ..typing import Array

_REWEIGHTINGS, _SETTLED = 20, 1e-6  # most rounds, and the relative change that ends them
WEAKEST_PRIOR = 10.0  # under which weights are found: parameters known to 32 %
# No joint counts as if its residual were less than this part of the joints' root mean square: the
# inertias of a wrist can fit one joint's torque nearly exactly at the cost of all others.
_LEAST_RESIDUAL = 0.5
# Column-scaled condition numbers from here on leave no digit of an estimate without a prior.
SINGULAR = 1e6
# From masses known to 32 % to a starting set held within a part of 3e-3. Weaker ones would let
# poor motion choose masses that no such arm has.
REGULARIZATIONS = tuple(np.logspace(1.0, 5.0, 9).tolist())
# Errors that differ by less are equal; the stronger prior among them departs least from the start.
_EQUAL = 0.01

Equations = tuple[Array, Array]  # R (r, p) and z (r,) of |R theta - z|^2


@dataclass(frozen=True, eq=False)
class Noise:
    """
    What the joints' residuals are like.

    Attributes
    ----------
    deviation : ndarray, shape (n,)
        Standard deviation of a filtered sample [N m].
    inflation : ndarray, shape (n,)
        How many filtered samples make an independent one.
    least : float
        Weights take no deviation for less than this part of the joints' root mean square.

    """

    deviation: Array
    inflation: Array
    least: float = _LEAST_RESIDUAL

    @property
    def weights(self) -> Array:
        """Weight of each joint's samples [1 / (N m)]: information, not samples, is counted."""
        least = self.least * np.sqrt(np.mean(self.deviation**2))
        return 1.0 / (np.maximum(self.deviation, least) * np.sqrt(self.inflation))


@dataclass(frozen=True, eq=False)
class Estimate:
    """
    Parameters with what is known about their certainty.

    Attributes
    ----------
    theta : ndarray, shape (p,)
        The parameters; those that are not fitted are zero.
    factor : ndarray, shape (a, a)
        The triangle of the fitted parameters' weighted equations, prior included.
    kept : ndarray of int, shape (a,)
        Which of the p parameters are fitted.
    misfit : PriorMisfit, optional
        Of a starting set that is only as good as the samples show.

    """

    theta: Array
    factor: Array
    kept: NDArray[np.intp]
    misfit: PriorMisfit | None = None

    @cached_property
    def covariance(self) -> Array:
        """Of the estimate, (p, p): under a prior of the posterior, with a misfit beyond it."""
        inverse = np.linalg.inv(self.factor)
        found = np.zeros((len(self.theta), len(self.theta)))
        found[np.ix_(self.kept, self.kept)] = inverse @ inverse.T
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
        Return how many parameters samples determine rather than the prior.

        The trace of the matrix that turns what was measured into what is fitted (Hastie,
        Tibshirani and Friedman 2009, "The Elements of Statistical Learning", section 7.6): the
        degrees of freedom that a fit under a prior takes from its samples.
        """
        rows = equations[0][:, self.kept]
        return float(np.sum(np.linalg.solve(self.factor.T, rows.T) ** 2))


def solve(equations: Sequence[Equations], kept: NDArray[np.intp] | None = None) -> Estimate:
    """
    Return the least squares of some equations, of the samples and of a prior, put together.

    Parameters
    ----------
    equations : sequence of (ndarray (r, p), ndarray (r,))
        Together of full column rank for the parameters in `kept`.
    kept : ndarray of int, optional
        Which of the p parameters are fitted; all by default.

    """
    rows = np.concatenate([one for one, _ in equations])
    right = np.concatenate([one for _, one in equations])
    chosen = np.arange(rows.shape[1]) if kept is None else kept
    triangle = np.asarray(np.linalg.qr(np.column_stack([rows[:, chosen], right]), mode='r'))
    theta = np.zeros(rows.shape[1])
    a = len(chosen)
    theta[chosen] = np.linalg.solve(triangle[:a, :a], triangle[:a, a])
    return Estimate(theta, triangle[:a, :a], chosen)


def estimate(
    equations: Equations,
    prior: Prior,
    regularization: float,
    fitted: NDArray[np.bool_] | None = None,
) -> Estimate:
    """
    Return the parameters that minimise weighted squares plus regularization times the prior.

    Parameters
    ----------
    equations : tuple of ndarray
        What `QRFactors.weighted` gives.
    prior : Prior
        Of inertias towards the starting set, to second order, and of friction towards zero.
    regularization : float
        Of the former, above zero: s, if the starting set counts as known to a part 1 / sqrt(s).
    fitted : ndarray of bool, shape (f,), optional
        Which friction parameters are fitted, the others being held at zero; all by default.

    """
    kept = None if fitted is None else _kept(prior, fitted)
    return solve([equations, prior.rows(regularization)], kept)


def _kept(prior: Prior, fitted: NDArray[np.bool_]) -> NDArray[np.intp]:
    b = len(prior.model.base)
    return np.concatenate([np.arange(b), b + np.flatnonzero(fitted)])


def without_prior(
    equations: Equations, prior: Prior, fitted: NDArray[np.bool_]
) -> Estimate | None:
    """Return plain weighted least squares; None where the motion does not show everything."""
    kept = _kept(prior, fitted)
    rows = equations[0][:, kept]
    lengths = np.linalg.norm(rows, axis=0)
    singular = np.linalg.svd(rows / np.where(lengths > 0.0, lengths, 1.0), compute_uv=False)
    return None if singular[-1] * SINGULAR < singular[0] else solve([equations], kept)


def determined_friction(
    equations: Equations, prior: Prior, regularization: float, misfit: PriorMisfit
) -> tuple[NDArray[np.bool_], Estimate]:
    """
    Return which friction parameters the samples determine, shape (f,), and the estimate.

    As long as some fitted friction parameter is smaller than its own standard deviation, the
    smallest in that measure is held at zero: backward elimination, one at a time because
    neighbouring terms share what they explain.
    """
    b = len(prior.model.base)
    fitted = np.ones(len(prior.center) - b, dtype=bool)
    while True:
        found = replace(estimate(equations, prior, regularization, fitted), misfit=misfit)
        if not _drop_least(fitted, found.theta[b:], found.deviations[b:]):
            return fitted, found


def _drop_least(fitted: NDArray[np.bool_], values: Array, deviations: Array) -> bool:
    """Let the fitted parameter go that is the smallest part of its deviation, if below one."""
    chosen = np.flatnonzero(fitted)
    ratio = np.abs(values[chosen]) / deviations[chosen]
    if not len(chosen) or ratio.min() >= 1.0:
        return False
    fitted[chosen[int(np.argmin(ratio))]] = False
    return True


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
        How many there are of each joint.
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

    A weak prior keeps a poor motion from explaining its own noise.
    """

    def fit(weights: Array) -> tuple[Array, float]:
        found = estimate(factors.weighted(weights), prior, WEAKEST_PRIOR)
        return factors.squares(found.theta), len(found.theta)

    return reweighted(fit, factors.samples, inflation)


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
        The same with the left-out parts' own friction: what the inertias are worth.
    start_rigid_error : float
        The same of the starting set's inertias.

    """

    regularizations: tuple[float, ...]
    errors: tuple[float, ...]
    rigid_errors: tuple[float, ...]
    start_rigid_error: float

    @property
    def error(self) -> float:
        """Root mean square of the left-out torque vectors under the chosen one [N m]."""
        return self.errors[self.regularizations.index(self.chosen)]

    @property
    def chosen(self) -> float:
        """
        The regularization with the smallest error, or the strongest whose error is as small.

        Weights whose inertias predict worse than the starting set's are passed over as long as
        there are others.
        """
        errors, rigid = np.array(self.errors), np.array(self.rigid_errors)
        allowed = rigid <= self.start_rigid_error
        if not allowed.any():
            return self.regularizations[-1]
        best = errors[allowed].min()
        good = np.flatnonzero(allowed & (errors <= (1.0 + _EQUAL) * best))
        return self.regularizations[int(good[-1])]


def cross_validate(
    parts: Sequence[QRFactors],
    noise: Noise,
    prior: Prior,
    regularizations: Sequence[float] = REGULARIZATIONS,
) -> CrossValidation:
    """
    Predict each part from the others under every regularization.

    Parameters
    ----------
    parts : sequence of QRFactors
        Two or more bags, or consecutive stretches; neighbours in time share the filter's noise, so
        that single samples must not be left out.
    noise : Noise
        The joints' weights.
    prior : Prior
        The prior.
    regularizations : sequence of float
        Of the prior on inertias, above zero, rising.

    """
    model, b = prior.model, len(prior.model.base)
    squares, rigid = np.zeros((2, len(regularizations)))
    for k, part in enumerate(parts):
        rest = total([*parts[:k], *parts[k + 1 :]]).weighted(noise.weights)
        for i, regularization in enumerate(regularizations):
            theta = estimate(rest, prior, regularization).theta
            squares[i] += part.squares(theta).sum()
            rigid[i] += part.squares_beside_friction(model, theta[:b]).sum()
    start = sum(part.squares_beside_friction(model, prior.center[:b]).sum() for part in parts)
    samples = sum(part.samples for part in parts)
    return CrossValidation(
        tuple(regularizations),
        tuple(np.sqrt(squares / samples).tolist()),
        tuple(np.sqrt(rigid / samples).tolist()),
        float(np.sqrt(start / samples)),
    )


def friction_alone(
    factors: QRFactors,
    noise: Noise,
    prior: Prior,
    base_values: Array,
    base_scale: Array | float = 1.0,
) -> Array:
    """
    Return theta, (p,), of a published set whose friction is fitted alike.

    Friction has the same terms, prior and bounds as where inertias are fitted too, and what the
    samples do not determine is held at zero by the same rule.

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
    rows, right = (one[b:] for one in prior.rows(1.0))
    fitted, values = np.ones(len(rows), dtype=bool), np.zeros(len(rows))
    lowest = np.where(prior.model.friction.braking, 0.0, -np.inf)
    while fitted.any():
        kept = np.flatnonzero(fitted)
        free = solve([(triangle[:, b:], effort), (rows[:, b:], right)], kept)
        bounds = lowest[kept], np.inf
        values[:] = 0.0
        values[kept] = lsq_linear(
            free.factor, free.factor @ free.theta[kept], bounds, method='bvls', max_iter=1000
        ).x
        if not _drop_least(fitted, values, free.deviations):
            break
    return np.concatenate([base_values, np.where(fitted, values, 0.0)])
