# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Weighted least squares with a prior, from Gram matrices of regressor and torque.

A row of the regressor of joint j, extended by the joint's torque, is x. The
sum over samples of x x^T, by part of a recording and joint, is all that a least-squares fit needs,
whichever columns it uses. Sums of two recordings, or of two pieces of one, add up. A prior bounds
the condition of every fit, so that the squared condition number of normal equations does no harm.

All joints' residuals count alike in a fit, because the error E counts them alike. Least squares
assumes an exact regressor. Encoder noise biases the estimates; more data does not remove this
bias, and the standard deviations do not include it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from operator import add

import numpy as np

from .prior import Prior, starting_set_precision, StartingSetPrecision
from .prior_widths import DEFAULT_PRIOR_PRECISION
from .torque_model import FrictionTerms, SLIP_REACHES_RAD, TorqueModel
from ..arrays import Array, NDArray
from ..errors import require_extra
from ..recordings.preprocessing import Motion, moving_mask
from ..recordings.replay import ResidualRms, TorqueErrorUnit

TORQUE_COLUMN = -1  # place of the measured torque among the columns
FOLD_COUNT = 5  # number of parts of the recordings, each of which is left out of a fit in turn
BLOCK_SAMPLE_COUNT = 1024  # samples at once: some MB of columns for a seven-joint arm
# A motion repeats if positions a period apart differ by less than _MAX_REPEAT_TO_STD of the
# positions' standard deviation, after they differed by more than _MIN_EXCURSION_TO_STD of it at a
# shorter lag. The recording of a real FER that repeats after 13.3 s has 0.002 at this lag and up
# to 1.7 at shorter ones.
_MAX_REPEAT_TO_STD = 0.1
_MIN_EXCURSION_TO_STD = 0.5
_MIN_REPETITION_PERIOD_S = 3.0
# Filtered samples per independent sample. The filter alone makes it 5 at 30 Hz and 3 Hz; errors of
# the model last longer.
SAMPLES_PER_INDEPENDENT_SAMPLE = 6.0
_MIN_NOISE_TO_EXPECTED = 1e-9  # smallest noise, relative to expected residuals
# Smallest singular value, relative to the largest, that a Gram matrix shows: it has squares of
# them, and doubles have 16 digits.
_MIN_SINGULAR_VALUE_TO_MAX = 1e-7
_MIN_NOISE_TO_MAX = 1e-3  # smallest noise of a joint, relative to its largest effort: rounding


def repetition_period(motion: Motion) -> float:
    """Return a motion's period [s], infinity if it does not repeat; some joint must move."""
    moving = np.flatnonzero(moving_mask(motion))  # a rest before and after it is not repeated
    q = motion.q[moving[0] : moving[-1] + 1]  # (N, n), rad
    rate = motion.options.rate
    min_lag = _MIN_REPETITION_PERIOD_S * rate  # samples
    differences = _differences_by_lag(q, lag_count=max(1, len(q) - int(min_lag)))
    is_back = differences < _MAX_REPEAT_TO_STD
    was_away = np.maximum.accumulate(differences) > _MIN_EXCURSION_TO_STD
    repeating_lags = np.flatnonzero(is_back & was_away)
    repeating_lags = repeating_lags[repeating_lags >= min_lag]
    if not len(repeating_lags):
        return np.inf
    # The motion repeats at several lags in a row; the best of the first second is the period.
    first_lags = repeating_lags[repeating_lags < repeating_lags[0] + rate]
    return float(first_lags[np.argmin(differences[first_lags])]) / rate


def _differences_by_lag(q: Array, lag_count: int) -> Array:
    """
    Return rms differences of positions (N, n) a lag apart, divided by their deviation, (lags,).

    Lags are counted in samples from 0. The sum of |a - b|^2 over pairs of samples a, b is made of
    sums of squares, and of the autocorrelation: the inverse Fourier transform of the power
    spectrum.
    """
    deviations = q - q.mean(axis=0)
    sample_count = len(q)
    spectrum = np.fft.rfft(deviations, 2 * sample_count, axis=0)  # padded, so that no end wraps
    power = np.sum(np.abs(spectrum) ** 2, axis=1)
    autocorrelation = np.fft.irfft(power, 2 * sample_count)[:sample_count]
    squares = np.sum(deviations * deviations, axis=1)
    # The sum of the squares of all samples before each one, and before the end: (N + 1,).
    squares_before = np.concatenate([[0.0], np.cumsum(squares)])
    total = squares_before[sample_count]
    lags = np.arange(lag_count)
    late_squares = total - squares_before[lags]
    early_squares = squares_before[sample_count - lags]
    squared_differences = late_squares + early_squares - 2.0 * autocorrelation[lags]
    mean_squares = np.maximum(squared_differences, 0.0) / (sample_count - lags)
    variance = max(total / sample_count, 1e-12)
    return np.asarray(np.sqrt(mean_squares / variance))


