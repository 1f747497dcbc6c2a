# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
The prior: a starting set of inertias, and typical friction of the joints.

For inertias the distance is the log-determinant divergence of pseudo-inertias, tr(P P0^-1) -
logdet(P P0^-1) - 4 (Lee, Wensing and Park 2020, "Geometric robot dynamic identification: a convex
programming approach", IEEE T-RO 36(2)). It is convex, the same in every frame and unit, and
infinite for a body that cannot be. Near P0 twice the divergence is the squared relative change: a
mass that differs by 10 % counts about 0.01. Friction parameters are Gaussian about zero, with a
scale from the joints' torque limits.

How far off the set may be shows in the samples, and is added to deviations. An estimate under a
prior of precision s is off by K^-1 (R^T e + s P (theta0 - theta)): noise e of the samples R, and
what the starting set theta0 has wrong, P being the prior of precision one and K = R^T R + s P +
the prior of friction. Its covariance is K^-1 only if the set is as good as s
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
from functools import cached_property

import numpy as np

from .torque_model import TorqueModel
from ..arm import ArmDescription, LinkInertia
from ..arm.inertia import steiner
from ..dynamics.regressor import PER_LINK
from ..errors import IdentificationError
from ..typing import Array

# Smallest radius of gyration of the reference's links in every direction. Published links can be
# thinner than any real link, and the prior would then keep them so.
MINIMUM_GYRATION_M = 0.01
# Scale of rotor inertias: one that the joint's torque limit accelerates by this much [rad/s^2]
# costs as much as a doubled mass. A UR10e's first joints have 90 rad/s^2.
_ROTOR_ACCELERATION = 100.0
# An unknown torque limit is taken as this multiple of the joint's largest recorded torque:
# friction, which may be nearly all of that, is then measured by a tenth of it. Measured by a
# fiftieth it would count as noise.
_LIMIT_PER_EFFORT = 5.0
# Of a starting set whose masses are known to 32 %: what is left out of two real arms' recordings
# and of runs of 16 simulated ones is predicted as well as under 30 or a precision chosen by
# cross-validation, or better.
PRIOR_PRECISION = 10.0


def pseudo_inertia_basis() -> Array:
    """Return the pseudo-inertias of the ten unit parameters in eq. 3's order, (10, 4, 4)."""
    units = np.eye(PER_LINK)
    return np.array([LinkInertia.from_parameters(unit).pseudo_inertia() for unit in units])


def with_minimum_gyration(link: LinkInertia, minimum: float = MINIMUM_GYRATION_M) -> LinkInertia:
    """
    Return a link with a radius of gyration of at least `minimum` [m] in every direction.

    Mass and centre of mass stay; the second moments about it are raised where they are less
    than m times its square, which also makes a set physical that was not.
    """
    if link.mass <= 0.0:
        raise IdentificationError(
            'A link without mass cannot start an identification; choose another inertial set.'
        )
    central = link.inertia_at_center_of_mass
    second_moment = 0.5 * np.trace(central) * np.eye(3) - central
    values, axes = np.linalg.eigh(second_moment)
    raised = (axes * np.maximum(values, link.mass * minimum**2)) @ axes.T
    tensor = np.trace(raised) * np.eye(3) - raised
    about_origin = tensor + steiner(link.mass, link.center_of_mass)
    return LinkInertia(link.mass, link.first_moment, 0.5 * (about_origin + about_origin.T))


# Real links are spread by more than that in every direction (radius of gyration); a set that has
# one thinner has not measured it. The FER's capsules have radii of 40 to 60 mm.
LEAST_SPREAD_M = 0.05
# Precisions of inertias and of masses are alike within a factor of ten, one standard deviation:
# where shipped sets of the FER stand for each other, inertias are 1 to 16 times less precise.
_DECADES_APART = 1.0
_PRECISIONS = np.logspace(-2.0, 5.0, 71)
_ONE_DEVIATION = 0.5  # of a logarithm of a likelihood


@dataclass(frozen=True, eq=False)
class Prior:
    """
    The prior of a model's parameters: inertias towards a reference arm, friction towards zero.

    Attributes
    ----------
    model : TorqueModel
        What is identified.
    reference : ArmDescription
        The starting set, with_minimum_gyration.
    effort, velocity : ndarray, shape (n,)
        Scales of friction: the joints' torque limits [N m], or substitutes if unknown, and
        velocity limits [rad/s].

    """

    model: TorqueModel
    reference: ArmDescription
    effort: Array
    velocity: Array

    @classmethod
    def towards(cls, arm: ArmDescription, model: TorqueModel, strongest: Array) -> Prior:
        """
        Return the prior centred at an arm's inertial set.

        Parameters
        ----------
        arm : ArmDescription
            The starting set.
        model : TorqueModel
            What is identified.
        strongest : ndarray, shape (n,)
            The largest torques [N m], for joints whose torque limit is not known.

        """
        limit = arm.limit('effort')
        known = np.isfinite(limit) & (limit > 0.0)
        return cls(
            model,
            arm.map_links(with_minimum_gyration),
            np.where(known, limit, _LIMIT_PER_EFFORT * np.maximum(strongest, 1e-6)),
            arm.limit('velocity'),
        )

    @cached_property
    def covariance(self) -> Array:
        """
        Inverse of the divergence's second derivative at the reference, over standard parameters.

        As a prior of regularization one: every mass known to 100 %, other parameters in
        proportion.
        """
        basis = pseudo_inertia_basis()
        width = self.model.base.matrix.shape[1]
        total = np.zeros((width, width))
        for i, link in enumerate(self.reference.links):
            relative = np.linalg.solve(link.pseudo_inertia(), basis)
            metric = np.einsum('aij,bji->ab', relative, relative)
            block = slice(PER_LINK * i, PER_LINK * (i + 1))
            total[block, block] = np.linalg.inv(metric)
        rotors = np.arange(PER_LINK * self.model.n, width)
        if len(rotors):
            total[rotors, rotors] = (self.effort / _ROTOR_ACCELERATION) ** 2
        return total

    @cached_property
    def center(self) -> Array:
        """The reference's base parameters, zeros for friction, shape (p,)."""
        values = self.model.base.values(self.reference)
        return np.concatenate([values, np.zeros(len(self.model.friction.names))])

    @cached_property
    def deviations(self) -> Array:
        """Standard deviation of each parameter under a prior of regularization one, (p,)."""
        matrix = self.model.base.matrix
        base = np.sqrt(np.einsum('ij,jk,ik->i', matrix, self.covariance, matrix))
        return np.concatenate([base, self.friction_deviations])

    @cached_property
    def friction_deviations(self) -> Array:
        """Standard deviation of each friction parameter under the prior, shape (f,)."""
        return self.model.friction.deviations(self.effort, self.velocity)

    @cached_property
    def root(self) -> Array:
        """S of shape (b, b) with |S (base - center)|^2 the prior of regularization one."""
        matrix = self.model.base.matrix
        scale = self.deviations[: len(matrix)]
        spread = (matrix @ self.covariance @ matrix.T) / np.outer(scale, scale)
        return np.asarray(np.linalg.inv(np.linalg.cholesky(spread)) / scale)

    def rows(self, regularization: float) -> tuple[Array, Array]:
        """
        Return the equations of the prior, shapes (p, p) and (p,).

        Parameters
        ----------
        regularization : float
            Precision s of the inertias: the starting set has a relative standard deviation of 1 /
            sqrt(s).

        """
        rows = np.diag(1.0 / self.deviations)
        b = len(self.root)
        rows[:b, :b] = np.sqrt(regularization) * self.root
        return rows, rows @ self.center


@dataclass(frozen=True)
class ShownPrecision:
    """
    The smallest precisions of a starting set that agree with the samples.

    Attributes
    ----------
    masses : float
        Precision of masses and centres of mass: their relative standard deviation is 1 /
        sqrt(masses).
    inertias : float
        The same for inertias about the centres of mass, and for rotors.

    """

    masses: float
    inertias: float


@dataclass(frozen=True, eq=False)
class PriorMisfit:
    """
    Covariance of the prior's bias on an estimate: by its own precision, and by the samples.

    Attributes
    ----------
    claimed, shown : ndarray, shape (b, k)
        Roots of the covariance of s P (theta0 - theta): each times its transpose.

    """

    claimed: Array
    shown: Array

    def excess(self, covariance: Array) -> Array:
        """Return what K^-1, (p, p), lacks, which takes the prior for as good as it claims."""
        b = len(self.shown)
        shown, claimed = covariance[:, :b] @ self.shown, covariance[:, :b] @ self.claimed
        return np.asarray(shown @ shown.T - claimed @ claimed.T)


def prior_misfit(prior: Prior, regularization: float, precision: ShownPrecision) -> PriorMisfit:
    """
    Return the bias of an estimate by a prior whose set has a lower precision than assumed.

    Parameters
    ----------
    prior : Prior
        The prior.
    regularization : float
        The prior's precision in the estimate.
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
    return PriorMisfit(np.sqrt(regularization) * root.T, penalty @ spread)


def shown_precision(equations: tuple[Array, Array], prior: Prior) -> ShownPrecision:
    """
    Return the smallest precisions of a starting set that samples do not contradict.

    A precision is below one, where a set is not known at all, only if that fits best.

    Parameters
    ----------
    equations : tuple of ndarray
        What `QRFactors.weighted` gives, residuals of unit variance.
    prior : Prior
        The prior.

    """
    triangle, effort = equations
    b = len(prior.model.base)
    rubbing = triangle[:, b:] * prior.friction_deviations
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
