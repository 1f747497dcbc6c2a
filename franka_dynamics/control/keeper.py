# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
The stop sequence of a node that can no longer publish it itself.

ros2_control's forward controllers hold their last command for ever. Whoever hears a node's
commands knows the last one, and where a stop has to end follows from the target alone; so the
torque of a node that was killed can be taken back without a model of the arm.
"""

from __future__ import annotations

from enum import Enum

import numpy as np

from .limits import MOST_RATE, TorqueLimiter
from .settings import Stop
from ..typing import Array

# Messages of the dead process that were still under way. More than these, and somebody living
# commands.
_LATE_MESSAGES = 3


class KeeperState(str, Enum):
    """What the keeper does with the command topic."""

    WATCHING = 'watching'
    STOPPING = 'stopping'  # its own stop sequence is being published


class Keeper:
    """
    Takes back the torque of a node that died or stalled.

    Parameters
    ----------
    stop : Stop
        Where the target's stop sequence ends: at zero, or at the gravity torque heard last.
    silence : float
        Silence of the commands after which their source counts as stalled [s]; 0 for never.

    """

    def __init__(self, stop: Stop, silence: float) -> None:
        self._stop, self._silence = stop, silence
        self._last: Array | None = None
        self._gravity: Array | None = None
        self._heard = self._gravity_heard = -np.inf
        self._late = 0
        self._dead = False
        self.state = KeeperState.WATCHING
        self.reason = ''

    @property
    def torque(self) -> Array | None:
        """The torque that the receiver holds, shape (n,) [N m]; None before the first."""
        return self._last

    @property
    def lacks(self) -> str:
        """What a stop sequence needs and was never heard, or an empty text."""
        if self._last is None:
            return 'command'
        return '' if self._goal() is not None else 'gravity torque'

    def note_command(self, torque: Array, now: float) -> None:
        """
        Take a command of somebody else, shape (n,) [N m], heard at `now` (steady clock, [s]).

        While the stop sequence is published a few may still be on their way from the dead
        process: the ramp goes on from them. More than these end it, because somebody commands.
        """
        if not np.isfinite(torque).all():
            return
        self._last, self._heard = torque, now
        if self.state is KeeperState.WATCHING:
            return
        self._late += 1
        if not self._dead or self._late > _LATE_MESSAGES:
            self.state = KeeperState.WATCHING

    def note_gravity(self, gravity: Array, now: float) -> None:
        """Take the model's g(q), shape (n,) [N m], where the stop has to end at it."""
        if np.isfinite(gravity).all():
            self._gravity, self._gravity_heard = gravity, now

    def note_birth(self) -> None:
        """Take note that the node's process is there."""
        self._dead = False

    def note_death(self) -> bool:
        """Take note that the node's process has ended; return whether a stop sequence begins."""
        self._dead = True
        return self._begin("the node's process has ended")

    def check_silence(self, now: float) -> bool:
        """
        Return whether a stop sequence begins because commands have ceased.

        A node that has ended its own stop sequence is silent rightly: its last command is where
        the sequence ends. One whose gravity terms still come is alive and silent on purpose.
        """
        if not self._silence:
            return False
        silent = now - max(self._heard, self._gravity_heard)
        if not self._silence < silent < np.inf:
            return False
        return self._begin(
            f'no command came for {1e3 * silent:.0f} ms, and the last one still acts'
        )

    def step(self, elapsed: float) -> Array | None:
        """
        Return the next torque of the stop sequence, or None when it has ended.

        Parameters
        ----------
        elapsed : float
            Time since the torque before it [s]; at most 1 ms of it counts.

        """
        goal = self._goal()
        if self.state is KeeperState.WATCHING or self._last is None or goal is None:
            return None
        if np.array_equal(self._last, goal):
            self.state = KeeperState.WATCHING
            return None
        limiter = TorqueLimiter(np.full(len(goal), np.inf), np.full(len(goal), MOST_RATE))
        self._last = limiter.limit(goal, self._last, elapsed).torque
        return self._last

    def _goal(self) -> Array | None:
        """Return where the stop ends, or None where nothing is known that could be better."""
        if self._last is None:
            return None
        if self._stop is Stop.ZERO:
            return np.zeros_like(self._last)
        gravity = self._gravity
        return gravity if gravity is not None and gravity.shape == self._last.shape else None

    def _begin(self, reason: str) -> bool:
        goal = self._goal()
        if (
            self.state is KeeperState.STOPPING
            or self._last is None
            or goal is None
            or np.array_equal(self._last, goal)
        ):
            return False
        self.state, self.reason, self._late = KeeperState.STOPPING, reason, 0
        return True