def fold_numbers(motion: Motion, period: float, count: int = FOLD_COUNT) -> NDArray[np.intp]:
    """Return each sample's fold number, (N,), by phase in `period` [s], by time if that is inf."""
    phase = np.linspace(0.0, 1.0, len(motion), endpoint=False)
    if np.isfinite(period):
        phase = motion.time % period / period
    return np.minimum(count * phase, count - 1).astype(np.intp)


def _grams_by_fold(rows: Array, sample_folds: NDArray[np.intp], fold_count: int) -> Array:
    """Return each fold's and joint's Gram matrix, (folds, n, c, c), of rows (samples, n, c)."""
    grams = []
    for fold in range(fold_count):
        joint_rows = rows[sample_folds == fold].swapaxes(0, 1)  # (n, samples of the fold, c)
        grams.append(joint_rows.swapaxes(1, 2) @ joint_rows)
    return np.stack(grams)


@dataclass(frozen=True, eq=False)
class GramStack:
    """
    Gram matrices of regressor columns and torque over samples, for each fold and joint.

    `matrices` (folds, n, c, c) are of the c columns called `column_names`: base parameters,
    friction parameters (all joints'), further columns, and last the filtered torque.
    `sample_counts` (folds,) are the numbers of samples. `max_torque` (n,) is each joint's largest
    filtered torque [N m].
    """

    matrices: Array
    sample_counts: NDArray[np.intp]
    max_torque: Array
    column_names: tuple[str, ...]

    @classmethod
    def from_motion(
        cls,
        model: TorqueModel,
        motion: Motion,
        *,
        period: float | None = None,
        fold_count: int = FOLD_COUNT,
    ) -> 'GramStack':
        """
        Return the Gram matrices of a motion.

        Without a `period` the motion itself is searched for one.
        """
        period = repetition_period(motion) if period is None else period
        sample_folds = fold_numbers(motion, period, fold_count)
        friction_columns = model.friction_columns(motion)  # (N, n, terms of a joint)
        gram_blocks = []
        for first in range(0, len(motion), BLOCK_SAMPLE_COUNT):
            in_block = slice(first, first + BLOCK_SAMPLE_COUNT)
            block = motion.select(in_block)
            base_columns = model.base.regressor(block.q, block.dq, block.ddq)
            columns = model.regressor(base_columns, friction_columns[in_block])
            rows = np.append(columns, block.effort[..., None], axis=-1)  # (samples, n, c)
            gram_blocks.append(_grams_by_fold(rows, sample_folds[in_block], fold_count))
        return cls(
            matrices=reduce(add, gram_blocks),
            sample_counts=np.bincount(sample_folds, minlength=fold_count),
            max_torque=np.abs(motion.effort).max(axis=0),
            column_names=(*model.parameter_names, 'torque'),
        )

    def column_indices(self, names: Sequence[str]) -> list[int]:
        """Return the indices of the named columns among all columns."""
        return [self.column_names.index(name) for name in names]

    def __add__(self, other: 'GramStack') -> 'GramStack':
        """Return the Gram matrices of both sets of samples, added fold by fold."""
        counts = self.sample_counts + other.sample_counts
        max_torque = np.maximum(self.max_torque, other.max_torque)
        return GramStack(self.matrices + other.matrices, counts, max_torque, self.column_names)

    def merged_into_fold(self, fold_number: int) -> 'GramStack':
        """Return the Gram matrices with all samples moved to fold `fold_number`, others empty."""
        matrices = np.zeros_like(self.matrices)
        counts = np.zeros_like(self.sample_counts)
        matrices[fold_number] = self.matrices.sum(axis=0)
        counts[fold_number] = self.sample_count
        return replace(self, matrices=matrices, sample_counts=counts)

    def for_model(self, model: TorqueModel) -> 'GramStack':
        """
        Return the matrices without columns of friction terms that a model lacks.

        The model's other columns, further ones and the torque stay.
        """
        own = {*model.parameter_names}
        every = FrictionTerms(
            model.n, slip_reaches=SLIP_REACHES_RAD, load_dependent=True, stribeck=True
        )
        absent = {*every.parameter_names} - own
        kept = [k for k, name in enumerate(self.column_names) if name not in absent]
        if len(kept) == len(self.column_names):
            return self
        return replace(
            self,
            matrices=self.matrices[..., kept, :][..., kept],
            column_names=tuple(self.column_names[k] for k in kept),
        )

    def with_folds(self, numbers: Sequence[int]) -> 'GramStack':
        """Return the Gram matrices of the chosen folds only; `max_torque` stays that of all."""
        folds = list(numbers)
        return replace(
            self, matrices=self.matrices[folds], sample_counts=self.sample_counts[folds]
        )

    def with_efforts(self, coefficients: Array) -> 'GramStack':
        """
        Return the matrices with other efforts: columns times `coefficients`.

        Those are (n, c), of each joint, or (folds, n, c) or (folds, 1, c).
        """
        matrices = self.matrices.copy()
        by_fold_and_joint = np.broadcast_to(coefficients, matrices.shape[:3])
        # Products of the new effort with every column, (folds, n, c), and with itself.
        products = np.einsum('kjab,kjb->kja', matrices, by_fold_and_joint)
        squares = np.einsum('kja,kja->kj', by_fold_and_joint, products)
        matrices[..., TORQUE_COLUMN, :] = products
        matrices[..., TORQUE_COLUMN] = products
        matrices[..., TORQUE_COLUMN, TORQUE_COLUMN] = squares
        return replace(self, matrices=matrices)

    @property
    def sample_count(self) -> int:
        """The number of samples of all folds."""
        return int(self.sample_counts.sum())

    def squared_residuals(self, theta: Array) -> Array:
        """
        Return each joint's sum of squared torque residuals of parameters `theta`, (n,) [N^2 m^2].

        `theta` are the first parameters, such as base parameters (b,) or all parameters (p,); the
        other columns count for nothing.
        """
        residual = np.zeros(self.matrices.shape[-1])
        residual[: len(theta)] = -np.asarray(theta)
        residual[TORQUE_COLUMN] = 1.0
        return self.sum_of_squares(residual)

    def torque_errors(self, theta: Array, unit: TorqueErrorUnit) -> ResidualRms:
        """Return rms torque errors of parameters `theta`, or the rms efforts if it is empty."""
        return ResidualRms.from_squares(self.squared_residuals(theta), self.sample_count, unit)

    def sum_of_squares(self, coefficients: Array) -> Array:
        """
        Return each joint's sum over samples of (columns times coefficients)^2, (n,).

        `coefficients` are those of all joints alike, (c,), or of each, (n, c).
        """
        by_joint = np.broadcast_to(coefficients, self.total_matrices.shape[:2])
        squares = np.einsum('jab,ja,jb->j', self.total_matrices, by_joint, by_joint)
        return np.maximum(squares, 0.0)  # rounding may make it slightly negative

    @cached_property
    def total_matrices(self) -> Array:
        """The Gram matrices summed over folds, (n, c, c)."""
        return np.asarray(self.matrices.sum(axis=0))

    def gram_matrix(self, weights: Array) -> Array:
        """Return the Gram matrix (c, c) summed over folds and, times `weights` (n,), joints."""
        return np.einsum('j,kjab->ab', weights, self.matrices)


