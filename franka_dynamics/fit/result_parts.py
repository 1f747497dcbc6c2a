# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The parts of an identification's results: errors, estimate, published set and recordings."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .prior import Prior, StartingSetPrecision
from .summary import RecordingNote
from .torque_model import LOAD_SYMBOL, OFFSET_SYMBOL, SLIP_SYMBOL, STRIBECK_SYMBOL, TorqueModel
from ..arm import ArmDescription
from ..arrays import Array
from ..recordings.options import SignalOptions
from ..recordings.replay import ResidualRms

# `Improvement.spread` is so many standard errors of `reduction`.
_SPREAD_STD_ERROR_COUNT = 2.0
# The smallest useful reduction of E, relative to the published set's E.
MIN_IMPROVEMENT_RATIO = 0.05
# A parameter is poorly known if this part of its prior deviation is left.
_MIN_POORLY_KNOWN_STD_TO_PRIOR = 0.5
# Offsets, slip elements, what falls with speed and what grows with the load: many sound motions
# leave them near zero.
_NEAR_ZERO_SYMBOLS = (OFFSET_SYMBOL, SLIP_SYMBOL, STRIBECK_SYMBOL, LOAD_SYMBOL)


@dataclass(frozen=True, eq=False)
class TorqueErrors:
    """
    Rms torque errors, measured minus predicted, of one way to get the parameters.

    `train` are the errors of the fit to all recordings, `test` those on unseen parts, each
    predicted by a fit without it; `frictionless` without friction and offset.
    `fold_errors` has E of each unseen part, `hand` is that of a published set.
    """

    name: str
    train: ResidualRms
    test: ResidualRms
    frictionless: ResidualRms
    fold_errors: tuple[float, ...]
    hand: str | None = None
    json_fields = 'name', 'train', 'test', 'frictionless', 'fold_errors'


def unseen_error(errors: TorqueErrors) -> float:
    """Return E on unseen parts, by which sets are compared."""
    return errors.test.E


@dataclass(frozen=True)
class Improvement:
    """
    A comparison of an identified arm's torque errors with those of the best published set.

    `best_set` is the best published set's name. `reduction` is the mean over unseen parts of its E
    minus the identified arm's, `spread` two standard errors of this mean (NaN with a single part),
    and `min_reduction` the smallest useful one: 5 % of the published set's E.
    """

    best_set: str
    reduction: float
    spread: float
    min_reduction: float
    json_fields = 'best_set', 'reduction', 'spread', 'min_reduction', 'better'

    @classmethod
    def from_errors(cls, errors: TorqueErrors, published: Sequence[TorqueErrors]) -> 'Improvement':
        """Return the comparison of an arm's errors with the best published inertial set's."""
        best = min(published, key=unseen_error)
        return cls.from_fold_errors(best.name, errors.fold_errors, best.fold_errors)

    @classmethod
    def from_fold_errors(
        cls, best_set: str, fold_errors: Sequence[float], best_fold_errors: Sequence[float]
    ) -> 'Improvement':
        """Return the comparison of E on each unseen part with that of the set `best_set`."""
        reductions = np.subtract(best_fold_errors, fold_errors)  # of E, on each unseen part
        std = float(reductions.std(ddof=1)) if len(reductions) > 1 else np.nan
        return cls(
            best_set,
            reduction=float(reductions.mean()),
            spread=_SPREAD_STD_ERROR_COUNT * std / float(np.sqrt(len(reductions))),
            min_reduction=MIN_IMPROVEMENT_RATIO * float(np.mean(best_fold_errors)),
        )

    @property
    def better(self) -> bool:
        """Whether E falls by over two standard errors and by over 5 % of the published set's E."""
        return bool(self.reduction > max(np.nan_to_num(self.spread), self.min_reduction))


@dataclass(frozen=True, eq=False)
class Estimate:
    """
    Parameters fitted to all recordings, their covariance, prior, and the starting arm's precision.

    `theta` (p,) are the identified arm's base parameters, then its friction parameters.
    `unconstrained_theta` (p,) and `covariance` (p, p) are base parameters and friction without
    constraints, and their covariance; `std_to_prior_ratios` (p,) are standard deviations relative
    to the prior's (`least_squares.std_to_prior_ratios`). `precision` is the smallest precision of
    the starting set that agrees with the samples.
    """

    model: TorqueModel
    prior: Prior
    theta: Array
    unconstrained_theta: Array
    covariance: Array
    std_to_prior_ratios: Array
    precision: StartingSetPrecision

    @property
    def std(self) -> Array:
        """The standard deviations of `unconstrained_theta`, (p,)."""
        return np.asarray(np.sqrt(np.diag(self.covariance)))

    @property
    def poorly_known_names(self) -> list[str]:
        """Names of parameters, but offsets, slip and load, that the motion hardly determines."""
        return [
            name
            for name, ratio in zip(self.model.parameter_names, self.std_to_prior_ratios)
            if ratio > _MIN_POORLY_KNOWN_STD_TO_PRIOR and name[:2] not in _NEAR_ZERO_SYMBOLS
        ]


@dataclass(frozen=True, eq=False)
class PublishedFit:
    """
    The published set that predicts recordings best, with the friction that they show with it.

    Of the sets with the starting arm's hand, those whose links are physical come first. `arm` has
    that set's inertias and the friction fitted to all recordings, `theta` (p,) are its base and
    friction parameters, `errors` its torque errors.
    """

    arm: ArmDescription
    theta: Array
    errors: TorqueErrors

    @property
    def friction_helps(self) -> bool:
        """Whether its friction lowers E on unseen parts by more than 5 %."""
        without = self.errors.frictionless.E
        return bool(without - self.errors.test.E > MIN_IMPROVEMENT_RATIO * without)


@dataclass(frozen=True)
class UsedRecordings:
    """
    Notes on, and torque errors of, the recordings used; the last `test_count` are for tests.

    `errors` are E of the identified arm on each, `effort_rms` root mean squares of all. All were
    prepared with the options `signal`. `failures` has a sentence for each unusable bag, `remarks`
    one for each bag that does not fit together with the others.
    """

    notes: tuple[RecordingNote, ...]
    errors: tuple[float, ...]
    effort_rms: ResidualRms
    test_count: int
    signal: SignalOptions
    failures: tuple[str, ...]
    remarks: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the recordings."""
        return tuple(note.name for note in self.notes)
