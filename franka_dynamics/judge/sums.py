# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
A recording reduced to sums of products of all columns and the efforts: all that is judged.

The columns are those of the torque model, then those of each fault, last the efforts. Sums are by
fold, of which each is left out of a fit in turn: by phase where the motion repeats, else every
fifth tenth of the recording. Of one recording there are two more: those of columns that may
change, by tenth of the recording, and those of the model's columns by second.
"""

from collections.abc import Iterable, Sequence
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
_LATER_SHARE = 0.382  # of a recording, after which its poses are others


@dataclass(frozen=True, eq=False)
class WithinRecording:
    """
    Sums within one recording, by its tenths and by its seconds.

    `changing` (10, folds, n, s, c) are products of the s columns with indices `changing_columns`
    with all columns. `seconds` (S, n, p + 1, p + 1) are products of the model's columns and the
    efforts, `second_counts` (S,) the numbers of samples, `starts` (S,) the seconds' begins [s].
    `still` (S, p + 1, p + 1) are sums over joints of the same products, divided by the `expected`
    residuals (n,) [N m], without what accelerations of the base explain at each sample, None below
    four joints; `elsewhere` are the same without what they would explain in other poses of the
    recording. `base_squares` is the sum of squares of such torques of 1 m/s^2, likewise.
    `duration` is that of the recording [s].
    """

    changing: Array
    changing_columns: list[int]
    seconds: Array
    second_counts: NDArray[np.intp]
    starts: Array
    expected: Array
    still: Array | None
    elsewhere: Array | None
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
        samples = TorqueSamples.from_motion(model, motion)
        friction = model.friction_columns(motion)
        cells = _cells(motion, repetition_period(motion))
        faults = [*possible_faults(model)]
        max_torque = np.abs(motion.effort).max(axis=0)
        expected = Prior.centered_at(model.arm, model, max_torque).expected_residual
        p = len(model.parameter_names)
        adding = None
        without_base = _BaseSums(samples, expected, cells[:, 2].max() + 1)
        for first in range(0, len(motion), BLOCK_SAMPLE_COUNT):
            block = slice(first, first + BLOCK_SAMPLE_COUNT)
            some = samples.select(block)
            indices, extra = _fault_columns(some, faults, p)
            own = model.regressor(some.regressor, friction[block])
            rows = np.concatenate([own, np.stack([*extra, some.motion.effort], -1)], -1)
            adding = adding or _CellSums(model.n, p, indices, rows.shape[-1], cells)
            adding.add(rows, cells[block])
            without_base.add(rows[..., [*range(p), -1]], cells[block, 2], block)
        assert adding is not None  # a motion has a sample
        _, starts = np.unique(cells[:, 2], return_index=True)
        within = WithinRecording(
            adding.changing,
            adding.changing_columns,
            adding.seconds,
            np.bincount(cells[:, 2]),
            motion.time[starts],
            expected,
            without_base.of(0),
            without_base.of(1),
            without_base.squares,
            begin=float(motion.time[0]),
            duration=float(np.ptp(motion.time)),
        )
        counts = np.bincount(cells[:, 0], minlength=FOLD_COUNT)
        return cls(adding.folds, counts, adding.faults, p, max_torque, within)

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


def _fault_columns(
    samples: TorqueSamples, faults: Sequence[Fault], first: int
) -> tuple[dict[Fault, list[int]], list[Array]]:
    """Return the indices of faults' columns, from `first` on, and these columns, (N, n) each."""
    indices = dict[Fault, list[int]]()
    extra = list[Array]()
    for fault, columns in columns_of(samples, faults):
        indices[fault] = [*range(first + len(extra), first + len(extra) + len(columns))]
        extra += columns
    return indices, extra


class _CellSums:
    """Products of all columns, which are added block by block, by fold, tenth and second."""

    def __init__(
        self, n: int, p: int, faults: dict[Fault, list[int]], c: int, cells: NDArray[np.intp]
    ) -> None:
        self.faults = faults
        self.changing_columns = [
            k for fault, own in faults.items() if row_of(fault).changes for k in own
        ]
        self.folds = np.zeros((FOLD_COUNT, n, c, c))
        self.changing = np.zeros((PART_COUNT, FOLD_COUNT, n, len(self.changing_columns), c))
        self.seconds = np.zeros((cells[:, 2].max() + 1, n, p + 1, p + 1))
        self._of_model = [*range(p), c - 1]

    def add(self, rows: Array, cells: NDArray[np.intp]) -> None:
        """Add the products of some samples' rows (N, n, c) in their cells (N, 3)."""
        keys, cell = np.unique(cells, axis=0, return_inverse=True)
        for k, (fold, part, second) in enumerate(keys):
            by_joint = rows[cell.ravel() == k].swapaxes(0, 1)  # (n, samples, c)
            gram = by_joint.swapaxes(1, 2) @ by_joint
            self.folds[fold] += gram
            self.changing[part, fold] += gram[:, self.changing_columns]
            self.seconds[second] += gram[:, self._of_model][:, :, self._of_model]


class _BaseSums:
    """
    `still`, `elsewhere` and `base_squares` of WithinRecording, added block by block.

    What accelerations explain at each sample are three directions in the joints' torques. In the
    poses of a later time they explain what any three would; the time is no fraction of a motion
    that repeats. Below four joints nothing is summed.
    """

    def __init__(self, samples: TorqueSamples, expected: Array, second_count: int) -> None:
        self._expected = expected
        p = len(samples.model.parameter_names)
        self._sums = np.zeros((2, second_count, p + 1, p + 1))
        self.squares = 0.0
        self._directions = list[Array]()
        if samples.model.n > 3:
            of_base = np.stack(base_accelerations(samples), -1) / expected[:, None]
            own = np.linalg.qr(of_base)[0]  # (samples, n, 3)
            self._directions = [own, np.roll(own, round(_LATER_SHARE * len(own)), axis=0)]
            of_gravity = 3.0 * np.sum(samples.model.gravity**2)
            self.squares = float(np.sum(of_base**2) / of_gravity)

    def add(self, rows: Array, seconds: NDArray[np.intp], block: slice) -> None:
        """Add a block of samples' rows (N, n, p + 1), in their seconds (N,)."""
        rows = rows / self._expected[:, None]
        for sums, directions in zip(self._sums, self._directions):
            unit = directions[block]
            left = rows - unit @ (unit.swapaxes(1, 2) @ rows)
            for second in np.unique(seconds):
                flat = left[seconds == second].reshape(-1, left.shape[-1])
                sums[second] += flat.T @ flat

    def of(self, poses: int) -> Array | None:
        """Return the sums in own poses (0) or in those elsewhere (1), None below four joints."""
        return np.asarray(self._sums[poses]) if self._directions else None