def residual_weights(noise_std: Array) -> Array:
    """Return the weights 1 / (6 std^2) of joints' squared residuals, (n,) [1/(N m)^2]."""
    return 1.0 / (SAMPLES_PER_INDEPENDENT_SAMPLE * noise_std**2)


def fit_theta(
    grams: GramStack,
    prior: Prior,
    precision: float | None = None,
    noise_std: Array | None = None,
) -> Array:
    """
    Return parameters that minimise weighted squared residuals plus the prior's cost, (p,).

    `precision` is that of the prior of inertias, by default the one of its widths: masses have a
    relative deviation of 1 / sqrt of it. `noise_std` (n,) is the standard deviation of each
    joint's residual that the weights assume [N m], by default the prior's `expected_residual`.
    """
    weights = residual_weights(prior.expected_residual if noise_std is None else noise_std)
    precision = prior.widths.regularization if precision is None else precision
    return fit_theta_to_gram(grams.gram_matrix(weights), prior, precision)


def identified_theta(grams: GramStack, prior: Prior) -> Array:
    """Return the parameters (p,) of an arm as it is identified, physical constraints aside."""
    noise = common_noise(grams, prior, DEFAULT_PRIOR_PRECISION)
    return fit_theta(grams, prior, DEFAULT_PRIOR_PRECISION, noise)


