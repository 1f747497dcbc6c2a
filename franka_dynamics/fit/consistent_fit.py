# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
The fit of physically consistent parameters to reduced samples.

It is a semidefinite program: every link's pseudo-inertia must be positive definite (Wensing, Kim
and Slotine 2018, IEEE RA-L 3(1)), and friction must brake. The prior about the starting set
determines the parameters that torques do not. If a hand is mounted, the last link must also be
physical without it, so that the hand can be removed. The problem is convex, and its size does not
depend on the number of samples.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations_with_replacement, pairwise, product
from typing import NamedTuple

import numpy as np

from .options import MAX_MASS_RATIO
from .prior import Prior, pseudo_inertia_basis, with_minimum_gyration
from .. import semidefinite as sdp
from ..arm import ArmDescription, LinkInertia
from ..arm.hands import load_hand
from ..arrays import Array
from ..constants import NO_HAND
from ..dynamics.regressor import N_LINK_PARAMETERS, parameter_vector, with_parameter_vector
from ..errors import IdentificationError

_MASS_INDEX = N_LINK_PARAMETERS - 1
# Unknowns of each link that stand for its log-determinant: the entries of a lower triangular
# 4 x 4 matrix, then a bound of the logarithm of each entry of its diagonal.
_TRIANGLE_ENTRY_COUNT = 10
_LOG_DET_UNKNOWN_COUNT = _TRIANGLE_ENTRY_COUNT + 4
# Smallest precision of the fit's prior. Without a prior a link could become a flat body or a
# point, on the boundary of the cone of physical links.
_MIN_PRIOR_PRECISION = 1e-2
# The divergence's share of the prior, which keeps links off that boundary. Where the solver finds
# no optimum with a small one, as for an arm of a fifth of the starting set's masses, it is larger.
# Chosen on the logs of benchmarks/identification, whose errors on parts left out it changes by 2
# to 5 % either way; no log kept apart has judged it.
_DIVERGENCE_SHARES = 0.01, 0.1
# The pseudo-inertia of the last link without the hand must exceed _MIN_BARE_LINK_INERTIA_TO_START
# times its value in the starting set (the difference must be positive semidefinite).
_MIN_BARE_LINK_INERTIA_TO_START = 1e-3
# Friction parameters of magnitude below _MIN_FRICTION_TO_STD times their prior standard deviation
# are within the solver's accuracy and are set to zero.
_MIN_FRICTION_TO_STD = 1e-6


@dataclass(frozen=True, eq=False)
class PhysicalConstraints:
    """
    The matrices of the constraints that keep a fitted arm's links physical and masses in bounds.

    The unknowns x, (10 n,) or (11 n,), are the standard parameters' differences from their prior
    mean, in units of their prior standard deviations: the parameters are `prior_mean` +
    `covariance_sqrt` x. With L L^T the pseudo-inertia of link i at the mean, its pseudo-inertia P
    relative to that is L^-1 P L^-T = 1 + `relative_basis[i]` x of the link; `relative_basis` is
    (n, 4, 4, 10).
    `start_masses` (n,) are those of the starting set [kg]. `bare_link_terms` has the last link's
    pseudo-inertia without the mounted hand, less its smallest value, at the mean (4, 4) and by x
    (4, 4, 10).
    """

    prior_mean: Array
    covariance_sqrt: Array
    relative_basis: Array
    start_masses: Array
    bare_link_terms: tuple[Array, Array] | None

    @classmethod
    def from_prior(cls, prior: Prior, start: ArmDescription) -> 'PhysicalConstraints':
        """Return constraint matrices for fits under a prior, from the arm `start` and its hand."""
        reference = prior.reference
        prior_mean = parameter_vector(reference, rotor_inertia=prior.model.base.rotor_inertia)
        covariance_sqrt = np.asarray(np.linalg.cholesky(prior.covariance), dtype=float)
        # No two links are correlated in the prior: each has its own block of the square root.
        link_sqrts = [covariance_sqrt[link, link] for link in _link_slices(start.n)]
        relative_basis = [
            _relative_pseudo_inertia_basis(link, link_sqrt)
            for link, link_sqrt in zip(reference.links, link_sqrts)
        ]
        bare_link_terms = None
        if start.hand != NO_HAND:
            bare_link_terms = _bare_link_terms(start, reference.links[-1], link_sqrts[-1])
        start_masses = np.array([link.mass for link in start.links])  # (n,), kg
        return cls(
            prior_mean, covariance_sqrt, np.array(relative_basis), start_masses, bare_link_terms
        )

    @property
    def link_slices(self) -> list[slice]:
        """The slice of each link's parameters among the standard parameters."""
        return _link_slices(len(self.start_masses))

    @property
    def rotor_slice(self) -> slice:
        """The slice of rotor inertias among the standard parameters, empty if there are none."""
        return slice(self.link_slices[-1].stop, len(self.prior_mean))


