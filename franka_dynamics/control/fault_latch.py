# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The fault latch: holds one fault and what clears it, and limits automatic restarts."""

from __future__ import annotations

from collections import deque
from enum import Enum

RESTART_WINDOW_S = 60.0


class ClearedBy(int, Enum):
    """Ways to clear a fault; each way also clears the faults that a way listed earlier clears."""

    ACKNOWLEDGEMENT = 1
    ACTIVATION = 2
    CONFIGURATION = 3


class FaultLatch:
    """
    Holds at most one fault: the gravest one, and of equally grave faults the first.

    A fault that acknowledgement clears is least grave, one that only configuration clears gravest.
    Stops after which commanding restarts by itself are no fault, up to `max_restarts` stops within
    RESTART_WINDOW_S.
    """

    def __init__(self, max_restarts: int) -> None:
        self._max_restarts = max_restarts
        self._stops: deque[float] = deque()
        self._until = ClearedBy.ACKNOWLEDGEMENT
        self.reason = ''
        self.latched = 0  # how often a fault was latched
        self.restarts = 0  # how often the controller started again without being asked

    def latch(self, reason: str, until: ClearedBy) -> None:
        """Latch a fault that `until` clears, unless an equally grave or graver one is latched."""
        if self.reason and until <= self._until:
            return
        self.reason, self._until = reason, until
        self.latched += 1

    def note_stop(self, reason: str, now: float) -> None:
        """Count a stop without fault at `now` (steady clock [s]); too many stops latch a fault."""
        self._stops.append(now)
        while self._stops and now - self._stops[0] > RESTART_WINDOW_S:
            self._stops.popleft()
        if len(self._stops) > self._max_restarts:
            self.latch(
                f'stopped {len(self._stops)} times within {RESTART_WINDOW_S:.0f} s, the '
                f'last time because {reason}',
                ClearedBy.ACKNOWLEDGEMENT,
            )

    @property
    def cleared_by(self) -> str:
        """How to clear the latched fault, as an instruction."""
        return {
            ClearedBy.ACKNOWLEDGEMENT: (
                'clear the fault once its cause is gone (`franka-dynamics node clear`, or the '
                'service ~/clear_fault)'
            ),
            ClearedBy.ACTIVATION: 'deactivate and activate the node',
            ClearedBy.CONFIGURATION: 'clean the node up and configure it again',
        }[self._until]

    def acknowledge(self) -> tuple[bool, str]:
        """Acknowledge the fault; return whether no fault remains, and a sentence."""
        if not self.reason:
            self._stops.clear()
            return True, 'there was no fault'
        if self._until > ClearedBy.ACKNOWLEDGEMENT:
            return False, (
                f'this fault is not cleared by acknowledging it; {self.cleared_by}: {self.reason}'
            )
        self._clear()
        return True, 'cleared; an active node commands again once states and guard allow it'

    def activated(self) -> None:
        """Clear fault and stop count at activation, unless only configuration clears the fault."""
        if self._until <= ClearedBy.ACTIVATION:
            self._clear()

    def _clear(self) -> None:
        self.reason, self._until = '', ClearedBy.ACKNOWLEDGEMENT
        self._stops.clear()
