# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Finds after what time a recording is that of another arm.

A load or a contact that begins or ceases, and efforts whose gain or offset drifts, are one fault:
no arm fits the whole recording. It is cut into ten parts of equal length. Two of them (a fold) are
predicted by a fit to the others in which gains and offsets of one joint, or of all, change after
one of the parts or in proportion to time, and by a fit without a change. What predicts better is a
change. Its effect is the factor by which E of the arm identified from the whole recording exceeds
E of an arm without the change: one identified from the parts on one side of it, or from all with
the change undone. Constant offsets, which are only asked about, count for nothing there.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from . import least_squares
from .faults import CRITICAL_T_VALUE, Diagnosis, MIN_HARMFUL_ERROR_RATIO, sure_share
from .faults.checks import Changed
from .faults.torques import EffortGain, EffortOffset
from .least_squares import FOLD_COUNT, GramStack, residual_weights
from .options import DEFAULT_PRIOR_PRECISION
from .prior import Prior
from ..arrays import Array
from ..recordings.preprocessing import Motion
from ..recordings.replay import TorqueErrorUnit

_PART_COUNT = 2 * FOLD_COUNT
_MIN_PARTS_ON_A_SIDE = 2
# Standard deviation of a gain's change in the prior.
_GAIN_STD = 0.3
# Standard deviation of an offset's change in the prior, relative to the largest torque.
_OFFSET_STD_TO_MAX = 0.05


