# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Periodic motions that start and end at rest, as Fourier series.

q_j(t) = s_j + sum over k of a_jk sin(k w t) + b_jk (cos(k w t) - 1), with w = 2 pi / period
(Swevers et al. 1997, "Optimal robot excitation and identification", IEEE T-RA 13(5)). With
sum k a_jk = 0 and sum k^2 b_jk = 0 the arm is at the start pose s without velocity and
acceleration at every full period; the free coefficients are those of an orthonormal basis.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from ..errors import IdentificationError
from ..typing import Array


@dataclass(frozen=True, eq=False)
class FourierTrajectory:
    """
    One period of a motion of n joints.

    Attributes
    ----------
    start : ndarray, shape (n,)
        Pose at the beginning and end of each period [rad].
    period : float
        [s].
    coefficients : ndarray, shape (n, 2 H - 2)
        Free coefficients of each joint [rad]; H is the number of harmonics.

    Raises
    ------
    IdentificationError
        If the period is not positive and finite.

    """

    start: Array
    period: float
    coefficients: Array

    def __post_init__(self) -> None:
        """Refuse what is no trajectory."""
        if not 0.0 < self.period < np.inf:
            raise IdentificationError(f'The period is {self.period} s; it must be positive.')

    @property
    def harmonics(self) -> int:
        """Number of harmonics H."""
        return self.coefficients.shape[-1] // 2 + 1

    def at(self, time: ArrayLike) -> tuple[Array, Array, Array]:
        """
        Return position, velocity and acceleration at some times [s].

        Returns
        -------
        tuple of ndarray, each of shape (..., n)
            [rad, rad/s, rad/s^2]; (...) is the shape of `time`.

        """
        shapes = basis(self.harmonics, self.period, np.asarray(time, dtype=float))
        position, velocity, acceleration = (shape @ self.coefficients.T for shape in shapes)
        return self.start + position, velocity, acceleration


def basis(harmonics: int, period: float, time: Array) -> tuple[Array, Array, Array]:
    """Return the free functions and their two derivatives at some times, (..., 2 H - 2) each."""
    if harmonics < 2:
        raise IdentificationError(
            f'{harmonics} harmonics leave no motion that starts and ends '
            'at rest; take two or more.'
        )
    rate = 2.0 * np.pi / period * np.arange(1, harmonics + 1)
    phase = np.multiply.outer(time, rate)
    s, c = np.sin(phase), np.cos(phase)
    values = (
        np.concatenate([s, c - 1.0], axis=-1),
        np.concatenate([rate * c, -rate * s], -1),
        np.concatenate([-(rate**2) * s, -(rate**2) * c], axis=-1),
    )
    free = _free_directions(harmonics)
    return values[0] @ free, values[1] @ free, values[2] @ free


@lru_cache(maxsize=8)
def _free_directions(harmonics: int) -> Array:
    """Return an orthonormal basis of the coefficients that start at rest, (2 H, 2 H - 2)."""
    k = np.arange(1, harmonics + 1, dtype=float)
    constraints = np.zeros((2, 2 * harmonics))
    constraints[0, :harmonics], constraints[1, harmonics:] = k, k**2
    return np.asarray(np.linalg.svd(constraints)[2][2:].T)
