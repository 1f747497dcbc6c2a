# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Instability of joint feedback with delay: which gains cause it, and how to detect it.

A damping torque -kd dq that acts on an inertia M with a delay T is unstable if lambda T exceeds pi
/ 2, with lambda the largest eigenvalue of M^-1 kd; an additional stiffness kp lowers this bound.
The node does not know the delay of the receiver, so the node detects an unstable loop by the
oscillation of the feedback torque.
"""

from __future__ import annotations

import math

import numpy as np

from ..typing import Array

MOST_PHASE = 0.5 * math.pi  # smallest lambda T at which the loop is unstable without stiffness
# Change of the feedback torque from its last extreme that counts as a reversal: as a fraction of
# the torque limit, and for a joint without a torque limit [N m].
_LEAST_SHARE, _WITHOUT_LIMIT = 0.02, 2.0
# A swing is the change of the feedback torque between two reversals. A sustained oscillation has
# at least _SWINGS swings in a row, each at most _LONGEST_SWING_S [s] long (5 Hz or faster). The
# last swing of a sustained oscillation is at least _LASTING times the largest swing.
_SWINGS, _LONGEST_SWING_S, _LASTING = 8, 0.1, 0.5
# A diverging oscillation grows by more than the factor _GROWTH in each of _GROWN swings in a row.
_GROWN, _GROWTH = 2, 2.0


def damping_rate(inertia: Array, kd: Array) -> float:
    """Return the largest eigenvalue of M^-1 diag(kd) [1/s]; shapes of M and kd: (n, n), (n,)."""
    return float(np.linalg.eigvals(np.linalg.solve(inertia, np.diag(kd))).real.max())


class OscillationWatch:
    """
    Detects a sustained or diverging oscillation of the feedback torque.

    `effort` are the torque limits, shape (n,) [N m].
    """

    def __init__(self, effort: Array) -> None:
        self._least = np.where(np.isfinite(effort), _LEAST_SHARE * effort, _WITHOUT_LIMIT)
        self.restart()

    def restart(self) -> None:
        """Forget all feedback torques."""
        self._extreme: Array | None = None

    def add(self, stamp: float, torque: Array) -> int | None:
        """
        Take a feedback torque; return the index of a joint that oscillates, or None.

        `stamp` is the stamp of the state [s], `torque` the feedback torque, shape (n,) [N m].
        """
        if self._extreme is None:
            n = len(torque)
            self._extreme, self._turned_at = torque.copy(), torque.copy()
            self._rises = np.ones(n, dtype=bool)
            self._swings, self._grown = np.zeros(n, dtype=int), np.zeros(n, dtype=int)
            self._largest, self._before = np.zeros(n), np.full(n, np.inf)
            self._since = np.full(n, stamp)
            return None
        extreme = self._extreme
        further = np.where(self._rises, torque > extreme, torque < extreme)
        extreme[further] = torque[further]
        turned = np.abs(torque - extreme) > self._least
        if not turned.any():
            return None
        swing = np.abs(extreme - self._turned_at)
        lasting = stamp - self._since <= _LONGEST_SWING_S
        for joint in np.flatnonzero(turned):
            if not lasting[joint]:
                self._swings[joint], self._largest[joint] = 0, 0.0
                self._before[joint] = np.inf
            self._swings[joint] += 1
            grown = swing[joint] > _GROWTH * self._before[joint]
            self._grown[joint] = self._grown[joint] + 1 if grown else 0
            self._before[joint] = swing[joint]
            self._largest[joint] = max(self._largest[joint], swing[joint])
        self._turned_at[turned], extreme[turned] = extreme[turned], torque[turned]
        self._rises[turned] = ~self._rises[turned]
        self._since[turned] = stamp
        lasts = (self._swings >= _SWINGS) & (swing >= _LASTING * self._largest)
        found = turned & (lasts | (self._grown >= _GROWN))
        return int(np.argmax(found)) if found.any() else None
