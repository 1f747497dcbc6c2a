# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The position of a joint is recorded with a constant error."""

import numpy as np

from .fault import Fault, Samples
from ...typing import Array

_STEP = 1e-4  # of central differences [rad or m]


class EncoderZero(Fault):
    """
    A wrong zero of a joint's encoder; its value is the error of the position [rad].

    That of the first joint is a turn of the base, which gravity names, that of the last joint a
    turn of the last link.
    """

    kind, is_in_states = 'zero', True
    text = (
        'The position of {joints} is off by {about}{0:.3f} rad. Calibrate its encoder, or '
        'subtract this from its column.'
    )

    @classmethod
    def every(cls, n: int) -> list[Fault]:
        """Return that of each joint but the first and the last."""
        return [cls((joint,)) for joint in range(1, n - 1)]

    def columns(self, at: Samples) -> list[Array]:
        """Return minus the derivative of the torques by the position."""
        step = _STEP * np.eye(at.model.n)[self.joints[0]]
        q = np.stack([at.motion.q - step, at.motion.q + step])
        before, after = at.dynamics.inverse_dynamics(q, at.motion.dq, at.motion.ddq)
        return [(before - after) / (2.0 * _STEP)]
