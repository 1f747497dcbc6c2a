# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Velocities, and what is made of them, are late against the positions, as behind a filter."""

from .fault import Fault, Samples
from ...typing import Array

_STEP_S = 1e-4


class Lag(Fault):
    """A lag of velocities; its value is the time by which they lag the positions [s]."""

    kind, is_in_states = 'lag', True
    text = (
        'Velocities are {ms:.0f} ms {late} against positions, as behind a filter. Record raw '
        'velocities, or import the log with --velocity derived.'
    )

    def columns(self, at: Samples) -> list[Array]:
        """Return the change of the torques if velocities and accelerations were later."""
        ahead = at.motion.dq + _STEP_S * at.motion.ddq, at.motion.ddq + _STEP_S * at.jerk
        return [(at.dynamics.inverse_dynamics(at.motion.q, *ahead) - at.rigid) / _STEP_S]
