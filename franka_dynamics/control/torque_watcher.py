# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Watches that computed torques are numbers."""

from __future__ import annotations

import numpy as np

from .ending import Cause, Ending
from .watcher import Cycle, Watcher


class TorqueWatcher(Watcher):
    """Ends torques when a computed one is not finite; that one is never sent."""

    def check(self, cycle: Cycle) -> Ending | None:
        """Return an ending if the desired torque is not finite."""
        if np.isfinite(cycle.torque).all():
            return None
        return Cause.TORQUE_NOT_FINITE.ending('the computed torque is not finite')
