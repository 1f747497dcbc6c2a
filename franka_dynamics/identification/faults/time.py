# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Faults of time: efforts or velocities that lag the positions, and stretched time stamps."""

from collections.abc import Mapping, Sequence

import numpy as np

from .efforts import Gain
from .fault import Fault, TorqueSamples
from ...arrays import Array

_STEP_S = 1e-4  # of forward differences
_MAX_TIME_RATIO = 2.5  # with a larger ratio gravity is missing


class EffortDelay(Fault):
    """A delay of efforts; its value is the time by which they lag the positions [s]."""

    kind, of_each_joint, is_question = 'delay', True, True
    text = (
        '{effort} is {ms:.0f} ms {late_or_early} against the positions. Record both in one '
        'message, or move the effort columns.'
    )

    def columns(self, at: TorqueSamples) -> list[Array]:
        """Return minus the time derivative of the torques of the fault's joints as a column."""
        return [at.only_joints(-at.torque_rate, self.joints)]


class VelocityLag(Fault):
    """A lag of velocities; its value is the time by which they lag the positions [s]."""

    kind, is_in_states = 'lag', True
    text = (
        'Velocities are {ms:.0f} ms {late_or_early} against positions, as behind a filter. Record '
        'raw velocities, or import the log with --velocity derived.'
    )

    def columns(self, at: TorqueSamples) -> list[Array]:
        """Return the change of the torques per second of lag of velocities and accelerations."""
        ahead = at.motion.dq + _STEP_S * at.motion.ddq, at.motion.ddq + _STEP_S * at.jerk
        return [(at.dynamics.inverse_dynamics(at.motion.q, *ahead) - at.rigid_torque) / _STEP_S]


class TimeScale(Fault):
    """
    Wrong time stamps; its value is the ratio of recorded to real time.

    Torques of inertias, of centrifugal and Coriolis forces go with the inverse square of time,
    those of gravity do not. The column is exact, as friction is fitted anyway.
    """

    kind, value_is_from_torques, is_in_states, is_question = 'time', True, True, True
    text = (
        'Recorded times are {0:.3g} times real ones: torques of accelerations have another size '
        'than those of gravity. Check the unit or rate of the stamps (of a log: --stamp-unit, '
        '--log-rate).'
    )

    def columns(self, at: TorqueSamples) -> list[Array]:
        """Return the torques without those of gravity as a column."""
        return [at.rigid_torque - at.dynamics.gravity(at.motion.q)]

    def values(self, found: Mapping[str, float], gravity: Array) -> list[float]:
        """Return the ratio of recorded to real time, corrected for a common factor of efforts."""
        weight = 1.0 + found[Gain().kind]
        return [float(np.sqrt(max(1.0 + found[self.kind] / weight, 0.0)))]

    def is_possible(self, values: Sequence[float], gravity: Array) -> bool:
        """Return whether the ratio of times is near enough to 1 to be one of time stamps."""
        return 1.0 / _MAX_TIME_RATIO < values[0] < _MAX_TIME_RATIO
