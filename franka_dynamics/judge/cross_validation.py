# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Cross-validation of fits to recordings, with and without a fault's regressor columns.

Cross-validation (Stone 1974, "Cross-validatory choice and assessment of statistical predictions",
J. R. Stat. Soc. B 36(2)): every fold is predicted by a fit to the others. Two fits are compared by
their log-likelihood ratio on left-out folds, whose mean is significant by its standard error over
folds (Breiman, Friedman, Olshen and Stone 1984, "Classification and Regression Trees", section
3.4). Joints are weighted by their own residuals in a fit to all folds, so that no level comes from
another arm.
"""

from copy import copy
from functools import cached_property

import numpy as np

from .fault_effect import FaultEffects
from .faults import CRITICAL_T_VALUE, Diagnosis, Fault
from .faults.torques import EffortGain, EffortOffset, UndeclaredLoad
from .published_masses import FitsNearMasses
from .reduced_equations import ReducedEquations
from ..arrays import Array
from ..fit import least_squares
from ..fit.least_squares import GramStack, TORQUE_COLUMN
from ..fit.prior import log_evidence, Prior
from ..fit.prior_widths import DEFAULT_PRIOR_PRECISION
from ..recordings.replay import TorqueErrorUnit

# Precision of a prior that fixes the inertias: masses may differ by 0.01 %.
_FIXED_INERTIAS_PRECISION = 1e8
# Precision of a prior about zero on a fault's columns, which only keeps equations regular: the
# standard deviation is 3e4 units of its size.
_FAULT_PRIOR_PRECISION = 1e-9
_NOISE_FIT_COUNT = 2  # fits, each weighted by the residuals of the last one


class CrossValidation:
    """
    Normal equations of one fit per left-out fold, and of a fit to all folds.

    They weight joints by their own noise. Of the c columns (`grams.column_names`; the last is the
    effort) the first `parameter_count` are the model's, with the prior of `precision`, and the
    others are faults'. All fits have the columns of `given_faults`, by default a common gain, a
    load and offsets. For each fault that `with_given_fault` adds, the user is asked one of the
    `questions`.

    `fold_matrices` (folds, n, c, c) and `sample_counts` (folds,) are the Gram matrices and the
    number of samples of each fold. `normal_equations` (folds + 1, c, c) are weighted, with the
    prior, of each fit; the last column is the right-hand side. `baseline` are the fits with the
    columns of `given_faults`, but of no other fault. `unit_factors` (n,) convert efforts to the
    unit of E; `min_residual` (n,) is the smallest residual that counts [N m].
    """

    questions: tuple[Diagnosis, ...] = ()

    def __init__(
        self,
        grams: GramStack,
        prior: Prior,
        precision: float = DEFAULT_PRIOR_PRECISION,
        given_faults: tuple[Fault, ...] | None = None,
    ) -> None:
        """Set up the normal equations from Gram matrices and a prior."""
        self.grams = grams
        self.prior = prior
        self.parameter_count = len(prior.std)
        self.unit_factors = np.array(TorqueErrorUnit.for_arm(prior.reference).factors)
        self.min_residual = least_squares.min_noise(grams)
        used_folds = np.flatnonzero(grams.sample_counts)
        self.fold_matrices = grams.matrices[used_folds]
        self.sample_counts = grams.sample_counts[used_folds]
        weights = least_squares.residual_weights(_joint_noise_of_fits(grams, prior, precision))
        self._total_gram = grams.gram_matrix(weights)
        grams_without_fold = self._total_gram - np.einsum(
            'j,kjab->kab', weights, self.fold_matrices
        )
        prior_equations = _prior_equations(prior, precision, len(self._total_gram))
        self.normal_equations = prior_equations + np.stack([*grams_without_fold, self._total_gram])
        offsets = EffortOffset.for_joint_count(prior.model.n)
        self._give_faults(given_faults or (EffortGain(), UndeclaredLoad(), *offsets))

    def _give_faults(self, given_faults: tuple[Fault, ...]) -> None:
        """Let all fits have the columns of `given_faults`."""
        self.given_faults = given_faults
        self.reduced_equations = self._equations_reduced_by_given_columns()
        self.baseline = FoldFits(self)

    def with_given_fault(self, fault: Fault, question: Diagnosis) -> 'CrossValidation':
        """Return a copy whose fits all include a fault, which asks one more question about it."""
        extended = copy(self)
        extended.questions = (*self.questions, question)
        extended._give_faults((*self.given_faults, fault))
        return extended

    def _equations_reduced_by_given_columns(self) -> ReducedEquations:
        """Return the equations of other faults' columns, reduced by the model's and given ones."""
        normal_equations = self.normal_equations.copy()
        given_columns = self.fault_column_indices()
        # A given column of the model, such as an offset's, has the prior of a fault's column.
        of_model = [k for k in given_columns if k < self.parameter_count]
        own_precision = self.prior.std[of_model] ** -2.0
        normal_equations[:, of_model, of_model] -= own_precision - _FAULT_PRIOR_PRECISION
        common_columns = sorted({*range(self.parameter_count), *given_columns})
        return ReducedEquations.from_normal_equations(
            normal_equations, self.fold_matrices, common_columns
        )

    def fault_column_indices(self, fault: Fault | None = None) -> list[int]:
        """Return indices of regressor columns of `given_faults` and, unless None, of `fault`."""
        faults = self.given_faults if fault is None else (*self.given_faults, fault)
        names = [name for fault in faults for name in fault.column_names]
        return self.grams.column_indices([*dict.fromkeys(names)])  # gain and drift share one

    @cached_property
    def with_fixed_inertias(self) -> 'CrossValidation':
        """
        The cross-validation with inertias fixed to the prior mean; given faults are offsets alone.

        A common gain and a load are given because free inertias can't be told from them. Beside
        fixed ones they could, and would take a part of the fault that is compared
        (`FaultFits.holds_at_fixed_inertias`). Harmless faults are left out as well: with them the
        verdicts on two FER's logs are the same, sound or with 14 faults each.
        """
        offsets = tuple(EffortOffset.for_joint_count(self.prior.model.n))
        return CrossValidation(self.grams, self.prior, _FIXED_INERTIAS_PRECISION, offsets)

    @cached_property
    def near_start(self) -> FitsNearMasses:
        """Fits of faults with masses as near the starting set's as the torques say."""
        return FitsNearMasses(self.grams, self.prior)

    @cached_property
    def effects(self) -> FaultEffects:
        """The effects of faults on the arm that is identified from the recordings."""
        return FaultEffects(self.grams, self.prior)

    @property
    def mean_squared_efforts(self) -> Array:
        """The mean square of each joint's efforts, (n,) [N^2 m^2]."""
        return self.grams.squared_residuals(np.zeros(0)) / self.grams.sample_count

    def relative_to_effort(self, error: float) -> float:
        """Return a torque error E divided by the rms effort of the recordings."""
        return error / float(np.sqrt(self.mean_squared_efforts @ self.unit_factors**2))

    def log_bayes_factor(self, fault: Fault, min_mass_precision: float = 0.0) -> float:
        """
        Return the log evidence of measured torques with a fault's columns minus that without them.

        The precision of the starting set is in both (`prior.log_evidence`) the likeliest one, of
        masses from `min_mass_precision` on: a fault counts that makes the recordings agree with
        published masses.
        """
        fault_columns = [k for k in self.fault_column_indices(fault) if k >= self.parameter_count]
        columns = [*range(self.parameter_count), *fault_columns]
        units = np.append(self.prior.std, np.ones(len(fault_columns)))
        reduced_regressor, reduced_torque = least_squares.sqrt_equations(
            self._total_gram, columns, units
        )
        of_model, of_faults = np.split(reduced_regressor, [self.parameter_count], axis=1)

        def evidence(free_columns: Array) -> float:
            """Return the largest log evidence with unknown sizes of these columns' faults."""
            equations = of_model, reduced_torque
            table = log_evidence(
                equations, self.prior, free_columns, min_mass_precision=min_mass_precision
            )
            return float(table.max())

        is_given = np.isin(fault_columns, self.fault_column_indices())
        return evidence(of_faults) - evidence(of_faults[:, is_given])


