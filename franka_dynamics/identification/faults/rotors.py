# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Rotors behind gears turn with the joints, and the model has none."""

from dataclasses import dataclass

import numpy as np

from .fault import Fault, Samples
from ...typing import Array


@dataclass(frozen=True)
class Rotors(Fault):
    """Rotor inertias that the model lacks; its values are those of `count` joints [kg m^2]."""

    count: int = 0
    kind = 'rotors'
    text = (
        'Rotors behind the gears take part of the torques of accelerations, and the model has '
        'none. Add --rotor-inertia.'
    )

    @classmethod
    def every(cls, n: int) -> list[Fault]:
        """Return the fault of all joints."""
        return [cls((), n)]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(f'{self.kind}_{joint + 1}' for joint in range(self.count))

    def columns(self, at: Samples) -> list[Array]:
        """Return each joint's acceleration, or zeros if the model has rotors."""
        missing = at.motion.ddq * (not at.model.base.rotor_inertia)
        return [missing * own for own in np.eye(at.model.n)]
