# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What an identification keeps of recordings: factors by half and stretch, joined with +."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from operator import add

import numpy as np
from numpy.typing import NDArray

from .filter_noise import lag_sums
from .signal_processing import Motion
from .torque_factors import TorqueFactors
from .torque_model import TorqueModel

Array = NDArray[np.float64]


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
