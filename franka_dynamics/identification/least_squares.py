# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Weighted least squares with a prior, from Gram matrices of regressor and torque.

A row of the regressor of joint j, extended by further columns and the joint's torque, is x. The
sum over samples of x x^T, by part of a recording and joint, is all that a least-squares fit needs,
whichever columns it uses. Sums of two recordings, or of two pieces of one, add up. A prior bounds
the condition of every fit, so that the squared condition number of normal equations does no harm.
Further columns are the `faults` of a recording: `cross_validation` fits them with the arm.

All joints' residuals count alike in a fit, because the error E counts them alike. Least squares
assumes an exact regressor. Encoder noise biases the estimates; more data does not remove this
bias, and the standard deviations do not include it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from operator import add

import numpy as np

from .faults import Fault, possible_faults
from .faults.fault import TorqueSamples
from .options import DEFAULT_PRIOR_PRECISION
from .prior import Prior, starting_set_precision, StartingSetPrecision
from .torque_model import TorqueModel
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
_MIN_NOISE_TO_MAX = 1e-3  # smallest noise of a joint, relative to its largest effort: rounding


def repetition_period(motion: Motion) -> float:
    """Return a motion's period [s], infinity if it does not repeat; some joint must move."""
    moving = np.flatnonzero(moving_mask(motion))  # a rest before and after it is not repeated
    q = motion.q[moving[0] : moving[-1] + 1]
    x = q - q.mean(axis=0)
    n = len(x)
    rate = motion.options.rate
    spectrum = np.fft.rfft(x, 2 * n, axis=0)
    products = np.fft.irfft(np.sum(np.abs(spectrum) ** 2, axis=1), 2 * n)[:n]
    energy = np.concatenate([[0.0], np.cumsum(np.sum(x * x, axis=1))])
    lags = np.arange(max(1, n - int(_MIN_REPETITION_PERIOD_S * rate)))
    apart = energy[n] - energy[lags] + energy[n - lags] - 2.0 * products[lags]
    relative = np.sqrt(np.maximum(apart, 0.0) / (n - lags) / max(energy[n] / n, 1e-12))
    again = np.flatnonzero(
        (relative < _MAX_REPEAT_TO_STD) & (np.maximum.accumulate(relative) > _MIN_EXCURSION_TO_STD)
    )
    again = again[again >= _MIN_REPETITION_PERIOD_S * rate]
    if not len(again):
        return np.inf
    near = again[again < again[0] + rate]
    return float(near[np.argmin(relative[near])]) / rate


def fold_numbers(motion: Motion, period: float, count: int = FOLD_COUNT) -> NDArray[np.intp]:
    """Return each sample's fold number, (N,), by phase in `period` [s], by time if that is inf."""
    part = np.linspace(0.0, 1.0, len(motion), endpoint=False)
    if np.isfinite(period):
        part = motion.time % period / period
    return np.minimum(count * part, count - 1).astype(np.intp)


