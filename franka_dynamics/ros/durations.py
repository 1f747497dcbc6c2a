# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The latest durations, such as latencies, and their percentiles."""

from __future__ import annotations

import numpy as np


class Durations:
    """Keeps the latest `size` durations [s]; `add` allocates no memory."""

    def __init__(self, size: int = 4096) -> None:
        self._ring = np.zeros(size)
        self._count = 0

    def add(self, seconds: float) -> None:
        """Add a duration [s], which replaces the oldest once `size` durations are kept."""
        self._ring[self._count % len(self._ring)] = seconds
        self._count += 1

    def percentile(self, percent: float) -> float:
        """Return a percentile of the durations [s]; NaN if there are none."""
        kept = self._ring[: min(self._count, len(self._ring))]
        return float(np.percentile(kept, percent)) if len(kept) else float('nan')
