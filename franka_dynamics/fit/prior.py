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

The divergence gives the shape of a link's prior, its second derivative at the starting set. How
wide that is, the samples choose with the widths of friction (`choice`): the precision s of masses
and centres of mass, and how many times as wide the prior is of inertias about the centres of mass
and of rotors, which gravity torques do not show and in which published sets err far more. The
covariance of the starting set's error, C, is estimated from the samples as well, as the largest
one that agrees with them:

    C = C_m / t_m + C_I / t_I

C_m is the prior's covariance of masses and centres of mass. C_I is that of inertias about the
centres of mass and of rotors. The precisions t_m and t_I are the smallest that agree with the
samples: there the log-likelihood with all parameters integrated out (the log evidence; MacKay
1992, "Bayesian interpolation", Neural Computation 4(3)) is 1/2 below its maximum, as at one
standard deviation of a Gaussian. A precision t_m or t_I above that of the prior counts as that of
the prior.

The covariance of the estimate includes C. With R the weighted regressor of the samples, e their
noise, P the inverse covariance of the inertias' prior at precision one, F that of friction, and
K = R^T R + s P + F, the estimate is off by K^-1 (R^T e + s P (theta_0 - theta)), where theta_0 is
the starting set. With B the covariance of R^T e by each joint's own residual, its covariance is

    K^-1 (B + F + s^2 P C P) K^-1
