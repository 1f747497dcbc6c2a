# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Watches whether an arm falls while the torques of the settings asked for are refused."""

from __future__ import annotations

from .disturbance import DisturbanceMonitor, MAX_DISTURBANCE_TIME_S
from .ending import Cause, Ending
from .watcher import Cycle, Watcher


class FallWatcher(Watcher):
    """
    Ends the resting torque when the arm has fallen under it for MAX_DISTURBANCE_TIME_S.

    It counts as falling if the settings by which torques go out explain how it moves.
    """

    def __init__(self, disturbances: DisturbanceMonitor) -> None:
        self._disturbances = disturbances
        self.reset()

    def reset(self) -> None:
        """Reset to an arm that does not fall."""
        self._refused_s = 0.0  # how long it has moved since torques were refused [s]

    def check(self, cycle: Cycle) -> Ending | None:
        """Return an ending if the arm falls."""
        found, bound = self._disturbances, self._disturbances.start_bound
        waits = cycle.refused and not found.violation(bound, cycle.terms)
        self._refused_s = self._refused_s + cycle.elapsed if waits else 0.0
        if self._refused_s <= MAX_DISTURBANCE_TIME_S:
            return None
        return Cause.DISTURBED.ending(cycle.refused)
