# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Watches whether joint states are too old, or too rare, for the gains in use."""

from __future__ import annotations

from .ending import Cause, Ending
from .state_check import StateCheck
from .watcher import Cycle, Watcher


class AgeWatcher(Watcher):
    """Ends torques when the control law would swing with states as old as those of `states`."""

    def __init__(self, states: StateCheck) -> None:
        self._states = states

    def check(self, cycle: Cycle) -> Ending | None:
        """Return an ending if states are too old while the control law runs."""
        if not cycle.runs:
            return None
        why = cycle.law.staleness_reason(self._states.period, self._states.median_age)
        return Cause.STATES_TOO_OLD.ending(why) if why else None
