# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What a controller does, why, and what would change it: the one account for log and people."""

from __future__ import annotations

from typing import NamedTuple

from .cycle_result import Mode

COMMANDING = 'torques are published'


class ControllerStatus(NamedTuple):
    """
    What a controller does.

    Attributes
    ----------
    mode : Mode
        What it does with its command.
    reason : str
        Why no torque of a motion is commanded, in one sentence; COMMANDING where one is.
    cleared_by : str
        What lets it command again; empty while it does.
    faulty : bool
        Whether a fault is latched, so that it does not begin again by itself.

    """

    mode: Mode
    reason: str
    cleared_by: str
    faulty: bool

    def __str__(self) -> str:
        """Return all of it in one sentence."""
        way = f'; to command again: {self.cleared_by}' if self.cleared_by else ''
        return f'{self.mode.value}: {self.reason}{way}'
