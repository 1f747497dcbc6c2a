# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The controller's state, its reason and remedy, for the log, diagnostics and callers."""

from __future__ import annotations

from typing import NamedTuple

from .cycle_result import Mode

COMMANDING = 'torques are published'


class ControllerStatus(NamedTuple):
    """
    What a controller does.

    `mode` is the controller's mode. `reason` says in one sentence why no torque of a motion is
    commanded, and is COMMANDING if one is. `cleared_by` is what would let it command again, empty
    while it commands. `faulty` says whether a fault is latched, so that it does not start again by
    itself.
    """

    mode: Mode
    reason: str
    cleared_by: str
    faulty: bool

    def __str__(self) -> str:
        """Return all of it in one sentence."""
        way = f'; to command again: {self.cleared_by}' if self.cleared_by else ''
        return f'{self.mode.value}: {self.reason}{way}'
