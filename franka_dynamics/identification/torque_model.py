# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What is identified: base parameters and friction, in which joint torque is linear."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from .base_parameters import base_parameters, BaseParameters
from .friction import FRICTION_PART, FrictionTerms
from ..arm import ArmDescription
from ..dynamics.model import GRAVITY
from ..errors import IdentificationError
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
    def of(
        cls,
        arm: ArmDescription,
        *,
        gravity: ArrayLike = GRAVITY,
        rotor_inertia: bool = False,
        width: float = FrictionTerms.width,
        stribeck_velocity: float | None = None,
        reaches: tuple[float, ...] = (),
        friction_part: float = FRICTION_PART,
    ) -> TorqueModel:
        """Return the model of an arm's geometry; nothing depends on its inertias."""
        return cls(
            base_parameters(arm, gravity, rotor_inertia=rotor_inertia),
            FrictionTerms(arm.n, width, stribeck_velocity, reaches, friction_part),
        )

    @property
    def n(self) -> int:
        """Number of joints."""
        return self.friction.n

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all parameters, base parameters first."""
        return (*self.base.names, *self.friction.names)

    def blocks(self, motion: Motion) -> tuple[Array, Array]:
        """
        Return the regressor's base columns and each joint's own friction columns.

        Friction is what `prepare` filtered like the torque, with these terms as its `columns`; a
        motion prepared without them has the terms of its filtered velocities.

        Returns
        -------
        tuple of ndarray, shapes (N, n, b) and (N, n, terms of a joint)

        Raises
        ------
        IdentificationError
            If the motion lacks what Maxwell-slip elements need.

        """
        rubbing = motion.columns
        if rubbing is None:
            if self.friction.reaches:
                raise IdentificationError(
                    'Maxwell-slip friction is integrated over the recorded positions: prepare '
                    'the recording with columns=model.friction.columns.'
                )
            rubbing = self.friction.columns(motion.q, motion.dq)
        return self.base.regressor(motion.q, motion.dq, motion.ddq), rubbing

    def regressor(self, motion: Motion) -> Array:
        """Return Y for every sample of a motion, shape (N, n, p)."""
        rigid, rubbing = self.blocks(motion)
        return np.concatenate([rigid, self.friction.regressor(rubbing)], axis=-1)

    def torque(self, motion: Motion, theta: ArrayLike) -> Array:
        """Return Y theta for every sample of a motion, shape (N, n) [N m]."""
        rigid, rubbing = self.blocks(motion)
        base, friction = self.split(theta)
        return np.asarray(rigid @ base + np.einsum('tjk,jk->tj', rubbing, friction))

    def split(self, theta: ArrayLike) -> tuple[Array, Array]:
        """Return base parameters (b,) and friction (n, terms of a joint) of parameters (p,)."""
        values = np.asarray(theta, dtype=float)
        b = len(self.base)
        return values[:b], values[b:].reshape(self.n, -1)

    def without_friction(self, theta: ArrayLike) -> Array:
        """Return parameters (p,) with all friction and offset zero."""
        values = np.array(theta, dtype=float)
        values[len(self.base) :] = 0.0
        return values
