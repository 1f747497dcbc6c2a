# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Weighted least squares with a prior, from sums of products.

All joints' residuals count alike in a fit, because the error E counts them alike. Least squares
assumes an exact regressor. Encoder noise biases the estimates; more data does not remove this
bias, and the standard deviations do not include it.
"""

from __future__ import annotations

import numpy as np

from .prior import Prior, prior_error, supported_precision, SupportedPrecision
from .sums import Sums
from ..errors import needing
from ..typing import Array

# Filtered samples per independent sample. The filter alone makes it 5 at 30 Hz and 3 Hz; errors of
# the model last longer.
INDEPENDENT = 6.0
_LEAST = 1e-9  # smallest noise, relative to normal residuals
LEAST_SHARE = 1e-3  # smallest own noise, as a share of a joint's largest effort: rounding


def estimate(sums: Sums, prior: Prior, precision: float, noise: Array) -> Array:
    """
    Return base and friction parameters (p,) with the least weighted squares plus prior cost.

    `precision` is that of the prior of inertias: masses have a relative deviation of 1 / sqrt of
    it. `noise` (n,) is the standard deviation of each joint's residual that the weights assume
    [N m].
    """
    products, p = sums.weighted(1.0 / (INDEPENDENT * noise**2)), len(prior.center)
    rows, right = prior.rows(precision)
    matrix = products[:p, :p] + rows.T @ rows
    return np.asarray(np.linalg.solve(matrix, products[:p, -1] + rows.T @ right))


def friction_alone(sums: Sums, prior: Prior, noise: Array) -> Array:
    """
    Return the prior's base parameters and friction fitted to the samples, (p,).

    Friction brakes, as in the consistent fit. Raises MissingDependencyError if scipy is not
    installed.
    """
    with needing('Fitting friction needs scipy', 'identify'):
        from scipy.optimize import lsq_linear
    b = len(prior.root)
    triangle, effort = equations(sums, prior, noise)
    units = prior.friction_deviations
    found = lsq_linear(
        np.concatenate([triangle[:, b:] * units, np.eye(len(units))]),
        np.concatenate([effort - triangle[:, :b] @ prior.center[:b], np.zeros(len(units))]),
        (np.where(prior.model.friction.braking, 0.0, -np.inf), np.inf),
        method='bvls',
        max_iter=1000,
    )
    return np.append(prior.center[:b], units * found.x)


def residuals(sums: Sums, theta: Array) -> Array:
    """Return each joint's root mean square residual, shape (n,) [N m]."""
    return np.asarray(np.sqrt(sums.squares(theta) / sums.count))


def own_noise(sums: Sums, theta: Array) -> Array:
    """Return each joint's residual, shape (n,), at least a share of its largest effort [N m]."""
    return np.maximum(residuals(sums, theta), np.maximum(LEAST_SHARE * sums.strongest, 1e-12))


def common_noise(sums: Sums, prior: Prior, precision: float, per_joint: Array) -> Array:
    """
    Return one noise for all joints (n,): the root mean square residual of a first fit.

    `per_joint` (n,) converts the joints' efforts to the unit of E.
    """
    first = residuals(sums, estimate(sums, prior, precision, prior.normal))
    size = np.sqrt(np.mean((first * per_joint) ** 2)) / per_joint
    return np.asarray(np.maximum(size, _LEAST * prior.normal))


def equations(sums: Sums, prior: Prior, noise: Array) -> tuple[Array, Array]:
    """
    Return R (p, p) and z (p,): |R theta - z|^2 is the weighted sum of squared residuals.

    A constant is left out. `noise` is as for `estimate`.
    """
    products, p = sums.weighted(1.0 / (INDEPENDENT * noise**2)), len(prior.center)
    units = prior.deviations
    values, axes = np.linalg.eigh(products[:p, :p] * units * units[:, None])
    roots = np.sqrt(np.maximum(values, 0.0))
    known = roots > 1e-7 * roots[-1]
    right = axes.T @ (units * products[:p, -1])
    triangle = (axes * roots).T / units
    return triangle, np.where(known, right / np.where(known, roots, 1.0), 0.0)


def deviations(
    sums: Sums, prior: Prior, precision: float, noise: Array, theta: Array
) -> tuple[Array, SupportedPrecision]:
    """
    Return the standard deviations (p,) of `theta`, and the precisions that the samples show.

    The samples' noise is each joint's own residual. The deviations include errors of the starting
    set as large as the samples show (`prior`). `noise` is the one with which `theta` was fitted.
    """
    own = np.maximum(residuals(sums, theta), _LEAST * prior.normal)
    supported = supported_precision(equations(sums, prior, own), prior)
    p, b = len(theta), len(prior.root)
    rows, _ = prior.rows(precision)
    information = rows.T @ rows
    weights = 1.0 / (INDEPENDENT * noise**2)
    inverse = np.linalg.inv(sums.weighted(weights)[:p, :p] + information)
    spread = sums.weighted(weights * (own / noise) ** 2)[:p, :p]
    spread[b:, b:] += information[b:, b:]
    spread[:b, :b] += prior_error(prior, precision, supported)
    return np.sqrt(np.diag(inverse @ spread @ inverse)), supported


def left_open(sums: Sums, prior: Prior, noise: Array) -> Array:
    """
    Return the parameters' standard deviations relative to their prior ones, shape (p,).

    The prior has precision one. 1 means that the samples say nothing about a parameter.
    """
    rows, _ = prior.rows(1.0)
    p = len(rows)
    matrix = sums.weighted(1.0 / (INDEPENDENT * noise**2))[:p, :p]
    spread = np.sqrt(np.diag(np.linalg.inv(matrix + rows.T @ rows)))
    return np.asarray(spread / prior.deviations)
