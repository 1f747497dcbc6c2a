# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A controller's mode, status, counters and result of one cycle; percentiles of latencies."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

import numpy as np

from .limits import LimitedTorque
from .supervision import Observation
from .terms import StateTerms
from ..typing import Array


class Mode(str, Enum):
    """Modes of the controller."""

    SILENT = 'silent'  # nothing is published
    RUNNING = 'running'
    BRAKING = 'braking'  # the arm is brought to rest; a stop sequence or a hold follows
    STOPPING = 'stopping'  # the stop sequence is being published


COMMANDING = 'torques are published'


class ControllerStatus(NamedTuple):
    """
    The controller's mode, the reason for it, and how to make the controller command again.

    `reason` is COMMANDING in mode RUNNING, else why the controller is not RUNNING. `cleared_by`
    says how the user makes the controller command again; empty in mode RUNNING. `faulty` is True
    while a fault is latched: the controller then does not restart by itself.
    """

    mode: Mode
    reason: str
    cleared_by: str
    faulty: bool

    def __str__(self) -> str:
        """Return mode, reason and remedy in one sentence."""
        way = f'; to command again: {self.cleared_by}' if self.cleared_by else ''
        return f'{self.mode.value}: {self.reason}{way}'


class CycleResult(NamedTuple):
    """
    The result of the control cycle for one joint state.

    `state` has the joint state and its torque terms, None if the joint state is not valid.
    `limited` has the torque before and after the limits, None if no torque may be published from
    this state.
    """

    observation: Observation
    state: StateTerms | None = None
    limited: LimitedTorque | None = None

    @property
    def command(self) -> Array | None:
        """The torque to be published, shape (n,) [N m]; None: publish nothing."""
        return None if self.limited is None else self.limited.torque


@dataclass
class Counters:
    """Counts of commands, limited commands and stops; largest |command| / torque limit, (n,)."""

    commands: int = 0
    cut_by_limit: int = 0
    cut_by_rate: int = 0
    stops: int = 0
    largest_share: Array = field(default_factory=lambda: np.zeros(0))

    def count(self, limited: LimitedTorque, effort: Array) -> None:
        """Count a command, given the torque limits `effort`, shape (n,) [N m]."""
        self.commands += 1
        self.cut_by_limit += bool(limited.cut_by_limit.any())
        self.cut_by_rate += bool(limited.cut_by_rate.any())
        np.maximum(self.largest_share, np.abs(limited.torque) / effort, out=self.largest_share)


class Durations:
    """Keeps the latest `size` durations [s], such as latencies; `add` allocates no memory."""

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
