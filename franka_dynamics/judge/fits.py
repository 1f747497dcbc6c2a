# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Fits to recordings with the columns of at most one fault, and the numbers by which it is judged.

Masses are near the starting set's and friction near zero, as the prior says; a common factor of
the efforts, a load and offsets are free, because other masses explain these as well. Joints are
weighted by their own residuals. Each fold is predicted by a fit to the others.
"""

from typing import Any, NamedTuple

import numpy as np

from .sums import PART_COUNT, Sums
from .table import Fault, GROWS, is_change, MIN_GRAVITY, passes, row_of
from ..arrays import Array
from ..fit.least_squares import SAMPLES_PER_INDEPENDENT_SAMPLE
from ..fit.prior import Prior
from ..recordings.replay import TorqueErrorUnit

HARM = 1.4  # from this effect on a fault makes recordings unsound
CRITICAL_T_VALUE = 2.13  # Student's t of four degrees of freedom (five folds), one-sided, 95 %
# A size beside fitted masses is about that beside held ones within this factor.
MAX_SIZE_RATIO = 2.0
GIVEN = Fault('gain'), Fault('load')  # which every fit has, and offsets
_FITTED = 10.0  # precision of masses that are fitted: known to 32 %
_HELD = 1e8  # of masses that are held: known to 0.01 %
_MIN_NOISE_TO_MAX = 1e-3  # smallest noise of a joint, relative to its largest effort: rounding
_FLAT = 1e-9  # information of what is free, and the smallest noise to that expected
_DECLARED = np.array([0.0, 0.0, 1.0])  # gravity, relative to itself, in the axes of its columns
TORQUE = -1  # place of the efforts among the columns


class Found(NamedTuple):
    """
    A fault that was fitted, with its columns' indices and its size (k,).

    `gains` (folds,) are by how much the log-likelihood per sample of each left-out fold is above
    that without the fault. `error` is E on all left-out folds with it, `squares` (folds, n) are
    the mean squared residuals there. `effect` is how many times worse the identified arm is by it.
    """

    fault: Fault
    columns: list[int]
    size: Array
    gains: Array
    error: float
    squares: Array
    effect: float = 1.0
    factor: float = 1.0
    is_turned: bool = False

    def better_than(self, other: 'Found | None' = None) -> bool:
        """Return whether it predicts left-out folds significantly better than another, or none."""
        gains = self.gains if other is None else self.gains - other.gains
        std_error = gains.std(ddof=1) / np.sqrt(len(gains))
        return bool(gains.mean() > CRITICAL_T_VALUE * std_error)


class _Equations(NamedTuple):
    """
    Normal equations without each fold and of all, reduced to the columns that not all fits have.

    `solved` (fits, k, others) is the fit of the `others` to the k `common` columns, `left` (fits,
    others, others) are the products of what that leaves.
    """

    common: list[int]
    others: list[int]
    solved: Array
    left: Array

    def sizes(self, columns: list[int]) -> tuple[list[int], Array]:
        """Return columns' places among the others, and their coefficients in each fit."""
        at = [self.others.index(k) for k in columns]
        left = self.left[:, at]
        return at, np.asarray(np.linalg.solve(left[:, :, at], left[:, :, TORQUE:])[..., 0])