def _link_slices(n: int) -> list[slice]:
    """Return the slice of each link's parameters among the standard parameters."""
    return [slice(N_LINK_PARAMETERS * i, N_LINK_PARAMETERS * (i + 1)) for i in range(n)]


def _relative_pseudo_inertia_basis(reference: LinkInertia, link_sqrt: Array) -> Array:
    """
    Return a link's pseudo-inertia relative to the reference's, by unknown, (4, 4, 10).

    Relative to P0 = L L^T of the reference a pseudo-inertia P is L^-1 P L^-T. `link_sqrt` (10, 10)
    is the link's block of the prior covariance's square root.
    """
    inverse_root = np.linalg.inv(np.linalg.cholesky(reference.pseudo_inertia()))  # L^-1, (4, 4)
    basis_by_parameter = inverse_root @ pseudo_inertia_basis() @ inverse_root.T  # (10, 4, 4)
    return np.einsum('ka,kij->ija', link_sqrt, basis_by_parameter)


def _bare_link_terms(
    start: ArmDescription, reference_link: LinkInertia, link_sqrt: Array
) -> tuple[Array, Array]:
    """
    Return the pseudo-inertia of the last link without the hand, less its smallest value.

    Returned are its value (4, 4) at the prior mean, where the link with the hand is
    `reference_link`, and its changes (4, 4, 10) by the link's unknowns.
    """
    hand = load_hand(start.hand).expressed_in(start.flange_transform())
    bare_start_link = with_minimum_gyration(start.links[-1] - hand)
    smallest = _MIN_BARE_LINK_INERTIA_TO_START * bare_start_link.pseudo_inertia()
    at_mean = reference_link.pseudo_inertia() - hand.pseudo_inertia() - smallest
    return at_mean, np.einsum('ka,kij->ija', link_sqrt, pseudo_inertia_basis())


class _UnknownSlices(NamedTuple):
    """
    Where each kind of unknown is among the N unknowns of the semidefinite program.

    `standard` (10 n or 11 n) are the standard parameters' differences from the prior mean,
    `friction` (f) the friction parameters, both in units of prior standard deviations; `residual`
    (rows of the equations) are weighted torque residuals; `log_det` (14 n) are 14 auxiliary
    unknowns of each link, which bound its log-determinant (`_log_det_cones`).
    """

    standard: slice
    friction: slice
    residual: slice
    log_det: slice

    @classmethod
    def from_sizes(cls, *sizes: int) -> '_UnknownSlices':
        """Return the slices of kinds of unknowns with these sizes, in the order of the fields."""
        bounds = np.cumsum([0, *sizes]).tolist()
        return cls(*(slice(first, end) for first, end in pairwise(bounds)))

    @property
    def total(self) -> int:
        """The number N of all unknowns."""
        return int(self.log_det.stop)

    def triangle(self, link: int) -> range:
        """Return the indices of the entries of a link's lower triangular matrix Z."""
        first = self.log_det.start + _LOG_DET_UNKNOWN_COUNT * link
        return range(first, first + _TRIANGLE_ENTRY_COUNT)

    def diagonal_logarithms(self, link: int) -> range:
        """Return the indices of the lower bounds of the logarithms of Z's diagonal."""
        first = self.triangle(link).stop
        return range(first, first + _LOG_DET_UNKNOWN_COUNT - _TRIANGLE_ENTRY_COUNT)


