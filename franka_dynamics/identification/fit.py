# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Fits of base parameters and of physically consistent parameters to recordings.

Physically consistent parameters are found by semidefinite programming: every link's pseudo-inertia
must be positive definite (Wensing, Kim and Slotine 2018, IEEE RA-L 3(1)), and friction must brake.
The prior about the starting set determines the parameters that torques do not. If a hand is
mounted, the last link must also be physical without it, so that the hand can be removed. The fit
is a convex problem, whose size does not depend on the number of samples.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import combinations_with_replacement, pairwise
from operator import add

import numpy as np

from . import least_squares
from .least_squares import FOLD_COUNT, GramStack
from .options import MAX_MASS_RATIO
from .prior import Prior, pseudo_inertia_basis, with_minimum_gyration
from .results import Estimate, PublishedFit, TorqueErrors
from .. import semidefinite as sdp
from ..arm import ArmDescription
from ..arm.bodies import load_hand, NO_HAND
from ..arrays import Array
from ..dynamics.regressor import (
    N_LINK_PARAMETERS,
    parameter_vector,
    with_parameter_vector,
)
from ..errors import IdentificationError
from ..recordings.replay import ResidualRms, TorqueErrorUnit

_MASS_INDEX = N_LINK_PARAMETERS - 1
# Smallest precision of the fit's prior. Without a prior a link could become a flat body or a
# point, on the boundary of the cone of physical links.
_MIN_PRIOR_PRECISION = 1e-2
# The pseudo-inertia of the last link without the hand must exceed _MIN_BARE_LINK_INERTIA_TO_START
# times its value in the starting set (the difference must be positive semidefinite).
_MIN_BARE_LINK_INERTIA_TO_START = 1e-3
# Friction parameters of magnitude below _MIN_FRICTION_TO_STD times their prior standard deviation
# are within the solver's accuracy and are set to zero.
_MIN_FRICTION_TO_STD = 1e-6
# From so many recordings on each is a fold, or a part of one: three left out in turn are too few
# for a standard error.
_MIN_RECORDINGS_AS_FOLDS = 4


@dataclass(frozen=True, eq=False)
class PhysicalConstraints:
    """
    The matrices of the constraints that keep a fitted arm's links physical and masses in bounds.

    The unknowns x (p,) are differences of the standard parameters from their prior mean
    `prior_mean` in units of its standard deviations: the parameters are `prior_mean` +
    `covariance_sqrt` x. The pseudo-inertia of link i relative to the mean's is 1 +
    `relative_basis[i]` x of the link, (n, 16, 10). `start_masses` (n,) are those of the starting
    set [kg]. `bare_link_terms` has the last link's pseudo-inertia without the mounted hand, less
    its smallest value, at the mean (4, 4) and by x (16, 10).
    """

    prior_mean: Array
    covariance_sqrt: Array
    relative_basis: Array
    start_masses: Array
    bare_link_terms: tuple[Array, Array] | None

    @classmethod
    def from_prior(cls, prior: Prior, start: ArmDescription) -> 'PhysicalConstraints':
        """Return constraint matrices for fits under a prior, from the arm `start` and its hand."""
        center = parameter_vector(prior.reference, rotor_inertia=prior.model.base.rotor_inertia)
        root = np.asarray(np.linalg.cholesky(prior.covariance), dtype=float)
        basis = pseudo_inertia_basis()
        relative = []
        inertias = [link.pseudo_inertia() for link in prior.reference.links]
        for block, inertia in zip(_link_slices(start.n), inertias):
            # The pseudo-inertia P is divided by the reference's P0 = L L^T: L^-1 P L^-T.
            whitener = np.linalg.inv(np.linalg.cholesky(inertia))
            scaled = np.einsum('ka,kij->ija', root[block, block], whitener @ basis @ whitener.T)
            relative.append(scaled.reshape(16, -1))
        without_hand = None
        if start.hand != NO_HAND:
            hand = load_hand(start.hand).expressed_in(start.flange_transform())
            bare = with_minimum_gyration(start.links[-1] - hand)
            least = _MIN_BARE_LINK_INERTIA_TO_START * bare.pseudo_inertia()
            last = _link_slices(start.n)[-1]
            moved = np.einsum('ka,kij->ija', root[last, last], basis).reshape(16, -1)
            without_hand = inertias[-1] - hand.pseudo_inertia() - least, moved
        masses = np.array([link.mass for link in start.links])
        return cls(center, root, np.array(relative), masses, without_hand)