"""

from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import NamedTuple

import numpy as np

from .prior_widths import PriorWidths
from .torque_model import expected_residual, MASS_AND_MOMENT_INDICES, TorqueModel
from ..arm import ArmDescription, LinkInertia
from ..arm.inertia import parallel_axis_term
from ..arrays import Array, NDArray
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
# For covariances, links of the starting set are raised to this radius of gyration, because
# published links are often thinner than real links: those of the shipped fer have radii down to
# 1 mm, though the FER's collision capsules have radii of 25 to 60 mm. Torques of both FERs and of
# the Airbot Play (benchmarks/identification) are likelier with it than with MIN_GYRATION_M.
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
    central_inertia = link.inertia_at_center_of_mass  # (3, 3), kg m^2
    # The second moment of mass S has the inertia tr(S) 1 - S, and S = tr(I) / 2 1 - I.
    second_moment = 0.5 * np.trace(central_inertia) * np.eye(3) - central_inertia
    principal_moments, axes = np.linalg.eigh(second_moment)
    raised_moments = np.maximum(principal_moments, link.mass * min_gyration**2)
    raised = (axes * raised_moments) @ axes.T
    raised_inertia = np.trace(raised) * np.eye(3) - raised
    about_origin = raised_inertia + parallel_axis_term(link.mass, link.center_of_mass)
    symmetric = 0.5 * (about_origin + about_origin.T)
    return LinkInertia(link.mass, link.first_moment, symmetric)


@dataclass(frozen=True, eq=False)
class Prior:
    """
    The prior of a model's parameters, inertias near a reference arm's and friction near zero.

    `reference` is the starting set after `with_minimum_gyration`, `is_doubtful` whether the set
    was said to make torques wrong, or has links that no body can be. The joints' torque limits
    `effort_limit` (n,) [N m] (if unknown, multiples of the largest torques) and velocity limits
    `velocity_limit` (n,) [rad/s] give the standard deviations of friction, by its `widths`.
    """

    model: TorqueModel
    reference: ArmDescription
    effort_limit: Array
    velocity_limit: Array
    widths: PriorWidths = PriorWidths()
    is_doubtful: bool = False

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
        stated_limit = arm.limit('effort')  # (n,), N m
        is_known = np.isfinite(stated_limit) & (stated_limit > 0.0)
        assumed_limit = _LIMIT_TO_MAX_TORQUE * np.maximum(max_torque, 1e-6)
        return cls(
            model,
            reference=arm.map_links(with_minimum_gyration),
            effort_limit=np.where(is_known, stated_limit, assumed_limit),
            velocity_limit=arm.limit('velocity'),
            # An arm file does not keep what was said of its numbers on import.
            is_doubtful=bool(arm.torque_notes or arm.inconsistencies()),
        )

    @cached_property
    def covariance(self) -> Array:
        """
        Covariance of the standard parameters at precision one, (10 n, 10 n) or (11 n, 11 n).

        A link's covariance is the inverse of the divergence's second derivative at the reference,
        raised to MIN_COVARIANCE_GYRATION_M: every mass has a relative standard deviation of 100 %,
        every coordinate of a centre of mass one of 0.7 times the radius of gyration. The
        deviations of inertias for given masses and centres of mass, and of rotors, are as many
        times as large as the widths' `inertia` says.
        """
        of_masses, of_inertias = self.covariance_parts
        return of_masses + self.widths.inertia**2 * of_inertias

    @cached_property
    def covariance_parts(self) -> tuple[Array, Array]:
        """`covariance` at widths of one: of masses and centres of mass, of all else."""
        standard_count = self.model.base.matrix.shape[1]
        of_masses = np.zeros((standard_count, standard_count))
        of_inertias = np.zeros((standard_count, standard_count))
        for i, link in enumerate(self.reference.links):
            link_slice = slice(N_LINK_PARAMETERS * i, N_LINK_PARAMETERS * (i + 1))
            mass_factor, inertia_factor = _link_factors(_thick(link))
            of_masses[link_slice, link_slice] = mass_factor @ mass_factor.T
            of_inertias[link_slice, link_slice] = inertia_factor @ inertia_factor.T
        rotors = self._rotor_indices
        if len(rotors):
            rotor_std = self.effort_limit / _ROTOR_ACCELERATION_RAD_S2  # (n,), kg m^2
            of_inertias[rotors, rotors] = rotor_std**2
        return of_masses, of_inertias

    @property
    def _rotor_indices(self) -> NDArray[np.intp]:
        """Indices of the rotor inertias among the standard parameters, none without them."""
        return np.arange(N_LINK_PARAMETERS * self.model.n, self.model.base.matrix.shape[1])

    @cached_property
    def expected_residual(self) -> Array:
        """Rms residual to expect of a good fit, from the joints' torque limits, (n,) [N m]."""
        return expected_residual(self.effort_limit)

    @cached_property
    def mean(self) -> Array:
        """Mean of the prior, the reference arm's base parameters and zero friction, (p,)."""
        base_parameters = self.model.base.values(self.reference)
        no_friction = np.zeros(len(self.model.friction.parameter_names))
        return np.concatenate([base_parameters, no_friction])

    @cached_property
    def std(self) -> Array:
        """Standard deviation of each parameter under the prior of precision one, shape (p,)."""
        to_base = self.model.base.matrix  # from standard parameters, (b, 10 n) or (b, 11 n)
        base_variance = np.einsum('ij,jk,ik->i', to_base, self.covariance, to_base)
        return np.concatenate([np.sqrt(base_variance), self.friction_std])

    @cached_property
    def friction_std(self) -> Array:
        """Standard deviation of each friction parameter under the prior, shape (f,)."""
        friction = self.model.friction
        return friction.prior_std(self.effort_limit, self.velocity_limit, self.widths)

    def with_widths(self, widths: PriorWidths) -> 'Prior':
        """Return the prior of other widths; terms whose width is zero leave its model."""
        friction = self.model.friction.without_terms(widths)
        load = self.model.load_parameters if friction.load_dependent else None
        model = replace(self.model, friction=friction, load_parameters=load)
        return replace(self, model=model, widths=widths)

    @cached_property
    def sqrt_precision(self) -> Array:
        """Square root S of the base parameters' prior information S^T S at precision 1, (b, b)."""
        to_base = self.model.base.matrix
        base_std = self.std[: len(to_base)]
        # Scaled to correlations, because parameters have different units and sizes.
        correlation = (to_base @ self.covariance @ to_base.T) / np.outer(base_std, base_std)
        return np.asarray(np.linalg.inv(np.linalg.cholesky(correlation)) / base_std)

    @cached_property
    def covariance_factors(self) -> tuple[Array, Array]:
        """
        Factors F (b, k) of base parameters' covariances F F^T due to masses and to inertias.

        The module's docstring defines both covariances, C_m and C_I. C_I is the covariance of
        inertias for given masses and first moments.
        """
        to_base = self.model.base.matrix
        mass_factors: list[Array] = []
        inertia_factors: list[Array] = []
        for i, link in enumerate(self.reference.links):
            mass_factor, inertia_factor = _link_factors(_thick(link))
            link_slice = slice(N_LINK_PARAMETERS * i, N_LINK_PARAMETERS * (i + 1))
            mass_factors.append(to_base[:, link_slice] @ mass_factor)
            inertia_factors.append(to_base[:, link_slice] @ inertia_factor)
        rotors = self._rotor_indices
        _, of_inertias = self.covariance_parts
        rotor_std = np.sqrt(np.diag(of_inertias)[rotors])
        inertia_factors.append(to_base[:, rotors] * rotor_std)
        return np.hstack(mass_factors), np.hstack(inertia_factors)

    def information(self, precision: float) -> tuple[Array, Array]:
        """
        Return the prior's information matrix (p, p), and that matrix times the mean (p,).

        `precision` is that of masses: the reference's have a relative standard deviation of
        1 / sqrt(precision).
        """
        b = len(self.sqrt_precision)
        information = np.diag(self.std**-2.0)
        information[:b, :b] = precision * (self.sqrt_precision.T @ self.sqrt_precision)
        return information, information @ self.mean


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
        mass_factors, inertia_factors = prior.covariance_factors
        mass_covariance = mass_factors @ mass_factors.T / self.masses
        inertia_covariance = inertia_factors @ inertia_factors.T / self.inertias
        return np.asarray(mass_covariance + inertia_covariance)


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
    _, reduced_torque = equations
    if free_columns is None:
        free_columns = np.zeros((len(reduced_torque), 0))
    # Rows are for precisions of masses, columns for those of inertias.
    evidence = log_evidence(equations, prior, free_columns, _FINE_PRECISIONS)
    return StartingSetPrecision(
        masses=_likely_precision(evidence.max(axis=1)),
        inertias=_likely_precision(evidence.max(axis=0)),
    )


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
    base_columns, residual, half_log_determinant = _whitened_equations(
        equations, prior, free_columns
    )
    # Only the residual in the span of the base columns depends on the precisions.
    base_directions, base_triangle = np.linalg.qr(base_columns)
    projected_residual = base_directions.T @ residual  # (b,)
    mass_factors, inertia_factors = prior.covariance_factors
    torque_factors = base_triangle @ mass_factors, base_triangle @ inertia_factors
    mass_precisions = precisions[precisions >= min_mass_precision]
    evidence = _log_likelihood_table(
        projected_residual, torque_factors, (mass_precisions, precisions)
    )
    remaining_square = residual @ residual - projected_residual @ projected_residual
    evidence -= 0.5 * remaining_square + half_log_determinant
    # The ratio of both precisions has a prior of its own, log-normal about 1.
    decades_apart = np.log10(precisions) - np.log10(mass_precisions)[:, None]
    return evidence - 0.5 * (decades_apart / _PRECISION_RATIO_STD_DECADES) ** 2


