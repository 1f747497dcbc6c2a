# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
A recording reduced to sums of products of all columns and the efforts: all that is judged.

The columns are those of the torque model, then those of each fault, last the efforts. Sums are by
fold, of which each is left out of a fit in turn: by phase where the motion repeats, else every
fifth tenth of the recording. Of one recording there are two more: those of columns that may
change, by tenth of the recording, and those of the model's columns by second.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from operator import add

import numpy as np

from .columns import base_accelerations, columns_of, possible_faults, TorqueSamples
from .table import Fault, row_of
from ..arrays import Array, NDArray
from ..fit.least_squares import BLOCK_SAMPLE_COUNT, FOLD_COUNT, repetition_period
from ..fit.prior import Prior
from ..fit.torque_model import TorqueModel
from ..recordings.preprocessing import Motion

PART_COUNT = 10  # of a recording, at whose borders a change may begin
_MAX_SECOND_COUNT = 60  # of a recording; they are longer where it is longer


@dataclass(frozen=True, eq=False)
class WithinRecording:
    """
    Sums within one recording, by its tenths and by its seconds.

    `changing` (10, folds, n, s, c) are products of the s columns with indices `changing_columns`
    with all columns. `seconds` (S, n, p + 1, p + 1) are products of the model's columns and the
    efforts, `second_counts` (S,) the numbers of samples, `starts` (S,) the seconds' begins [s].
    `still` (S, p + 1, p + 1) are sums over joints of the same products, divided by the `expected`
    residuals (n,) [N m], without what accelerations of the base explain at each sample, None below
    four joints. `base_squares` is the sum of squares of such torques of 1 m/s^2, likewise.
    `duration` is that of the recording [s].
    """

    changing: Array
    changing_columns: list[int]
    seconds: Array
    second_counts: NDArray[np.intp]
    starts: Array
    expected: Array
    still: Array | None
    base_squares: float
    begin: float
    duration: float


@dataclass(frozen=True, eq=False)
class Sums:
    """
    Products (folds, n, c, c) of columns, `faults` with the indices of each one's columns.

    `counts` (folds,) are the numbers of samples, `p` is that of the model's columns, `max_torque`
    (n,) each joint's largest effort [N m]. `within` is None of several recordings.
    """

    folds: Array
    counts: NDArray[np.intp]
    faults: dict[Fault, list[int]]
    p: int
    max_torque: Array
    within: WithinRecording | None

    @classmethod
    def from_motion(cls, model: TorqueModel, motion: Motion) -> 'Sums':
        """Return the sums over a motion without rests."""
        period = repetition_period(motion)
        samples = TorqueSamples.from_motion(model, motion)
        friction = model.friction_columns(motion)
        max_torque = np.abs(motion.effort).max(axis=0)
        expected = Prior.centered_at(model.arm, model, max_torque).expected_residual
        faults = [*possible_faults(model)]
        cells = _cells(motion, period)
        indices = dict[Fault, list[int]]()
        p = len(model.parameter_names)
        folds = changing = seconds = still = np.zeros(0)
        changing_columns = list[int]()
        base_squares = 0.0
        for first in range(0, len(motion), BLOCK_SAMPLE_COUNT):
            block = slice(first, first + BLOCK_SAMPLE_COUNT)
            some = samples.select(block)
            extra = list[Array]()
            for fault, columns in columns_of(some, faults):
                indices[fault] = [*range(p + len(extra), p + len(extra) + len(columns))]
                extra += columns
            own = model.regressor(some.regressor, friction[block])
            rows = np.concatenate([own, np.stack([*extra, some.motion.effort], -1)], -1)
            c = rows.shape[-1]
            if not first:
                changing_columns = [
                    k for fault, own in indices.items() if row_of(fault).changes for k in own
                ]
                folds = np.zeros((FOLD_COUNT, model.n, c, c))
                changing = np.zeros((PART_COUNT, FOLD_COUNT, model.n, len(changing_columns), c))
                seconds = np.zeros((cells[:, 2].max() + 1, model.n, p + 1, p + 1))
                still = np.zeros((len(seconds), p + 1, p + 1))
            model_columns = [*range(p), c - 1]
            keys, cell = np.unique(cells[block], axis=0, return_inverse=True)
            for k, (fold, part, second) in enumerate(keys):
                by_joint = rows[cell.ravel() == k].swapaxes(0, 1)  # (n, samples, c)
                gram = by_joint.swapaxes(1, 2) @ by_joint
                folds[fold] += gram
                changing[part, fold] += gram[:, changing_columns]
                seconds[second] += gram[:, model_columns][:, :, model_columns]
            if model.n > 3:
                of_base = np.stack(base_accelerations(some), -1) / expected[:, None]
                left = rows[..., model_columns] / expected[:, None]
                directions = np.linalg.qr(of_base)[0]  # (samples, n, 3)
                left -= directions @ (directions.swapaxes(1, 2) @ left)
                for second in np.unique(cells[block, 2]):
                    flat = left[cells[block, 2] == second].reshape(-1, p + 1)
                    still[second] += flat.T @ flat
                base_squares += float(np.sum(of_base**2) / (3.0 * np.sum(model.gravity**2)))
        _, starts = np.unique(cells[:, 2], return_index=True)
        within = WithinRecording(
            changing,
            changing_columns,
            seconds,
            np.bincount(cells[:, 2]),
            motion.time[starts],
            expected,
            still if model.n > 3 else None,
            base_squares,
            begin=float(motion.time[0]),
            duration=float(np.ptp(motion.time)),
        )
        counts = np.bincount(cells[:, 0], minlength=FOLD_COUNT)
        return cls(folds, counts, indices, p, max_torque, within)

    def __add__(self, other: 'Sums') -> 'Sums':
        """Return the sums of both recordings, fold by fold."""
        return Sums(
            self.folds + other.folds,
            self.counts + other.counts,
            self.faults,
            self.p,
            np.maximum(self.max_torque, other.max_torque),
            within=None,
        )


def total_sums(sums: Iterable[Sums]) -> Sums:
    """Return the sums of all recordings; those of a single one stay as they are."""
    return reduce(add, sums)


def _cells(motion: Motion, period: float) -> NDArray[np.intp]:
    """Return each sample's fold, tenth of the recording and second, (N, 3), counted from 0."""
    share = np.arange(len(motion)) / len(motion)
    parts = (PART_COUNT * share).astype(np.intp)
    folds = parts % FOLD_COUNT
    if np.isfinite(period):
        phase = motion.time % period / period
        folds = np.minimum(FOLD_COUNT * phase, FOLD_COUNT - 1).astype(np.intp)
    second_count = min(_MAX_SECOND_COUNT, int(np.ptp(motion.time)) + 1)
    return np.column_stack([folds, parts, (second_count * share).astype(np.intp)])
