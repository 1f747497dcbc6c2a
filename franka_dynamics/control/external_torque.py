# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What acts on the arm from outside, from measured torque and the model."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
import pinocchio as pin

from ..dynamics.pinocchio_model import PinocchioModel

Array = NDArray[np.float64]
# Bandwidth of the estimate [1/s]: 50 ms to 92 % of a step.
OBSERVER_GAIN = 50.0
# A gap in the states after which integrating across it would be guessing.
_LONGEST_STEP_S = 0.05


class MomentumObserver:
    """
    External joint torque from the generalised momentum p = M dq, without accelerations.

    r = K (p - integral of (tau_J + C^T dq - g + r)), De Luca, Albu-Schaeffer, Haddadin,
    Hirzinger 2006, "Collision Detection and Safe Reaction with the DLR-III Lightweight
    Manipulator Arm", eq. 13; r follows J^T (wrench on the arm) with bandwidth K. Returned in
    FCI's sign: tau_ext = tau_J - model = -J^T (wrench applied to the arm).

    Parameters
    ----------
    model : PinocchioModel
        The arm with its payload, under its true gravity.
    gain : float
        Observer gain K [1/s].

    """

    def __init__(self, model: PinocchioModel, gain: float = OBSERVER_GAIN) -> None:
        self._model = model
        self._gain = gain
        self.restart()

    def restart(self) -> None:
        """Forget the past; the next state is the first."""
        self._stamp: float | None = None
        self._integral = np.zeros(self._model.description.n)
        self._residual = np.zeros(self._model.description.n)

    def update(self, stamp: float, q: Array, dq: Array, effort: Array) -> Array:
        """
        Return the external torque in FCI's sign, shape (n,) [N m].

        Parameters
        ----------
        stamp : float
            Stamp of the state [s]; a step back or a gap restarts the observer.
        q, dq, effort : ndarray, shape (n,)
            Position, velocity and measured link-side torque, gravity included.

        """
        model, data = self._model.model, self._model.data
        momentum = self._model.mass_matrix(q) @ dq
        elapsed = 0.0 if self._stamp is None else stamp - self._stamp
        if self._stamp is None or not 0.0 <= elapsed <= _LONGEST_STEP_S:
            self._integral, self._residual = momentum, np.zeros_like(momentum)
        else:
            coriolis = pin.computeCoriolisMatrix(model, data, q, dq)
            gravity = pin.computeGeneralizedGravity(model, data, q)
            rate = effort + coriolis.T @ dq - gravity
            # Implicit in the residual, so that no gain makes a slow topic unstable.
            self._integral = self._integral + elapsed * rate
            self._residual = (self._gain * (momentum - self._integral)
                              / (1.0 + self._gain * elapsed))
            self._integral = self._integral + elapsed * self._residual
        self._stamp = stamp
        return -self._residual
