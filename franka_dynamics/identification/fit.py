# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Fits of all parameter sets to the Gram sums of recordings, and tests on left-out parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add

import numpy as np

from . import solve
from .consistent_fit import fit_consistent, PhysicalConstraints
from .gram_sums import FOLD_COUNT, GramSums
from .options import IdentificationOptions
from .prior import Prior
from .results import Estimate, TorqueErrors
from .torque_model import TorqueModel
from ..arm import ArmDescription
from ..arrays import Array
from ..recordings.torque_error import ResidualRms, TorqueErrorUnit

# From so many recordings on each is a fold, or a part of one: three left out in turn are too few
# for a standard error.
_MIN_RECORDINGS_AS_FOLDS = 4


@dataclass(frozen=True, eq=False)
class FitSetup:
    """The setup of an identification: starting set, published sets to compare with, options."""

    start: ArmDescription
    published: tuple[ArmDescription, ...]
    options: IdentificationOptions
    model: TorqueModel
    unit: TorqueErrorUnit

    def priors(self, sums: GramSums) -> list[Prior]:
        """Return the priors about the starting set and about the sets to compare with."""
        sets = (self.start, *self.published)
        return [Prior.centered_at(one, self.model, sums.max_torque) for one in sets]


@dataclass(frozen=True, eq=False)
class DataSplit:
    """
    Gram sums of recordings: of each, of all, those to fit, and those left out of these fits.

    `per_recording` are the recordings' own, `total` is their sum. Of `fitted` there is one for
    each that is left out, or a single one for all test recordings.
    """

    per_recording: tuple[GramSums, ...]
    total: GramSums
    fitted: tuple[GramSums, ...]
    left_out: tuple[GramSums, ...]

    @classmethod
    def from_sums(cls, each: Sequence[GramSums], unseen: int) -> DataSplit:
        """Return the parts for recordings of which the last `unseen` are left out as tests."""
        fitted, tested = each[: len(each) - unseen], each[len(each) - unseen :]
        if len(fitted) >= _MIN_RECORDINGS_AS_FOLDS:
            fitted = [one.as_fold(k % FOLD_COUNT) for k, one in enumerate(fitted)]
        every = reduce(add, [*fitted, *tested])
        # One prior for all: of joints without a torque limit by the largest torque.
        whole = replace(reduce(add, fitted), max_torque=every.max_torque)
        if tested:
            return cls(tuple(each), every, (whole,), tuple(tested))
        folds = np.flatnonzero(whole.sample_counts).tolist()
        others = (whole.with_folds([j for j in folds if j != k]) for k in folds)
        return cls(tuple(each), every, tuple(others), tuple(whole.with_folds([k]) for k in folds))


@dataclass(frozen=True, eq=False)
class FittedSets:
    """
    All parameter sets fitted to the Gram sums of the same recordings.

    `thetas` (p,) are base parameters and friction without constraints, those of the physically
    consistent arm, and of each set to compare with, whose friction alone is fitted. `consistent`
    are standard and friction parameters of this arm. `noise` (n,) is that of the weights [N m].
    """

    consistent: tuple[Array, Array]
    noise: Array
    thetas: tuple[Array, ...]


def fit_all_sets(
    setup: FitSetup, priors: Sequence[Prior], links: PhysicalConstraints, sums: GramSums
) -> FittedSets:
    """Return every parameter set fitted to Gram sums; it can run in another process."""
    (prior, *others), precision = priors, setup.options.regularization
    noise = solve.common_noise(sums, prior, precision, np.array(setup.unit.per_joint))
    base = solve.fit_theta(sums, prior, precision, noise)
    consistent = fit_consistent(solve.fit_equations(sums, prior, noise), prior, links, precision)
    standard, friction = consistent
    theta = np.concatenate([prior.model.base.matrix @ standard, friction])
    published_sets = [solve.fit_friction(sums, one, noise) for one in others]
    return FittedSets(consistent, noise, (base, theta, *published_sets))


def all_torque_errors(
    setup: FitSetup, parts: DataSplit, whole: FittedSets, each: Sequence[FittedSets]
) -> tuple[TorqueErrors, ...]:
    """
    Return the errors of all sets of parameters on all data, and on parts left out of `each`.

    `whole` are fitted to all data, `each` to `parts.fitted`.
    """
    fits = each if len(each) > 1 else [*each] * len(parts.left_out)
    unseen = list(zip(parts.left_out, fits))

    def errors(
        k: int, tested: list[tuple[GramSums, FittedSets]], last: int | None = None
    ) -> ResidualRms:
        """Return the errors of the k-th parameter set, or of its first `last` parameters."""
        squares = [sums.squared_residuals(own.thetas[k][:last]) for sums, own in tested]
        count = sum(sums.sample_count for sums, _ in tested)
        return ResidualRms.from_squares(np.sum(squares, axis=0), count, setup.unit)

    sets = [f'{one.inertial_set}, {one.hand}' for one in setup.published]
    return tuple(
        TorqueErrors(
            name,
            train=errors(k, [(parts.total, whole)]),
            test=errors(k, unseen),
            rigid=errors(k, unseen, len(setup.model.base)),
            folds=tuple(errors(k, [part]).E for part in unseen),
        )
        for k, name in enumerate(['base parameters', 'consistent', *sets])
    )


def final_estimate(setup: FitSetup, prior: Prior, sums: GramSums, whole: FittedSets) -> Estimate:
    """Return the parameters fitted to all recordings, with their covariance."""
    base, theta, *_ = whole.thetas
    spread, precision = solve.posterior_covariance(
        sums, prior, setup.options.regularization, whole.noise, base
    )
    ratios = solve.std_to_prior_ratios(sums, prior, solve.rms_residuals(sums, base))
    return Estimate(setup.model, prior, theta, base, spread, ratios, precision)
