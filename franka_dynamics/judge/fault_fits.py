# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Fits with the columns of one fault: how large it is, how sure, and what it does to the arm.

A fault is significant if it predicts left-out folds better (`cross_validation`) and makes masses
more like the published ones (log evidence). It is harmful if the arm identified with it is much
worse than without it (`fault_effect`), and asked about if it may be.
"""

from collections.abc import Iterable
from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from .cross_validation import CrossValidation, FoldFits
from .faults import Diagnosis, Fault, MIN_HARMFUL_ERROR_RATIO, possible_faults, sure_share
from .faults.torques import EffortGain
from ..arrays import Array

# Log evidence that a fault must add. 5 is very strong (Kass and Raftery 1995, "Bayes factors", J.
# Am. Stat. Assoc. 90(430)) for independent samples; a model's errors last for a second, five times
# as long as the filter makes samples alike. Of sound logs the largest is 15 (Airbot), of faults
# that matter the smallest 25 (benchmarks/broken_logs.py).
MIN_LOG_BAYES_FACTOR = 20.0
# Beside fixed inertias a named fault must have at least this ratio to its size beside free ones,
# and at most the inverse. Gains of 0.8 at joints 2 and 4 look like one of 1.2 at joint 3, and a
# gain of a Med7's joint 2 like one of joint 4, with ratios beyond these.
_MIN_FIXED_TO_FREE_FAULT = 0.7


class FaultSize(NamedTuple):
    """The likeliest coefficients (k,) of a fault's columns, and the share of them that is sure."""

    likely: Array
    sure_share: float


class FaultFits(FoldFits):
    """The fits with the columns of `fault` beside those of the given faults."""

    def __init__(self, system: CrossValidation, fault: Fault) -> None:
        """Solve the fits, and predict the left-out folds."""
        super().__init__(system, fault)
        self.fault = fault

    @cached_property
    def reported_values(self) -> tuple[float, ...]:
        """The fault's values in the units that users see, by the fit to all folds."""
        coefficients = dict(zip(self.system.grams.column_names, self.total_theta.tolist()))
        if self.fault.value_is_from_torques:
            names = EffortGain.kind, *self.fault.column_names
            coefficients |= dict(zip(names, self._gain_and_fault_of_torques.tolist()))
        return tuple(self.fault.reported_values(coefficients, self.system.prior.model.gravity))

    @cached_property
    def _gain_and_fault_of_torques(self) -> Array:
        """
        Coefficients of a common gain and of the fault in a fit to the rigid-body torque, (1 + k,).

        Inertias explain a part of what such a fault adds; the sum of both shows the whole of it.
        """
        system = self.system
        rigid_theta = self.total_theta.copy()
        rigid_theta[system.prior.model.friction_slice] = 0.0
        column_names = EffortGain.kind, *self.fault.column_names
        columns = system.grams.column_indices(column_names)
        gram = system.grams.gram_matrix(system.unit_factors**2)
        fitted_gram = gram[np.ix_(columns, columns)]  # singular for an arm's only joint
        coefficients, *_ = np.linalg.lstsq(fitted_gram, gram[columns] @ rigid_theta, rcond=None)
        coefficients[0] -= 1.0  # of the starting set's torque, as the others are beside it
        return np.asarray(coefficients)

    @cached_property
    def size(self) -> FaultSize:
        """The size of the fault, near the starting set's masses."""
        likely, covariance = self.system.near_start.fit_faults(self.fault)
        share = sure_share(likely, covariance + self.covariance_over_folds(self.fault))
        if self.fault.value_is_from_torques:
            common_gain = 1.0 + self._gain_and_fault_of_torques[0]
            likely = self.fault.possible_coefficients(
                self._gain_and_fault_of_torques[1:] / common_gain, self.system.prior.model.gravity
            )
        return FaultSize(likely, share)

    @cached_property
    def likely_effect(self) -> float:
        """The effect at the likeliest size of the fault."""
        return self.system.effects.effect(self.fault, self.size.likely)

    @cached_property
    def sure_effect(self) -> float:
        """
        The effect that the fault has at least, that at the near end of its range or less.

        That of a gain near 0, at the near end of the range of a negative one, may be larger.
        """
        near_end = self.size.sure_share * self.size.likely
        return min(self.system.effects.effect(self.fault, near_end), self.likely_effect)

    @cached_property
    def log_bayes_factor(self) -> float:
        """Log evidence of measured torques with the fault's columns minus that without them."""
        return self.system.log_bayes_factor(self.fault)

    def counts_as_fault(self) -> bool:
        """Return whether a fault of this kind can have the fitted values."""
        return self.fault.counts_as_fault(self.reported_values, self.system.prior.model.gravity)

    def holds_at_fixed_inertias(self) -> bool:
        """Return whether the fault is fitted nearly alike if the starting inertias are kept."""
        columns = self.system.grams.column_indices(self.fault.column_names)
        fixed_fits = FoldFits(self.system.with_fixed_inertias, self.fault)
        size = self.total_theta[columns]
        size_beside_fixed = fixed_fits.total_theta[columns]
        ratio = float(size_beside_fixed @ size / (size @ size))
        return _MIN_FIXED_TO_FREE_FAULT < ratio < 1.0 / _MIN_FIXED_TO_FREE_FAULT

    def is_likely(self) -> bool:
        """Return whether the fault is possible, and predicts left-out folds better."""
        return self.counts_as_fault() and self.is_better()

    def is_likely_harmful(self) -> bool:
        """Return whether the fault is likely, and its likeliest size has an effect."""
        return self.is_likely() and self.likely_effect > MIN_HARMFUL_ERROR_RATIO

    def is_significant(self) -> bool:
        """
        Return whether the fault is likely, and has strong evidence.

        Half the evidence is enough for one that agrees with the starting set's inertias.
        """
        if not self.is_likely():
            return False
        if self.log_bayes_factor > MIN_LOG_BAYES_FACTOR:
            return True
        has_half_evidence = self.log_bayes_factor > 0.5 * MIN_LOG_BAYES_FACTOR
        return has_half_evidence and self.holds_at_fixed_inertias()

    def is_harmless(self) -> bool:
        """Return whether the fault need not raise the identified arm's error E by 40 %."""
        return self.sure_effect < MIN_HARMFUL_ERROR_RATIO

    def is_harmful(self) -> bool:
        """
        Return whether it is significant, has an effect, and holds at fixed inertias or is sure.

        One that does not agree with the starting set's inertias needs twice the evidence (of sound
        logs the largest is 28, a Rokae xMate's), unless left-out folds are predicted better by the
        factor of an effect.
        """
        if not self.is_significant() or self.is_harmless():
            return False
        if self.holds_at_fixed_inertias() or self.improvement() > MIN_HARMFUL_ERROR_RATIO:
            return True
        return self.log_bayes_factor > 2.0 * MIN_LOG_BAYES_FACTOR

    def asks(self) -> bool:
        """
        Return whether the user is asked about the fault if recordings are sound.

        That is one which likely has an effect and is significant or halfway to an effect on
        left-out folds, or shows in few of them; or a significant one of all joints whose size
        shows.
        """
        if self._shows_in_few_folds() and self.likely_effect > MIN_HARMFUL_ERROR_RATIO:
            return True
        if self.is_likely_harmful():
            is_halfway = self.improvement() ** 2 > MIN_HARMFUL_ERROR_RATIO
            return self.is_significant() or is_halfway
        if self.fault.joints or not self.fault.asks_if_harmless:
            return False
        return self.is_significant() and self.holds_at_fixed_inertias()

    def _shows_in_few_folds(self) -> bool:
        """
        Return whether folds together show the fault, though they may differ too much for its t.

        What only some poses show, such as a small zero, predicts the folds that have them much
        better, and others alike. So E on all left-out folds must fall by the factor of an effect,
        and the torques need half the log evidence of a significant fault.
        """
        if not self.counts_as_fault() or self.improvement() <= MIN_HARMFUL_ERROR_RATIO:
            return False
        return self.log_bayes_factor > 0.5 * MIN_LOG_BAYES_FACTOR

    def question(self) -> Diagnosis:
        """Return the fault as a Diagnosis without torque errors, which asks the user about it."""
        return Diagnosis(
            self.fault.kind,
            self.fault.joints,
            self.reported_values,
            effect=self.likely_effect,
        )

    def diagnosis(self, rival: 'FaultFits | None' = None) -> Diagnosis:
        """
        Return a Diagnosis with torque errors without the fault, with it, and with `rival` instead.

        Without `rival` the third is the first.
        """
        fault_free_error = self.system.baseline.test_error()
        return replace(
            self.question(),
            error_before=fault_free_error,
            error_after=self.test_error(),
            rival_error=fault_free_error if rival is None else rival.test_error(),
        )


