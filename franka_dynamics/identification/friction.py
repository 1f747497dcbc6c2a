# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Joint friction as columns of a regressor: viscous, Coulomb and a constant offset per joint."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ..arm import SigmoidFriction, ViscousCoulombFriction
from ..errors import IdentificationError, MissingDependencyError
from ..typing import Array

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
# Amplitude [N m], slope [s/rad] and offset [rad/s]. Steeper than 100 s/rad is a step to every
# sensor, and a torque that no controller should command.
_LOWEST, _HIGHEST = (0.0, 0.5, -0.5), (100.0, 100.0, 0.5)


def fit_sigmoid(dq: ArrayLike, torque: ArrayLike) -> SigmoidFriction:
    """
    Return the sigmoid friction nearest to friction torques, by nonlinear least squares.

    tau_f = A / (1 + exp(-s (dq + d))) - A / (1 + exp(-s d)) (Gaz et al. 2019, section V), each
    joint by itself, from several starts because the slope has local minima.

    Parameters
    ----------
    dq : array_like, shape (N, n)
        Velocities [rad/s].
    torque : array_like, shape (N, n)
        Torque that friction is to explain [N m].

    Raises
    ------
    MissingDependencyError
        If scipy is not installed.

    """
    columns = zip(np.asarray(dq, dtype=float).T, np.asarray(torque, dtype=float).T)
    amplitude, slope, offset = np.array([_fit_joint(v, tau) for v, tau in columns]).T
    return SigmoidFriction(amplitude, slope, offset)


def _fit_joint(velocity: Array, torque: Array) -> Array:
    try:
        from scipy.optimize import least_squares
    except ImportError as error:
        raise MissingDependencyError("Fitting the sigmoid needs scipy: "
                                     "pip install 'franka_dynamics[identify]'.") from error

    def residual(values: Array) -> Array:
        model = SigmoidFriction(*(values[i:i + 1] for i in range(3)))
        return model.torque(velocity[:, None])[:, 0] - torque

    swing = float(np.clip(np.ptp(torque), 0.01, 50.0))
    fits = [least_squares(residual, (swing, slope, 0.0), bounds=(_LOWEST, _HIGHEST),
                          x_scale=(swing, slope, 0.05)) for slope in (3.0, 10.0, 30.0, 90.0)]
    return np.asarray(min(fits, key=lambda found: float(found.cost)).x)
