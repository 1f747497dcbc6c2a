# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Joint friction models, evaluated for all joints at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray


class FrictionModel(Protocol):
    """Torque that friction takes from the joints at a velocity."""

    def torque(self, dq: ArrayLike) -> NDArray[np.float64]:
        """Return the friction torque [N m] to be added to the rigid-body torque, shape of dq."""
        ...


@dataclass(frozen=True, eq=False)
class SigmoidFriction:
    """
    Gaz's friction: tau_f = A / (1 + exp(-s (dq + d))) - A / (1 + exp(-s d)).

    Zero at rest by construction, and smooth through it. Source: Gaz et al. 2019, "Dynamic
    Identification of the Franka Emika Panda Robot With Retrieval of Feasible Parameters",
    section V. Arrays of shape (n,): amplitude A [N m], slope s [s/rad], offset d [rad/s].
    """

    amplitude: NDArray[np.float64]
    slope: NDArray[np.float64]
    offset: NDArray[np.float64]

    def torque(self, dq: ArrayLike) -> NDArray[np.float64]:
        """Return the friction torque [N m] at dq [rad/s], shape (..., n)."""
        velocity = np.asarray(dq, dtype=float)
        return self.amplitude * (_logistic(self.slope * (velocity + self.offset))
                                 - _logistic(self.slope * self.offset))


@dataclass(frozen=True, eq=False)
class ViscousCoulombFriction:
    """
    Viscous, Coulomb and offset friction: tau_f = f_v dq + f_c sign(dq) + f_o.

    Arrays of shape (n,): viscous [N m s/rad], Coulomb [N m], offset [N m]. `width` [rad/s]
    replaces the sign by tanh(dq / width), because a torque that jumps at zero velocity cannot
    be commanded.
    """

    viscous: NDArray[np.float64]
    coulomb: NDArray[np.float64]
    offset: NDArray[np.float64]
    width: float = 0.02

    def torque(self, dq: ArrayLike) -> NDArray[np.float64]:
        """Return the friction torque [N m] at dq [rad/s], shape (..., n)."""
        velocity = np.asarray(dq, dtype=float)
        return (self.viscous * velocity + self.coulomb * np.tanh(velocity / self.width)
                + self.offset)


def _logistic(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return 1 / (1 + exp(-x)) without overflow for large |x|."""
    return 0.5 * (1.0 + np.tanh(0.5 * x))
