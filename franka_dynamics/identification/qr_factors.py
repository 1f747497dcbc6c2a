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

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from operator import add

import numpy as np
from numpy.typing import ArrayLike

from .noise import lag_sums
from .torque_model import TorqueModel
from ..recordings.preprocessing import Motion
from ..typing import Array

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


@dataclass(frozen=True, eq=False)
class Summary:
    """
    Recordings as factors; its size does not depend on theirs.

    Attributes
    ----------
    folds : tuple of TorqueFactors
        Consecutive stretches of the training half, the first half by time of every recording.
    test : TorqueFactors
        The second halves.
    others : mapping of float to TorqueFactors
        The second halves prepared at other cut-offs [Hz].
    fastest : ndarray, shape (n,)
        Largest speed of each joint in the training half [rad/s].

    """

    folds: tuple[TorqueFactors, ...]
    test: TorqueFactors
    others: Mapping[float, TorqueFactors]
    fastest: Array

    @classmethod
    def of(cls, model: TorqueModel, motion: Motion, folds: int,
           others: Mapping[float, Motion] | None = None) -> Summary:
        """
        Return the summary of one recording.

        Parameters
        ----------
        model : TorqueModel
            What is identified.
        motion : Motion
            The recording, prepared.
        folds : int
            Stretches of the training half.
        others : mapping of float to Motion, optional
            The recording prepared at other cut-offs [Hz].

        """
        train, test = motion.halves()
        edges = np.linspace(0, len(train), folds + 1).round().astype(int)
        parts = [train.part(slice(a, b)) for a, b in pairwise(edges)]
        return cls(tuple(TorqueFactors.of(model, part) for part in parts),
                   TorqueFactors.of(model, test),
                   {cutoff: TorqueFactors.of(model, other.halves()[1])
                    for cutoff, other in (others or {}).items()},
                   np.abs(train.dq).max(axis=0))

    def __add__(self, other: Summary) -> Summary:
        """Return both recordings' summary, stretch by stretch."""
        return Summary(tuple(map(add, self.folds, other.folds)), self.test + other.test,
                       {cutoff: factors + other.others[cutoff]
                        for cutoff, factors in self.others.items()},
                       np.maximum(self.fastest, other.fastest))

    @property
    def train(self) -> TorqueFactors:
        """The whole training half."""
        return reduce(add, self.folds)


def residual_lag_sums(model: TorqueModel, motion: Motion, theta: Array) -> Array:
    """Return the lag sums of a recording's residuals in its training half, piece by piece."""
    return lag_sums((piece.effort - model.torque(piece, theta)
                     for piece in motion.halves()[0].pieces()), motion.options, model.n)