def fits_with_each(system: CrossValidation, faults: Iterable[Fault]) -> list[FaultFits]:
    """Return the fits of `faults` with columns, given ones excepted, the likeliest first."""
    fits = [
        FaultFits(system, fault)
        for fault in faults
        if fault.column_names and fault not in system.given_faults
    ]
    return sorted(fits, key=lambda fit: -float(fit.log_likelihood_ratios().mean()))


class TriedFaults(NamedTuple):
    """
    Fits of every fault with columns, beside the harmless faults that explain most.

    All fits of `system` have the columns of those harmless faults. `fits` are those of each other
    fault, the likeliest first, `harmful` the harmful ones of them. `harmless` is the likeliest
    significant one that is harmless, or None.
    """

    system: CrossValidation
    fits: list[FaultFits]
    harmful: list[FaultFits]
    harmless: FaultFits | None


def tried_faults(system: CrossValidation) -> TriedFaults:
    """
    Return the fits of all faults beside dominant harmless ones.

    While a harmless fault explains more than the harmful ones, its columns are added to all fits,
    and the other faults are tried again.
    """
    faults = possible_faults(system.prior.model.n)
    while True:
        fits = fits_with_each(system, faults)
        harmful = [fit for fit in fits if fit.is_harmful()]
        significant_harmless = (fit for fit in fits if fit.is_significant() and fit.is_harmless())
        harmless = next(significant_harmless, None)
        if not harmful or harmless is None or not harmless.is_better(harmful[0]):
            return TriedFaults(system, fits, harmful, harmless)
        system = system.with_given_fault(harmless.fault, harmless.question())
