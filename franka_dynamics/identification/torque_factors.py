# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
All that least squares needs to know of any number of samples: one small triangle per joint.

With the rows [Y_j  tau_j] of joint j stacked over all samples and factored as Q_j R_j, only R_j
is kept. Two sets of samples are joined by factoring their triangles on top of each other, which
is associative: samples can be streamed, and bags mapped over machines and reduced as a tree.
Factoring the rows, not their products, keeps the full precision of the samples (Golub and
Van Loan, "Matrix Computations", section 5.3; the joint-wise triangles let weights be chosen
afterwards).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .signal_processing import Motion
from .torque_model import TorqueModel

Array = NDArray[np.float64]
_BLOCK = 1024  # samples factored at once: 4 MB of regressor for a seven-joint arm
_EFFORTS = 2  # columns behind the regressor's: filtered, then unfiltered torque


@dataclass(frozen=True, eq=False)
class TorqueFactors:
    """
    Triangular factors of the samples' equations, joint by joint.

    Attributes
    ----------
    triangles : ndarray, shape (n, p + 2, p + 2)
        R_j of [Y_j, filtered torque, unfiltered torque].
    samples : int
        How many samples they stand for.

    """

    triangles: Array
    samples: int

    @classmethod
    def none(cls, model: TorqueModel) -> TorqueFactors:
        """Return the factors of no samples."""
        width = len(model.names) + _EFFORTS
        return cls(np.zeros((model.n, width, width)), 0)

    @classmethod
    def of(cls, model: TorqueModel, motion: Motion) -> TorqueFactors:
        """Return the factors of a motion's samples, in memory that its length does not change."""
        total = cls.none(model)
        for start in range(0, len(motion), _BLOCK):
            total = total + cls._of_block(model, motion.part(slice(start, start + _BLOCK)))
        return total

    @classmethod
    def _of_block(cls, model: TorqueModel, motion: Motion) -> TorqueFactors:
        efforts = np.stack([motion.effort, motion.effort_unfiltered], axis=-1)
        rows = np.concatenate([model.regressor(motion), efforts], axis=-1)
        return cls(_triangles(np.moveaxis(rows, 1, 0)), len(motion))

    def __add__(self, other: TorqueFactors) -> TorqueFactors:
        """Return the factors of both sets of samples."""
        stacked = np.concatenate([self.triangles, other.triangles], axis=1)
        return TorqueFactors(_triangles(stacked), self.samples + other.samples)

    def squares(self, theta: ArrayLike, *, unfiltered: bool = False) -> Array:
        """Return each joint's sum of squared residuals, shape (n,) [N^2 m^2]."""
        effort = self.triangles[:, :, -1 if unfiltered else -2]
        residual = effort - self.triangles[:, :, :-_EFFORTS] @ np.asarray(theta, dtype=float)
        return np.asarray(np.sum(residual * residual, axis=1))

    def weighted(self, weights: ArrayLike) -> tuple[Array, Array]:
        """
        Return R, shape (p, p), and z, shape (p,), of the least squares with weighted joints.

        The sum over joints of weights_j^2 |residual_j|^2 is |R theta - z|^2 and a constant.
        """
        scaled = self.triangles[:, :, :-1] * np.asarray(weights, dtype=float)[:, None, None]
        triangle = _triangles(scaled.reshape(1, -1, scaled.shape[-1]))[0]
        return triangle[:-1, :-1], triangle[:-1, -1]


def _triangles(rows: Array) -> Array:
    """Return the square triangle of every matrix of a stack, however few rows there are."""
    width = rows.shape[-1]
    if rows.shape[1] < width:
        missing = np.zeros((rows.shape[0], width - rows.shape[1], width))
        rows = np.concatenate([rows, missing], axis=1)
    return np.asarray(np.linalg.qr(rows, mode='r'))
