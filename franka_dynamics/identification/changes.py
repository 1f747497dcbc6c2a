# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Finds after what time a recording is that of another arm.

A load or a contact that begins or ceases, and efforts whose gain or offset drifts, are one fault:
no arm fits the whole recording. It is cut into ten parts of equal length. Two of them (a fold) are
predicted by a fit to the others in which something changes after one of the parts or in proportion
to time, and by a fit without a change. One thing may change: the gain or the offset of a joint, or
for all joints the gain, a load or a force at the flange. What predicts better is a change. Its
effect is the factor by which E of the arm identified from the whole recording exceeds that of one
identified with the change undone. Constant offsets, which are only asked about, count for nothing
there.

A constant fault looks like a change, too: it is as large before. So a constant gain, load and
force stand in all fits, and a joint's constant gain beside its changes.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from . import least_squares
from .faults import CRITICAL_T_VALUE, Diagnosis, Fault, MIN_HARMFUL_ERROR_RATIO, sure_share
from .faults.checks import Changed
from .faults.torques import ConstantForce, EffortGain, EffortOffset, UndeclaredLoad
from .least_squares import (
    FOLD_COUNT,
    GramStack,
    identified_theta,
    residual_weights,
    TORQUE_COLUMN,
)
from .options import DEFAULT_PRIOR_PRECISION
from .prior import Prior
from ..arrays import Array
from ..recordings.preprocessing import Motion
from ..recordings.replay import TorqueErrorUnit

_PART_COUNT = 2 * FOLD_COUNT
_MIN_PARTS_ON_A_SIDE = 2
# Standard deviation of a gain's change in the prior.
_GAIN_STD = 0.3
# Standard deviation of any other change in the prior: its torque relative to the largest one.
_TORQUE_STD_TO_MAX = 0.05


class FoundChange(NamedTuple):
    """
    A change, what it is of, and whether it surely or likely makes the identified arm wrong.

    `is_likelier_alone` says whether it predicts left-out parts better than what it is of does if
    that is constant.
    """

    diagnosis: Diagnosis
    fault: Fault
    is_harmful: bool
    is_likely_harmful: bool
    is_likelier_alone: bool


class _Change(NamedTuple):
    """
    A change of what a `fault` is of, and how well it predicts left-out parts.

    `profile` (parts,) is the share of the change in each part, `begin` the first part behind a
    sudden one, else 0. `squares` (2, folds, n) are the mean squares on left-out folds without and
    with it.
    """

    fault: Fault
    profile: Array
    begin: int
    squares: Array

    @property
    def log_likelihood_ratios(self) -> Array:
        """Each fold's log-likelihood per sample, less that without the change, (folds,)."""
        before, after = self.squares
        return np.asarray(0.5 * np.log(before / after).sum(axis=1))

    @property
    def is_better(self) -> bool:
        """Whether left-out parts are predicted better on average, surely or in most folds."""
        ratios = self.log_likelihood_ratios
        mean = float(ratios.mean())
        spread = float(ratios.std(ddof=1))
        sure = mean > CRITICAL_T_VALUE * spread / np.sqrt(len(ratios))
        return mean > 0.0 and (sure or bool(np.median(ratios) > 0.0))