class Fits:
    """
    All fits to recordings, by sums and a prior about the starting set.

    `asked` are the faults whose columns every fit has as well, because they are asked about.
    """

    def __init__(self, sums: Sums, prior: Prior) -> None:
        """Extend the sums by columns of changes, and weigh joints by their own residuals."""
        self.sums = sums
        self.p = sums.p
        self.prior = prior
        self.n = prior.model.n
        self.unit_factors = np.array(TorqueErrorUnit.for_arm(prior.reference).factors)
        self.faults, folds = with_changes(sums)
        offsets = (Fault('offset', (joint,)) for joint in range(self.n))
        self.given = (*GIVEN, *offsets)
        used = sums.counts > 0
        self.folds = folds[used]
        self.counts = sums.counts[used]
        self.total = self.folds.sum(axis=0)
        self.count = int(self.counts.sum())
        largest = sums.max_torque
        self.floor = _MIN_NOISE_TO_MAX * np.maximum(largest, _MIN_NOISE_TO_MAX * largest.max())
        noise = self._common_noise(self.total)
        for _ in range(2):
            noise = np.sqrt(self.squares(self.total, self.model_fit(self.total, noise)))
            noise = np.maximum(noise, self.floor)
        self.weights = 1.0 / (SAMPLES_PER_INDEPENDENT_SAMPLE * noise**2)
        self.asked: tuple[Fault, ...] = ()
        self.give()

    @property
    def efforts(self) -> Array:
        """Each joint's mean squared effort, (n,)."""
        return np.asarray(self.total[:, TORQUE, TORQUE] / self.count)

    def give(self, *asked: Fault) -> None:
        """Let all fits have the columns of faults that are asked about."""
        self.asked += asked
        self.fitted = self._equations(_FITTED, (*self.given, *self.asked))
        self.held = self._equations(_HELD, self.asked)
        common, others = self.fitted.common, self.fitted.others
        # Products of common columns with what these leave of the others in their own fold, twice
        # those with the others: `_left` makes products of what is left of them.
        rows = self.folds[..., common, :]
        solved = self.fitted.solved[:-1, None]
        self._products = rows[..., common] @ solved - 2.0 * rows[..., others]
        self.without = self.fit()

    def _left(self, places: list[int]) -> Array:
        """Return products (folds, n, k, k) of what common columns leave of some others there."""
        columns = [self.fitted.others[k] for k in places]
        own = self.folds[..., columns, :][..., columns]
        solved = self.fitted.solved[:-1, None][..., places]
        return np.asarray(own + solved.swapaxes(2, 3) @ self._products[..., places])

    def model_fit(self, total: Array, noise: Array) -> Array:
        """Return the model's parameters (p,) fitted to sums (n, c, c), with a noise of joints."""
        weights = 1.0 / (SAMPLES_PER_INDEPENDENT_SAMPLE * noise**2)
        used = [*range(self.p), total.shape[-1] - 1]
        return self.solve(np.tensordot(weights, total[:, used][:, :, used], 1))

    def solve(self, gram: Array) -> Array:
        """Return the model's parameters (p,) by weighted sums (c, c) and the prior."""
        information, times_mean = self.prior.information(_FITTED)
        own = gram[: self.p, : self.p] + information
        return np.asarray(np.linalg.solve(own, gram[: self.p, TORQUE] + times_mean))

    def squares(self, total: Array, theta: Array, count: int | None = None) -> Array:
        """Return each joint's mean squared residual of the model's parameters, (n,)."""
        own = total[:, : self.p, : self.p] @ theta - 2.0 * total[:, : self.p, TORQUE]  # (n, p)
        squares = own @ theta + total[:, TORQUE, TORQUE]
        return np.maximum(squares, 0.0) / (self.count if count is None else count)

    def error(self, squares: Array) -> float:
        """Return E of mean squared residuals (n,)."""
        return float(np.sqrt(np.maximum(squares, self.floor**2) @ self.unit_factors**2))

    def _common_noise(self, total: Array) -> Array:
        """Return the noise with which arms are identified, one level for all joints."""
        expected = self.prior.expected_residual
        squares = self.squares(total, self.model_fit(total, expected)) * self.unit_factors**2
        return np.maximum(np.sqrt(squares.mean()) / self.unit_factors, _FLAT * expected)

    def _equations(self, precision: float, given: tuple[Fault, ...]) -> _Equations:
        """Return the equations by a precision of masses, with the columns of `given` in all."""
        folds = np.tensordot(self.weights, self.folds, (0, 1))
        gram = folds.sum(axis=0)
        information = _FLAT * np.eye(len(gram))
        own = slice(0, self.p)
        information[own, own], information[own, TORQUE] = self.prior.information(precision)
        normal = information + np.stack([*(gram - folds), gram])
        common = sorted({*range(self.p), *(k for one in given for k in self.faults[one])})
        others = [k for k in range(len(gram)) if k not in common]
        across = normal[:, common][:, :, others]
        solved = np.linalg.solve(normal[:, common][:, :, common], across)
        left = normal[:, others][:, :, others] - across.swapaxes(1, 2) @ solved
        return _Equations(common, others, solved, left)

    def fit(self, fault: Fault | None = None) -> Found:
        """Return the fit with a fault's columns."""
        columns = []
        if fault is not None:
            columns = [k for k in self.faults[fault] if k not in self.fitted.common]
        at, sizes = self.fitted.sizes(columns)
        residual = np.append(-sizes[:-1], np.ones((len(sizes) - 1, 1)), axis=1)
        left = self._left([*at, len(self.fitted.others) - 1])
        squares = np.einsum('ka,kjab,kb->kj', residual, left, residual) / self.counts[:, None]
        squares = np.maximum(squares, self.floor**2)
        size = sizes[-1]
        error = self.error(squares.mean(axis=0))
        gains = np.zeros(len(squares))
        if fault is None:
            return Found(
                Fault(''), columns, size, gains, self.error(squares.mean(axis=0)), squares
            )
        gains = 0.5 * np.log(self.without.squares / squares).sum(axis=1)
        found = Found(fault, columns, size, gains, error, squares)
        if fault.joints or fault.kind not in ('gravity', 'time'):
            return found
        factor = self._common_factor(self.fitted, at, size)
        size = size / factor
        is_there = bool(np.linalg.norm(size + _DECLARED) > MIN_GRAVITY)
        is_turned = fault.kind == 'gravity' and is_there
        return found._replace(size=size, factor=factor, is_turned=is_turned)

    def turned_size(self, found: Found) -> Array:
        """
        Return the size of gravity that points elsewhere, (3,), beside masses that are held.

        A common factor of the efforts is free: beside masses that are fitted it is hardly known.
        """
        equations = self._equations(_HELD, (Fault('gain'), *self.asked))
        at, sizes = equations.sizes(found.columns)
        return np.asarray(sizes[-1] / self._common_factor(equations, at, sizes[-1]))

    def _common_factor(self, equations: _Equations, at: list[int], size: Array) -> float:
        """Return the factor of all efforts beside a fault, which is a part of its size."""
        gain = equations.common.index(self.faults[Fault('gain')][0])
        solved = equations.solved[-1, gain]
        factor = float(1.0 + solved[TORQUE] - solved[at] @ size)
        return factor if abs(factor) > _MIN_NOISE_TO_MAX else _MIN_NOISE_TO_MAX

    def likeness(self, found: Found) -> float:
        """Return a fault's size beside held masses, relative to that beside fitted ones."""
        sizes = found.factor * found.size
        held = self.held_size(found)
        if found.is_turned:
            sizes = found.factor * _turn(found.size)
            held = _turn(held)
        return float(held @ sizes / (sizes @ sizes))

    def held_size(self, found: Found) -> Array:
        """Return a fault's size beside held masses, (k,)."""
        return np.asarray(self.held.sizes(found.columns)[1][-1])

    def effect(self, found: Found) -> float:
        """
        Return E of the identified arm over E of one identified with the fault undone.

        Both are on the recordings with the fault undone, but for gravity that points elsewhere:
        that is declared, and an arm that is identified with the wrong one is used with it.
        """
        undoing = np.zeros((self.n, self.total.shape[-1]))
        undoing[:, TORQUE] = 1.0
        if found.fault.kind == 'gain' and not is_change(found.fault):
            undoing[list(found.fault.joints), TORQUE] = 1.0 / (1.0 + found.size[0])
        else:
            size = _turn(found.size) if found.is_turned else found.size
            undoing[:, found.columns] = -found.factor * size
        if is_change(found.fault):
            constant = self.faults[found.fault._replace(form='')]
            if not set(constant) & set(found.columns):
                undoing[:, constant] = _right_share(found.fault) * found.size
        used = [*range(self.p), *(k for k in np.flatnonzero(undoing.any(axis=0)) if k >= self.p)]
        total = self.total[:, used][:, :, used]
        undone = _with_efforts(total, undoing[:, used])
        thetas = (self.model_fit(one, self._common_noise(one)) for one in (total, undone))
        in_use = total if found.is_turned else undone
        as_recorded, without = (
            self.error(self.squares(one, theta)) for one, theta in zip((in_use, undone), thetas)
        )
        return as_recorded / without


