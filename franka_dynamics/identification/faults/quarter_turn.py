# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The zero of a joint's position is off by quarter turns."""

from dataclasses import dataclass

import numpy as np

from .fault import Fault
from .restated import Restated
from ...typing import Array


@dataclass(frozen=True)
class QuarterTurn(Restated):
    """A zero that is off by `turns` times pi/2."""

    turns: int = 1
    kind = 'quarter_turn'
    text = 'The zero of {joints} is off by {0:.4f} rad, quarter turns. Subtract this.'

    @classmethod
    def every(cls, n: int) -> list[Fault]:
        """Return those of each joint but the first and the last (see `EncoderZero`)."""
        return [cls((joint,), turns) for joint in range(1, n - 1) for turns in (-1, 1, 2)]

    @property
    def found(self) -> tuple[float, ...]:
        """The error of the position [rad]."""
        return (0.5 * np.pi * self.turns,)

    def states(self, q: Array, dq: Array, ddq: Array) -> tuple[Array, Array, Array]:
        """Return the states with the joint's encoder turned back by the angle that was found."""
        return q - self.found[0] * (np.arange(q.shape[1]) == self.joints[0]), dq, ddq
