# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
The prior of inertias near those of a given arm (the starting set) and of friction near zero.

The distance of a link's pseudo-inertia Q from the starting set's, Q0, is the log-determinant
divergence tr(Q Q0^-1) - logdet(Q Q0^-1) - 4 (Lee, Wensing and Park 2020, "Geometric robot dynamic
identification: a convex programming approach", IEEE T-RO 36(2)). The divergence is convex, does
not depend on frames and units, and is infinite for a body that is not physical. Near the starting
set twice the divergence is a squared relative change: 0.01 if a mass differs by 10 %, at the same
centre of mass and inertia about it. Friction parameters are Gaussian about zero, with standard
deviations proportional to the joints' torque limits.

The prior precision s is chosen for good predictions and does not say how far the starting set
errs. The covariance of the starting set's error, C, is therefore estimated from the samples, and
is included in the covariance of the estimate (docs/theory/identification.md):

    K^-1 (K - s P + s^2 P C P) K^-1,    C = C_m / t_m + C_I / t_I

Here R is the weighted regressor of the samples, P the inverse covariance of the inertias' prior at
precision one, F that of friction, and K = R^T R + s P + F.

C_m is the prior's covariance of masses and centres of mass. C_I is that of inertias about the
centres of mass and of rotors, which gravity torques do not show and in which published sets err
far more. The precisions t_m and t_I are the smallest that agree with the samples: there the
log-likelihood with all parameters integrated out (the log evidence; MacKay 1992, "Bayesian
interpolation", Neural Computation 4(3)) is 1/2 below its maximum, as at one standard deviation of
a Gaussian. A precision t_m or t_I above the prior precision s counts as s.
"""

from dataclasses import dataclass
from functools import cache, cached_property
from typing import NamedTuple

import numpy as np

from .torque_model import expected_residual, MASS_AND_MOMENT_INDICES, TorqueModel
from .. import former_names
from ..arm import ArmDescription, LinkInertia
from ..arm.inertia import parallel_axis_term
from ..arrays import Array
from ..dynamics.regressor import N_LINK_PARAMETERS
from ..errors import IdentificationError, list_text

# Radius of gyration to which thinner links of the starting set are raised. Published links can be
# thinner than any real link, and the prior would then keep the estimated links as thin.
MIN_GYRATION_M = 0.01
# At precision one the prior standard deviation of a joint's rotor inertia is the joint's torque
# limit divided by _ROTOR_ACCELERATION_RAD_S2. Torque limit over rotor inertia is 90 rad/s^2 at
# a UR10e's first joints.
_ROTOR_ACCELERATION_RAD_S2 = 100.0
# A joint's unknown torque limit is replaced by its largest torque (`max_torque`) times
# _LIMIT_TO_MAX_TORQUE. With FRICTION_STD_TO_LIMIT (torque_model) the prior standard deviation of
# the joint's friction, offset excepted, is then a tenth of the joint's largest torque. That torque
# may be nearly all friction, which a smaller standard deviation would suppress.
_LIMIT_TO_MAX_TORQUE = 5.0
# For the covariances C_m and C_I, links of the starting set are raised to this radius of gyration,
# because published links are often thinner than real links: those of the shipped fer have radii
# down to 1 mm, though the FER's collision capsules have radii of 25 to 60 mm.
MIN_COVARIANCE_GYRATION_M = 0.05
# Prior standard deviation, in decades, of the ratio of the precisions of inertias and of masses.
# With one of the FER's shipped sets as the real arm and another as the starting set (both without
# a hand), the likeliest precision of inertias is 1 to 40 times lower than that of masses.
_PRECISION_RATIO_STD_DECADES = 1.0
# Prior standard deviation of unknowns beside a set's errors: a factor, a load in kg.
_FACTOR_AND_LOAD_STD = 10.0
_FINE_PRECISIONS = np.logspace(-2.0, 5.0, 71)
COARSE_PRECISIONS = _FINE_PRECISIONS[::5]
_LOG_LIKELIHOOD_DROP = 0.5  # fall of a Gaussian's log-likelihood at one standard deviation


@cache
def pseudo_inertia_basis() -> Array:
    """Return the pseudo-inertia of each unit vector of ten link parameters, (10, 4, 4)."""
    units = np.eye(N_LINK_PARAMETERS)
    return np.array([LinkInertia.from_parameters(unit).pseudo_inertia() for unit in units])


def with_minimum_gyration(link: LinkInertia, min_gyration: float = MIN_GYRATION_M) -> LinkInertia:
    """
    Return a link with gyration radii of at least `min_gyration` [m]; error unless its mass is > 0.

    The link keeps its mass and centre of mass. Second moments of mass about the centre of mass are
    raised to at least mass times its square, which also makes an unphysical link physical.
    Raises IdentificationError if the mass is not positive.
    """
    if link.mass <= 0.0:
        raise IdentificationError(
            'A link without mass cannot start an identification; give it a mass and a tensor.'
        )
    central = link.inertia_at_center_of_mass
    second_moment = 0.5 * np.trace(central) * np.eye(3) - central
    values, axes = np.linalg.eigh(second_moment)
    raised = (axes * np.maximum(values, link.mass * min_gyration**2)) @ axes.T
    tensor = np.trace(raised) * np.eye(3) - raised
    about_origin = tensor + parallel_axis_term(link.mass, link.center_of_mass)
    return LinkInertia(link.mass, link.first_moment, 0.5 * (about_origin + about_origin.T))


@former_names.of_attributes('0.3', center='mean', effort='effort_limit', velocity='velocity_limit')
@dataclass(frozen=True, eq=False)
class Prior:
    """
    The prior of a model's parameters, inertias near a reference arm's and friction near zero.

    `reference` is the starting set after `with_minimum_gyration`. The joints' torque limits
    `effort_limit` (n,) [N m] (if unknown, multiples of the largest torques) and velocity limits
    `velocity_limit` (n,) [rad/s] give the standard deviations of friction.
    """

    model: TorqueModel
    reference: ArmDescription
    effort_limit: Array
    velocity_limit: Array

    @classmethod
    def centered_at(cls, arm: ArmDescription, model: TorqueModel, max_torque: Array) -> 'Prior':
        """
        Return a model's prior centred at an arm's inertial set.

        `max_torque`, (n,) [N m], is each joint's largest recorded torque, for joints without a
        torque limit. Raises IdentificationError if links of the arm have no mass.
        """
        massless = [name for name, link in zip(arm.joint_names, arm.links) if link.mass <= 0.0]
        if massless:
            raise IdentificationError(
                f'{arm.file or arm.name}: the links behind {list_text(massless)} have no mass, '
                'and an identification starts from one. Give each of them a mass and a tensor in '
                'the arm file. Where nobody has measured them, take those of a solid body of its '
                'size, and write "unmeasured: [guessed]" beside them.'
            )
        limit = arm.limit('effort')
        known = np.isfinite(limit) & (limit > 0.0)
        limit = np.where(known, limit, _LIMIT_TO_MAX_TORQUE * np.maximum(max_torque, 1e-6))
        return cls(model, arm.map_links(with_minimum_gyration), limit, arm.limit('velocity'))

    @cached_property
    def covariance(self) -> Array:
        """
        Covariance of the standard parameters at precision one, (10 n, 10 n) or (11 n, 11 n).

        A link's covariance is the inverse of the divergence's second derivative at the reference:
        every mass has a relative standard deviation of 100 %, every coordinate of a centre of mass
        one of 0.7 times the radius of gyration.
        """
        width = self.model.base.matrix.shape[1]
        total = np.zeros((width, width))
        for i, link in enumerate(self.reference.links):
            block = slice(N_LINK_PARAMETERS * i, N_LINK_PARAMETERS * (i + 1))
            total[block, block] = _link_covariance(link)
        rotors = np.arange(N_LINK_PARAMETERS * self.model.n, width)
        if len(rotors):
            total[rotors, rotors] = (self.effort_limit / _ROTOR_ACCELERATION_RAD_S2) ** 2
        return total

    @cached_property
    def expected_residual(self) -> Array:
        """Rms residual to expect of a good fit, from the joints' torque limits, (n,) [N m]."""
        return expected_residual(self.effort_limit)

    @cached_property
    def mean(self) -> Array:
        """Mean of the prior, the reference arm's base parameters and zero friction, (p,)."""
        values = self.model.base.values(self.reference)
        return np.concatenate([values, np.zeros(len(self.model.friction.parameter_names))])

    @cached_property
    def std(self) -> Array:
        """Standard deviation of each parameter under the prior of precision one, shape (p,)."""
        matrix = self.model.base.matrix
        base = np.sqrt(np.einsum('ij,jk,ik->i', matrix, self.covariance, matrix))
        return np.concatenate([base, self.friction_std])

    @cached_property
    def friction_std(self) -> Array:
        """Standard deviation of each friction parameter under the prior, shape (f,)."""
        return self.model.friction.prior_std(self.effort_limit, self.velocity_limit)

    @cached_property
    def sqrt_precision(self) -> Array:
        """Square root S of the base parameters' prior information S^T S at precision 1, (b, b)."""
        matrix = self.model.base.matrix
        scale = self.std[: len(matrix)]
        spread = (matrix @ self.covariance @ matrix.T) / np.outer(scale, scale)
        return np.asarray(np.linalg.inv(np.linalg.cholesky(spread)) / scale)

    @cached_property
    def covariance_factors(self) -> tuple[Array, Array]:
        """
        Factors F (b, k) of base parameters' covariances F F^T due to masses and to inertias.

        The module's docstring defines both covariances, C_m and C_I. C_I is the covariance of
        inertias for given masses and first moments.
        """
        base = self.model.base
        order = [*MASS_AND_MOMENT_INDICES, *range(6)]
        masses: list[Array] = []
        inertias: list[Array] = []
        for i, link in enumerate(self.reference.links):
            covariance = _link_covariance(with_minimum_gyration(link, MIN_COVARIANCE_GYRATION_M))
            block = base.matrix[:, N_LINK_PARAMETERS * i : N_LINK_PARAMETERS * (i + 1)][:, order]
            changes = block @ np.linalg.cholesky(covariance[np.ix_(order, order)])
            masses.append(changes[:, :4])
            inertias.append(changes[:, 4:])
        rotors = np.arange(N_LINK_PARAMETERS * self.model.n, base.matrix.shape[1])
        inertias.append(base.matrix[:, rotors] * np.sqrt(np.diag(self.covariance)[rotors]))
        return np.hstack(masses), np.hstack(inertias)

    def information(self, precision: float) -> tuple[Array, Array]:
        """
        Return the prior's information matrix (p, p), and that matrix times the mean (p,).

        `precision` is that of the inertias: the reference's masses have a relative standard
        deviation of 1 / sqrt(precision).
        """
        b = len(self.sqrt_precision)
        matrix = np.diag(self.std**-2.0)
        matrix[:b, :b] = precision * (self.sqrt_precision.T @ self.sqrt_precision)
        return matrix, matrix @ self.mean


class StartingSetPrecision(NamedTuple):
    """
    Precisions (1 / variance) of a starting set's masses and inertias, from measured torques.

    The precisions are the smallest that agree with the torques. Errors of the starting set have
    the prior's standard deviations at precision one, times 1 / sqrt(`masses`) for masses and
    centres of mass, 1 / sqrt(`inertias`) for rotor inertias and inertias about centres of mass.
    """

    masses: float
    inertias: float

    def covariance(self, prior: Prior) -> Array:
        """Return the covariance C of the starting set's errors in its base parameters, (b, b)."""
        masses, inertias = prior.covariance_factors
        return np.asarray(masses @ masses.T / self.masses + inertias @ inertias.T / self.inertias)


def starting_set_precision(
    equations: tuple[Array, Array], prior: Prior, free_columns: Array | None = None
) -> StartingSetPrecision:
    """
    Return a starting set's precisions, each the likeliest if < 1, else the smallest likely >= 1.

    `equations` are those of `least_squares.weighted_equations`, weighted so that residuals have
    unit variance. `free_columns` (rows of the equations, k) are columns of unknowns beside the
    set's errors. A precision below one (relative errors above 100 %) is returned only if it is the
    likeliest precision.
    """
    triangle, effort = equations
    free = np.zeros((len(effort), 0)) if free_columns is None else free_columns
    table = log_evidence((triangle, effort), prior, free, _FINE_PRECISIONS)
    return StartingSetPrecision(*(_likely_precision(table.max(axis=axis)) for axis in (1, 0)))


def log_evidence(
    equations: tuple[Array, Array],
    prior: Prior,
    free_columns: Array,
    precisions: Array = COARSE_PRECISIONS,
    min_mass_precision: float = 0.0,
) -> Array:
    """
    Return a table of the log evidence of measured torques by precisions of masses and inertias.

    Arguments are as for `starting_set_precision`. There is a column for each of `precisions` of
    inertias, and a row for each of masses from `min_mass_precision` on. A constant of the
    equations is left out.
    """
    triangle, effort = equations
    b = len(prior.model.base)
    friction = triangle[:, b:] * prior.friction_std
    unknown = np.concatenate([friction, _FACTOR_AND_LOAD_STD * free_columns], axis=1)
    # Friction and noise together have the covariance root @ root.T; the inverse of root whitens
    # them.
    root = np.linalg.cholesky(np.eye(len(effort)) + unknown @ unknown.T)
    off = np.linalg.solve(root, effort - triangle[:, :b] @ prior.mean[:b])
    directions, columns = np.linalg.qr(np.linalg.solve(root, triangle[:, :b]))
    inside = directions.T @ off
    masses, inertias = (columns @ spread for spread in prior.covariance_factors)
    of_masses = precisions[precisions >= min_mass_precision]
    table = _log_likelihood_table(inside, (masses, inertias), (of_masses, precisions))
    table -= 0.5 * (off @ off - inside @ inside) + np.sum(np.log(np.diag(root)))
    apart = np.log10(precisions) - np.log10(of_masses)[:, None]
    return table - 0.5 * (apart / _PRECISION_RATIO_STD_DECADES) ** 2


def _likely_precision(log_evidence: Array) -> float:
    """Return the likeliest precision if it is below 1, else the smallest likely one from 1 on."""
    likely = np.flatnonzero(log_evidence >= log_evidence.max() - _LOG_LIKELIHOOD_DROP)
    best = _FINE_PRECISIONS[int(np.argmax(log_evidence))]
    return float(max(_FINE_PRECISIONS[likely[0]], min(1.0, best)))


def _log_likelihood_table(
    whitened_residual: Array,
    factors: tuple[Array, Array],
    precisions: tuple[Array, Array],
) -> Array:
    """
    Return a table of log-likelihoods of torque errors by precisions of masses and inertias.

    Rows are for masses, columns for inertias. `whitened_residual` (b,) are measured torques minus
    those of the starting set, whitened and projected on the base parameters' columns; `factors`
    (b, k) are the prior's `covariance_factors`, mapped to torques.
    """
    (mass_factors, inertia_factors), (of_masses, of_inertias) = factors, precisions
    spreads, turn = np.linalg.eigh(mass_factors @ mass_factors.T)
    of_set = 1.0 + np.maximum(spreads, 0.0) / of_masses[:, None]
    part = turn.T @ inertia_factors
    scale = 1.0 / np.sqrt(of_set)
    values, axes = np.linalg.eigh(scale[:, :, None] * (part @ part.T) * scale[:, None, :])
    squares = ((scale * (turn.T @ whitened_residual))[:, None] @ axes) ** 2
    variances = 1.0 + np.maximum(values, 0.0)[:, None] / of_inertias[:, None]
    table = np.log(variances).sum(axis=2) + (squares / variances).sum(axis=2)
    return np.asarray(-0.5 * (table + np.log(of_set).sum(axis=1)[:, None]))


def _link_covariance(link: LinkInertia) -> Array:
    """Return the prior covariance (10, 10) of a link's parameters at precision one."""
    relative = np.linalg.solve(link.pseudo_inertia(), pseudo_inertia_basis())
    return np.asarray(np.linalg.inv(np.einsum('aij,bji->ab', relative, relative)))
