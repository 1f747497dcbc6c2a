# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What follows by definition once M, C, g and the flange's Jacobian are there."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .model import FLANGE, joint_stack, solve_acceleration, wrench_stack
from ..arm import ArmDescription

Array = NDArray[np.float64]


class ClosedFormModel(ABC):
    """A formulation that gives the terms of the equation of motion as matrices and vectors."""

    takes_stacks = True
    description: ArmDescription

    @abstractmethod
    def jacobian(self, q: ArrayLike, frame: int | str = FLANGE,
                 reference_frame: str = 'LOCAL_WORLD_ALIGNED') -> Array:
        """Return the Jacobian (v, omega) of a frame, shape (..., 6, n)."""

    @abstractmethod
    def mass_matrix(self, q: ArrayLike) -> Array:
        """Return M(q), rotors included, shape (..., n, n)."""

    @abstractmethod
    def coriolis_matrix(self, q: ArrayLike, dq: ArrayLike) -> Array:
        """Return C(q, dq), shape (..., n, n)."""

    @abstractmethod
    def gravity(self, q: ArrayLike) -> Array:
        """Return g(q), shape (..., n)."""

    def coriolis(self, q: ArrayLike, dq: ArrayLike) -> Array:
        """Return C(q, dq) dq, shape (..., n) [N m]."""
        return np.einsum('...ij,...j->...i', self.coriolis_matrix(q, dq), self._vector(dq, 'dq'))

    def nonlinear_effects(self, q: ArrayLike, dq: ArrayLike) -> Array:
        """Return C(q, dq) dq + g(q), shape (..., n) [N m]."""
        return self.coriolis(q, dq) + self.gravity(q)

    def inverse_dynamics(self, q: ArrayLike, dq: ArrayLike, ddq: ArrayLike,
                         wrench: ArrayLike | None = None) -> Array:
        """Return M ddq + C dq + g - J^T w, shape (..., n) [N m]."""
        driven = np.einsum('...ij,...j->...i', self.mass_matrix(q), self._vector(ddq, 'ddq'))
        return driven + self.nonlinear_effects(q, dq) - self._wrench_torque(q, wrench)

    def forward_dynamics(self, q: ArrayLike, dq: ArrayLike, tau: ArrayLike,
                         wrench: ArrayLike | None = None) -> Array:
        """Return M^-1 (tau - C dq - g + J^T w), shape (..., n) [rad/s^2]."""
        left = (self._vector(tau, 'tau') - self.nonlinear_effects(q, dq)
                + self._wrench_torque(q, wrench))
        return solve_acceleration(self.mass_matrix(q), left)

    def _vector(self, values: ArrayLike, name: str) -> Array:
        return joint_stack(self.description, values, name)

    def _wrench_torque(self, q: ArrayLike, wrench: ArrayLike | None) -> Array:
        if wrench is None:
            return np.zeros(self.description.n)
        return np.einsum('...ai,...a->...i', self.jacobian(q), wrench_stack(wrench))
