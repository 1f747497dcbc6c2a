# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Weighted, regularised least squares for base parameters and friction, with deviations.

Encoder noise shifts the estimates, which no amount of data averages away: least squares takes the
regressor for exact. Noise in positions, velocities and what is differentiated from them biases it,
to first order by the noise's variance; the deviations of an estimate do not cover that. Here the
found arm is recorded again without torque noise and with encoder noise, and identified again: the
mean shift is the bias.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add

import numpy as np

from .prior import Prior
from .prior_misfit import PriorMisfit
from .qr_factors import QRFactors
from ..errors import IdentificationError, MissingDependencyError
from ..recordings.preprocessing import acceleration, low_pass, Motion
from ..typing import Array

_REWEIGHTINGS, _SETTLED = 20, 1e-6  # most rounds, and the relative change that ends them
_WEAKEST_PRIOR = 10.0  # under which weights are found: parameters known to 32 %
# No joint counts as if its residual were less than this part of the joints' root mean square: the
# inertias of a wrist can fit one joint's torque nearly exactly at the cost of all others.
_LEAST_RESIDUAL = 0.5
# Column-scaled condition numbers from here on leave no digit of an estimate without a prior.
SINGULAR = 1e6


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

    """

    deviation: Array
    inflation: Array

    @property
    def weights(self) -> Array:
        """Weight of each joint's samples [1 / (N m)]: information, not samples, is counted."""
        least = _LEAST_RESIDUAL * np.sqrt(np.mean(self.deviation**2))
        return 1.0 / (np.maximum(self.deviation, least) * np.sqrt(self.inflation))


@dataclass(frozen=True, eq=False)
class Estimate:
    """
    Base and friction parameters with what is known about their certainty.

    Attributes
    ----------
    theta : ndarray, shape (p,)
        Base parameters, then friction, whose parameters that are not fitted are zero.
    covariance : ndarray, shape (p, p)
        Of the estimate; under a prior that of the posterior, or with `misfit` that of an
        estimate whose starting set is as good as the samples show.
    regularization : float
        Weight of the prior about the starting set; 0 is plain weighted least squares.
    condition_number : float
        Of the weighted regressor (with the prior), its columns scaled to unit length.

    """

    theta: Array
    covariance: Array
    regularization: float
    condition_number: float

    @property
    def deviations(self) -> Array:
        """Standard deviation of each parameter, shape (p,)."""
        return np.sqrt(np.diag(self.covariance))

    def with_misfit(self, misfit: PriorMisfit) -> Estimate:
        """Return the same estimate with the covariance that a misfit of its prior leaves it."""
        return replace(self, covariance=self.covariance + misfit.excess(self.covariance))


def estimate(factors: QRFactors, noise: Noise, prior: Prior, regularization: float) -> Estimate:
    """
    Return the parameters that minimise weighted squares plus regularization times the prior.

    Parameters
    ----------
    factors : QRFactors
        The samples.
    noise : Noise
        The joints' weights.
    prior : Prior
        Of inertias towards the starting set, to second order, and of friction towards zero.
    regularization : float
        Of the former. 0: none; s: the starting set counts as known to a part 1 / sqrt(s).

    Raises
    ------
    IdentificationError
        If the motion does not show all parameters and there is no prior.

    """
    return solve(factors.weighted(noise.weights), prior, regularization)


def solve(equations: tuple[Array, Array], prior: Prior, regularization: float) -> Estimate:
    """Return the same from what `QRFactors.weighted` gives, for many regularizations in a row."""
    triangle, effort = _with_prior(equations, prior, regularization)
    active = prior.active
    lengths = np.linalg.norm(triangle, axis=0)
    if not lengths.all():
        names = np.array(prior.model.names)[active]
        silent = ', '.join(name for name, length in zip(names, lengths) if not length)
        raise IdentificationError(f'No torque of this motion depends on {silent}.')
    left, values, right = np.linalg.svd(triangle / lengths, full_matrices=False)
    condition = float(values[0] / values[-1]) if values[-1] > 0.0 else np.inf
    if not condition < SINGULAR:
        raise IdentificationError(
            f'The condition number is {condition:.3g}: this motion does not tell all '
            f'{len(lengths)} parameters apart without a prior towards a starting set.'
        )
    theta, covariance = np.zeros(len(active)), np.zeros((len(active), len(active)))
    theta[active] = right.T @ ((left.T @ effort) / values) / lengths
    spread = right.T / values / lengths[:, None]
    covariance[np.ix_(active, active)] = spread @ spread.T
    return Estimate(theta, covariance, regularization, condition)


