# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Finds after what time a recording is that of another arm.

A load or a contact that begins or ceases, and efforts whose gain or offset drifts, are one fault:
no arm fits the whole recording. It is cut into ten parts of equal length. Two of them (a fold) are
predicted by a fit to the others in which something changes after one of the parts or in proportion
to time, and by a fit without a change: the gain and offset of one joint, or for all joints a gain,
a load and a force at the flange. What predicts better is a change. Its effect is the factor by
which E of the arm identified from the whole recording exceeds that of one identified with the
change undone. Constant offsets, which are only asked about, count for nothing there.
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


class _Change(NamedTuple):
    """
    A change, with the coefficients of `columns`, and how well it predicts left-out parts.

    `joints` are those that change, none for all; `profile` (parts,) is the share of the change in
    each part, `begin` the first part behind a sudden one, else 0. `squares` (2, folds, n) are the
    mean squares on left-out folds without and with it.
    """

    joints: tuple[int, ...]
    columns: list[int]
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

        parameters | constant gain and load | changes | torque

    Changes are each joint's gain and offset, and a gain, a load and a force of all joints. A gain
    of all efforts and a load stand twice: constant ones belong to the model, as in each
    cross-validation, because they would look like changes otherwise. `model_count` is the number
    of columns before the changes, `change_count` that of changes. `columns` has the columns of
    changes by the joints that they are of, none for all joints.
    """

    def __init__(self, grams: GramStack, prior: Prior) -> None:
        """Take the columns of the model and of changes from `grams`, with a fold for each part."""
        joints = range(prior.model.n)
        constant = [EffortGain(), UndeclaredLoad()]
        faults: dict[tuple[int, ...], list[Fault]] = {(): [*constant, ConstantForce()]}
        faults |= {(k,): [EffortGain((k,)), EffortOffset((k,))] for k in joints}
        names = {
            of: [name for fault in changing for name in fault.column_names]
            for of, changing in faults.items()
        }
        change_names = [name for of_joints in names.values() for name in of_joints]
        constant_count = sum(len(fault.column_names) for fault in constant)
        parameter_count = len(prior.std)
        self.model_count = parameter_count + constant_count
        self.change_count = len(change_names)
        self.columns = {
            of: [self.model_count + change_names.index(name) for name in of_joints]
            for of, of_joints in names.items()
        }
        self.offsets = [self.columns[(k,)][-1] - self.model_count for k in joints]
        self.grams = grams
        self.prior = prior
        self.change_columns = grams.column_indices(change_names)
        columns = [
            *range(parameter_count),
            *self.change_columns[:constant_count],  # a gain and a load of all joints come first
            *self.change_columns,
            TORQUE_COLUMN,
        ]
        self.matrices = grams.matrices[..., columns, :][..., columns]
        self.counts = grams.sample_counts
        self.units = np.array(TorqueErrorUnit.for_arm(prior.reference).factors) ** 2
        theta = identified_theta(grams, prior)
        self.weights = residual_weights(least_squares.joint_noise(grams, theta))
        spread = self._change_spread([name.startswith(EffortGain.kind) for name in change_names])
        known, pull = prior.information(DEFAULT_PRIOR_PRECISION)
        of_faults = np.append(spread[:constant_count], spread) ** -2.0
        self.information = np.diag([*np.zeros(parameter_count), *of_faults])
        self.information[:parameter_count, :parameter_count] = known
        self.pull = np.append(pull, np.zeros(len(of_faults)))

    def _change_spread(self, is_gain: list[bool]) -> Array:
        """
        Return the prior standard deviations of the changes' sizes, (k,).

        That of a gain is _GAIN_STD; another change may have a share of the largest torques.
        """
        grams = self.grams
        largest = np.maximum(grams.max_torque, least_squares.min_noise(grams))
        squares = np.einsum('j,jaa->a', self.units, grams.total_matrices)[self.change_columns]
        usual = np.sqrt(np.maximum(squares, 1e-12) / grams.sample_count)
        spread = np.asarray(_TORQUE_STD_TO_MAX * np.sqrt(self.units @ largest**2) / usual)
        spread[is_gain] = _GAIN_STD
        return spread

    def with_shares(self, shares: Array) -> Array:
        """Return matrices (parts, n, c, c), each part's changes times `shares` (parts, k)."""
        ones = np.ones((len(shares), self.model_count + 1))
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
        own = [*range(self.model_count)]
        before = self.left_out_squares(self.matrices)(own)
        parts = np.arange(_PART_COUNT)
        for begin in (
            0,
            *range(_MIN_PARTS_ON_A_SIDE, _PART_COUNT - _MIN_PARTS_ON_A_SIDE + 1),
        ):
            profile = (parts >= begin) * 1.0 if begin else (parts + 0.5) / _PART_COUNT
            shares = np.repeat(profile[:, None], self.change_count, axis=1)
            mean_squares = self.left_out_squares(self.with_shares(shares))
            for joints, moved in self.columns.items():
                squares = np.stack([before, mean_squares(own + moved)])
                yield _Change(joints, moved, profile, begin, squares)

    def sizes(self, change: _Change) -> tuple[Array, Array]:
        """Return minus the sizes (k,) of a change: the likeliest, and one at the near end."""
        columns = [*range(self.model_count), *change.columns]
        shares = np.repeat(change.profile[:, None], self.change_count, axis=1)
        gram = np.einsum('j,sjab->ab', self.weights, self.with_shares(shares))
        likely = self.fit(gram, columns)[:-1]
        fitted = np.ix_(columns, columns)
        of_changes = slice(self.model_count, None)
        covariance = np.linalg.inv(gram[fitted] + self.information[fitted])
        share = sure_share(likely[change.columns], covariance[of_changes, of_changes])
        return likely[of_changes], share * likely[of_changes]

    def effects_of_undoing(self, change: _Change, size: Array) -> Array:
        """Return the effects (2,) of a change, undone as if its begin or its end were right."""
        effects = []
        for end in (0.0, 1.0):
            shares = np.repeat(change.profile[:, None] - end, self.change_count, axis=1)
            shares[:, self.offsets] -= shares[:, self.offsets].mean(axis=0)
            efforts = np.zeros((_PART_COUNT, 1, self.grams.matrices.shape[-1]))
            efforts[..., self.change_columns] = (shares * size)[:, None]
            efforts[..., TORQUE_COLUMN] = 1.0
            undone = self.grams.with_efforts(efforts)
            arms = (identified_theta(one, self.prior) for one in (self.grams, undone))
            with_it, without = (undone.squared_residuals(one) @ self.units for one in arms)
            effects.append(with_it / without)
        return np.sqrt(effects)


def find_change(motion: Motion, prior: Prior, recording_name: str) -> Diagnosis | None:
    """
    Return the change of a recording that would make the identified arm wrong, or None.

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
    best = max(better, key=lambda one: float(one.log_likelihood_ratios.mean()))
    likely, near = parts.sizes(best)
    # Which end is right is not known: the mean of both decides.
    sure = float(np.sqrt(parts.effects_of_undoing(best, near).prod()))
    effect = float(parts.effects_of_undoing(best, likely).max())
    times = motion.time[0], motion.time[-1]
    if best.begin:
        times = (motion.time[len(motion) * best.begin // _PART_COUNT],) * 2
    if sure < MIN_HARMFUL_ERROR_RATIO:
        return None
    before, after = np.sqrt(best.squares.mean(axis=1) @ parts.units).tolist()
    return Diagnosis(
        Changed.kind,
        best.joints,
        tuple(map(float, times)),
        before,
        after,
        rival_error=before,
        recording=recording_name,
        effect=effect,
    )
