# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
All fits of an identification: to all recordings and without each part, of each parameter set.

The sets are base parameters without constraints, the physically consistent arm
(`consistent_fit`), and published inertias, of which friction alone is fitted. Each left-out part
is predicted by the fits without it, which gives the torque errors that decide.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add

import numpy as np

from . import consistent_fit, least_squares
from .choice import choose_widths
from .least_squares import FOLD_COUNT, GramStack
from .prior import Prior
from .prior_widths import PriorWidths
from .result_parts import Estimate, PublishedFit, TorqueErrors
from .torque_model import LOAD_SYMBOL, MAX_LOAD_FRICTION
from ..arm import ArmDescription
from ..arrays import Array
from ..recordings.replay import ResidualRms, TorqueErrorUnit

# From so many recordings on each is a fold, or a part of one: three left out in turn are too few
# for a standard error.
_MIN_RECORDINGS_AS_FOLDS = 4
# A share is at its bound within this ratio: the solver stops before it.
_LARGEST_SHARE_TO_BOUND = 0.98


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
        tests = grams[len(grams) - test_count :]
        if len(fitted) >= _MIN_RECORDINGS_AS_FOLDS:
            fitted = [
                recording.merged_into_fold(k % FOLD_COUNT) for k, recording in enumerate(fitted)
            ]
        total = reduce(add, [*fitted, *tests])
        # The largest torque, which stands for unknown torque limits in the prior, is that of all
        # recordings in every fit, so that all fits have one prior.
        all_fitted = replace(reduce(add, fitted), max_torque=total.max_torque)
        if tests:
            return cls(total, (all_fitted,), tuple(tests))
        folds = np.flatnonzero(all_fitted.sample_counts).tolist()
        without_fold = [
            all_fitted.with_folds([other for other in folds if other != fold]) for fold in folds
        ]
        single_folds = [all_fitted.with_folds([fold]) for fold in folds]
        return cls(total, tuple(without_fold), tuple(single_folds))


@dataclass(frozen=True, eq=False)
class FitResults:
    """
    All parameter sets fitted to the Gram matrices of the same recordings.

    `priors` are those about the starting set and about each set to compare with, with the chosen
    widths, and of a model without the terms that were left out. `thetas` (p,) are base parameters
    and friction without constraints, those of the physically consistent arm, and of each set to
    compare with, whose friction alone is fitted. `consistent_fit` are standard and friction
    parameters of this arm. `torque_noise_std` (n,) is that of the weights [N m].
    """

    priors: tuple[Prior, ...]
    consistent_fit: tuple[Array, Array]
    torque_noise_std: Array
    thetas: tuple[Array, ...]


def fit_parameter_sets(
    priors: Sequence[Prior],
    bounds: consistent_fit.PhysicalConstraints,
    fixed_widths: Mapping[str, float],
    grams: GramStack,
) -> FitResults:
    """
    Return fits without and with constraints, and published sets with fitted friction.

    `priors` are those about the starting set and, after it, about the published sets, of a model
    with all terms. The widths that are not fixed are chosen by these samples alone, about the
    starting set, and published sets get them, too. The function can run in another process.

    A joint's friction that takes the largest share of the load that a fit allows stands for
    something else: of a Schunk LWA4P whose masses are guesses it is 0.9 at joint 2, and raises E
    on left-out recordings from 1.38 to 1.75 N m. Then no friction grows with the load.
    """
    widths = choose_widths(grams, priors[0], fixed_widths).widths
    found = fit_with_widths(priors, bounds, widths, grams)
    if _losses_are_possible(found):
        return found
    without_load = {**fixed_widths, 'load': 0.0}
    widths = choose_widths(grams, priors[0], without_load).widths
    return fit_with_widths(priors, bounds, widths, grams)


def _losses_are_possible(found: FitResults) -> bool:
    """Return whether no joint's friction takes the largest share of the load that a fit allows."""
    _, consistent_theta, *_ = found.thetas
    bound = _LARGEST_SHARE_TO_BOUND * MAX_LOAD_FRICTION
    names = found.priors[0].model.parameter_names
    return all(
        share < bound
        for name, share in zip(names, consistent_theta.tolist())
        if name.startswith(LOAD_SYMBOL)
    )