def solve_quickly(equations: tuple[Array, Array], prior: Prior, regularization: float) -> Array:
    """Return theta alone, under a prior; for cross-validation, which needs thousands of them."""
    square = _triangle(np.column_stack(_with_prior(equations, prior, regularization)))
    theta = np.zeros(len(prior.active))
    theta[prior.active] = np.linalg.solve(square[:-1, :-1], square[:-1, -1])
    return theta


def determined_parameters(
    equations: tuple[Array, Array], prior: Prior, regularization: float
) -> float:
    """
    Return how many parameters the samples determine rather than the prior.

    The trace of the matrix that turns what was measured into what is fitted (Hastie, Tibshirani
    and Friedman 2009, "The Elements of Statistical Learning", section 7.6): the degrees of
    freedom that a fit under a prior takes from its samples.

    Parameters
    ----------
    equations : tuple of ndarray
        What `QRFactors.weighted` gives.
    prior, regularization
        As for `estimate`; regularization above zero.

    """
    rows, _ = _with_prior(equations, prior, regularization)
    return float(np.sum(np.linalg.solve(_triangle(rows).T, equations[0][:, prior.active].T) ** 2))


def _with_prior(
    equations: tuple[Array, Array], prior: Prior, regularization: float
) -> tuple[Array, Array]:
    """Return the rows of samples and of the prior, if it has any weight, for active parameters."""
    triangle, effort = equations
    if regularization > 0.0:
        root = np.sqrt(regularization) * prior.root
        triangle = np.concatenate([triangle, root, prior.friction_root])
        effort = np.concatenate([effort, root @ prior.center, np.zeros(len(prior.fitted))])
    return triangle[:, prior.active], effort


def without_undetermined_friction(
    equations: tuple[Array, Array],
    prior: Prior,
    regularization: float,
    misfit: PriorMisfit | None = None,
) -> Prior:
    """
    Return the prior that holds at zero every friction parameter the samples do not determine.

    As long as some fitted friction parameter is smaller than its own standard deviation, the
    smallest in that measure is held: backward elimination, one at a time because neighbouring
    terms share what they explain.

    Parameters
    ----------
    equations : tuple of ndarray
        What `QRFactors.weighted` gives.
    prior : Prior
        The prior with all friction parameters that may be fitted.
    regularization : float
        Of the prior on inertias, above zero.
    misfit : PriorMisfit, optional
        Of this prior; without it the starting set counts as as good as the regularization says.

    """
    b = len(prior.model.base)
    rows = _triangle(np.column_stack(_with_prior(equations, prior, regularization)))
    kept = np.flatnonzero(prior.active)
    while True:
        friction = np.flatnonzero(kept >= b)
        if not len(friction):
            break
        square = _triangle(rows)
        inverse = np.linalg.inv(square[:-1, :-1])
        covariance = inverse @ inverse.T
        if misfit is not None:
            covariance = covariance + misfit.excess(covariance, kept)
        ratio = np.abs(inverse @ square[:-1, -1]) / np.sqrt(np.diag(covariance))
        if ratio[friction].min() >= 1.0:
            break
        going = friction[int(np.argmin(ratio[friction]))]
        rows, kept = np.delete(square, going, axis=1), np.delete(kept, going)
    fitted = np.zeros(len(prior.fitted), dtype=bool)
    fitted[kept[kept >= b] - b] = True
    return prior.fitting(fitted)


def find_noise(factors: QRFactors, prior: Prior, inflation: Array) -> Noise:
    """
    Return the joints' noise by iterated reweighting.

    A weak prior keeps a poor motion from explaining its own noise. What is left of the degrees
    of freedom is counted in independent samples.

    Parameters
    ----------
    factors : QRFactors
        The samples.
    prior : Prior
        Towards the starting set.
    inflation : ndarray, shape (n,)
        How many filtered samples make an independent one, joint by joint.

    Raises
    ------
    IdentificationError
        If there are fewer independent samples than parameters.

    """
    independent = factors.samples / inflation
    parameters = int(prior.active.sum())
    freedom = 1.0 - parameters / independent.sum()
    if freedom <= 0.0:
        raise IdentificationError(
            f'The recording holds {independent.sum():.0f} independent torque samples, too few '
            f'for {parameters} parameters; record longer.'
        )
    noise = Noise(np.ones(prior.model.n), inflation)
    for _ in range(_REWEIGHTINGS):
        theta = solve_quickly(factors.weighted(noise.weights), prior, _WEAKEST_PRIOR)
        variance = factors.squares(theta) / factors.samples / freedom
        deviation = np.sqrt(np.maximum(variance, np.finfo(float).tiny))
        settled = np.allclose(deviation, noise.deviation, rtol=_SETTLED, atol=0.0)
        noise = Noise(deviation, inflation)
        if settled:
            break
    return noise