def _whitened_equations(
    equations: tuple[Array, Array], prior: Prior, free_columns: Array
) -> tuple[Array, Array, float]:
    """
    Return whitened base columns (rows, b) and torque residual (rows,), and a log-determinant.

    The residual is that of the prior's mean. Friction and the unknowns of `free_columns` are
    integrated out: they count as noise, whose covariance is 1 + U U^T = L L^T with their columns
    U, each scaled to unit variance. Columns and residual are multiplied by L^-1, which makes the
    noise white. The last number is half the log-determinant of the covariance.
    """
    reduced_regressor, reduced_torque = equations
    b = len(prior.model.base)
    base_columns = reduced_regressor[:, :b]
    friction_columns = reduced_regressor[:, b:] * prior.friction_std
    noise_columns = np.concatenate([friction_columns, _FACTOR_AND_LOAD_STD * free_columns], axis=1)
    noise_covariance = np.eye(len(reduced_torque)) + noise_columns @ noise_columns.T
    noise_sqrt = np.linalg.cholesky(noise_covariance)
    residual = reduced_torque - base_columns @ prior.mean[:b]
    whitened_columns = np.asarray(np.linalg.solve(noise_sqrt, base_columns))
    whitened_residual = np.asarray(np.linalg.solve(noise_sqrt, residual))
    half_log_determinant = float(np.sum(np.log(np.diag(noise_sqrt))))
    return whitened_columns, whitened_residual, half_log_determinant