class _Parts:
    """
    A recording's parts as Gram matrices of the model's columns, those of changes, and the torque.

    The columns are, in this order:

        parameters | constant gain, load and force | joints' constant gains | changes | torque

    The first two groups are in all fits, joints' constant gains beside the changes of that joint.
    `constant_columns` and `changing_columns` have the columns by fault; `constant_count` is the
    number of columns before the changes, `changing_count` that of changes.
    """

    def __init__(self, grams: GramStack, prior: Prior) -> None:
        """Take the columns of the model and of changes from `grams`, with a fold for each part."""
        self.grams = grams
        self.prior = prior
        parameter_count = len(prior.std)
        joint_gains = [EffortGain((joint,)) for joint in range(prior.model.n)]
        common = [EffortGain(), UndeclaredLoad(), ConstantForce()]
        changing = [*common, *joint_gains]
        changing += EffortOffset.for_joint_count(prior.model.n)
        self.constant_columns = _places([*common, *joint_gains], parameter_count)
        self.common_count = self.constant_columns[joint_gains[0]][0]
        self.constant_count = self.common_count + len(joint_gains)
        self.changing_columns = _places(changing, self.constant_count)
        constant_names = _column_names([*common, *joint_gains])
        changing_names = _column_names(changing)
        self.changing_count = len(changing_names)
        self.change_columns = grams.column_indices(changing_names)
        columns = [
            *range(parameter_count),
            *grams.column_indices(constant_names),
            *self.change_columns,
            TORQUE_COLUMN,
        ]
        self.matrices = grams.matrices[..., columns, :][..., columns]
        self.counts = grams.sample_counts
        self.units = np.array(TorqueErrorUnit.for_arm(prior.reference).factors) ** 2
        theta = identified_theta(grams, prior)
        self.weights = residual_weights(least_squares.joint_noise(grams, theta))
        known, pull = prior.information(DEFAULT_PRIOR_PRECISION)
        of_faults = self._spread([*constant_names, *changing_names]) ** -2.0
        self.information = np.diag([*np.zeros(parameter_count), *of_faults])
        self.information[:parameter_count, :parameter_count] = known
        self.pull = np.append(pull, np.zeros(len(of_faults)))

    def _spread(self, names: list[str]) -> Array:
        """
        Return the prior standard deviations of the sizes of faults with columns `names`, (k,).

        That of a gain is _GAIN_STD; any other may have a share of the largest torques.
        """
        grams = self.grams
        largest = np.maximum(grams.max_torque, least_squares.min_noise(grams))
        squares = np.einsum('j,jaa->a', self.units, grams.total_matrices)
        squares = squares[grams.column_indices(names)]
        usual = np.sqrt(np.maximum(squares, 1e-12) / grams.sample_count)
        spread = np.asarray(_TORQUE_STD_TO_MAX * np.sqrt(self.units @ largest**2) / usual)
        spread[[name.startswith(EffortGain.kind) for name in names]] = _GAIN_STD
        return spread

    def columns_without(self, fault: Fault) -> list[int]:
        """Return the columns of a fit without a change of what `fault` is of."""
        constant = self.constant_columns[EffortGain(fault.joints)]
        return sorted({*range(self.common_count), *constant})

    def with_shares(self, shares: Array) -> Array:
        """Return matrices (parts, n, c, c), each part's changes times `shares` (parts, k)."""
        ones = np.ones((len(shares), self.constant_count + 1))
        scales = np.column_stack([ones[:, 1:], shares, ones[:, 0]])
        return self.matrices * scales[:, None, :, None] * scales[:, None, None, :]

    def fit(self, gram: Array, columns: list[int]) -> Array:
        """Return the residual's coefficients (c,) after a fit of `columns` to `gram` (c, c)."""
        own = np.ix_(columns, columns)
        right = gram[columns, -1] + self.pull[columns]
        found = np.linalg.solve(gram[own] + self.information[own], right)
        residual = np.zeros(len(gram))
        residual[columns] = -found
        residual[-1] = 1.0
        return residual

    def left_out_squares(self, matrices: Array) -> Callable[[list[int]], Array]:
        """
        Return a function of columns, by fits of which it predicts the parts of each fold.

        It returns the mean squares there, (folds, n), by fits to the other parts.
        """
        of_folds = matrices.reshape(2, FOLD_COUNT, *matrices.shape[1:]).sum(axis=0)
        grams = np.einsum('j,kjab->kab', self.weights, of_folds)
        others = grams.sum(axis=0) - grams
        counts = self.counts.reshape(2, FOLD_COUNT).sum(axis=0)

        def mean_squares(columns: list[int]) -> Array:
            """Return the mean squares on left-out parts, (folds, n), by fits of `columns`."""
            residuals = np.array([self.fit(one, columns) for one in others])
            products = of_folds @ residuals[:, None, :, None]
            squares = (residuals[:, None, None] @ products)[..., 0, 0]
            return np.maximum(squares / counts[:, None], 1e-12)

        return mean_squares

    def changes(self) -> Iterator[_Change]:
        """Yield each possible change of all joints and of each, at once or all along."""
        squares_without = self.left_out_squares(self.matrices)
        before = {
            fault: squares_without(self.columns_without(fault)) for fault in self.constant_columns
        }
        parts = np.arange(_PART_COUNT)
        for begin in (
            0,
            *range(_MIN_PARTS_ON_A_SIDE, _PART_COUNT - _MIN_PARTS_ON_A_SIDE + 1),
        ):
            profile = (parts >= begin) * 1.0 if begin else (parts + 0.5) / _PART_COUNT
            shares = np.repeat(profile[:, None], self.changing_count, axis=1)
            squares_with = self.left_out_squares(self.with_shares(shares))
            for fault, changing in self.changing_columns.items():
                after = squares_with(self.columns_without(fault) + changing)
                squares = np.stack([before[EffortGain(fault.joints)], after])
                yield _Change(fault, profile, begin, squares)

    def error_alone(self, change: _Change) -> float:
        """Return E on left-out parts with a change, but without a constant gain of its joint."""
        shares = np.repeat(change.profile[:, None], self.changing_count, axis=1)
        mean_squares = self.left_out_squares(self.with_shares(shares))
        columns = [*range(self.common_count), *self.changing_columns[change.fault]]
        return float(np.sqrt(mean_squares(columns).mean(axis=0) @ self.units))

    def sizes(self, change: _Change) -> tuple[Array, Array]:
        """Return minus the sizes (k,) of a change: the likeliest, and one at the near end."""
        changing = self.changing_columns[change.fault]
        columns = self.columns_without(change.fault) + changing
        shares = np.repeat(change.profile[:, None], self.changing_count, axis=1)
        gram = np.einsum('j,sjab->ab', self.weights, self.with_shares(shares))
        likely = self.fit(gram, columns)[:-1]
        fitted = np.ix_(columns, columns)
        covariance = np.linalg.inv(gram[fitted] + self.information[fitted])
        of_change = slice(-len(changing), None)
        share = sure_share(likely[changing], covariance[of_change, of_change])
        sizes = likely[self.constant_count :]
        return sizes, share * sizes

    def effects_of_undoing(self, change: _Change, size: Array) -> Array:
        """Return the effects (2,) of a change, undone as if its begin or its end were right."""
        effects = []
        for end in (0.0, 1.0):
            shares = np.repeat(change.profile[:, None] - end, self.changing_count, axis=1)
            if isinstance(change.fault, EffortOffset):
                shares -= shares.mean(axis=0)
            efforts = np.zeros((_PART_COUNT, 1, self.grams.matrices.shape[-1]))
            efforts[..., self.change_columns] = (shares * size)[:, None]
            efforts[..., TORQUE_COLUMN] = 1.0
            undone = self.grams.with_efforts(efforts)
            arms = (identified_theta(one, self.prior) for one in (self.grams, undone))
            with_it, without = (undone.squared_residuals(one) @ self.units for one in arms)
            effects.append(with_it / without)
        return np.sqrt(effects)


