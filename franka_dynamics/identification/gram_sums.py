# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Gram matrices of regressor and torque, summed over samples, by part of a recording and joint.

A row of the regressor of joint j, extended by further columns and the joint's torque, is x. The
sum over samples of x x^T is all that a least-squares fit needs, whichever columns it uses. Sums of
two recordings, or of two pieces of one, add up. A prior bounds the condition of every fit, so that
the squared condition number of normal equations does no harm.

Further columns are the `faults` of a recording: `cross_validation` fits them with the arm.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from operator import add

import numpy as np

from .faults import faults_of
from .faults.fault import TorqueSamples
from .torque_model import TorqueModel
from ..arm import ArmDescription
from ..arrays import Array, NDArray
from ..recordings.preprocessing import is_moving, Motion

TORQUE_COLUMN = -1  # place of the measured torque among the columns
FOLD_COUNT = 5  # number of parts of the recordings, each of which is left out of a fit in turn
_BLOCK_SAMPLE_COUNT = 1024  # samples at once: some MB of columns for a seven-joint arm
# A motion repeats if positions a period apart differ by less than _MAX_REPEAT_RATIO of the
# positions' standard deviation, after they differed by more than _MIN_APART_RATIO of it at a
# shorter lag. The recording of a real FER that repeats after 13.3 s has 0.002 at this lag and up
# to 1.7 at shorter ones.
_MAX_REPEAT_RATIO = 0.1
_MIN_APART_RATIO = 0.5
_MIN_PERIOD_S = 3.0


def repetition_period(motion: Motion) -> float:
    """Return the time after which a motion repeats [s], or infinity; some joint must move."""
    moving = np.flatnonzero(is_moving(motion))  # a rest before and after it is not repeated
    q = motion.q[moving[0] : moving[-1] + 1]
    x = q - q.mean(axis=0)
    n, rate = len(x), motion.options.rate
    spectrum = np.fft.rfft(x, 2 * n, axis=0)
    products = np.fft.irfft(np.sum(np.abs(spectrum) ** 2, axis=1), 2 * n)[:n]
    energy = np.concatenate([[0.0], np.cumsum(np.sum(x * x, axis=1))])
    lags = np.arange(max(1, n - int(_MIN_PERIOD_S * rate)))
    apart = energy[n] - energy[lags] + energy[n - lags] - 2.0 * products[lags]
    relative = np.sqrt(np.maximum(apart, 0.0) / (n - lags) / max(energy[n] / n, 1e-12))
    again = np.flatnonzero(
        (relative < _MAX_REPEAT_RATIO) & (np.maximum.accumulate(relative) > _MIN_APART_RATIO)
    )
    again = again[again >= _MIN_PERIOD_S * rate]
    if not len(again):
        return np.inf
    near = again[again < again[0] + rate]
    return float(near[np.argmin(relative[near])]) / rate


def fold_numbers(motion: Motion, period: float) -> NDArray[np.intp]:
    """Return each sample's fold number, (N,): by phase where the motion repeats, else by time."""
    if np.isfinite(period):
        part = motion.time % period / period
    else:
        part = np.linspace(0.0, 1.0, len(motion), endpoint=False)
    return np.minimum(FOLD_COUNT * part, FOLD_COUNT - 1).astype(np.intp)


@dataclass(frozen=True, eq=False)
class GramSums:
    """
    Gram matrices of regressor columns and torque over samples, for each fold and joint.

    `products` (folds, n, c, c) are of the c columns called `names`: base parameters, friction
    parameters (all joints'), the columns of all faults, and last the filtered torque.
    `sample_counts` (folds,) are the numbers of samples. `max_torque` (n,) is each joint's largest
    filtered torque [N m].
    """

    products: Array
    sample_counts: NDArray[np.intp]
    max_torque: Array
    names: tuple[str, ...]

    @classmethod
    def from_motion(
        cls,
        model: TorqueModel,
        arm: ArmDescription,
        motion: Motion,
        *,
        period: float | None = None,
        with_faults: bool = True,
    ) -> GramSums:
        """
        Return the sums of a recording, on request without the columns of faults.

        `arm` is the starting set. Without a `period` the motion itself is searched for one.
        """
        part = fold_numbers(motion, repetition_period(motion) if period is None else period)
        friction = model.friction_columns(motion)
        samples = TorqueSamples.from_motion(model, arm, motion, friction)
        faults = faults_of(model.n) if with_faults else []
        blocks, columns = [], dict[str, Array]()
        for first in range(0, len(motion), _BLOCK_SAMPLE_COUNT):
            chosen = slice(first, first + _BLOCK_SAMPLE_COUNT)
            block = samples.part(chosen)
            for fault in faults:  # those without columns, or with the model's, add none
                columns.update(zip(fault.column_names, fault.columns(block)))
            more = np.stack([*columns.values(), block.motion.effort], axis=-1)
            rows = model.regressor(block.regressor, friction[chosen])
            rows = np.concatenate([rows, more], axis=-1)
            split = (rows[part[chosen] == k].swapaxes(0, 1) for k in range(FOLD_COUNT))
            blocks.append(np.stack([one.swapaxes(1, 2) @ one for one in split]))
        return cls(
            reduce(add, blocks),
            np.bincount(part, minlength=FOLD_COUNT),
            np.abs(motion.effort).max(axis=0),
            (*model.names, *columns, 'torque'),
        )

    def column_indices(self, names: Sequence[str]) -> list[int]:
        """Return the indices of the named columns among all columns."""
        return [self.names.index(name) for name in names]

    def __add__(self, other: GramSums) -> GramSums:
        """Return the sums of both sets of samples, fold by fold."""
        return GramSums(
            self.products + other.products,
            self.sample_counts + other.sample_counts,
            np.maximum(self.max_torque, other.max_torque),
            self.names,
        )

    def as_fold(self, number: int) -> GramSums:
        """Return the sums with all samples moved to fold `number`, the other folds empty."""
        products, counts = np.zeros_like(self.products), np.zeros_like(self.sample_counts)
        products[number], counts[number] = self.products.sum(axis=0), self.sample_count
        return replace(self, products=products, sample_counts=counts)

    def with_folds(self, chosen: Sequence[int]) -> GramSums:
        """Return the sums of the folds with the chosen numbers only."""
        folds = list(chosen)
        counts = self.sample_counts[folds]
        return replace(self, products=self.products[folds], sample_counts=counts)

    @property
    def sample_count(self) -> int:
        """The number of samples."""
        return int(self.sample_counts.sum())

    def squared_residuals(self, theta: Array) -> Array:
        """
        Return each joint's sum of squared torque residuals, shape (n,) [N^2 m^2].

        `theta` are the first parameters, such as base parameters (b,) or all parameters (p,); the
        other columns count for nothing.
        """
        residual = np.zeros(self.products.shape[-1])
        residual[: len(theta)], residual[TORQUE_COLUMN] = -np.asarray(theta), 1.0
        return self.sum_of_squares(residual)

    def sum_of_squares(self, coefficients: Array) -> Array:
        """Return the sum of squares (n,) of each joint's columns times `coefficients` (c,)."""
        return np.maximum(self._products_of_all @ coefficients @ coefficients, 0.0)

    @cached_property
    def _products_of_all(self) -> Array:
        """The Gram matrices summed over folds, (n, c, c)."""
        return np.asarray(self.products.sum(axis=0))

    def gram_matrix(self, weights: Array) -> Array:
        """Return the Gram matrix (c, c) of all folds and joints, with `weights` by joint."""
        return np.einsum('j,kjab->ab', weights, self.products)
