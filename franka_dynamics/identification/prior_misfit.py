# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
How far off a starting set may be, as the samples show, and what that adds to deviations.

An estimate under a prior of precision s is off by K^-1 (R^T e + s P (theta0 - theta)): noise e of
the samples R, and what the starting set theta0 has wrong, P being the prior of precision one and
K = R^T R + s P + the prior of friction. Its covariance is K^-1 only if the set is as good as s
says. Cross-validation does not choose s for that, but for torques, and takes the largest of
those that predict alike. So the covariance of theta0 - theta is taken from the samples:

    K^-1 (K - s P + s^2 P C P) K^-1,    C = C_m / t_m + C_I / t_I

C_m is the part of the prior's covariance that is about masses and centres of mass, C_I the one
about inertias, which gravity does not show and published sets have far less right. Both t are
the smallest that the samples do not contradict: where the likelihood with all parameters
integrated out (the evidence; MacKay 1992, "Bayesian interpolation", Neural Computation 4(3)) has
fallen by one standard deviation from its largest.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .prior import Prior, with_minimum_gyration
from ..arm import LinkInertia
from ..dynamics.regressor import PER_LINK
from ..typing import Array

# Real links are spread by more than that in every direction (radius of gyration); a set that has
# one thinner has not measured it. The FER's capsules have radii of 40 to 60 mm.
LEAST_SPREAD_M = 0.05
# Precisions of inertias and of masses are alike within a factor of ten, one standard deviation:
# where shipped sets of the FER stand for each other, inertias are 1 to 16 times less precise.
_DECADES_APART = 1.0
_PRECISIONS = np.logspace(-2.0, 5.0, 71)
_ONE_DEVIATION = 0.5  # of a logarithm of a likelihood


@dataclass(frozen=True)
class ShownPrecision:
    """
    Precisions of a starting set that the samples do not contradict.

    Attributes
    ----------
    masses : float
        Of masses and centres of mass: they are known to a part 1 / sqrt(masses).
    inertias : float
        The same of inertias about the centres of mass, and of rotors.

    """

    masses: float
    inertias: float


@dataclass(frozen=True, eq=False)
class PriorMisfit:
    """
    What a prior pulls an estimate by, as its precision claims and as the samples show.

    Attributes
    ----------
    claimed, shown : ndarray, shape (p, k)
        Roots of the covariance of s P (theta0 - theta): each times its transpose.

    """

    claimed: Array
    shown: Array

    def excess(self, covariance: Array, kept: NDArray[np.intp] | slice = slice(None)) -> Array:
        """
        Return what a covariance lacks that takes the prior for as good as it claims.

        Parameters
        ----------
        covariance : ndarray, shape (m, m)
            K^-1 of the parameters in `kept`.
        kept : ndarray of int, shape (m,), or slice
            Which of the p parameters these are.

        """
        shown, claimed = covariance @ self.shown[kept], covariance @ self.claimed[kept]
        return np.asarray(shown @ shown.T - claimed @ claimed.T)


def prior_misfit(prior: Prior, regularization: float, precision: ShownPrecision) -> PriorMisfit:
    """
    Return by what a prior biases the estimate if its set has some precision, at most its own.

    Parameters
    ----------
    prior : Prior
        The prior.
    regularization : float
        Its precision in the estimate.
    precision : ShownPrecision
        Of the starting set.

    """
    masses, inertias = _spreads(prior)
    spread = np.concatenate(
        [
            masses / np.sqrt(min(precision.masses, regularization)),
            inertias / np.sqrt(min(precision.inertias, regularization)),
        ],
        axis=1,
    )
    root = prior.root
    penalty = regularization * (root.T @ root)
    return PriorMisfit(np.sqrt(regularization) * root.T, penalty[:, : len(spread)] @ spread)


