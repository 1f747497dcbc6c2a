# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Gram matrices of regressor and torque, summed over samples, by part of a recording and joint.

A row of the regressor of joint j, extended by further columns and the joint's torque, is x. The
sum over samples of x x^T is all that a least-squares fit needs, whichever columns it uses. Sums of
two recordings, or of two pieces of one, add up. A prior bounds the condition of every fit, so that
the squared condition number of normal equations does no harm.

Further columns are the faults of a recording: `verdict` fits them together with the arm. Each is
the torque that a unit of the fault adds to the measured effort, to first order. The rigid-body
torques in them are the starting set's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import combinations
from operator import add

import numpy as np
from numpy.typing import NDArray

from .torque_model import MASS_AND_FIRST_MOMENT, OFFSET_SYMBOL, TorqueModel
from ..arm import ArmDescription
from ..dynamics.newton_euler import NewtonEulerModel
from ..recordings.preprocessing import is_moving, Motion
from ..typing import Array

FOLDS = 5  # number of parts of the recordings, each of which is left out of a fit in turn
_BLOCK_SAMPLE_COUNT = 1024  # samples at once: some MB of columns for a seven-joint arm
_POSITION_STEP = 1e-4  # step of central differences [rad or m]
_LAG_STEP_S = 1e-4
# A motion repeats if positions a period apart differ by less than _REPEAT_RATIO of the
# positions' standard deviation, after they differed by more than _APART_RATIO of it at a
# shorter lag. The recording of a real FER that repeats after 13.3 s has 0.002 at this lag and up
# to 1.7 at shorter ones.
_REPEAT_RATIO = 0.1
_APART_RATIO = 0.5
_MIN_PERIOD_S = 3.0

# A fault's kind, and its joints or, for a load that comes or goes, the quarter where it does.
Fault = tuple[str, tuple[int, ...]]
SCALE: Fault = ('gain', ())  # all efforts times a common factor
LOAD: Fault = ('load', ())  # a load on the flange from the beginning


def period_of(motion: Motion) -> float:
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
        (relative < _REPEAT_RATIO) & (np.maximum.accumulate(relative) > _APART_RATIO)
    )
    again = again[again >= _MIN_PERIOD_S * rate]
    if not len(again):
        return np.inf
    near = again[again < again[0] + rate]
    return float(near[np.argmin(relative[near])]) / rate


def folds(motion: Motion, period: float) -> NDArray[np.intp]:
    """Return the fold of every sample, (N,): by phase where the motion repeats, else by time."""
    if np.isfinite(period):
        part = motion.time % period / period
    else:
        part = np.linspace(0.0, 1.0, len(motion), endpoint=False)
    return np.minimum(FOLDS * part, FOLDS - 1).astype(np.intp)


def gravity_axes(gravity: Array) -> Array:
    """Return two horizontal vectors of gravity's magnitude, and gravity itself, (3, 3) [m/s^2]."""
    level = np.linalg.svd(gravity[None, :])[2][1:] * np.linalg.norm(gravity)
    return np.concatenate([level, gravity[None, :]])


def fault_columns(model: TorqueModel) -> dict[Fault, list[int]]:
    """Return the indices of each fault's columns among all columns of `GramSums`."""
    n, b = model.n, len(model.base)
    k = model.friction.term_count
    offsets = b + model.friction.symbols.index(OFFSET_SYMBOL) + k * np.arange(n)
    first = b + k * n
    gravity, loads, joints = first + 4, first + 7, first + 23
    found: dict[Fault, list[int]] = {
        ('gain', ()): [first],
        ('drift', ()): [first + 1],  # a common factor looks like other masses
        ('delay', ()): [first + 2],
        ('lag', ()): [first + 3],
        ('gravity', ()): [*range(gravity, loads)],
    }
    for quarter in range(4):
        begin = loads + 4 * quarter
        found['load', (quarter,) if quarter else ()] = [*range(begin, begin + 4)]
    for j, offset in enumerate(offsets.tolist()):
        own = joints + 3 * j
        found['gain', (j,)], found['drift', (j,)] = [own], [own, own + 1]
        found['offset', (j,)] = [offset]
        # An error of the first joint's zero is a turn of the base, which gravity names, one of the
        # last joint's a turn of the last link.
        if 0 < j < n - 1:
            found['zero', (j,)] = [own + 2]
    for k, pair in enumerate(combinations(range(n), 2)):
        found['exchanged', pair] = [joints + 3 * n + k]
    return found


def _whole_columns(arm: ArmDescription, gravity: Array, motion: Motion) -> tuple[Array, ...]:
    """
    Return the starting set's rigid-body torque, and its changes by delay and lag, (N, n) each.

    The changes are per second by which the efforts are late, and velocities with accelerations.
    """
    model = NewtonEulerModel(arm, gravity)
    rigid = model.inverse_dynamics(motion.q, motion.dq, motion.ddq)
    later, jerk = np.zeros_like(rigid), np.zeros_like(rigid)
    for number in np.unique(motion.piece):
        piece = motion.piece == number
        if np.count_nonzero(piece) > 1:
            later[piece] = -np.gradient(rigid[piece], 1.0 / motion.options.rate, axis=0)
            jerk[piece] = np.gradient(motion.ddq[piece], 1.0 / motion.options.rate, axis=0)
    ahead = (motion.dq + _LAG_STEP_S * motion.ddq, motion.ddq + _LAG_STEP_S * jerk)
    lagging = (model.inverse_dynamics(motion.q, *ahead) - rigid) / _LAG_STEP_S
    return rigid, later, lagging