def fit_consistent_parameters(
    equations: tuple[Array, Array],
    prior: Prior,
    bounds: PhysicalConstraints,
    precision: float,
) -> tuple[Array, Array]:
    """
    Return the physically consistent standard and friction parameters that fit samples and prior.

    Returned are the standard parameters, (10 n,) or (11 n,), and friction parameters (f,).
    `equations` (R, z) are from `least_squares.weighted_equations`. The cost of the links' inertias
    is that of the prior, and so small a share of the log-determinant divergence from the starting
    set that it only keeps links off the boundary of what is physical.

    Raises IdentificationError if the solver finds no optimum, MissingDependencyError if clarabel
    is not installed.
    """
    _, reduced_torque = equations
    applied_precision = max(precision, _MIN_PRIOR_PRECISION)
    unknowns = _UnknownSlices.from_sizes(
        len(bounds.prior_mean),
        len(prior.friction_std),
        len(reduced_torque),
        _LOG_DET_UNKNOWN_COUNT * len(bounds.start_masses),
    )
    constraints = [
        _residual_definition(equations, prior, bounds, unknowns),
        _friction_dissipates(prior, unknowns),
        *_link_cones(bounds, unknowns),
        *_friction_maxima(prior, unknowns),
    ]
    # With many samples the squared residuals are so large that the prior's cost is below the
    # solver's tolerance; the cost is therefore divided by sqrt(precision * |torque|).
    torque_size = max(1.0, float(np.linalg.norm(reduced_torque)))
    cost_scale = 1.0 / np.sqrt(applied_precision * torque_size)
    costs = [
        _consistent_fit_cost(prior, bounds, unknowns, applied_precision, share)
        for share in _DIVERGENCE_SHARES
    ]
    solution = _minimum_point(costs, constraints, cost_scale)
    standard_parameters = bounds.prior_mean + bounds.covariance_sqrt @ solution[unknowns.standard]
    # The solver may return rotor inertias slightly below zero.
    rotors = bounds.rotor_slice
    standard_parameters[rotors] = np.maximum(standard_parameters[rotors], 0.0)
    return standard_parameters, _bounded_friction(solution[unknowns.friction], prior)


def _bounded_friction(friction_to_std: Array, prior: Prior) -> Array:
    """
    Return friction parameters (f,) within their bounds, which the solver may slightly exceed.

    `friction_to_std` (f,) are the solver's, in units of prior standard deviations.
    """
    friction = prior.model.friction
    dissipative = friction.nonnegative_mask
    maxima_to_std = friction.maxima / prior.friction_std
    sums_to_std = _friction_sums(prior) @ friction_to_std
    significant = np.abs(sums_to_std) > _MIN_FRICTION_TO_STD
    bounded = np.where(significant, sums_to_std, 0.0)
    bounded[dissipative] = np.maximum(bounded[dissipative], 0.0)
    bounded = np.minimum(bounded, maxima_to_std) * prior.friction_std
    return friction.from_bounded_sums(bounded)


def _friction_sums(prior: Prior) -> Array:
    """Return the matrix to sums of friction that have bounds, both in standard deviations."""
    std = prior.friction_std
    return np.asarray(prior.model.friction.bounded_sums * (std / std[:, None]))


