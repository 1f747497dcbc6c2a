# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What is identified: base parameters and friction, in which joint torque is linear."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from .base_parameters import base_parameters, BaseParameters
from .friction import FrictionTerms
from ..arm import ArmDescription
from ..dynamics.model import GRAVITY
from ..recordings.preprocessing import Motion
from ..typing import Array


@dataclass(frozen=True, eq=False)
class TorqueModel:
    """
    tau = Y(q, dq, ddq) theta, theta = (base parameters, friction parameters).

    Attributes
    ----------
    base : BaseParameters
        Which parameters the arm's geometry lets motion show, and the map to them.
    friction : FrictionTerms
        The columns behind them.

    """

    base: BaseParameters
    friction: FrictionTerms

    @classmethod
    def of(cls, arm: ArmDescription, *, gravity: ArrayLike = GRAVITY, rotor_inertia: bool = False,
           width: float = FrictionTerms.width) -> TorqueModel:
        """Return the model of an arm's geometry; nothing depends on its inertias."""
        return cls(base_parameters(arm, gravity, rotor_inertia=rotor_inertia),
                   FrictionTerms(arm.n, width))

    @property
    def n(self) -> int:
        """Number of joints."""
        return self.friction.n

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all parameters, base parameters first."""
        return (*self.base.names, *self.friction.names)

    @property
    def map(self) -> Array:
        """The matrix from (standard, friction) parameters to theta, shape (p, s + 3 n)."""
        b, standard = self.base.matrix.shape
        rubbing = len(self.friction.names)
        matrix = np.zeros((b + rubbing, standard + rubbing))
        matrix[:b, :standard] = self.base.matrix
        matrix[b:, standard:] = np.eye(rubbing)
        return matrix

    def regressor(self, motion: Motion) -> Array:
        """Return Y for every sample of a motion, shape (N, n, p)."""
        rigid = self.base.regressor(motion.q, motion.dq, motion.ddq)
        return np.concatenate([rigid, self.friction.regressor(motion.dq)], axis=-1)

    def torque(self, motion: Motion, theta: ArrayLike) -> Array:
        """Return Y theta for every sample of a motion, shape (N, n) [N m]."""
        return np.asarray(self.regressor(motion) @ np.asarray(theta, dtype=float))