def _joint_noise_of_fits(grams: GramStack, prior: Prior, precision: float) -> Array:
    """Return each joint's residual in a fit that is weighted by these residuals, (n,) [N m]."""
    noise_std = least_squares.common_noise(grams, prior, precision)
    for _ in range(_NOISE_FIT_COUNT):
        theta = least_squares.fit_theta(grams, prior, precision, noise_std)
        noise_std = least_squares.joint_noise(grams, theta)
    return noise_std


def _prior_equations(prior: Prior, precision: float, column_count: int) -> Array:
    """Return the prior's part (c, c) of normal equations, with that of faults' columns."""
    information, information_times_mean = prior.information(precision)
    parameters = slice(len(prior.std))
    equations = _FAULT_PRIOR_PRECISION * np.eye(column_count)
    equations[parameters, parameters] = information
    equations[parameters, TORQUE_COLUMN] = information_times_mean
    return equations


class FoldFits:
    """
    Fits without each fold and to all folds, with columns of given faults and at most one other.

    The coefficients of all columns are `fold_thetas` (folds, c) without each fold, and
    `total_theta` (c,) of all. `squared_residuals` (folds, n) are the mean squared residuals on
    left-out folds [N^2 m^2].
    """

    def __init__(self, system: CrossValidation, fault: Fault | None = None) -> None:
        """Solve the fits with the columns of `fault`, and predict the left-out folds."""
        self.system = system
        column_names = () if fault is None else fault.column_names
        thetas, squares = system.reduced_equations.fit(system.grams.column_indices(column_names))
        self.fold_thetas = thetas[:-1]
        self.total_theta = thetas[-1]
        mean_squares = squares / system.sample_counts[:, None]
        self.squared_residuals = np.maximum(mean_squares, system.min_residual**2)

    def test_error(self) -> float:
        """Return the torque error E on left-out folds [N m or % of the limits]."""
        return float(np.sqrt(self.squared_residuals.mean(axis=0) @ self.system.unit_factors**2))

    def improvement(self, other: 'FoldFits | None' = None) -> float:
        """Return E on left-out folds of `other`, by default the baseline, relative to own E."""
        return self._or_baseline(other).test_error() / self.test_error()

    def log_likelihood_ratios(self, other: 'FoldFits | None' = None) -> Array:
        """
        Return each fold's log-likelihood per sample minus that of other fits, (folds,).

        Those are `other`, by default the baseline. With Gaussian residuals of each fit's own
        variance it is the sum over joints of ln(rms residual of `other` / rms residual).
        """
        other_squares = self._or_baseline(other).squared_residuals
        return np.asarray(0.5 * np.log(other_squares / self.squared_residuals).sum(axis=1))

    def is_better(self, other: 'FoldFits | None' = None) -> bool:
        """Return whether the mean log-likelihood ratio to `other` or base is significantly > 0."""
        ratios = self.log_likelihood_ratios(other)
        spread = float(ratios.std(ddof=1)) if len(ratios) > 1 else np.inf
        return float(ratios.mean()) > CRITICAL_T_VALUE * spread / np.sqrt(len(ratios))

    def _or_baseline(self, other: 'FoldFits | None') -> 'FoldFits':
        """Return `other`, or the baseline in place of None."""
        return self.system.baseline if other is None else other

    def covariance_over_folds(self, fault: Fault) -> Array:
        """
        Return the covariance (k, k) of the coefficients of a fault's columns by the jackknife.

        That is how they vary if folds are left out (Efron and Stein 1981, "The jackknife estimate
        of variance", Annals of Statistics 9(3)). It contains errors of the model that last longer
        than the noise of samples.
        """
        columns = self.system.grams.column_indices(fault.column_names)
        deviations = self.fold_thetas[:, columns] - self.fold_thetas[:, columns].mean(axis=0)
        fold_count = len(deviations)
        return np.asarray((fold_count - 1.0) / fold_count * deviations.T @ deviations)
