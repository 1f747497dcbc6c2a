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
from dataclasses import replace
from functools import cached_property

import numpy as np

from . import least_squares
from .faults import (
    CRITICAL_T_VALUE,
    Diagnosis,
    Fault,
    MIN_HARMFUL_ERROR_RATIO,
    sure_share,
)
from .faults.torques import EffortGain, EffortOffset, UndeclaredLoad
from .least_squares import GramStack, TORQUE_COLUMN
from .options import DEFAULT_PRIOR_PRECISION
from .prior import log_evidence, Prior
from .published_masses import FitsNearMasses
from ..arrays import Array
from ..recordings.replay import TorqueErrorUnit

# Log evidence that a fault must add. 5 is very strong (Kass and Raftery 1995, "Bayes factors", J.
# Am. Stat. Assoc. 90(430)) for independent samples; a model's errors last for a second, five times
# as long as the filter makes samples alike. Of sound logs the largest is 15 (Airbot), of faults
# that matter the smallest 25 (benchmarks/broken_logs.py).
MIN_LOG_BAYES_FACTOR = 20.0
# Precision of a prior that fixes the inertias.
_FIXED_INERTIAS_PRECISION = 1e8
# Beside such inertias a named fault must have at least this ratio to its size beside free ones,
# and at most the inverse. Gains of 0.8 at joints 2 and 4 look like one of 1.2 at joint 3, and a
# gain of a Med7's joint 2 like one of joint 4, with ratios beyond these.
_MIN_FIXED_TO_FREE_FAULT = 0.7
_FAULT_PRIOR_PRECISION = 1e-9  # of a prior about zero on a fault's columns


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
    prior, of each fit; the last column is the right-hand side. `unit_factors` (n,) convert
    efforts to the unit of E; `min_residual` (n,) is the smallest residual that counts [N m].
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
        used = np.flatnonzero(grams.sample_counts)  # folds with samples
        self.fold_matrices = grams.matrices[used]
        self.sample_counts = grams.sample_counts[used]
        noise = least_squares.common_noise(grams, prior, precision)
        for _ in range(2):
            theta = least_squares.fit_theta(grams, prior, precision, noise)
            noise = least_squares.joint_noise(grams, theta)
        weights = least_squares.residual_weights(noise)
        self._total_gram = whole = grams.gram_matrix(weights)
        without_fold = whole - np.einsum('j,kjab->kab', weights, self.fold_matrices)
        own = slice(self.parameter_count)
        of_prior = _FAULT_PRIOR_PRECISION * np.eye(len(whole))
        of_prior[own, own], of_prior[own, TORQUE_COLUMN] = prior.information(precision)
        self.normal_equations = of_prior + np.stack([*without_fold, whole])
        offsets = EffortOffset.for_joint_count(prior.model.n)
        self.given_faults = given_faults or (EffortGain(), UndeclaredLoad(), *offsets)

    @cached_property
    def reduced_equations(self) -> tuple[list[int], Array, Array, Array]:
        """
        The columns that only some fits use, reduced by the columns that all fits use.

        Returned are the indices of those k extra columns, effort last; the coefficients
        (folds + 1, c, k) with which the other columns fit them; the normal equations
        (folds + 1, k, k) of what this fit leaves of them, the Schur complement; and matrices
        (folds, n, k, k) whose quadratic forms are the sums of squares of what is left on the
        left-out folds.
        """
        normal = self.normal_equations.copy()
        free = self.fault_column_indices()
        # A column of the model, such as an offset's, loses its prior.
        known = [k for k in free if k < self.parameter_count]
        normal[:, known, known] -= self.prior.std[known] ** -2.0 - _FAULT_PRIOR_PRECISION
        common = sorted({*range(self.parameter_count), *free})
        extra = [k for k in range(normal.shape[-1]) if k not in common]
        common_to_extra = normal[:, common][:, :, extra]
        coefficients = np.linalg.solve(normal[:, common][:, :, common], common_to_extra)
        all_coefficients = np.zeros((*normal.shape[:2], len(extra)))
        all_coefficients[:, common] = coefficients
        schur_complement = normal[:, extra][:, :, extra] - (
            common_to_extra.swapaxes(1, 2) @ coefficients
        )
        # A fit without the fold, with coefficients K, leaves X - Y K of the fold's extra columns X
        # and common ones Y. Its sum of squares for coefficients v is
        # v' (X'X + K' (Y'Y K - 2 Y'X)) v: only the quadratic form counts, as it is not symmetric.
        of_folds = coefficients[: len(self.fold_matrices), None]  # (folds, 1, common, extra)
        common_grams = self.fold_matrices[..., common, :]
        cross = of_folds.swapaxes(2, 3) @ (
            common_grams[..., common] @ of_folds - 2.0 * common_grams[..., extra]
        )
        extra_grams = self.fold_matrices[..., extra, :][..., extra]
        return extra, all_coefficients, schur_complement, extra_grams + cross

    @cached_property
    def baseline(self) -> 'FoldFits':
        """The fits with the regressor columns of `given_faults`, but of no other fault."""
        return FoldFits(self)

    @cached_property
    def with_fixed_inertias(self) -> 'CrossValidation':
        """
        The cross-validation with inertias fixed to the prior mean; given faults are offsets alone.

        A common gain and a load are given because free inertias can't be told from them. Beside
        fixed ones they could, and would take a part of the fault that is compared
        (`holds_at_fixed_inertias`). Harmless faults are left out as well: with them the verdicts
        on two FER's logs are the same, sound or with 14 faults each.
        """
        offsets = tuple(EffortOffset.for_joint_count(self.prior.model.n))
        return CrossValidation(self.grams, self.prior, _FIXED_INERTIAS_PRECISION, offsets)

    @cached_property
    def near_start(self) -> FitsNearMasses:
        """Fits of faults with masses as near the starting set's as the torques say."""
        return FitsNearMasses(self.grams, self.prior)

    @cached_property
    def _identified(self) -> Array:
        """Parameters of the arm that is identified from the recordings as they are, (p,)."""
        return least_squares.identified_theta(self.grams, self.prior)

    def effect(self, fault: Fault, coefficients: Array) -> float:
        """
        Return E of the arm identified with a fault, relative to E of the one without it.

        Both arms are identified as users do, the second from the recordings with the fault undone,
        on which both E are. `coefficients` (k,) of the fault's columns are its size.
        """
        columns = self.grams.column_indices(fault.column_names)

        def undone_grams(size: Array) -> GramStack:
            """Return the Gram matrices of efforts from which a fault of `size` (k,) is undone."""
            undone = np.zeros(self.grams.total_matrices.shape[:2])
            undone[:, TORQUE_COLUMN], undone[:, columns] = fault.undoing(size, len(undone))
            return self.grams.with_efforts(undone)

        def error(grams: GramStack, theta: Array) -> float:
            """Return the square of E of an arm's parameters on efforts without the fault."""
            squares = grams.squared_residuals(theta) / grams.sample_count
            return float(np.maximum(squares, self.min_residual**2) @ self.unit_factors**2)

        undone = undone_grams(coefficients)
        seen = undone_grams(fault.at_real_states(coefficients))
        without = least_squares.identified_theta(undone, self.prior)
        return float(np.sqrt(error(seen, self._identified) / error(undone, without)))

    @property
    def residuals_and_efforts(self) -> tuple[Array, Array]:
        """Mean squares of joints' residuals on left-out folds and efforts, in the unit of E."""
        efforts = self.grams.squared_residuals(np.zeros(0)) / self.grams.sample_count
        residuals = self.baseline.squared_residuals.mean(axis=0)
        return residuals * self.unit_factors**2, efforts * self.unit_factors**2

    def relative_to_effort(self, error: float) -> float:
        """Return a torque error E divided by the rms effort of the recordings."""
        efforts = self.grams.squared_residuals(np.zeros(0)) / self.grams.sample_count
        return error / float(np.sqrt(efforts @ self.unit_factors**2))

    def log_bayes_factor(self, fault: Fault, min_mass_precision: float = 0.0) -> float:
        """
        Return the log evidence of measured torques with a fault's columns minus that without them.

        The precision of the starting set is in both (`prior.log_evidence`) the likeliest one, of
        masses from `min_mass_precision` on: a fault counts that makes the recordings agree with
        published masses.
        """
        free = [k for k in self.fault_column_indices(fault) if k >= self.parameter_count]
        columns = [*range(self.parameter_count), *free]
        units = np.append(self.prior.std, np.ones(len(free)))
        triangle, z = least_squares.sqrt_equations(self._total_gram, columns, units)
        known, unknown = np.split(triangle, [self.parameter_count], axis=1)
        given = np.isin(free, self.fault_column_indices())
        more, less = (
            log_evidence((known, z), self.prior, one, min_mass_precision=min_mass_precision).max()
            for one in (unknown, unknown[:, given])
        )
        return float(more - less)

    def fault_column_indices(self, fault: Fault | None = None) -> list[int]:
        """Return indices of regressor columns of `given_faults` and, unless None, of `fault`."""
        names = [name for one in self.given_faults for name in one.column_names]
        names += fault.column_names if fault else ()
        return self.grams.column_indices([*dict.fromkeys(names)])  # gain and drift share one

    def with_given_fault(self, fit: 'FoldFits') -> 'CrossValidation':
        """Return a copy whose fits all include the fault of `fit`; its questions ask about it."""
        extended = copy(self)
        for name in ('baseline', 'reduced_equations'):
            vars(extended).pop(name, None)
        extended.given_faults = (*self.given_faults, fit.fault)
        extended.questions = (*self.questions, fit.question())
        return extended

    def fits_with_each(self, faults: list[Fault]) -> 'list[FoldFits]':
        """Return FoldFits of `faults` with columns, `given_faults` excepted, likeliest first."""
        others = [one for one in faults if one.column_names and one not in self.given_faults]
        each = [FoldFits(self, one) for one in others]
        return sorted(each, key=lambda fit: -float(fit.log_likelihood_ratios().mean()))


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
        self._fault = fault
        others, fitted, equations, squares = system.reduced_equations
        columns = () if fault is None else system.grams.column_indices(fault.column_names)
        own = [others.index(k) for k in columns if k in others]
        size = np.linalg.solve(equations[:, own][:, :, own], equations[:, own, TORQUE_COLUMN:])
        theta = fitted[..., TORQUE_COLUMN] - (fitted[..., own] @ size)[..., 0]
        theta[:, [others[k] for k in own]] = size[..., 0]
        *folds, self.total_theta = theta
        self.fold_thetas = np.array(folds)
        residual = np.append(-size[: len(folds)], np.ones((len(folds), 1, 1)), axis=1)[:, None]
        own.append(TORQUE_COLUMN)
        found = residual.swapaxes(2, 3) @ squares[..., own, :][..., own] @ residual
        means = found[..., 0, 0] / system.sample_counts[:, None]
        self.squared_residuals = np.maximum(means, system.min_residual**2)

    @property
    def fault(self) -> Fault:
        """The fault fitted beside the given ones; AssertionError for fits without another."""
        assert self._fault is not None
        return self._fault

    @cached_property
    def reported_values(self) -> tuple[float, ...]:
        """The fault's values in the units that users see, by the fit to all folds."""
        found = dict(zip(self.system.grams.column_names, self.total_theta.tolist()))
        if self.fault.value_is_from_torques:
            found |= self._rigid_torque_coefficients
        return tuple(self.fault.reported_values(found, self.system.prior.model.gravity))

    @cached_property
    def _rigid_torque_coefficients(self) -> dict[str, float]:
        """
        Coefficients of a common gain and of the fault in a fit to the rigid-body torque, by name.

        Inertias explain a part of what such a fault adds; the sum of both shows the whole of it.
        """
        column_names = EffortGain.kind, *self.fault.column_names
        system = self.system
        rigid = self.total_theta.copy()
        rigid[system.prior.model.friction_slice] = 0.0
        columns = system.grams.column_indices(column_names)
        products = system.grams.gram_matrix(system.unit_factors**2)
        own = products[np.ix_(columns, columns)]  # singular for an arm's only joint
        found, *_ = np.linalg.lstsq(own, products[columns] @ rigid, rcond=None)
        found[0] -= 1.0  # of the starting set's torque, as the others are beside it
        return dict(zip(column_names, found.tolist()))

    def counts_as_fault(self) -> bool:
        """Return whether a fault of this kind can have the fitted values."""
        return self.fault.counts_as_fault(self.reported_values, self.system.prior.model.gravity)

    def question(self) -> Diagnosis:
        """Return the fault as a Diagnosis without torque errors, which asks the user about it."""
        effect = self.likely_effect
        return Diagnosis(self.fault.kind, self.fault.joints, self.reported_values, effect=effect)

    def diagnosis(self, rival: 'FoldFits | None' = None) -> Diagnosis:
        """
        Return a Diagnosis with torque errors without the fault, with it, and with `rival` instead.

        Without `rival` the third is the first.
        """
        fault_free = self.system.baseline.test_error()
        return replace(
            self.question(),
            error_before=fault_free,
            error_after=self.test_error(),
            rival_error=rival.test_error() if rival else fault_free,
        )

    def test_error(self) -> float:
        """Return the torque error E on left-out folds [N m or % of the limits]."""
        return float(np.sqrt(self.squared_residuals.mean(axis=0) @ self.system.unit_factors**2))

    def log_likelihood_ratios(self, other: 'FoldFits | None' = None) -> Array:
        """
        Return each fold's log-likelihood per sample minus `other`'s or `baseline`'s, (folds,).

        With Gaussian residuals of each fit's own variance it is the sum over joints of
        ln(rms residual of `other`, for None of fits without the fault / rms residual).
        """
        before = (self.system.baseline if other is None else other).squared_residuals
        return np.asarray(0.5 * np.log(before / self.squared_residuals).sum(axis=1))

    def is_better(self, other: 'FoldFits | None' = None) -> bool:
        """Return whether the mean log-likelihood ratio to `other` or base is significantly > 0."""
        ratios = self.log_likelihood_ratios(other)
        spread = float(ratios.std(ddof=1)) if len(ratios) > 1 else np.inf
        return float(ratios.mean()) > CRITICAL_T_VALUE * spread / np.sqrt(len(ratios))

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

    @cached_property
    def log_bayes_factor(self) -> float:
        """Log evidence of measured torques with the fault's columns minus that without them."""
        return self.system.log_bayes_factor(self.fault)

    @cached_property
    def likely_effect(self) -> float:
        """The effect at the likeliest size of the fault, near the starting set's masses."""
        return self.system.effect(self.fault, self._range[0])

    @cached_property
    def sure_effect(self) -> float:
        """
        The effect that the fault has at least, that at the near end of its range or less.

        That of a gain near 0, at the near end of the range of a negative one, may be larger.
        """
        likely, share = self._range
        near_effect = self.system.effect(self.fault, share * likely)
        return min(near_effect, self.likely_effect)

    @cached_property
    def _range(self) -> tuple[Array, float]:
        """The likeliest coefficients of the fault's columns, (k,), and the share that is sure."""
        likely, covariance = self.system.near_start.fit_faults(self.fault)
        share = sure_share(likely, covariance + self.covariance_over_folds(self.fault))
        if self.fault.value_is_from_torques:
            gain, *found = self._rigid_torque_coefficients.values()
            gravity = self.system.prior.model.gravity
            likely = self.fault.possible_coefficients(np.array(found) / (1.0 + gain), gravity)
        return likely, share

    def is_significant(self) -> bool:
        """
        Return whether the fault is possible, predicts folds better and has strong evidence.

        Half the evidence is enough for one that agrees with the starting set's inertias.
        """
        if not self.counts_as_fault() or not self.is_better():
            return False
        if self.log_bayes_factor > MIN_LOG_BAYES_FACTOR:
            return True
        half = self.log_bayes_factor > 0.5 * MIN_LOG_BAYES_FACTOR
        return half and self.holds_at_fixed_inertias()

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
        left-out folds, or a significant one of all joints whose size shows.
        """
        if not self.counts_as_fault() or not self.is_better():
            return False
        if self.likely_effect > MIN_HARMFUL_ERROR_RATIO:
            return self.is_significant() or self.improvement() ** 2 > MIN_HARMFUL_ERROR_RATIO
        of_all = self.fault.asks_if_harmless and not self.fault.joints
        return of_all and self.is_significant() and self.holds_at_fixed_inertias()

    def improvement(self, other: 'FoldFits | None' = None) -> float:
        """Return E on left-out folds of `other`, or else without the fault, relative to own E."""
        before = self.system.baseline if other is None else other
        return before.test_error() / self.test_error()

    def is_harmless(self) -> bool:
        """Return whether the fault need not raise the identified arm's error E by 40 %."""
        return self.sure_effect < MIN_HARMFUL_ERROR_RATIO

    def holds_at_fixed_inertias(self) -> bool:
        """Return whether the fault is fitted nearly alike if the starting inertias are kept."""
        columns = self.system.grams.column_indices(self.fault.column_names)
        fixed = FoldFits(self.system.with_fixed_inertias, self.fault)
        own = self.total_theta[columns]
        beside_fixed = fixed.total_theta[columns]
        ratio = float(beside_fixed @ own / (own @ own))
        return _MIN_FIXED_TO_FREE_FAULT < ratio < 1.0 / _MIN_FIXED_TO_FREE_FAULT