def _consistent_fit_cost(
    prior: Prior,
    bounds: PhysicalConstraints,
    unknowns: _UnknownSlices,
    precision: float,
    share: float,
) -> tuple[Array, Array]:
    """
    Return the Hessian (N, N) and the linear term (N,) of the consistent fit's cost.

    The cost is the sum of squared residuals, of squared friction, of `precision` times squared
    differences from the prior's mean, in its deviations, and, times `share` of that, of twice the
    links' log-determinant divergences tr(W) - logdet(W) - 4, with W the pseudo-inertia relative to
    the reference's. In place of logdet(W) stands the sum of the unknowns that bound it
    (`_log_det_cones`).
    """
    hessian = np.zeros((unknowns.total, unknowns.total))
    hessian[unknowns.residual, unknowns.residual] = 2.0 * np.eye(
        unknowns.residual.stop - unknowns.residual.start
    )
    hessian[unknowns.friction, unknowns.friction] = 2.0 * np.eye(len(prior.friction_std))
    # The unknowns are in deviations of a prior of default widths.
    whitened = np.linalg.solve(np.linalg.cholesky(prior.covariance), bounds.covariance_sqrt)
    hessian[unknowns.standard, unknowns.standard] = 2.0 * precision * (whitened.T @ whitened)
    linear = np.zeros(unknowns.total)
    divergence_precision = max(_MIN_PRIOR_PRECISION, share * precision)
    for link, (parameters, basis) in enumerate(zip(bounds.link_slices, bounds.relative_basis)):
        linear[parameters] = 2.0 * divergence_precision * basis.trace()  # of each unknown, (10,)
        linear[unknowns.diagonal_logarithms(link)] = -2.0 * divergence_precision
    return hessian, linear


def _residual_definition(
    equations: tuple[Array, Array],
    prior: Prior,
    bounds: PhysicalConstraints,
    unknowns: _UnknownSlices,
) -> sdp.Constraint:
    """Return the equality that the residual unknowns are R theta - z of `equations` (R, z)."""
    reduced_regressor, reduced_torque = equations
    b = len(prior.model.base)
    base_columns = reduced_regressor[:, :b]
    friction_columns = reduced_regressor[:, b:]
    slope = np.zeros((len(reduced_torque), unknowns.total))
    slope[:, unknowns.standard] = base_columns @ prior.model.base.matrix @ bounds.covariance_sqrt
    slope[:, unknowns.friction] = friction_columns * prior.friction_std
    slope[:, unknowns.residual] = -np.eye(len(reduced_torque))
    return sdp.zero_cone(base_columns @ prior.mean[:b] - reduced_torque, slope)


def _friction_dissipates(prior: Prior, unknowns: _UnknownSlices) -> sdp.Constraint:
    """Return the constraint that friction's bounded sums, other than offsets, are nonnegative."""
    sums = _friction_sums(prior)[prior.model.friction.nonnegative_mask]
    slope = np.zeros((len(sums), unknowns.total))
    slope[:, unknowns.friction] = sums / np.abs(sums).max(axis=1, keepdims=True)
    return sdp.nonnegative_cone(0.0, slope)


def _friction_maxima(prior: Prior, unknowns: _UnknownSlices) -> Iterator[sdp.Constraint]:
    """Yield the constraint on friction parameters that have a maximum, if there are any."""
    maxima_to_std = prior.model.friction.maxima / prior.friction_std
    bounded = np.flatnonzero(np.isfinite(maxima_to_std))
    if len(bounded):
        slope = -np.eye(unknowns.total)[unknowns.friction][bounded]
        yield sdp.nonnegative_cone(maxima_to_std[bounded], slope)


def _minimum_point(
    costs: list[tuple[Array, Array]], constraints: list[sdp.Constraint], cost_scale: float
) -> Array:
    """
    Return the unknowns of least quadratic cost within `constraints`; IdentificationError if none.

    The first of `costs`, Hessians (N, N) and linear terms (N,), counts that has an optimum. Each
    is tried times `cost_scale` and, if that gives no accurate optimum, as it is. Raises
    IdentificationError if the solver finds no optimum.
    """
    for (hessian, linear), scale in product(costs, (cost_scale, 1.0)):
        solution = sdp.quadratic_minimiser(
            scale * hessian, scale * linear, constraints, allow_inaccurate=scale == 1.0
        )
        if solution is not None:
            return solution
    raise IdentificationError(
        'The consistent fit found no physical arm with masses within a factor of '
        f'{MAX_MASS_RATIO:g} of the starting set. Are efforts in another unit (currents: '
        '--torque-constant, others: --effort-scale), of another order or sign, or is this '
        'another arm? Otherwise choose another --set.'
    )


