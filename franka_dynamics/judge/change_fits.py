# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Fits to a recording cut into parts, in which something changes from one part to another.

Two parts (a fold) are predicted by a fit to the others in which one thing changes after one of
the parts or in proportion to time, and by a fit without a change. A constant fault looks like a
change, too: it is as large before. So a constant gain, load and force stand in all fits, and a
joint's constant gain beside its changes.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from .faults import columns_of, CRITICAL_T_VALUE, Fault, sure_share
from .faults.torques import ConstantForce, EffortGain, EffortOffset, UndeclaredLoad
from ..arrays import Array
from ..fit import least_squares
from ..fit.least_squares import (
    FOLD_COUNT,
    GramStack,
    identified_theta,
    residual_weights,
    TORQUE_COLUMN,
)
from ..fit.prior import Prior
from ..fit.prior_widths import DEFAULT_PRIOR_PRECISION
from ..recordings.preprocessing import Motion
from ..recordings.replay import TorqueErrorUnit

PART_COUNT = 2 * FOLD_COUNT
_MIN_PARTS_ON_A_SIDE = 2  # before and after a sudden change
# Standard deviation of a gain's change in the prior.
_GAIN_STD = 0.3
# Standard deviation of any other change in the prior: its torque relative to the largest one.
_TORQUE_STD_TO_MAX = 0.05
_MIN_SQUARE = 1e-12  # [N^2 m^2], because quotients and logarithms are taken of squares


class ChangeProfile(NamedTuple):
    """
    How a change grows: `shares` (parts,) are the parts of it that are there in each part.

    `first_part` is the first part after a sudden change, 0 for one in proportion to time.
    """

    shares: Array
    first_part: int

    @classmethod
    def all_possible(cls) -> 'Iterator[ChangeProfile]':
        """Yield the one in proportion to time, and the sudden ones."""
        parts = np.arange(PART_COUNT)
        yield cls((parts + 0.5) / PART_COUNT, 0)
        for first_part in range(_MIN_PARTS_ON_A_SIDE, PART_COUNT - _MIN_PARTS_ON_A_SIDE + 1):
            yield cls((parts >= first_part).astype(float), first_part)


class ChangeFit(NamedTuple):
    """
    A change of what a `fault` is of, and how well it predicts left-out parts.

    `log_likelihood_ratios` (folds,) are the log-likelihoods per sample of each left-out fold less
    those without the change. The errors are E on left-out folds without and with the change.
    """

    fault: Fault
    profile: ChangeProfile
    log_likelihood_ratios: Array
    error_without: float
    error_with: float

    @property
    def improvement(self) -> float:
        """E on left-out parts without the change, relative to that with it."""
        return self.error_without / self.error_with

    @property
    def is_better(self) -> bool:
        """Whether left-out parts are predicted better on average, surely or in most folds."""
        ratios = self.log_likelihood_ratios
        mean = float(ratios.mean())
        spread = float(ratios.std(ddof=1))
        is_sure = mean > CRITICAL_T_VALUE * spread / np.sqrt(len(ratios))
        is_in_most_folds = float(np.median(ratios)) > 0.0
        return mean > 0.0 and (is_sure or is_in_most_folds)


class ChangeSizes(NamedTuple):
    """Coefficients (k,) of the columns of changes: the likeliest, and those at the near end."""

    likely: Array
    near_end: Array


class _Columns:
    """
    The places of columns among those of the fits.

    They are in this order:

        parameters | constant gain, load and force | joints' constant gains | changes | torque

    The first two groups are in all fits, a joint's constant gain beside the changes of that joint.
    A gain, load or force that may change has two columns, one for what is constant and one for
    what changes; both are made of the same column of the recording's Gram matrices.
    """

    def __init__(self, parameter_count: int, joint_count: int) -> None:
        """Set up the columns of a model with so many parameters, and their numbers."""
        common_faults = [EffortGain(), UndeclaredLoad(), ConstantForce()]
        joint_gains = [EffortGain((joint,)) for joint in range(joint_count)]
        offsets = EffortOffset.for_joint_count(joint_count)
        self.changing_faults = [*common_faults, *joint_gains, *offsets]
        self.constant_names = _column_names([*common_faults, *joint_gains])
        self.changing_names = _column_names(self.changing_faults)
        self.parameter_count = parameter_count
        self.common_count = parameter_count + len(_column_names(common_faults))
        self.constant_count = parameter_count + len(self.constant_names)
        first_behind = self.constant_count + len(self.changing_names)
        self.changes = slice(self.constant_count, first_behind)

    def of_change(self, fault: Fault) -> list[int]:
        """Return the columns of a change of what `fault` is of."""
        return [
            self.constant_count + self.changing_names.index(name) for name in fault.column_names
        ]

    def without_change_of(self, fault: Fault) -> list[int]:
        """Return the columns of a fit without a change of what `fault` is of."""
        (gain_name,) = EffortGain(fault.joints).column_names  # common if it is of all joints
        constant_gain = self.parameter_count + self.constant_names.index(gain_name)
        return sorted({*range(self.common_count), constant_gain})


