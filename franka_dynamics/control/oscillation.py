# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Gains and delay: what no loop is stable with, and what one that is not looks like.

A damping torque -kd dq on an inertia M that comes a time T late is unstable from
lambda T = pi / 2 on, with lambda the largest eigenvalue of M^-1 kd; stiffness only makes it worse.
How late a receiver is nobody tells the node, so a loop that swings without end is found by its
swinging.
"""

from __future__ import annotations

import math

import numpy as np

from ..typing import Array

MOST_PHASE = 0.5 * math.pi  # lambda T from which on no stiffness is stable
# Of the torque limit: the smallest swing that counts, from one turning point to the next [N m].
_LEAST_SHARE, _WITHOUT_LIMIT = 0.02, 2.0
# Swings in a row, each within so long of the one before [s], that last: 5 Hz and faster. One that
# dies away has become smaller than this share of the largest by then.
_SWINGS, _LONGEST_SWING_S, _LASTING = 8, 0.1, 0.5
# So often in a row has a swing that runs away grown by so much.
_GROWN, _GROWTH = 2, 2.0


def damping_rate(inertia: Array, kd: Array) -> float:
    """Return the largest eigenvalue of M^-1 kd, of M and kd of shapes (n, n) and (n,) [1/s]."""
    return float(np.linalg.eigvals(np.linalg.solve(inertia, np.diag(kd))).real.max())


class OscillationWatch:
    """
    Looks for a feedback torque that swings up and down without end.

    `effort` are the torque limits, shape (n,) [N m].
    """

    def __init__(self, effort: Array) -> None:
        self._least = np.where(np.isfinite(effort), _LEAST_SHARE * effort, _WITHOUT_LIMIT)
        self.restart()

    def restart(self) -> None:
        """Begin anew with the next torque."""
        self._extreme: Array | None = None

    def add(self, stamp: float, torque: Array) -> int | None:
        """
        Take a feedback torque; return the joint that swings without end, or None.

        `stamp` is the state's [s], `torque` what the gains give, shape (n,) [N m].
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
