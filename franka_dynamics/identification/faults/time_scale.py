# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The time of the whole recording is stretched: its stamps, velocities and accelerations."""

from collections.abc import Mapping, Sequence

import numpy as np

from .fault import Fault, Samples
from .gain import Gain
from ...typing import Array

_MOST = 2.5  # with a larger ratio gravity is missing


class TimeScale(Fault):
    """
    Wrong time stamps; its value is the ratio of recorded to real time.

    Torques of inertias, of centrifugal and Coriolis forces go with the inverse square of time,
    those of gravity do not. The column is exact, as friction is fitted anyway.
    """

    kind, is_in_torques, is_in_states, is_asked = 'time', True, True, True
    text = (
        'Recorded times are {0:.3g} times real ones: torques of accelerations have another size '
        'than those of gravity. Check the unit or rate of the stamps (of a log: --stamp-unit, '
        '--log-rate).'
    )

    def columns(self, at: Samples) -> list[Array]:
        """Return the torques without those of gravity."""
        return [at.rigid - at.dynamics.gravity(at.motion.q)]

    def values(self, found: Mapping[str, float], gravity: Array) -> list[float]:
        """Return the ratio of times; a common factor of all efforts is no part of it."""
        weight = 1.0 + found[Gain().kind]
        return [float(np.sqrt(max(1.0 + found[self.kind] / weight, 0.0)))]

    def possible(self, values: Sequence[float], gravity: Array) -> bool:
        """Return whether times are off by at most _MOST: otherwise gravity is missing."""
        return 1.0 / _MOST < values[0] < _MOST