def shown_precision(equations: tuple[Array, Array], prior: Prior) -> ShownPrecision:
    """
    Return the smallest precisions of a starting set that samples do not contradict.

    A precision is below one, where a set is not known at all, only if that fits best.

    Parameters
    ----------
    equations : tuple of ndarray
        What `QRFactors.weighted` gives, residuals of unit variance.
    prior : Prior
        The prior, with the friction terms that are offered.

    """
    triangle, effort = equations
    b = len(prior.model.base)
    rubbing = triangle[:, b:][:, prior.fitted] * prior.friction_deviations[prior.fitted]
    # Friction and noise together have this covariance; in its units both are white.
    root = np.linalg.cholesky(np.eye(len(effort)) + rubbing @ rubbing.T)
    off = np.linalg.solve(root, effort - triangle[:, :b] @ prior.center[:b])
    directions, columns = np.linalg.qr(np.linalg.solve(root, triangle[:, :b]))
    masses, inertias = (columns @ spread for spread in _spreads(prior))
    table = _log_likelihoods(directions.T @ off, masses, inertias)
    decades = np.log10(_PRECISIONS)
    table -= 0.5 * ((decades[None, :] - decades[:, None]) / _DECADES_APART) ** 2
    return ShownPrecision(_smallest(table.max(axis=1)), _smallest(table.max(axis=0)))


def _smallest(profile: Array) -> float:
    likely = np.flatnonzero(profile >= profile.max() - _ONE_DEVIATION)
    best = _PRECISIONS[int(np.argmax(profile))]
    return float(max(_PRECISIONS[likely[0]], min(1.0, best)))


def _log_likelihoods(off: Array, masses: Array, inertias: Array) -> Array:
    """Return logarithms of normal densities of `off` for each precision of either part."""
    table = np.empty((len(_PRECISIONS), len(_PRECISIONS)))
    for row, precision in zip(table, _PRECISIONS):
        root = np.linalg.cholesky(np.eye(len(off)) + masses @ masses.T / precision)
        part = np.linalg.solve(root, inertias)
        values, axes = np.linalg.eigh(part @ part.T)
        squares = (axes.T @ np.linalg.solve(root, off)) ** 2
        variances = 1.0 + np.maximum(values, 0.0) / _PRECISIONS[:, None]
        row[:] = -0.5 * np.sum(np.log(variances) + squares / variances, axis=1)
        row -= np.sum(np.log(np.diag(root)))
    return table


def _spreads(prior: Prior) -> tuple[Array, Array]:
    """
    Return roots of the base parameters' covariance at precision one, parted, (b, k) each.

    With a link's pseudo-inertia P = U U^T, U upper triangular in blocks, the prior's changes are
    U S U^T with S symmetric and Gaussian (standard deviation one on the diagonal, its root of a
    half beside it): its last column changes mass and centre, the others the inertia about it.
    """
    base = prior.model.base
    masses: list[Array] = []
    inertias: list[Array] = []
    for i, link in enumerate(prior.reference.links):
        block = base.matrix[:, PER_LINK * i : PER_LINK * (i + 1)]
        root = _upper_root(with_minimum_gyration(link, LEAST_SPREAD_M))
        for row in range(4):
            for column in range(row, 4):
                unit = np.zeros((4, 4))
                unit[row, column] = unit[column, row] = 1.0 if row == column else np.sqrt(0.5)
                change = block @ _parameters(root @ unit @ root.T)
                (masses if column == 3 else inertias).append(change)
    rotors = np.arange(PER_LINK * prior.model.n, base.matrix.shape[1])
    deviations = np.sqrt(np.diag(prior.covariance)[rotors])
    inertias.extend((base.matrix[:, rotors] * deviations).T)
    return np.array(masses).T, np.array(inertias).T


def _upper_root(link: LinkInertia) -> Array:
    """Return U with U U^T a link's pseudo-inertia and zeros left of its last entry, (4, 4)."""
    center, pseudo = link.center_of_mass, link.pseudo_inertia()
    root = np.zeros((4, 4))
    root[:3, :3] = np.linalg.cholesky(pseudo[:3, :3] - link.mass * np.outer(center, center))
    root[:, 3] = np.sqrt(link.mass) * np.append(center, 1.0)
    return root


def _parameters(pseudo: Array) -> Array:
    """Return the ten parameters of a change of a pseudo-inertia, (10,)."""
    second = pseudo[:3, :3]
    tensor = np.trace(second) * np.eye(3) - second
    return np.concatenate([tensor[np.triu_indices(3)], pseudo[:, 3]])