def _turn(size: Array) -> Array:
    """
    Return the part of a size of gravity, (3,), by which it only points elsewhere.

    Its length is that of the masses: gravity is declared as large as it is.
    """
    return np.asarray(size + _DECLARED - np.linalg.norm(size + _DECLARED) * _DECLARED)


def _right_share(fault: Fault) -> float:
    """
    Return the share of a change that counts as right: that of the longer part, or the begin.

    Of an offset that changes the mean is right, because an offset is part of the arm's friction.
    What passes is no part of the arm.
    """
    if passes(fault):
        return 0.0
    late = 0.5 if fault.form == GROWS else 1.0 - fault.form / PART_COUNT
    if fault.kind == 'offset':
        return late
    return float(fault.form != GROWS and late > 0.5)


def _with_efforts(total: Array, coefficients: Array) -> Array:
    """Return sums (n, c, c) with other efforts: columns times `coefficients` (n, c)."""
    changed = total.copy()
    products = np.einsum('jab,jb->ja', changed, coefficients)
    changed[:, TORQUE] = products
    changed[:, :, TORQUE] = products
    changed[:, TORQUE, TORQUE] = np.einsum('ja,ja->j', coefficients, products)
    return changed


def with_changes(sums: Sums) -> tuple[dict[Fault, list[int]], Array]:
    """
    Return all faults with their columns, also those that change, and sums (folds, n, c, c).

    A change begins with one of the third to ninth tenths of the recording, or grows in proportion
    to time. Beside it is the constant fault of which it is a change. What passes lasts two tenths.
    Recordings together have no changes: these are found in each.
    """
    if sums.within is None:
        return dict(sums.faults), sums.folds
    within = sums.within
    parts = np.arange(PART_COUNT)
    shares: dict[Any, Array] = {GROWS: (parts + 0.5) / PART_COUNT}
    for begin in range(2, PART_COUNT - 1):
        shares[begin] = np.asarray(parts >= begin, dtype=float)
    for begin in range(PART_COUNT - 1):
        inside = (parts >= begin) & (parts < begin + 2)
        shares[begin, begin + 2] = np.asarray(inside, dtype=float)
    all_shares = np.array([*shares.values()])  # (forms, parts)
    faults = dict(sums.faults)
    constant_count = sums.folds.shape[-1] - 1
    position = {column: k for k, column in enumerate(within.changing_columns)}
    s = len(position)
    used = list[int]()  # of all forms of all columns that change
    for k, form in enumerate(shares):
        for fault, own in sums.faults.items():
            changed = fault._replace(form=form)
            if row_of(fault).changes and (passes(changed) or not isinstance(form, tuple)):
                is_beside = not passes(changed) and fault not in GIVEN and fault.kind != 'offset'
                first = constant_count + len(used)
                columns = range(first, first + len(own))
                faults[changed] = [*(own if is_beside else []), *columns]
                used += [s * k + position[column] for column in own]
    across = np.einsum('ap,pfnsc->fnasc', all_shares, within.changing)
    own_rows = within.changing[..., within.changing_columns]
    own = np.einsum('ap,bp,pfnst->fnasbt', all_shares, all_shares, own_rows, optimize=True)
    fold_count, n = sums.folds.shape[:2]
    m = len(used)
    across = across.reshape(fold_count, n, -1, constant_count + 1)[:, :, used]
    every = s * len(all_shares)
    own = own.reshape(fold_count, n, every, every)[:, :, used][..., used]
    size = constant_count + m + 1
    folds = np.empty((fold_count, n, size, size))
    old = [*range(constant_count), size - 1]
    new = slice(constant_count, constant_count + m)
    folds[:, :, :constant_count, :constant_count] = sums.folds[..., :-1, :-1]
    folds[:, :, :constant_count, -1] = sums.folds[..., :-1, -1]
    folds[:, :, -1, :constant_count] = sums.folds[..., -1, :-1]
    folds[:, :, -1, -1] = sums.folds[..., -1, -1]
    folds[:, :, new, new] = own
    folds[:, :, new, old] = across
    folds[:, :, :constant_count, new] = across[..., :-1].swapaxes(2, 3)
    folds[:, :, -1, new] = across[..., -1]
    return faults, folds