def fit_friction_alone(
    factors: QRFactors,
    noise: Noise,
    prior: Prior,
    base_values: Array,
    base_scale: Array | None = None,
) -> Array:
    """
    Return theta of a published set whose friction is fitted alike, shape (p,).

    Friction has the same terms, prior and bounds as where inertias are fitted too, and what the
    samples do not determine is held at zero by the same rule.

    Parameters
    ----------
    factors, noise, prior
        As for `estimate`.
    base_values : ndarray, shape (b,)
        The set's base parameters.
    base_scale : ndarray, shape (n,), optional
        What each joint's rigid torque is multiplied by.

    Raises
    ------
    MissingDependencyError
        If scipy is not installed.

    """
    try:
        from scipy.optimize import lsq_linear
    except ImportError as error:
        raise MissingDependencyError(
            "Fitting friction needs scipy: pip install 'franka_dynamics[identify]'."
        ) from error
    b = len(base_values)
    triangle, effort = factors.less_rigid(base_values, base_scale).weighted(noise.weights)
    columns = np.concatenate([triangle[:, b:], np.diag(1.0 / prior.friction_deviations)])
    left = np.concatenate([effort, np.zeros(len(prior.fitted))])
    lowest = np.where(prior.model.friction.braking, 0.0, -np.inf)
    kept, values = np.flatnonzero(prior.fitted), np.zeros(len(prior.fitted))
    while len(kept):
        own = _triangle(np.column_stack([columns[:, kept], left]))
        bounds = lowest[kept], np.inf
        found = lsq_linear(own[:, :-1], own[:, -1], bounds, method='bvls', max_iter=1000).x
        spread = np.linalg.norm(np.linalg.inv(own[:-1, :-1]), axis=1)
        ratio = np.abs(found) / spread
        if ratio.min() >= 1.0:
            values[kept] = found
            break
        kept = np.delete(kept, int(np.argmin(ratio)))
    return np.concatenate([base_values, values])


def _triangle(rows: Array) -> Array:
    """Return R of a QR factorisation: the same least squares as the rows."""
    return np.asarray(np.linalg.qr(rows, mode='r'))


def errors_in_variables_bias(
    motions: Sequence[Motion],
    theta: Array,
    noise: Noise,
    prior: Prior,
    regularization: float,
    *,
    position: float,
    velocity: float,
    runs: int = 10,
    seed: int = 0,
) -> Array:
    """
    Return the mean shift of every parameter, shape (p,).

    Parameters
    ----------
    motions : sequence of Motion
        What the parameters were estimated from.
    theta : ndarray, shape (p,)
        The estimate, which stands for the truth.
    noise : Noise
        The joints' weights.
    prior, regularization
        As for the estimate.
    position, velocity : float
        Standard deviation of an encoder's position [rad] and velocity [rad/s] at the resampled
        rate, white.
    runs : int
        Recordings to average over.
    seed : int
        Of the noise.

    """
    rng = np.random.default_rng(seed)
    efforts = [prior.model.torque(motion, theta) for motion in motions]

    def shifted(recorded: Sequence[Motion]) -> Array:
        factors = reduce(
            add,
            [
                QRFactors.of(prior.model, replace(motion, effort=effort, effort_unfiltered=effort))
                for motion, effort in zip(recorded, efforts)
            ],
        )
        return estimate(factors, noise, prior, regularization).theta

    exact = shifted(motions)
    shifts = []
    for _ in range(runs):
        disturbed = [_disturbed(motion, position, velocity, rng) for motion in motions]
        shifts.append(shifted(disturbed) - exact)
    return np.asarray(np.mean(shifts, axis=0))


def _disturbed(
    motion: Motion,
    position: float,
    velocity: float,
    rng: np.random.Generator,
) -> Motion:
    q_noise = low_pass(position * rng.standard_normal(motion.q.shape), motion.options)
    dq_noise = low_pass(velocity * rng.standard_normal(motion.q.shape), motion.options)
    return replace(
        motion,
        q=motion.q + q_noise,
        dq=motion.dq + dq_noise,
        ddq=motion.ddq + acceleration(dq_noise, motion.options),
    )
