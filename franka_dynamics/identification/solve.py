# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Weighted least squares with a prior, from Gram matrices summed over samples.

All joints' residuals count alike in a fit, because the error E counts them alike. Least squares
assumes an exact regressor. Encoder noise biases the estimates; more data does not remove this
bias, and the standard deviations do not include it.
"""

from __future__ import annotations

import numpy as np

from .gram_sums import GramSums
from .prior import Prior, starting_set_covariance, starting_set_precision, StartingSetPrecision
from ..arrays import Array
from ..errors import require_extra

# Filtered samples per independent sample. The filter alone makes it 5 at 30 Hz and 3 Hz; errors of
# the model last longer.
SAMPLES_PER_INDEPENDENT_SAMPLE = 6.0
_MIN_EXPECTED_RATIO = 1e-9  # smallest noise, relative to expected residuals
_MIN_NOISE_RATIO = 1e-3  # smallest noise of a joint, relative to its largest effort: rounding


def residual_weights(noise: Array) -> Array:
    """Return the weight of each joint's residuals in the fits, (n,) [1/(N m)^2], by its noise."""
    return 1.0 / (SAMPLES_PER_INDEPENDENT_SAMPLE * noise**2)


def fit_theta(sums: GramSums, prior: Prior, precision: float, noise: Array) -> Array:
    """
    Return the base and friction parameters with the least weighted squares plus prior cost, (p,).

    `precision` is that of the prior of inertias: masses have a relative deviation of 1 / sqrt of
    it. `noise` (n,) is the standard deviation of each joint's residual that the weights assume
    [N m].
    """
    return fit_gram(sums.gram_matrix(residual_weights(noise)), prior, precision)


def fit_gram(gram: Array, prior: Prior, precision: float) -> Array:
    """Return the parameters (p,) that fit a Gram matrix (c, c), torque last, under the prior."""
    known, pull = prior.information(precision)
    p = len(pull)
    return np.asarray(np.linalg.solve(gram[:p, :p] + known, gram[:p, -1] + pull))


def fit_friction(sums: GramSums, prior: Prior, noise: Array) -> Array:
    """
    Fit only friction: return the prior's base parameters and the fitted friction, (p,).

    Friction dissipates, as in the consistent fit. Raises MissingDependencyError if scipy is not
    installed.
    """
    with require_extra('Fitting friction needs scipy', 'identify'):
        from scipy.optimize import lsq_linear
    b = len(prior.model.base)
    triangle, effort = fit_equations(sums, prior, noise)
    units = prior.friction_std
    found = lsq_linear(
        np.concatenate([triangle[:, b:] * units, np.eye(len(units))]),
        np.concatenate([effort - triangle[:, :b] @ prior.center[:b], np.zeros(len(units))]),
        (np.where(prior.model.friction.is_nonnegative, 0.0, -np.inf), np.inf),
        method='bvls',
        max_iter=1000,
    )
    return np.append(prior.center[:b], units * found.x)


def rms_residuals(sums: GramSums, theta: Array) -> Array:
    """Return each joint's root mean square residual, shape (n,) [N m]."""
    return np.asarray(np.sqrt(sums.squared_residuals(theta) / sums.sample_count))


def joint_noise(sums: GramSums, theta: Array) -> Array:
    """Return each joint's noise, its rms residual or a part of its largest effort, (n,) [N m]."""
    return np.maximum(rms_residuals(sums, theta), min_noise(sums))


def min_noise(sums: GramSums) -> Array:
    """Return the least noise assumed for each joint, a part of its largest effort, (n,) [N m]."""
    return np.asarray(np.maximum(_MIN_NOISE_RATIO * sums.max_torque, 1e-12))


def common_noise(sums: GramSums, prior: Prior, precision: float, per_joint: Array) -> Array:
    """
    Return one noise level for all joints, the rms residual of a first fit, (n,) [N m].

    `per_joint` (n,) converts the joints' efforts to the unit of E, in which the level is one.
    """
    first = rms_residuals(sums, fit_theta(sums, prior, precision, prior.expected_residual))
    size = np.sqrt(np.mean((first * per_joint) ** 2)) / per_joint
    return np.asarray(np.maximum(size, _MIN_EXPECTED_RATIO * prior.expected_residual))


def fit_equations(sums: GramSums, prior: Prior, noise: Array) -> tuple[Array, Array]:
    """
    Return R (p, p) and z (p,): |R theta - z|^2 is the weighted sum of squared residuals.

    A constant is left out. `noise` is as for `fit_theta`.
    """
    weighted = sums.gram_matrix(residual_weights(noise))
    return sqrt_equations(weighted, [*range(len(prior.std))], prior.std)


def sqrt_equations(products: Array, columns: list[int], units: Array) -> tuple[Array, Array]:
    """
    Return R (k, k) and z (k,): R^T R and R^T z are those of products (c, c), whose last is torque.

    Only the chosen k columns count; `units` (k,) are sizes of their coefficients.
    """
    chosen = products[np.ix_(columns, columns)]
    values, axes = np.linalg.eigh(chosen * units * units[:, None])
    roots = np.sqrt(np.maximum(values, 0.0))
    known = roots > 1e-7 * roots[-1]
    right = axes.T @ (units * products[columns, -1])
    triangle = (axes * roots).T / units
    return triangle, np.where(known, right / np.where(known, roots, 1.0), 0.0)


def posterior_covariance(
    sums: GramSums, prior: Prior, precision: float, noise: Array, theta: Array
) -> tuple[Array, StartingSetPrecision]:
    """
    Return the covariance of `theta`, (p, p), and the estimated precision of the starting set.

    The samples' noise is each joint's own residual. The covariance includes errors of the starting
    set as large as the samples show: the term s^2 P C P of the docstring of `prior`, where a
    precision above `precision` counts as that. `noise` is the one with which `theta` was fitted.
    """
    own = np.maximum(rms_residuals(sums, theta), _MIN_EXPECTED_RATIO * prior.expected_residual)
    supported = starting_set_precision(fit_equations(sums, prior, own), prior)
    p, b = len(theta), len(prior.model.base)
    information, _ = prior.information(precision)
    weights = residual_weights(noise)
    inverse = np.linalg.inv(sums.gram_matrix(weights)[:p, :p] + information)
    spread = sums.gram_matrix(weights * (own / noise) ** 2)[:p, :p]
    spread[b:, b:] += information[b:, b:]
    least = StartingSetPrecision(
        min(supported.masses, precision), min(supported.inertias, precision)
    )
    of_prior = information[:b, :b]
    spread[:b, :b] += of_prior @ starting_set_covariance(prior, least) @ of_prior
    return np.asarray(inverse @ spread @ inverse), supported


def std_to_prior_ratios(sums: GramSums, prior: Prior, noise: Array) -> Array:
    """
    Return the parameters' standard deviations divided by those of the prior, shape (p,).

    The prior has precision one. 1 means that the samples say nothing about a parameter.
    """
    known, _ = prior.information(1.0)
    p = len(known)
    matrix = sums.gram_matrix(residual_weights(noise))[:p, :p]
    spread = np.sqrt(np.diag(np.linalg.inv(matrix + known)))
    return np.asarray(spread / prior.std)