def _column_names(faults: Sequence[Fault]) -> list[str]:
    """Return the names of the columns of faults, in their order."""
    return [name for fault in faults for name in fault.column_names]


class PartFits:
    """Fits near the prior's mean to parts of equal length of a motion without rests."""

    def __init__(self, motion: Motion, prior: Prior) -> None:
        """Sum the columns of the model and of changes over the samples of each part."""
        faults = [*EffortGain.for_joint_count(prior.model.n), UndeclaredLoad(), ConstantForce()]
        grams = GramStack.from_motion(
            prior.model,
            motion,
            period=np.inf,
            extra_columns=partial(columns_of, faults),
            fold_count=PART_COUNT,
        )
        self._grams = grams
        self._prior = prior
        columns = _Columns(len(prior.std), prior.model.n)
        self._columns = columns
        self._changing_in_grams = grams.column_indices(columns.changing_names)
        in_grams = [
            *range(columns.parameter_count),
            *grams.column_indices(columns.constant_names),
            *self._changing_in_grams,
            TORQUE_COLUMN,
        ]
        self._matrices = grams.matrices[..., in_grams, :][..., in_grams]  # (parts, n, c, c)
        self._squared_units = np.array(TorqueErrorUnit.for_arm(prior.reference).factors) ** 2
        self._recorded_theta = identified_theta(grams, prior)  # with the change, if there is one
        noise_std = least_squares.joint_noise(grams, self._recorded_theta)
        self._weights = residual_weights(noise_std)
        self._information, self._information_times_mean = self._prior_of_columns()

    def _prior_of_columns(self) -> tuple[Array, Array]:
        """Return the prior's information (c - 1, c - 1) of all columns, and times its mean."""
        of_model, times_mean = self._prior.information(DEFAULT_PRIOR_PRECISION)
        parameter_count = len(times_mean)
        fault_std = self._fault_std([*self._columns.constant_names, *self._columns.changing_names])
        information = np.diag([*np.zeros(parameter_count), *fault_std**-2.0])
        information[:parameter_count, :parameter_count] = of_model
        return information, np.append(times_mean, np.zeros(len(fault_std)))

    def _fault_std(self, names: list[str]) -> Array:
        """
        Return the prior standard deviations of the sizes of faults with columns `names`, (k,).

        That of a gain is _GAIN_STD; any other may have a share of the largest torques.
        """
        grams = self._grams
        largest = np.maximum(grams.max_torque, least_squares.min_noise(grams))
        squares = np.einsum('j,jaa->a', self._squared_units, grams.total_matrices)
        squares = squares[grams.column_indices(names)]
        rms_of_unit = np.sqrt(np.maximum(squares, _MIN_SQUARE) / grams.sample_count)
        std = _TORQUE_STD_TO_MAX * np.sqrt(self._squared_units @ largest**2) / rms_of_unit
        is_gain = [name.startswith(EffortGain.kind) for name in names]
        return np.where(is_gain, _GAIN_STD, std)

    def all_changes(self) -> Iterator[ChangeFit]:
        """Yield the fit of each possible change of all joints and of each."""
        faults = self._columns.changing_faults
        all_joints = list(dict.fromkeys(fault.joints for fault in faults))
        squares_without = self._left_out_squares(
            self._matrices,
            [self._columns.without_change_of(EffortGain(joints)) for joints in all_joints],
        )
        without_by_joints = dict(zip(all_joints, squares_without))
        for profile in ChangeProfile.all_possible():
            squares_with = self._left_out_squares(
                self._matrices_with(profile),
                [self._columns_with_change_of(fault) for fault in faults],
            )
            for fault, squares in zip(faults, squares_with):
                yield self._compared(fault, profile, without_by_joints[fault.joints], squares)

    def _compared(
        self, fault: Fault, profile: ChangeProfile, squares_without: Array, squares_with: Array
    ) -> ChangeFit:
        """Return the fit of a change, by the mean squares on left-out folds, (folds, n)."""
        error_without, error_with = self._errors(np.stack([squares_without, squares_with]))
        return ChangeFit(
            fault,
            profile,
            log_likelihood_ratios=0.5 * np.log(squares_without / squares_with).sum(axis=1),
            error_without=float(error_without),
            error_with=float(error_with),
        )

    def error_alone(self, change: ChangeFit) -> float:
        """Return E on left-out parts with a change, but without a constant gain of its joint."""
        columns = [*range(self._columns.common_count), *self._columns.of_change(change.fault)]
        (squares,) = self._left_out_squares(self._matrices_with(change.profile), [columns])
        return float(self._errors(squares))

    def _left_out_squares(self, matrices: Array, column_sets: Sequence[list[int]]) -> Array:
        """
        Return the mean squares on left-out folds by a fit of each set of columns to the others.

        `matrices` (parts, n, c, c) are those of parts, of which two are a fold. The squares are
        (sets, folds, n) [N^2 m^2].
        """
        of_folds = matrices.reshape(2, FOLD_COUNT, *matrices.shape[1:]).sum(axis=0)
        sample_counts = self._grams.sample_counts.reshape(2, FOLD_COUNT).sum(axis=0)
        fold_grams = np.einsum('j,kjab->kab', self._weights, of_folds)
        grams_without_fold = fold_grams.sum(axis=0) - fold_grams
        squares = []
        for columns in column_sets:
            thetas = np.array([self._fit(gram, columns) for gram in grams_without_fold])
            residuals = np.column_stack([-thetas, np.ones(len(thetas))])  # by column, (folds, c)
            products = of_folds @ residuals[:, None, :, None]
            squares.append((residuals[:, None, None] @ products)[..., 0, 0])
        return np.maximum(np.stack(squares) / sample_counts[:, None], _MIN_SQUARE)

    def _errors(self, mean_squares: Array) -> Array:
        """Return E on left-out folds by the mean squares there, (..., folds, n)."""
        return np.asarray(np.sqrt(mean_squares.mean(axis=-2) @ self._squared_units))

    def _fit(self, gram: Array, columns: list[int]) -> Array:
        """Return the coefficients (c - 1,) of a fit of `columns` to `gram` (c, c), others zero."""
        fitted = np.ix_(columns, columns)
        right_hand_side = gram[columns, TORQUE_COLUMN] + self._information_times_mean[columns]
        theta = np.zeros(len(gram) - 1)
        theta[columns] = np.linalg.solve(gram[fitted] + self._information[fitted], right_hand_side)
        return theta

    def sizes(self, change: ChangeFit) -> ChangeSizes:
        """Return the sizes of a change in a fit to all parts."""
        columns = self._columns_with_change_of(change.fault)
        gram = np.einsum('j,sjab->ab', self._weights, self._matrices_with(change.profile))
        theta = self._fit(gram, columns)
        fitted = np.ix_(columns, columns)
        covariance = np.linalg.inv(gram[fitted] + self._information[fitted])
        changing = self._columns.of_change(change.fault)
        of_change = slice(-len(changing), None)  # the last of the fit's columns
        share = sure_share(theta[changing], covariance[of_change, of_change])
        likely = theta[self._columns.changes]
        return ChangeSizes(likely, share * likely)

    def effects(self, change: ChangeFit, size: Array) -> Array:
        """
        Return the effects (2,) of a change of a size (k,), as if its begin or its end were right.

        An effect is the factor by which E of the arm identified from the recording exceeds that of
        one identified with the change undone, on the recording with the change undone.
        """
        right_shares = (0.0, 1.0)
        return np.array([self._effect(change, size, share) for share in right_shares])

    def _effect(self, change: ChangeFit, size: Array, right_share: float) -> float:
        """Return the effect of a change of which the share `right_share` is right."""
        shares = change.profile.shares - right_share
        if isinstance(change.fault, EffortOffset):  # of which a constant does no harm
            shares = shares - shares.mean()
        undone_effort = np.zeros((PART_COUNT, 1, self._grams.matrices.shape[-1]))
        undone_effort[..., self._changing_in_grams] = -shares[:, None, None] * size
        undone_effort[..., TORQUE_COLUMN] = 1.0
        undone = self._grams.with_efforts(undone_effort)
        undone_theta = identified_theta(undone, self._prior)
        square_with = undone.squared_residuals(self._recorded_theta) @ self._squared_units
        square_without = undone.squared_residuals(undone_theta) @ self._squared_units
        return float(np.sqrt(square_with / square_without))

    def _columns_with_change_of(self, fault: Fault) -> list[int]:
        """Return the columns of a fit with a change of what `fault` is of, which come last."""
        return [*self._columns.without_change_of(fault), *self._columns.of_change(fault)]

    def _matrices_with(self, profile: ChangeProfile) -> Array:
        """Return the parts' matrices (parts, n, c, c), columns of changes times their shares."""
        scales = np.ones((PART_COUNT, self._matrices.shape[-1]))
        scales[:, self._columns.changes] = profile.shares[:, None]
        return self._matrices * scales[:, None, :, None] * scales[:, None, None, :]