def _likely_precision(evidence: Array) -> float:
    """
    Return the likeliest precision if it is below 1, else the smallest likely one from 1 on.

    `evidence` has the log evidence of each of _FINE_PRECISIONS.
    """
    is_likely = evidence >= evidence.max() - _LOG_LIKELIHOOD_DROP
    smallest_likely = _FINE_PRECISIONS[np.flatnonzero(is_likely)[0]]
    likeliest = _FINE_PRECISIONS[int(np.argmax(evidence))]
    return float(max(smallest_likely, min(1.0, likeliest)))


def _log_likelihood_table(
    projected_residual: Array,
    torque_factors: tuple[Array, Array],
    precisions: tuple[Array, Array],
) -> Array:
    """
    Return a table of log-likelihoods of torque errors by precisions of masses and inertias.

    Rows are for masses, columns for inertias. `projected_residual` (b,) are measured torques minus
    those of the starting set, whitened and projected on the base parameters' columns;
    `torque_factors` (b, k) are the prior's `covariance_factors`, mapped to torques alike: the
    residual's covariance is 1 + F_m F_m^T / t_m + F_I F_I^T / t_I. It is made diagonal in two
    steps, for each t_m with all t_I at once.
    """
    mass_factors, inertia_factors = torque_factors
    mass_precisions, inertia_precisions = precisions
    # Axes in which noise and masses have a diagonal covariance, which is then scaled to 1.
    mass_variances, mass_axes = np.linalg.eigh(mass_factors @ mass_factors.T)
    noise_and_mass_variances = 1.0 + np.maximum(mass_variances, 0.0) / mass_precisions[:, None]
    scale = 1.0 / np.sqrt(noise_and_mass_variances)  # (mass precisions, b)
    scaled_residual = scale * (mass_axes.T @ projected_residual)
    turned_factors = mass_axes.T @ inertia_factors
    turned_covariance = turned_factors @ turned_factors.T
    scaled_covariance = scale[:, :, None] * turned_covariance * scale[:, None, :]
    # Axes, for each precision of masses, in which inertias have a diagonal covariance as well.
    inertia_variances, inertia_axes = np.linalg.eigh(scaled_covariance)
    squares = (scaled_residual[:, None] @ inertia_axes) ** 2  # (mass precisions, 1, b)
    relative_variances = np.maximum(inertia_variances, 0.0)[:, None] / inertia_precisions[:, None]
    variances = 1.0 + relative_variances  # (mass precisions, inertia precisions, b)
    log_determinants = np.log(variances).sum(axis=2)
    mass_log_determinants = np.log(noise_and_mass_variances).sum(axis=1)[:, None]
    minus_twice = log_determinants + (squares / variances).sum(axis=2)
    return np.asarray(-0.5 * (minus_twice + mass_log_determinants))


def _thick(link: LinkInertia) -> LinkInertia:
    """Return a link as thick as covariances take it to be."""
    return with_minimum_gyration(link, MIN_COVARIANCE_GYRATION_M)


def _link_factors(link: LinkInertia) -> tuple[Array, Array]:
    """
    Return factors F (10, 4) and (10, 6) of the prior covariance of a link's parameters.

    The covariance at precision one is the sum of both F F^T: that of masses and first moments, and
    of inertias for given masses and first moments.
    """
    mass_count = len(MASS_AND_MOMENT_INDICES)
    masses_first = [*MASS_AND_MOMENT_INDICES, *range(6)]
    covariance = _link_covariance(link)
    # With mass and first moments first, the last six columns of the Cholesky factor are what
    # inertias vary at given masses and first moments.
    factor = np.zeros((N_LINK_PARAMETERS, N_LINK_PARAMETERS))
    factor[masses_first] = np.linalg.cholesky(covariance[np.ix_(masses_first, masses_first)])
    return factor[:, :mass_count], factor[:, mass_count:]


def _link_covariance(link: LinkInertia) -> Array:
    """
    Return the prior covariance (10, 10) of a link's parameters at precision one.

    The second derivative of the divergence by parameters a and b is tr(P^-1 E_a P^-1 E_b), with P
    the pseudo-inertia and E its basis.
    """
    relative_basis = np.linalg.solve(link.pseudo_inertia(), pseudo_inertia_basis())  # P^-1 E
    information = np.einsum('aij,bji->ab', relative_basis, relative_basis)
    return np.asarray(np.linalg.inv(information))