def _fault_torques(
    model: TorqueModel, arm: ArmDescription, motion: Motion, base: Array, rigid: Array, late: Array
) -> list[Array]:
    """
    Return the torques (N, n) of all faults' columns but the first four, as in `fault_columns`.

    `base` (N, n, b) are the base parameters' columns, `rigid` (N, n) the rigid-body torque, and
    `late` (N,) the time as a fraction of the recording.
    """
    gravity, each = model.base.gravity[0], np.eye(arm.n)
    dynamics = NewtonEulerModel(arm, gravity)
    drifting = rigid * (late - 0.5)[:, None]
    load = np.moveaxis(base @ model.load_matrix(arm)[:, MASS_AND_FIRST_MOMENT], -1, 0)
    found = [NewtonEulerModel(arm, one).gravity(motion.q) for one in gravity_axes(gravity)]
    found += [one * (late >= quarter / 4)[:, None] for quarter in range(4) for one in load]
    for step in each:
        before, after = (
            dynamics.inverse_dynamics(motion.q + turn * step, motion.dq, motion.ddq)
            for turn in (-_POSITION_STEP, _POSITION_STEP)
        )
        found += [rigid * step, drifting * step, (before - after) / (2.0 * _POSITION_STEP)]
    for i, j in combinations(range(arm.n), 2):
        found.append((rigid[:, [j]] - rigid[:, [i]]) * (each[i] - each[j]))
    return found


@dataclass(frozen=True, eq=False)
class GramSums:
    """
    Gram matrices of regressor columns and torque over samples, for each fold and joint.

    `products` (folds, n, c, c) are of the c columns: base parameters, friction parameters (all
    joints'), the columns of `fault_columns`, and filtered torque. `samples` (folds,) are the
    numbers of samples. `max_speed` and `max_torque` (n,) are each joint's largest filtered speed
    [rad/s] and torque [N m].
    """

    products: Array
    samples: NDArray[np.intp]
    max_speed: Array
    max_torque: Array

    @classmethod
    def of(
        cls,
        model: TorqueModel,
        arm: ArmDescription,
        motion: Motion,
        *,
        period: float | None = None,
    ) -> GramSums:
        """
        Return the sums of a recording.

        `arm` is the starting set. Without a `period` the motion itself is searched for one.
        """
        part = folds(motion, period_of(motion) if period is None else period)
        late = np.linspace(0.0, 1.0, len(motion), endpoint=False)
        rigid, later, lagging = _whole_columns(arm, model.base.gravity[0], motion)
        drifting = rigid * (late - 0.5)[:, None]
        blocks = []
        for first in range(0, len(motion), _BLOCK_SAMPLE_COUNT):
            chosen = slice(first, first + _BLOCK_SAMPLE_COUNT)
            block = motion.part(chosen)
            base, friction = model.regressor_blocks(block)
            more = [rigid[chosen], drifting[chosen], later[chosen], lagging[chosen]]
            more += _fault_torques(model, arm, block, base, rigid[chosen], late[chosen])
            more.append(block.effort)
            rows = np.concatenate([model.regressor(base, friction), np.stack(more, -1)], axis=-1)
            split = (rows[part[chosen] == k].swapaxes(0, 1) for k in range(FOLDS))
            blocks.append(np.stack([one.swapaxes(1, 2) @ one for one in split]))
        return cls(
            reduce(add, blocks),
            np.bincount(part, minlength=FOLDS),
            np.abs(motion.dq).max(axis=0),
            np.abs(motion.effort).max(axis=0),
        )

    def __add__(self, other: GramSums) -> GramSums:
        """Return the sums of both sets of samples, fold by fold."""
        return GramSums(
            self.products + other.products,
            self.samples + other.samples,
            np.maximum(self.max_speed, other.max_speed),
            np.maximum(self.max_torque, other.max_torque),
        )

    def as_fold(self, number: int) -> GramSums:
        """Return the same sums with all samples in one fold."""
        products, samples = np.zeros_like(self.products), np.zeros_like(self.samples)
        products[number], samples[number] = self.products.sum(axis=0), self.count
        return GramSums(products, samples, self.max_speed, self.max_torque)

    def part(self, chosen: Sequence[int]) -> GramSums:
        """Return the sums of some folds, by their numbers."""
        folds = list(chosen)
        return GramSums(self.products[folds], self.samples[folds], self.max_speed, self.max_torque)

    @property
    def count(self) -> int:
        """The number of samples."""
        return int(self.samples.sum())

    def squared_residuals(self, theta: Array) -> Array:
        """
        Return each joint's sum of squared torque residuals, shape (n,) [N^2 m^2].

        `theta` are the first parameters, such as base parameters (b,) or all parameters (p,); the
        other columns count for nothing.
        """
        residual = np.zeros(self.products.shape[-1])
        residual[: len(theta)], residual[-1] = -np.asarray(theta), 1.0
        return self.squared_combination(residual)

    def squared_combination(self, coefficients: Array) -> Array:
        """Return each joint's sum of squares of columns times `coefficients` (c,), (n,)."""
        whole = self.products.sum(axis=0)
        return np.maximum(whole @ coefficients @ coefficients, 0.0)

    def weighted(self, weights: Array) -> Array:
        """Return the sum over folds and joints of weights (n,) times the products, (c, c)."""
        return np.einsum('j,kjab->ab', weights, self.products)
