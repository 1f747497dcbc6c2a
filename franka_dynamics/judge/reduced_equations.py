# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Fits that have most columns in common, each at the cost of the few columns of its own.

Let Y be the columns that all fits have, and X the extra ones, with the torque as the last. A fit
of X by Y has the coefficients K = (Y'Y)^-1 Y'X, and leaves X - Y K. A fit of the torque to Y and a
few columns of X has the same coefficients of these few as a fit of what is left of the torque to
what is left of them (Frisch and Waugh 1933, "Partial time regressions as compared with individual
trends", Econometrica 1(4)). The normal equations of what is left are the Schur complement
X'X - X'Y K.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..arrays import Array
from ..fit.least_squares import TORQUE_COLUMN


class ReducedEquations(NamedTuple):
    """
    The equations of k extra columns, reduced by the common ones, without each fold and with all.

    `extra_columns` are the indices of the extra columns among all c, the torque's last.
    `coefficients` (folds + 1, c, k) are K, zero for extra columns, and `schur_complements`
    (folds + 1, k, k) are the normal equations of what a fit leaves; the last is the fit to all
    folds. `left_out_forms` (folds, n, k, k) are quadratic forms: for the coefficients w of the
    extra columns, w' F w is the sum of squares on the left-out fold of what the fit without it
    leaves there.
    """

    extra_columns: list[int]
    coefficients: Array
    schur_complements: Array
    left_out_forms: Array

    @classmethod
    def from_normal_equations(
        cls, normal_equations: Array, fold_matrices: Array, common_columns: list[int]
    ) -> 'ReducedEquations':
        """
        Return the equations reduced by the columns with indices `common_columns`.

        `normal_equations` (folds + 1, c, c) are those without each fold and with all,
        `fold_matrices` (folds, n, c, c) the Gram matrices of each fold and joint.
        """
        column_count = normal_equations.shape[-1]
        extra_columns = [k for k in range(column_count) if k not in common_columns]
        common_to_extra = normal_equations[:, common_columns][:, :, extra_columns]
        common_coefficients = np.linalg.solve(
            normal_equations[:, common_columns][:, :, common_columns], common_to_extra
        )
        coefficients = np.zeros((*normal_equations.shape[:2], len(extra_columns)))
        coefficients[:, common_columns] = common_coefficients
        schur_complements = normal_equations[:, extra_columns][:, :, extra_columns] - (
            common_to_extra.swapaxes(1, 2) @ common_coefficients
        )
        # On the left-out fold, the sum of squares of (X - Y K) w is
        # w' (X'X + K' (Y'Y K - 2 Y'X)) w. It is the same for a matrix that is not symmetric.
        k_of_folds = common_coefficients[: len(fold_matrices), None]  # (folds, 1, common, k)
        common_grams = fold_matrices[..., common_columns, :]
        extra_grams = fold_matrices[..., extra_columns, :][..., extra_columns]
        left_out_forms = extra_grams + k_of_folds.swapaxes(2, 3) @ (
            common_grams[..., common_columns] @ k_of_folds - 2.0 * common_grams[..., extra_columns]
        )
        return cls(extra_columns, coefficients, schur_complements, left_out_forms)

    def fit(self, columns: Sequence[int]) -> tuple[Array, Array]:
        """
        Fit the torque by the common columns and by those with the indices `columns`.

        Returned are the coefficients of all columns in each fit, (folds + 1, c), and the sums of
        squared residuals on left-out folds, (folds, n) [N^2 m^2].
        """
        fitted = [self.extra_columns.index(k) for k in columns if k in self.extra_columns]
        schur_complements = self.schur_complements
        sizes = np.linalg.solve(
            schur_complements[:, fitted][:, :, fitted],
            schur_complements[:, fitted, TORQUE_COLUMN:],
        )  # (folds + 1, fitted, 1)
        of_fitted = (self.coefficients[..., fitted] @ sizes)[..., 0]
        thetas = self.coefficients[..., TORQUE_COLUMN] - of_fitted
        thetas[:, [self.extra_columns[k] for k in fitted]] = sizes[..., 0]
        fold_count = len(self.left_out_forms)
        minus_sizes = -sizes[:fold_count]
        torque_of_one = np.ones((fold_count, 1, 1))
        residual = np.append(minus_sizes, torque_of_one, axis=1)[:, None]  # (folds, 1, columns, 1)
        fitted_and_torque = [*fitted, TORQUE_COLUMN]
        forms = self.left_out_forms[..., fitted_and_torque, :][..., fitted_and_torque]
        squares = residual.swapaxes(2, 3) @ forms @ residual  # (folds, n, 1, 1)
        return thetas, squares[..., 0, 0]
