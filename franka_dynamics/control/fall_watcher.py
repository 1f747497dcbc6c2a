# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Watches whether an arm falls while the torques of the settings asked for are refused."""

from __future__ import annotations

import numpy as np

from .ending import Cause, Ending
from .watcher import Cycle, Watcher
from ..typing import Array

# An arm that has moved so far while its torques are refused falls [rad or m]: further than elastic
# gears yield when motors take their load (1.7 mrad of an FR3), which lasts up to 20 ms.
MIN_FALL_RAD = 3e-3


class FallWatcher(Watcher):
    """Ends the resting torque when the arm has fallen under it, because torques are refused."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Reset to an arm that does not fall."""
        self._from: Array | None = None  # the position when torques were refused first, (n,)

    def check(self, cycle: Cycle) -> Ending | None:
        """Return an ending if the arm falls."""
        if not cycle.refused:
            self._from = None
            return None
        self._from = cycle.state.q if self._from is None else self._from
        falls = np.abs(cycle.state.q - self._from).max() > MIN_FALL_RAD
        return Cause.DISTURBED.ending(cycle.refused) if falls else None