def _link_cones(bounds: PhysicalConstraints, unknowns: _UnknownSlices) -> Iterator[sdp.Constraint]:
    """Yield the constraints on links' pseudo-inertias and masses, and on rotor inertias."""
    for link in range(len(bounds.link_slices)):
        yield from _log_det_cones(bounds, unknowns, link)
        yield _mass_range(bounds, unknowns, link)
    if bounds.bare_link_terms is not None:
        bare_at_mean, bare_by_unknown = bounds.bare_link_terms
        slope = np.zeros((4, 4, unknowns.total))
        slope[:, :, bounds.link_slices[-1]] = bare_by_unknown
        yield sdp.psd_cone(bare_at_mean, slope)
    rotors = bounds.rotor_slice
    rotor_std = np.diag(bounds.covariance_sqrt)[rotors]  # (n,) or (0,), kg m^2
    yield sdp.nonnegative_cone(
        bounds.prior_mean[rotors] / rotor_std, np.eye(unknowns.total)[rotors]
    )


def _log_det_cones(
    bounds: PhysicalConstraints, unknowns: _UnknownSlices, link: int
) -> Iterator[sdp.Constraint]:
    """
    Yield the constraints that make a link physical and bound its log-determinant from below.

    With W the link's pseudo-inertia relative to the reference's and a lower triangular matrix Z of
    unknowns, [[W, Z], [Z', diag Z]] is positive semidefinite. The log-determinant of W is then at
    least the sum of the logarithms of Z's diagonal (Ben-Tal and Nemirovski 2001, "Lectures on
    modern convex optimization", section 4.2). Four more unknowns are at most these logarithms, and
    equal them at the minimum of the cost.
    """
    diagonal_logarithms = unknowns.diagonal_logarithms(link)
    matrix_at_mean = np.diag([1.0] * 4 + [0.0] * 4)  # where W = 1, with Z = 0
    slope = np.zeros((8, 8, unknowns.total))
    slope[:4, :4, bounds.link_slices[link]] = bounds.relative_basis[link]
    triangle_entries = combinations_with_replacement(range(4), 2)  # column by column
    for unknown, (column, row) in zip(unknowns.triangle(link), triangle_entries, strict=True):
        slope[row, 4 + column, unknown] = 1.0
        slope[4 + column, row, unknown] = 1.0
        if row == column:
            slope[4 + row, 4 + row, unknown] = 1.0
            yield sdp.exponential_cone(diagonal_logarithms[row], unknown, unknowns.total)
    yield sdp.psd_cone(matrix_at_mean, slope)


def _mass_range(
    bounds: PhysicalConstraints, unknowns: _UnknownSlices, link: int
) -> sdp.Constraint:
    """Return the constraint that a link's mass is within MAX_MASS_RATIO of its start's."""
    parameters = bounds.link_slices[link]
    mean_mass = bounds.prior_mean[parameters][_MASS_INDEX]
    mass_by_unknown = bounds.covariance_sqrt[parameters, parameters][_MASS_INDEX]  # (10,), kg
    lightest = bounds.start_masses[link] / MAX_MASS_RATIO
    heaviest = bounds.start_masses[link] * MAX_MASS_RATIO
    slope = np.zeros((2, unknowns.total))
    slope[0, parameters] = mass_by_unknown
    slope[1, parameters] = -mass_by_unknown
    return sdp.nonnegative_cone([mean_mass - lightest, heaviest - mean_mass], slope)


def masses_in(standard_parameters: Array, n: int) -> Array:
    """Return the masses of n links in standard parameters (10 n,) or (11 n,), (n,) [kg]."""
    return np.array([standard_parameters[link][_MASS_INDEX] for link in _link_slices(n)])


def arm_from_fit(
    start: ArmDescription,
    prior: Prior,
    parameters: tuple[Array, Array],
    covariance: Array,
) -> ArmDescription:
    """
    Return the arm `start` with the parameters that `fit_consistent_parameters` found.

    `covariance` (p, p) is that of base and friction parameters.
    """
    standard_parameters, friction = parameters
    model = prior.model
    friction_covariance = covariance[model.friction_slice, model.friction_slice]
    friction_model = model.friction.friction_model(friction, friction_covariance)
    return replace(with_parameter_vector(start, standard_parameters), friction=friction_model)