def _column_names(faults: list[Fault]) -> list[str]:
    """Return the names of the columns of faults, in their order."""
    return [name for fault in faults for name in fault.column_names]


def _places(faults: list[Fault], first: int) -> dict[Fault, list[int]]:
    """Return the indices of each fault's columns, which follow each other from `first` on."""
    places = {}
    for fault in faults:
        places[fault] = [*range(first, first + len(fault.column_names))]
        first += len(fault.column_names)
    return places


def find_change(motion: Motion, prior: Prior, recording_name: str) -> FoundChange | None:
    """
    Return the change of a recording that predicts left-out parts best, or None if none does.

    The motion has no samples at which every joint rests.
    """
    faults = [*EffortGain.for_joint_count(prior.model.n), UndeclaredLoad(), ConstantForce()]
    grams = GramStack.from_motion(
        prior.model, motion, period=np.inf, faults=faults, fold_count=_PART_COUNT
    )
    parts = _Parts(grams, prior)
    better = [one for one in parts.changes() if one.is_better]
    if not better:
        return None
    errors = [np.sqrt(one.squares.mean(axis=1) @ parts.units) for one in better]
    best = int(np.argmax([before / after for before, after in errors]))
    change = better[best]
    before, after = errors[best].tolist()
    likely, near = (parts.effects_of_undoing(change, size) for size in parts.sizes(change))
    # Which end is right is not known: the mean of both decides.
    likely_effect, sure_effect = (np.sqrt(effects.prod()) for effects in (likely, near))
    times = motion.time[0], motion.time[-1]
    if change.begin:
        times = (motion.time[len(motion) * change.begin // _PART_COUNT],) * 2
    diagnosis = Diagnosis(
        Changed.kind,
        change.fault.joints,
        tuple(map(float, times)),
        before,
        after,
        rival_error=before,
        recording=recording_name,
        effect=float(likely.max()),
    )
    return FoundChange(
        diagnosis,
        change.fault,
        is_harmful=bool(sure_effect > MIN_HARMFUL_ERROR_RATIO),
        is_likely_harmful=bool(likely_effect > MIN_HARMFUL_ERROR_RATIO),
        is_likelier_alone=parts.error_alone(change) < before,
    )