def fit_theta_to_gram(gram: Array, prior: Prior, precision: float) -> Array:
    """Return the parameters (p,) of least cost by `gram` (c, c), torque last, and the prior."""
    prior_information, information_times_mean = prior.information(precision)
    p = len(information_times_mean)
    normal_matrix = gram[:p, :p] + prior_information
    right_hand_side = gram[:p, TORQUE_COLUMN] + information_times_mean
    return np.asarray(np.linalg.solve(normal_matrix, right_hand_side))


def fit_friction(grams: GramStack, prior: Prior, noise_std: Array) -> Array:
    """
    Return the prior's mean base parameters, and friction fitted while these are fixed, (p,).

    Friction dissipates, as in the consistent fit. Raises MissingDependencyError if scipy is not
    installed.
    """
    with require_extra('Fitting friction needs scipy', 'identify'):
        from scipy.optimize import lsq_linear
    b = len(prior.model.base)
    base_parameters = prior.mean[:b]
    reduced_regressor, reduced_torque = weighted_equations(grams, prior, noise_std)
    # The unknowns are sums of friction parameters that have bounds, in units of prior standard
    # deviations; the rows after the samples are the parameters' prior about zero.
    std = prior.friction_std
    friction = prior.model.friction
    from_sums = friction.from_bounded_sums(np.diag(std))  # (f, f)
    friction_columns = reduced_regressor[:, b:] @ from_sums
    friction_torque = reduced_torque - reduced_regressor[:, :b] @ base_parameters
    f = len(std)
    rows = np.concatenate([friction_columns, from_sums / std[:, None]])
    right_hand_side = np.concatenate([friction_torque, np.zeros(f)])
    minima = np.where(friction.nonnegative_mask, 0.0, -np.inf)
    maxima = friction.maxima / std
    fitted = lsq_linear(rows, right_hand_side, (minima, maxima), method='bvls', max_iter=1000)
    return np.append(base_parameters, from_sums @ fitted.x)


def rms_residuals(grams: GramStack, theta: Array) -> Array:
    """Return each joint's root mean square residual, shape (n,) [N m]."""
    return np.asarray(np.sqrt(grams.squared_residuals(theta) / grams.sample_count))


def joint_noise(grams: GramStack, theta: Array) -> Array:
    """Return each joint's noise: its rms residual, at least `min_noise(grams)`, (n,) [N m]."""
    return np.maximum(rms_residuals(grams, theta), min_noise(grams))


def min_noise(grams: GramStack) -> Array:
    """
    Return the least noise assumed of each joint, (n,) [N m].

    It is 0.1 % of the joint's largest effort or, if that is hardly any, a millionth of the arm's.
    """
    return _MIN_NOISE_TO_MAX * grams.max_torque.clip(_MIN_NOISE_TO_MAX * grams.max_torque.max())


def common_noise(grams: GramStack, prior: Prior, precision: float) -> Array:
    """
    Return a first fit's noise, equal for all joints in the torque error's unit, (n,) [N m].

    It is the rms residual over all joints, in the unit of the torque error E.
    """
    unit_factors = np.array(TorqueErrorUnit.for_arm(prior.reference).factors)
    residual = rms_residuals(grams, fit_theta(grams, prior, precision))  # (n,), N m
    noise = np.sqrt(np.mean((residual * unit_factors) ** 2)) / unit_factors
    return np.asarray(np.maximum(noise, _MIN_NOISE_TO_EXPECTED * prior.expected_residual))


def weighted_equations(grams: GramStack, prior: Prior, noise_std: Array) -> tuple[Array, Array]:
    """
    Return R (p, p), z (p,): norm(R theta - z)^2 + constant is the sum of weighted residuals^2.

    R is the regressor, weighted and reduced to as many rows as there are parameters, z the torque
    reduced alike. A constant is left out. `noise_std` is as for `fit_theta`.
    """
    weighted_gram = grams.gram_matrix(residual_weights(noise_std))
    return sqrt_equations(weighted_gram, [*range(len(prior.std))], prior.std)


