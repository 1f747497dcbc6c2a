# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The axis of a joint is recorded the other way."""

from dataclasses import dataclass

import numpy as np

from .fault import Fault
from .restated import Restated
from ...typing import Array


@dataclass(frozen=True)
class ReversedAxis(Restated):
    """A joint whose states are reversed, with its effort or without."""

    effort: bool = True
    kind = 'axis'
    text = (
        'Positions and velocities of {joints} have the wrong sign, its effort has it, too, or is '
        'the only one that has not: the axis points the other way. Reverse these columns.'
    )

    @classmethod
    def every(cls, n: int) -> list[Fault]:
        """Return both faults of each joint."""
        return [cls((joint,), effort) for joint in range(n) for effort in (True, False)]

    def states(self, q: Array, dq: Array, ddq: Array) -> tuple[Array, Array, Array]:
        """Return the states with the joint reversed."""
        sign = np.where(np.arange(q.shape[1]) == self.joints[0], -1.0, 1.0)
        return sign * q, sign * dq, sign * ddq

    def recorded(self, torques: Array) -> Array:
        """Return torques (N, n, ...) as the recording has them."""
        sign = np.where(np.arange(torques.shape[1]) == self.joints[0], -1.0, 1.0)
        return torques * sign.reshape(-1, *[1] * (torques.ndim - 2)) if self.effort else torques