class _Change(NamedTuple):
    """
    A change of gains and offsets, at `columns`, and how well it predicts left-out parts.

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

    The columns of changes are all joints' gains, then their offsets.
    """

    def __init__(self, grams: GramStack, prior: Prior) -> None:
        """Take the columns of the model and of changes from `grams`, with a fold for each part."""
        n = prior.model.n
        self.p = len(prior.std)
        kinds = [kind((k,)) for kind in (EffortGain, EffortOffset) for k in range(n)]
        changes = grams.column_indices([name for one in kinds for name in one.column_names])
        columns = [*range(self.p), *changes, grams.matrices.shape[-1] - 1]
        self.matrices = grams.matrices[..., columns, :][..., columns]
        self.counts = grams.sample_counts
        self.gains = slice(n)
        self.offsets = slice(n, 2 * n)
        self.model_offsets = changes[n:]
        self.units = np.array(TorqueErrorUnit.for_arm(prior.reference).factors) ** 2
        common = least_squares.common_noise(grams, prior, DEFAULT_PRIOR_PRECISION)
        theta = least_squares.fit_theta(grams, prior, DEFAULT_PRIOR_PRECISION, common)
        self.arm_weights = residual_weights(common)
        self.weights = residual_weights(least_squares.joint_noise(grams, theta))
        known, pull = prior.information(DEFAULT_PRIOR_PRECISION)
        largest = np.maximum(grams.max_torque, least_squares.min_noise(grams))
        spread = np.append(np.full(n, _GAIN_STD), _OFFSET_STD_TO_MAX * largest)
        self.information = np.diag([*np.zeros(self.p), *spread**-2.0])
        self.information[: self.p, : self.p] = known
        self.pull = np.append(pull, np.zeros(2 * n))

    def with_shares(self, shares: Array) -> Array:
        """Return matrices (parts, n, c, c), each part's changes times `shares` (parts, 2 n)."""
        ones = np.ones((len(shares), self.p + 1))
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
        own = [*range(self.p)]
        n = self.gains.stop
        before = self.left_out_squares(self.matrices)(own)
        parts = np.arange(_PART_COUNT)
        for begin in (
            0,
            *range(_MIN_PARTS_ON_A_SIDE, _PART_COUNT - _MIN_PARTS_ON_A_SIDE + 1),
        ):
            profile = (parts >= begin) * 1.0 if begin else (parts + 0.5) / _PART_COUNT
            shares = np.repeat(profile[:, None], 2 * n, axis=1)
            mean_squares = self.left_out_squares(self.with_shares(shares))
            for joints in ((), *((k,) for k in range(n))):
                moved = [self.p + k + more for more in (0, n) for k in joints or range(n)]
                squares = np.stack([before, mean_squares(own + moved)])
                yield _Change(joints, moved, profile, begin, squares)

    def sizes(self, change: _Change) -> tuple[Array, Array]:
        """Return minus the sizes (2 n,) of a change: the likeliest, and one at the near end."""
        n = self.gains.stop
        columns = [*range(self.p), *change.columns]
        shares = np.repeat(change.profile[:, None], 2 * n, axis=1)
        gram = np.einsum('j,sjab->ab', self.weights, self.with_shares(shares))
        likely = self.fit(gram, columns)[:-1]
        own = np.ix_(columns, columns)
        covariance = np.linalg.inv(gram[own] + self.information[own])[self.p :, self.p :]
        found = likely[change.columns]
        return likely[self.p :], sure_share(found, covariance) * likely[self.p :]

    def effects_of_gains(self, change: _Change, size: Array) -> Array:
        """Return the effects (2,) of a change, undone as if its begin or its end were right."""
        own = [*range(self.p)]
        n = self.gains.stop
        shares = np.repeat(change.profile[:, None], 2 * n, axis=1)
        shares[:, self.offsets] -= shares[:, self.offsets].mean(axis=0)
        effects = []
        for end in (0.0, 1.0):
            shares[:, self.gains] = change.profile[:, None] - end
            matrices = self.with_shares(shares).sum(axis=0)
            gram = np.einsum('j,jab->ab', self.arm_weights, matrices)
            recorded = self.fit(gram, own)
            undone = gram.copy()
            undone[:, -1] += gram[:, self.p : -1] @ size
            fitted = self.fit(undone, own)
            recorded[self.p : -1] = fitted[self.p : -1] = size
            both = recorded, fitted
            squares = (np.einsum('jab,a,b->j', matrices, one, one) for one in both)
            effects.append(np.divide(*(one @ self.units for one in squares)))
        return np.sqrt(effects)

    def effect_of_cut(self, begin: int) -> float:
        """Return the larger effect of identifying from all parts, not from those on one side."""
        own = [*range(self.p)]
        effects = []
        grams = np.einsum('j,sjab->sab', self.arm_weights, self.matrices)
        parts = np.arange(_PART_COUNT)
        for side in (parts < begin, parts >= begin):
            errors = np.zeros(2)
            for fold in range(FOLD_COUNT):
                kept = parts % FOLD_COUNT != fold
                left = side & (parts % FOLD_COUNT == fold)
                for k, used in enumerate((kept, kept & side)):
                    residual = self.fit(grams[used].sum(axis=0), own)
                    errors[k] += self._squares_beside_offsets(residual, left) @ self.units
            effects.append(errors[0] / errors[1])
        return float(np.sqrt(max(effects)))

    def _squares_beside_offsets(self, residual: Array, parts: Array) -> Array:
        """Return the sums of squares (n,) in the chosen parts, less those of constant offsets."""
        columns = self.matrices[parts] @ residual  # (parts, n, c)
        joints = np.arange(len(self.units))
        offsets = self.model_offsets
        constant = columns[:, joints, offsets] ** 2
        constant /= self.matrices[parts][:, joints, offsets, offsets]
        return (columns @ residual - constant).sum(axis=0)


def find_change(motion: Motion, prior: Prior, recording_name: str) -> Diagnosis | None:
    """
    Return the change of a recording that would make the identified arm wrong, or None.

    The motion has no samples at which every joint rests.
    """
    gains = EffortGain.for_joint_count(prior.model.n)
    grams = GramStack.from_motion(
        prior.model, motion, period=np.inf, faults=gains, fold_count=_PART_COUNT
    )
    parts = _Parts(grams, prior)
    better = [one for one in parts.changes() if one.is_better]
    if not better:
        return None
    best = max(better, key=lambda one: float(one.log_likelihood_ratios.mean()))
    likely, near = parts.sizes(best)
    # Which end is right is not known: the mean of both decides.
    sure = float(np.sqrt(parts.effects_of_gains(best, near).prod()))
    effect = float(parts.effects_of_gains(best, likely).max())
    times = motion.time[0], motion.time[-1]
    if best.begin:
        of_cut = parts.effect_of_cut(best.begin)
        sure = max(sure, of_cut)
        effect = max(effect, of_cut)
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