def _link_slices(n: int) -> list[slice]:
    """Return the slice of each link's parameters among the standard parameters."""
    return [slice(N_LINK_PARAMETERS * i, N_LINK_PARAMETERS * (i + 1)) for i in range(n)]


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
    is the exact log-determinant divergence from the starting set, not its second-order
    approximation in `Prior.information`.

    Raises IdentificationError if the solver finds no optimum, MissingDependencyError if clarabel
    is not installed.
    """
    applied = max(precision, _MIN_PRIOR_PRECISION)
    triangle, effort = equations
    b = len(prior.model.base)
    f = len(prior.friction_std)
    m = len(bounds.covariance_sqrt)
    # The unknowns are changes and friction in units of their standard deviations, residuals, and
    # of each link 14 numbers of which its log-determinant is made.
    n = len(bounds.start_masses)
    r = len(effort)
    places = np.cumsum([0, m, f, r, 14 * n])
    change, friction, residual, log_det = (slice(*pair) for pair in pairwise(places.tolist()))
    count = int(places[-1])
    braking = np.flatnonzero(prior.model.friction.nonnegative_mask)
    fitted = np.zeros((r, count))
    fitted[:, change] = triangle[:, :b] @ prior.model.base.matrix @ bounds.covariance_sqrt
    fitted[:, friction] = triangle[:, b:] * prior.friction_std
    fitted[:, residual] = -np.eye(r)
    quadratic = np.zeros(count)
    linear = np.zeros(count)
    quadratic[friction] = quadratic[residual] = 2.0
    quadratic[N_LINK_PARAMETERS * n : m] = 2.0 * applied  # rotors
    for block, by, own in zip(
        _link_slices(n),
        bounds.relative_basis,
        np.reshape(range(log_det.start, count), (n, -1)),
    ):
        linear[block] += 2.0 * applied * by.reshape(4, 4, -1).trace()
        linear[own[-4:]] = -2.0 * applied
    most = prior.model.friction.maxima / prior.friction_std
    bounded = np.flatnonzero(np.isfinite(most))
    constraints = [
        sdp.zero_cone(triangle[:, :b] @ prior.mean[:b] - effort, fitted),
        sdp.nonnegative_cone(0.0, np.eye(count)[friction][braking]),
        *_link_cones(bounds, count, log_det.start),
    ]
    if len(bounded):
        slope = -np.eye(count)[friction][bounded]
        constraints.append(sdp.nonnegative_cone(most[bounded], slope))
    # With many samples the squared residuals are so large that the divergence is below the
    # solver's tolerance; the cost is therefore divided by sqrt(applied * |effort|).
    unit = 1.0 / np.sqrt(applied * max(1.0, float(np.linalg.norm(effort))))
    found = _minimum_point(np.diag(quadratic), linear, constraints, unit)
    vector = bounds.prior_mean + bounds.covariance_sqrt @ found[change]
    rotors = slice(N_LINK_PARAMETERS * n, None)
    vector[rotors] = np.maximum(vector[rotors], 0.0)  # the solver may return less than zero
    friction_units = np.where(np.abs(found[friction]) > _MIN_FRICTION_TO_STD, found[friction], 0.0)
    friction_units[braking] = np.maximum(friction_units[braking], 0.0)
    friction_units = np.minimum(friction_units, most)  # as above
    return vector, friction_units * prior.friction_std


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
    vector, friction = parameters
    own = covariance[len(prior.model.base) :, len(prior.model.base) :]
    model = prior.model.friction.friction_model(friction, own)
    return replace(with_parameter_vector(start, vector), friction=model)


def _minimum_point(
    hessian: Array, linear: Array, constraints: list[sdp.Constraint], cost_scale: float
) -> Array:
    """
    Return the unknowns of least quadratic cost within `constraints`; IdentificationError if none.

    Raises IdentificationError if the solver finds no optimum.
    """
    for one in (cost_scale, 1.0):
        cost = one * hessian, one * linear
        found = sdp.quadratic_minimiser(*cost, constraints, allow_inaccurate=one == 1.0)
        if found is not None:
            return found
    raise IdentificationError(
        'The consistent fit found no physical arm with masses within a factor of '
        f'{MAX_MASS_RATIO:g} of the starting set. Are efforts in another unit (currents: '
        '--torque-constant, others: --effort-scale), of another order or sign, or is this '
        'another arm? Otherwise choose another --set.'
    )


def _link_cones(
    bounds: PhysicalConstraints, unknown_count: int, first_log_det: int
) -> Iterator[sdp.Constraint]:
    """
    Yield the constraints on links and rotor inertias, as cones of `unknown_count` unknowns.

    The unknowns from number `first_log_det` on are 14 further numbers of each link. The
    log-determinant of a relative pseudo-inertia W is at most the sum of the last four, which are
    at most the logarithms of the diagonal of a triangular matrix Z made of the first ten, with
    [[W, Z], [Z', diag Z]] positive semidefinite (Ben-Tal and Nemirovski 2001, "Lectures on modern
    convex optimization", section 4.2).
    """
    n = len(bounds.start_masses)
    corner = list(combinations_with_replacement(range(4), 2))
    for k, (block, by) in enumerate(zip(_link_slices(n), bounds.relative_basis)):
        first = first_log_det + 14 * k
        slope = np.zeros((8, 8, unknown_count))
        one = np.diag([1.0] * 4 + [0.0] * 4)
        slope[:4, :4, block] = by.reshape(4, 4, -1)
        for place, (j, i) in enumerate(corner, first):
            slope[i, 4 + j, place] = slope[4 + j, i, place] = 1.0
            if i == j:
                slope[4 + i, 4 + i, place] = 1.0
                yield sdp.exponential_cone(first + 10 + i, place, unknown_count)
        yield sdp.psd_cone(one, slope)
        mass = np.zeros((2, unknown_count))
        mass[:, block] = np.outer([1.0, -1.0], bounds.covariance_sqrt[block, block][_MASS_INDEX])
        mean = bounds.prior_mean[block][_MASS_INDEX]
        m = bounds.start_masses[k]
        yield sdp.nonnegative_cone([mean - m / MAX_MASS_RATIO, m * MAX_MASS_RATIO - mean], mass)
    if bounds.bare_link_terms is not None:
        before, by = bounds.bare_link_terms
        slope = np.zeros((4, 4, unknown_count))
        slope[:, :, _link_slices(n)[-1]] = by.reshape(4, 4, -1)
        yield sdp.psd_cone(before, slope)
    rotors = slice(N_LINK_PARAMETERS * n, len(bounds.covariance_sqrt))
    yield sdp.nonnegative_cone(
        bounds.prior_mean[rotors] / np.diag(bounds.covariance_sqrt)[rotors],
        np.eye(unknown_count)[rotors],
    )


@dataclass(frozen=True, eq=False)
class DataSplit:
    """
    Gram matrices of recordings, split by folds or recordings into fitted and left-out parts.

    `total_grams` is the sum of all. Of `fitted_grams` there is one for each that is left out, or a
    single one for all test recordings.
    """

    total_grams: GramStack
    fitted_grams: tuple[GramStack, ...]
    left_out_grams: tuple[GramStack, ...]

    @classmethod
    def from_grams(cls, grams: Sequence[GramStack], test_count: int) -> 'DataSplit':
        """Return a split that leaves out the last `test_count` recordings or, if 0, each fold."""
        fitted = grams[: len(grams) - test_count]
        tested = grams[len(grams) - test_count :]
        if len(fitted) >= _MIN_RECORDINGS_AS_FOLDS:
            fitted = [one.merged_into_fold(k % FOLD_COUNT) for k, one in enumerate(fitted)]
        every = reduce(add, [*fitted, *tested])
        # One prior for all: of joints without a torque limit by the largest torque.
        whole = replace(reduce(add, fitted), max_torque=every.max_torque)
        if tested:
            return cls(every, (whole,), tuple(tested))
        folds = np.flatnonzero(whole.sample_counts).tolist()
        others = (whole.with_folds([j for j in folds if j != k]) for k in folds)
        return cls(every, tuple(others), tuple(whole.with_folds([k]) for k in folds))


@dataclass(frozen=True, eq=False)
class FitResults:
    """
    All parameter sets fitted to the Gram matrices of the same recordings.

    `thetas` (p,) are base parameters and friction without constraints, those of the physically
    consistent arm, and of each set to compare with, whose friction alone is fitted.
    `consistent_fit` are standard and friction parameters of this arm. `torque_noise_std` (n,) is
    that of the weights [N m].
    """

    consistent_fit: tuple[Array, Array]
    torque_noise_std: Array
    thetas: tuple[Array, ...]


def fit_parameter_sets(
    priors: Sequence[Prior],
    bounds: PhysicalConstraints,
    precision: float,
    grams: GramStack,
) -> FitResults:
    """
    Return fits without and with constraints, and published sets with fitted friction.

    `priors` are those about the starting set and, after it, about the published sets; `precision`
    is that of the first. The function can run in another process.
    """
    prior, *others = priors
    noise = least_squares.common_noise(grams, prior, precision)
    base = least_squares.fit_theta(grams, prior, precision, noise)
    consistent = fit_consistent_parameters(
        least_squares.weighted_equations(grams, prior, noise), prior, bounds, precision
    )
    standard, friction = consistent
    theta = np.concatenate([prior.model.base.matrix @ standard, friction])
    published_sets = [least_squares.fit_friction(grams, one, noise) for one in others]
    return FitResults(consistent, noise, (base, theta, *published_sets))


def all_torque_errors(
    priors: Sequence[Prior],
    split: DataSplit,
    total: FitResults,
    part_fits: Sequence[FitResults],
) -> tuple[TorqueErrors, ...]:
    """
    Return the torque errors of all parameter sets, on all data and on left-out parts.

    `priors` are those of `fit_parameter_sets`; `total` is fitted to all data, `part_fits` to
    `split.fitted_grams`.
    """
    start, *published = (prior.reference for prior in priors)
    unit = TorqueErrorUnit.for_arm(start)
    fits = part_fits if len(part_fits) > 1 else [*part_fits] * len(split.left_out_grams)
    unseen = list(zip(split.left_out_grams, fits))

    def errors(
        k: int,
        parts: list[tuple[GramStack, FitResults]],
        parameter_count: int | None = None,
    ) -> ResidualRms:
        """Return set k's torque errors: of all parameters or the first `parameter_count`."""
        squares = [sums.squared_residuals(own.thetas[k][:parameter_count]) for sums, own in parts]
        count = sum(sums.sample_count for sums, _ in parts)
        return ResidualRms.from_squares(np.sum(squares, axis=0), count, unit)

    sets = [f'{one.inertial_set}, {one.hand}' for one in published]
    found = []
    for k, name in enumerate(['base parameters', 'consistent', *sets]):
        train = errors(k, [(split.total_grams, total)])
        test = errors(k, unseen)
        rigid = errors(k, unseen, len(priors[0].model.base))
        folds = tuple(errors(k, [part]).E for part in unseen)
        found.append(TorqueErrors(name, train, test, rigid, folds))
    return tuple(found)


def final_estimate(prior: Prior, precision: float, grams: GramStack, fit: FitResults) -> Estimate:
    """Return the fit to all recordings as an Estimate, with covariance and start's precision."""
    (base, theta, *_), noise = fit.thetas, fit.torque_noise_std
    spread, supported = least_squares.posterior_covariance(grams, prior, precision, noise, base)
    ratios = least_squares.std_to_prior_ratios(grams, prior, base)
    return Estimate(prior.model, prior, theta, base, spread, ratios, supported)


def published_fit(
    priors: Sequence[Prior],
    sets: Sequence[ArmDescription],
    grams: GramStack,
    fit: FitResults,
    errors: Sequence[TorqueErrors],
) -> PublishedFit:
    """
    Return the best published set with the starting arm's hand, with its fitted friction.

    `priors` are those of `fit_parameter_sets`, `sets` the published sets, `fit` that to `grams`,
    `errors` those of all published sets. Sets whose links are physical come first; without one
    with the hand, any set counts.
    """
    start, *others = priors
    own = [k for k, one in enumerate(sets) if one.hand == start.reference.hand]

    def rank(k: int) -> tuple[bool, float]:
        """Return what sorts sets: those that are physical first, then by E on unseen parts."""
        return bool(sets[k].inconsistencies()), errors[k].test.E

    best = min(own or range(len(sets)), key=rank)
    theta = fit.thetas[2 + best]
    b = len(start.model.base)
    spread = least_squares.friction_covariance(grams, others[best], fit.torque_noise_std, theta)
    friction = start.model.friction.friction_model(theta[b:], spread)
    return PublishedFit(replace(sets[best], friction=friction), theta, errors[best])
