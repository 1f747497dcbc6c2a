# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Joint friction as columns of a regressor: viscous, Coulomb and a constant offset per joint."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arm import ViscousCoulombFriction
from ..errors import IdentificationError

Array = NDArray[np.float64]
SYMBOLS = ('fv', 'fc', 'fo')  # viscous [N m s/rad], Coulomb [N m], offset [N m]


@dataclass(frozen=True)
class FrictionTerms:
    """
    tau_f = fv dq + fc tanh(dq / width) + fo for each of n joints, linear in its parameters.

    A sign in place of the tanh would turn the noise of a resting joint into torque; `width`
    [rad/s] is where Coulomb friction has turned over, and no parameter of the fit.
    """

    n: int
    width: float = 0.02

    def __post_init__(self) -> None:
        """Refuse a width that no tanh can have."""
        if not 0.0 < self.width < np.inf:
            raise IdentificationError(f'The width of Coulomb friction is {self.width} rad/s; it '
                                      'must be positive.')

    @property
    def names(self) -> tuple[str, ...]:
        """Names fv_1, fc_1, fo_1, ..., fo_n of the columns."""
        return tuple(f'{symbol}_{joint}' for joint in range(1, self.n + 1) for symbol in SYMBOLS)

    def regressor(self, dq: ArrayLike) -> Array:
        """Return the columns at velocities of shape (N, n) [rad/s], shape (N, n, 3 n)."""
        velocity = np.asarray(dq, dtype=float)
        terms = np.stack([velocity, np.tanh(velocity / self.width), np.ones_like(velocity)], -1)
        columns = np.zeros((*velocity.shape, self.n, len(SYMBOLS)))
        joints = np.arange(self.n)
        columns[:, joints, joints] = terms
        return columns.reshape(*velocity.shape, self.n * len(SYMBOLS))

    def model(self, values: ArrayLike) -> ViscousCoulombFriction:
        """Return the friction model with the parameters of shape (3 n,)."""
        viscous, coulomb, offset = np.asarray(values, dtype=float).reshape(self.n, -1).T
        return ViscousCoulombFriction(viscous, coulomb, offset, self.width)