def fit_with_widths(
    all_terms_priors: Sequence[Prior],
    bounds: consistent_fit.PhysicalConstraints,
    widths: PriorWidths,
    all_terms_grams: GramStack,
) -> FitResults:
    """Return the fits of `fit_parameter_sets` with given widths."""
    priors = tuple(prior.with_widths(widths) for prior in all_terms_priors)
    start_prior, *published_priors = priors
    grams = all_terms_grams.for_model(start_prior.model)
    precision = widths.regularization
    noise_std = least_squares.common_noise(grams, start_prior, precision)  # (n,), N m
    unconstrained_theta = least_squares.fit_theta(grams, start_prior, precision, noise_std)
    equations = least_squares.weighted_equations(grams, start_prior, noise_std)
    found = consistent_fit.fit_consistent_parameters(equations, start_prior, bounds, precision)
    standard_parameters, friction = found
    base_parameters = start_prior.model.base.matrix @ standard_parameters
    consistent_theta = np.concatenate([base_parameters, friction])
    published_thetas = [
        least_squares.fit_friction(grams, prior, noise_std) for prior in published_priors
    ]
    thetas = (unconstrained_theta, consistent_theta, *published_thetas)
    return FitResults(priors, found, noise_std, thetas)


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
    left_out_grams = split.left_out_grams
    # All test recordings are predicted by one fit, each fold by a fit of its own.
    fits = part_fits if len(part_fits) > 1 else [*part_fits] * len(left_out_grams)
    all_data = [(split.total_grams, total)]
    left_out_parts = list(zip(left_out_grams, fits))

    def torque_errors(
        set_index: int,
        parts: Sequence[tuple[GramStack, FitResults]],
        parameter_count: int | None = None,
    ) -> ResidualRms:
        """Return a set's errors on parts, of all its parameters or the first `parameter_count`."""
        squares = [
            grams.for_model(fit.priors[0].model).squared_residuals(
                fit.thetas[set_index][:parameter_count]
            )
            for grams, fit in parts
        ]
        sample_count = sum(grams.sample_count for grams, _ in parts)
        return ResidualRms.from_squares(np.sum(squares, axis=0), sample_count, unit)

    base_count = len(priors[0].model.base)
    names_and_hands = [
        ('base parameters', None),
        ('consistent', None),
        *((f'{arm.inertial_set}, {arm.hand}', arm.hand) for arm in published),
    ]
    return tuple(
        TorqueErrors(
            name=name,
            train=torque_errors(k, all_data),
            test=torque_errors(k, left_out_parts),
            frictionless=torque_errors(k, left_out_parts, base_count),
            fold_errors=tuple(torque_errors(k, [part]).E for part in left_out_parts),
            hand=hand,
        )
        for k, (name, hand) in enumerate(names_and_hands)
    )


def final_estimate(all_terms_grams: GramStack, fit: FitResults) -> Estimate:
    """Return the fit to all recordings as an Estimate, with covariance and start's precision."""
    prior = fit.priors[0]
    precision = prior.widths.regularization
    grams = all_terms_grams.for_model(prior.model)
    unconstrained_theta, consistent_theta, *_ = fit.thetas
    covariance, start_precision = least_squares.posterior_covariance(
        grams, prior, precision, fit.torque_noise_std, unconstrained_theta
    )
    return Estimate(
        model=prior.model,
        prior=prior,
        theta=consistent_theta,
        unconstrained_theta=unconstrained_theta,
        covariance=covariance,
        std_to_prior_ratios=least_squares.std_to_prior_ratios(grams, prior, unconstrained_theta),
        precision=start_precision,
    )


def published_fit(
    sets: Sequence[ArmDescription],
    all_terms_grams: GramStack,
    fit: FitResults,
    errors: Sequence[TorqueErrors],
) -> PublishedFit:
    """
    Return the best published set with the starting arm's hand, with its fitted friction.

    `sets` are the published sets, `fit` that to `all_terms_grams`, `errors` those of all published
    sets. Sets whose links are physical come first; without one
    with the hand, any set counts.
    """
    start_prior, *published_priors = fit.priors
    grams = all_terms_grams.for_model(start_prior.model)
    with_same_hand = [k for k, arm in enumerate(sets) if arm.hand == start_prior.reference.hand]

    def rank(k: int) -> tuple[bool, float]:
        """Return what sorts sets: those that are physical first, then by E on unseen parts."""
        return bool(sets[k].inconsistencies()), errors[k].test.E

    best = min(with_same_hand or range(len(sets)), key=rank)
    model = start_prior.model
    _, _, *published_thetas = fit.thetas
    theta = published_thetas[best]
    friction_covariance = least_squares.friction_covariance(
        grams, published_priors[best], fit.torque_noise_std, theta
    )
    friction = model.friction.friction_model(theta[model.friction_slice], friction_covariance)
    return PublishedFit(replace(sets[best], friction=friction), theta, errors[best])