def sqrt_equations(gram: Array, indices: list[int], scales: Array) -> tuple[Array, Array]:
    """
    Return R (k, k), z (k,): R^T R is k columns' Gram matrix, R^T z their products with torque.

    Those are the blocks of the k chosen columns and, right of them, of the torque, which is the
    last column of `gram` (c, c). `scales` (k,) are sizes of the columns' coefficients.
    """
    scaled_gram = gram[np.ix_(indices, indices)] * scales * scales[:, None]
    eigenvalues, eigenvectors = np.linalg.eigh(scaled_gram)
    singular_values = np.sqrt(np.maximum(eigenvalues, 0.0))  # of the scaled columns, rising
    torque_products = eigenvectors.T @ (scales * gram[indices, TORQUE_COLUMN])
    reduced_regressor = (eigenvectors * singular_values).T / scales
    # Torque along directions that the samples do not show is rounding.
    shown = singular_values > _MIN_SINGULAR_VALUE_TO_MAX * singular_values[-1]
    reduced_torque = np.where(shown, torque_products / np.where(shown, singular_values, 1.0), 0.0)
    return reduced_regressor, reduced_torque


def posterior_covariance(
    grams: GramStack, prior: Prior, precision: float, noise_std: Array, theta: Array
) -> tuple[Array, StartingSetPrecision]:
    """
    Return the covariance of `theta`, (p, p), and the precision of the starting set.

    The samples' noise is each joint's own residual. The covariance includes errors of the starting
    set as large as the samples show: the term s^2 P C P of the docstring of `prior`, where a
    precision above `precision` counts as that. `noise_std` is that with which `theta` was fitted.

    The fit is theta = K^-1 times a right-hand side; its covariance is K^-1 times that of the
    right-hand side times K^-1.
    """
    residual_std = _residual_std(grams, prior, theta)
    start_precision = starting_set_precision(weighted_equations(grams, prior, residual_std), prior)
    p = len(theta)
    b = len(prior.model.base)
    weights = residual_weights(noise_std)
    prior_information, _ = prior.information(precision)
    normal_inverse = np.linalg.inv(grams.gram_matrix(weights)[:p, :p] + prior_information)
    # Of the torques' noise, which is another one than the weights assume; of friction about zero;
    # of the starting set's errors.
    covariance = grams.gram_matrix(weights * (residual_std / noise_std) ** 2)[:p, :p]
    covariance[b:, b:] += prior_information[b:, b:]
    applied = StartingSetPrecision(
        masses=min(start_precision.masses, precision),
        inertias=min(start_precision.inertias, precision / prior.widths.inertia**2),
    )
    base_information = prior_information[:b, :b]
    covariance[:b, :b] += base_information @ applied.covariance(prior) @ base_information
    return np.asarray(normal_inverse @ covariance @ normal_inverse), start_precision


def friction_covariance(grams: GramStack, prior: Prior, noise_std: Array, theta: Array) -> Array:
    """
    Return the covariance (f, f) of friction that was fitted with base parameters held.

    It is that of `posterior_covariance` with an inertias' prior of infinite precision: noise is
    each joint's own residual, and errors of the held set, as large as the samples show, count with
    their effect on friction. `noise_std` and `theta` are those of `fit_friction`.
    """
    residual_std = _residual_std(grams, prior, theta)
    start_precision = starting_set_precision(weighted_equations(grams, prior, residual_std), prior)
    base = slice(0, len(prior.model.base))
    friction = slice(len(prior.model.base), len(theta))
    weights = residual_weights(noise_std)
    gram = grams.gram_matrix(weights)
    prior_information = np.diag(prior.friction_std**-2.0)
    normal_inverse = np.linalg.inv(gram[friction, friction] + prior_information)
    noise_gram = grams.gram_matrix(weights * (residual_std / noise_std) ** 2)
    covariance = noise_gram[friction, friction] + prior_information
    start_covariance = start_precision.covariance(prior)  # (b, b)
    covariance += gram[friction, base] @ start_covariance @ gram[base, friction]
    return np.asarray(normal_inverse @ covariance @ normal_inverse)


def _residual_std(grams: GramStack, prior: Prior, theta: Array) -> Array:
    """Return each joint's rms residual, (n,) [N m], at least a billionth of the expected one."""
    smallest = _MIN_NOISE_TO_EXPECTED * prior.expected_residual
    return np.maximum(rms_residuals(grams, theta), smallest)


def std_to_prior_ratios(grams: GramStack, prior: Prior, theta: Array) -> Array:
    """
    Return the standard deviations of fitted parameters divided by those of the prior, shape (p,).

    The prior has precision one. 1 means that the samples say nothing about a parameter.
    """
    prior_information, _ = prior.information(1.0)
    p = len(prior_information)
    weights = residual_weights(_residual_std(grams, prior, theta))
    covariance = np.linalg.inv(grams.gram_matrix(weights)[:p, :p] + prior_information)
    return np.asarray(np.sqrt(np.diag(covariance)) / prior.std)