@dataclass(frozen=True, eq=False)
class GramStack:
    """
    Gram matrices of regressor columns and torque over samples, for each fold and joint.

    `matrices` (folds, n, c, c) are of the c columns called `column_names`: base parameters,
    friction parameters (all joints'), the columns of all faults, and last the filtered torque.
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
        faults: Sequence[Fault] | None = None,
        fold_count: int = FOLD_COUNT,
    ) -> 'GramStack':
        """
        Return the Gram matrices of a motion, with the regressor columns of `faults`, or of all.

        Without a `period` the motion itself is searched for one.
        """
        period = repetition_period(motion) if period is None else period
        part = fold_numbers(motion, period, fold_count)
        friction = model.friction_columns(motion)
        samples = TorqueSamples.from_motion(model, motion, friction)
        faults = possible_faults(model.n) if faults is None else faults
        blocks = []
        columns = dict[str, Array]()
        for first in range(0, len(motion), BLOCK_SAMPLE_COUNT):
            chosen = slice(first, first + BLOCK_SAMPLE_COUNT)
            block = samples.select(chosen)
            for fault in faults:  # those without columns, or with the model's, add none
                columns.update(zip(fault.column_names, fault.regressor_columns(block)))
            more = np.stack([*columns.values(), block.motion.effort], axis=-1)
            rows = np.append(model.regressor(block.regressor, friction[chosen]), more, axis=-1)
            split = (rows[part[chosen] == k].swapaxes(0, 1) for k in range(fold_count))
            blocks.append(np.stack([one.swapaxes(1, 2) @ one for one in split]))
        counts = np.bincount(part, minlength=fold_count)
        names = (*model.parameter_names, *columns, 'torque')
        return cls(reduce(add, blocks), counts, np.abs(motion.effort).max(axis=0), names)

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

    def with_folds(self, numbers: Sequence[int]) -> 'GramStack':
        """Return the Gram matrices of the chosen folds only; `max_torque` stays that of all."""
        kept = list(numbers)
        return replace(self, matrices=self.matrices[kept], sample_counts=self.sample_counts[kept])

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
        own = np.broadcast_to(coefficients, self.total_matrices.shape[:2])
        return np.maximum(np.einsum('jab,ja,jb->j', self.total_matrices, own, own), 0.0)

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
    precision: float = DEFAULT_PRIOR_PRECISION,
    noise_std: Array | None = None,
) -> Array:
    """
    Return parameters that minimise weighted squared residuals plus the prior's cost, (p,).

    `precision` is that of the prior of inertias: masses have a relative deviation of 1 / sqrt of
    it. `noise_std` (n,) is the standard deviation of each joint's residual that the weights assume
    [N m], by default the prior's `expected_residual`.
    """
    weights = residual_weights(prior.expected_residual if noise_std is None else noise_std)
    return fit_theta_to_gram(grams.gram_matrix(weights), prior, precision)


def fit_theta_to_gram(gram: Array, prior: Prior, precision: float) -> Array:
    """Return the parameters (p,) of least cost by `gram` (c, c), torque last, and the prior."""
    known, pull = prior.information(precision)
    p = len(pull)
    return np.asarray(np.linalg.solve(gram[:p, :p] + known, gram[:p, -1] + pull))


def fit_friction(grams: GramStack, prior: Prior, noise_std: Array) -> Array:
    """
    Return the prior's mean base parameters, and friction fitted while these are fixed, (p,).

    Friction dissipates, as in the consistent fit. Raises MissingDependencyError if scipy is not
    installed.
    """
    with require_extra('Fitting friction needs scipy', 'identify'):
        from scipy.optimize import lsq_linear
    b = len(prior.model.base)
    triangle, effort = weighted_equations(grams, prior, noise_std)
    units = prior.friction_std
    rows = np.concatenate([triangle[:, b:] * units, np.eye(len(units))])
    rest = np.concatenate([effort - triangle[:, :b] @ prior.mean[:b], np.zeros(len(units))])
    least = np.where(prior.model.friction.nonnegative_mask, 0.0, -np.inf)
    bounds = least, prior.model.friction.maxima / units
    found = lsq_linear(rows, rest, bounds, method='bvls', max_iter=1000)
    return np.append(prior.mean[:b], units * found.x)


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
    per_joint = np.array(TorqueErrorUnit.for_arm(prior.reference).factors)
    first = rms_residuals(grams, fit_theta(grams, prior, precision))
    size = np.sqrt(np.mean((first * per_joint) ** 2)) / per_joint
    return np.asarray(np.maximum(size, _MIN_NOISE_TO_EXPECTED * prior.expected_residual))


def weighted_equations(grams: GramStack, prior: Prior, noise_std: Array) -> tuple[Array, Array]:
    """
    Return R (p, p), z (p,): norm(R theta - z)^2 + constant is the sum of weighted residuals^2.

    A constant is left out. `noise_std` is as for `fit_theta`.
    """
    weighted = grams.gram_matrix(residual_weights(noise_std))
    return sqrt_equations(weighted, [*range(len(prior.std))], prior.std)


def sqrt_equations(gram: Array, indices: list[int], scales: Array) -> tuple[Array, Array]:
    """
    Return R (k, k), z (k,): R^T R is k columns' Gram matrix, R^T z their products with torque.

    Those are the blocks of the k chosen columns and, right of them, of the torque, which is the
    last column of `gram` (c, c). `scales` (k,) are sizes of the columns' coefficients.
    """
    values, axes = np.linalg.eigh(gram[np.ix_(indices, indices)] * scales * scales[:, None])
    roots = np.sqrt(np.maximum(values, 0.0))
    known = roots > 1e-7 * roots[-1]
    right = axes.T @ (scales * gram[indices, -1])
    triangle = (axes * roots).T / scales
    return triangle, np.where(known, right / np.where(known, roots, 1.0), 0.0)


def posterior_covariance(
    grams: GramStack, prior: Prior, precision: float, noise_std: Array, theta: Array
) -> tuple[Array, StartingSetPrecision]:
    """
    Return the covariance of `theta`, (p, p), and the precision of the starting set.

    The samples' noise is each joint's own residual. The covariance includes errors of the starting
    set as large as the samples show: the term s^2 P C P of the docstring of `prior`, where a
    precision above `precision` counts as that. `noise_std` is that with which `theta` was fitted.
    """
    own = np.maximum(rms_residuals(grams, theta), _MIN_NOISE_TO_EXPECTED * prior.expected_residual)
    supported = starting_set_precision(weighted_equations(grams, prior, own), prior)
    p = len(theta)
    b = len(prior.model.base)
    information, _ = prior.information(precision)
    weights = residual_weights(noise_std)
    inverse = np.linalg.inv(grams.gram_matrix(weights)[:p, :p] + information)
    spread = grams.gram_matrix(weights * (own / noise_std) ** 2)[:p, :p]
    spread[b:, b:] += information[b:, b:]
    least = StartingSetPrecision(*(min(one, precision) for one in supported))
    of_prior = information[:b, :b]
    spread[:b, :b] += of_prior @ least.covariance(prior) @ of_prior
    return np.asarray(inverse @ spread @ inverse), supported


def friction_covariance(grams: GramStack, prior: Prior, noise_std: Array, theta: Array) -> Array:
    """
    Return the covariance (f, f) of friction that was fitted with base parameters held.

    It is that of `posterior_covariance` with an inertias' prior of infinite precision: noise is
    each joint's own residual, and errors of the held set, as large as the samples show, count with
    their effect on friction. `noise_std` and `theta` are those of `fit_friction`.
    """
    own = np.maximum(rms_residuals(grams, theta), _MIN_NOISE_TO_EXPECTED * prior.expected_residual)
    supported = starting_set_precision(weighted_equations(grams, prior, own), prior)
    weights = residual_weights(noise_std)
    b = len(prior.model.base)
    p = len(theta)
    gram = grams.gram_matrix(weights)
    known = np.diag(prior.friction_std**-2.0)
    inverse = np.linalg.inv(gram[b:p, b:p] + known)
    spread = grams.gram_matrix(weights * (own / noise_std) ** 2)[b:p, b:p] + known
    spread += gram[b:p, :b] @ supported.covariance(prior) @ gram[:b, b:p]
    return np.asarray(inverse @ spread @ inverse)


def std_to_prior_ratios(grams: GramStack, prior: Prior, theta: Array) -> Array:
    """
    Return the standard deviations of fitted parameters divided by those of the prior, shape (p,).

    The prior has precision one. 1 means that the samples say nothing about a parameter.
    """
    known, _ = prior.information(1.0)
    p = len(known)
    weights = residual_weights(rms_residuals(grams, theta))
    spread = np.sqrt(np.diag(np.linalg.inv(grams.gram_matrix(weights)[:p, :p] + known)))
    return np.asarray(spread / prior.std)
