# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What is commanded: torques from outside, or the feedforward inside the loop."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .connection import FciReading
from ..control.feedforward import Cycle, FeedforwardController, Mode
from ..control.limits import LONGEST_STEP_S
from ..control.supervision import Condition
from ..typing import Array

# A command with this share of g(q) in it, pointing along g(q) to this misfit, is one that
# compensates gravity. Poses at which |g| is smaller show nothing.
_SHARE, _MISFIT, _LEAST_GRAVITY = 0.5, 0.35, 2.0
_STILL = 0.05  # [rad/s] an arm that is not moved on purpose


class CommandSource:
    """
    Torques that somebody else computes.

    Parameters
    ----------
    gravity : callable
        q of shape (7,) -> g(q) of shape (7,) [N m].
    timeout : float
        Silence after which a command is no longer followed [s].

    """

    def __init__(self, gravity: Callable[[Array], Array], timeout: float) -> None:
        self._gravity = gravity
        self._timeout = timeout
        self._command: Array | None = None
        self._arrival = -np.inf
        self.reason = 'no command has arrived'

    def take(self, command: Array, now: float) -> None:
        """Take a finite command of shape (7,) [N m] that arrived at `now` (steady clock, [s])."""
        self._command, self._arrival = command, now

    def observe(self, reading: FciReading, stamp: float, now: float) -> bool:
        """Return whether a fresh command waits that does not compensate gravity."""
        if self._command is None or now - self._arrival > self._timeout:
            return False
        share = gravity_share(self._command, self._gravity(reading.q))
        if share > _SHARE and np.abs(reading.dq).max() < _STILL:
            self.reason = (
                f'refused: the command carries {share:.0%} of g(q), which the robot already '
                'carries itself; command no gravity (the feedforward node: target fci)')
            return False
        return True

    def begin(self) -> None:
        """Nothing is to be prepared."""

    def torque(self, reading: FciReading, stamp: float, now: float) -> Array | None:
        """Return the newest command, or None when it has become stale."""
        silence = now - self._arrival
        if silence > self._timeout:
            self.reason = (f'stale command: none came for {1e3 * silence:.0f} ms; is its '
                           'publisher running?')
            self._command = None
            return None
        return self._command

    def end(self) -> None:
        """Forget the command, so that the next motion begins with a new one."""
        self._command = None


class FeedforwardSource:
    """
    A feedforward controller, fed with each state in the cycle it arrives.

    Parameters
    ----------
    controller : FeedforwardController
        With target `fci`: no gravity but what the robot does not know of.

    """

    def __init__(self, controller: FeedforwardController) -> None:
        self.controller = controller
        self.cycle: Cycle | None = None
        self.reason = 'no state has been read'
        self._last = np.zeros(controller.description.n)

    def observe(self, reading: FciReading, stamp: float, now: float) -> bool:
        """Return whether the states are trusted."""
        cycle = self._cycle(reading, stamp, now)
        self.reason = self.controller.conflict or cycle.observation.reason
        return cycle.observation.condition is Condition.TRUSTED and not self.controller.conflict

    def begin(self) -> None:
        """Let the controller compute commands."""
        self._last = np.zeros_like(self._last)
        self.controller.enable()

    def torque(self, reading: FciReading, stamp: float, now: float) -> Array | None:
        """Return the controller's command, or None when it gives none."""
        cycle = self._cycle(reading, stamp, now)
        if cycle.command is None and self.controller.mode is not Mode.RUNNING:
            self.reason = self.controller.stop_reason or cycle.observation.reason
            return None
        if cycle.command is None:  # a repeated state
            return self._last
        self._last = cycle.command
        return cycle.command

    def end(self) -> None:
        """Take the controller through its stop sequence at once; the loop has ramped already."""
        self.controller.disable(self.reason)
        while self.controller.stop_step(LONGEST_STEP_S) is not None:
            pass

    def _cycle(self, reading: FciReading, stamp: float, now: float) -> Cycle:
        self.cycle = self.controller.cycle(stamp, reading.q, reading.dq, now,
                                           effort=reading.effort)
        return self.cycle


def gravity_share(command: Array, gravity: Array) -> float:
    """Return the share of g(q) that a command carries; 0 where it points elsewhere."""
    square = float(gravity @ gravity)
    if square < _LEAST_GRAVITY ** 2:
        return 0.0
    share = float(command @ gravity) / square
    misfit = np.linalg.norm(command - share * gravity)
    return share if misfit <= _MISFIT * np.sqrt(square) else 0.0
