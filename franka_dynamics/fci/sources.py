# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What is commanded: torques from outside, or the feedforward inside the loop."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from .connection import FciReading
from ..control.cycle_result import Cycle, Mode
from ..control.feedforward import FeedforwardController
from ..control.gravity_monitor import gravity_share
from ..control.limits import LONGEST_STEP_S
from ..control.possible_motion import Condition
from ..control.rivals import PublisherCounts
from ..errors import CommandRefusedError
from ..typing import Array

_SHARE = 0.5  # of g(q): a command that carries it is one that compensates gravity
_STILL = 0.05  # [rad/s] an arm that is not moved on purpose
# While torques are commanded: as many cycles in a row. An arm that accelerates on purpose may
# point its torque along g(q) for a moment; a compensation of gravity does so all the time.
_LONGEST_SHARE = 20


class TorqueSource(ABC):
    """
    Who decides what is commanded. Gravity and friction are the robot's, never the source's.

    Every state goes through the controller and its guards. `reason` says why nothing is
    commanded, and `fault` what must be acknowledged by `clear_fault` before anything is again.

    Parameters
    ----------
    controller : FeedforwardController
        With target `fci`: no gravity but what the robot does not know of.

    """

    def __init__(self, controller: FeedforwardController) -> None:
        self.controller = controller
        self.cycle: Cycle | None = None
        self.reason = 'no state has been read'
        self.fault = ''

    @abstractmethod
    def observe(self, reading: FciReading, stamp: float, now: float) -> bool:
        """
        Take a state while idle; return whether to begin commanding.

        `stamp` is the state's and `now` the steady clock's time [s].
        """

    @abstractmethod
    def begin(self) -> None:
        """Take note that commands go out from now on."""

    @abstractmethod
    def torque(self, reading: FciReading, stamp: float, now: float) -> Array | None:
        """
        Return the torque desired, shape (n,) [N m], or None to stop, with `reason` saying why.

        `stamp` is the state's and `now` the steady clock's time [s].
        """

    @abstractmethod
    def stop(self, reason: str) -> None:
        """Take the torque back, and return None from `torque` once nothing more is to be done."""

    @abstractmethod
    def end(self) -> None:
        """Take note that commands do not go out any more."""

    def clear_fault(self) -> None:
        """Forget what ended the last motion; models that differ stay a fault for good."""
        self.controller.clear_fault()
        self.fault = self.controller.conflict

    def monitor(self) -> None:
        """Let the controller see who carries the arm, once the torque is out; take its faults."""
        if self.cycle is not None:
            self.controller.update_monitors(self.cycle)
            self.fault = self.controller.conflict or self.fault

    def _observe(self, reading: FciReading, stamp: float, now: float) -> Cycle:
        self.cycle = self.controller.cycle(
            stamp, reading.q, reading.dq, now, effort=reading.effort
        )
        if not self.cycle.observation.valid:  # one sent again is none
            self.controller.check_silence(now)
        return self.cycle


class CommandSource(TorqueSource):
    """
    Torques that somebody else computes.

    Parameters
    ----------
    controller : FeedforwardController
        As for every source; it is never enabled and commands nothing itself.
    timeout : float
        Silence after which a command is no longer followed [s].

    """

    def __init__(self, controller: FeedforwardController, timeout: float) -> None:
        super().__init__(controller)
        self._timeout = timeout
        self._effort = controller.description.limit('effort')
        self._command: Array | None = None
        self._arrival = -np.inf
        self._publishers = PublisherCounts()
        self._carrying_gravity = 0
        self.reason = 'no command has arrived'

    def clear_fault(self) -> None:
        """Forget what ended the last motion, and the commands before it."""
        super().clear_fault()
        self._command = None
        self._publishers = PublisherCounts()

    def take(self, command: Array, now: float, number: int | None = None) -> None:
        """
        Take a command, shape (7,) [N m], that arrived at `now` (steady clock, [s]).

        Parameters
        ----------
        command : ndarray
            The torques of a message.
        now : float
            When it arrived.
        number : int, optional
            Its publisher's count of messages, where the middleware gives it.

        Raises
        ------
        CommandRefusedError
            If it has not seven finite values within the torque limits, or a second publisher
            sends too. No earlier command is followed any more then, until `clear_fault`.

        """
        try:
            self._require_usable(command)
            self._require_one_publisher(number)
        except CommandRefusedError as error:
            self._command, self.fault = None, str(error)
            raise
        self._command, self._arrival = command, now

    def observe(self, reading: FciReading, stamp: float, now: float) -> bool:
        """Return whether a fresh command without gravity waits."""
        cycle = self._observe(reading, stamp, now)
        if self._command is None or now - self._arrival > self._timeout:
            self.reason = 'no command has arrived'
            return False
        if cycle.observation.condition is not Condition.TRUSTED:
            self.reason = cycle.observation.reason
            return False
        share = self._gravity_share(cycle)
        if share > _SHARE and np.abs(reading.dq).max() < _STILL:
            self.reason = f'refused: {_carries_gravity(share)}'
            return False
        return True

    def begin(self) -> None:
        """Count anew how long commands carry gravity."""
        self._carrying_gravity = 0

    def torque(self, reading: FciReading, stamp: float, now: float) -> Array | None:
        """Return the newest command, shape (n,) [N m], or None when it may not be followed."""
        cycle = self._observe(reading, stamp, now)
        silence = now - self._arrival
        if self.fault:
            self.reason = self.fault
        elif self._command is None or silence > self._timeout:
            self.reason = (
                f'stale command: none came for {1e3 * silence:.0f} ms; is its publisher running?'
            )
        elif cycle.observation.condition is not Condition.TRUSTED:
            self.reason = cycle.observation.reason
        else:
            share = self._gravity_share(cycle)
            if cycle.observation.valid:  # one sent again says nothing
                self._carrying_gravity = self._carrying_gravity + 1 if share > _SHARE else 0
            if self._carrying_gravity < _LONGEST_SHARE:
                return self._command
            self.reason = self.fault = _carries_gravity(share)
        self._command = None
        return None

    def stop(self, reason: str) -> None:
        """Follow no command any more; the arm is whoever's who sent them."""
        self._command, self.reason = None, reason

    def end(self) -> None:
        """Forget the command, so that the next motion begins with a new one."""
        self._command = None

    def _require_usable(self, command: Array) -> None:
        names = self.controller.description.joint_names
        if command.shape != (len(names),):
            raise CommandRefusedError(
                f'a command of {command.size} values; {len(names)} torques are needed, in the '
                f'order {", ".join(names)}'
            )
        # Written so that a NaN is found.
        unusable = ~(np.abs(command) <= self._effort)
        if unusable.any():
            joint = int(np.argmax(unusable))
            raise CommandRefusedError(
                f'a command of {command[joint]:.4g} N m for {names[joint]}, whose limit is '
                f'{self._effort[joint]:g} N m; it is not followed in part either'
            )

    def _require_one_publisher(self, number: int | None) -> None:
        if number is not None and self._publishers.add(number):
            raise CommandRefusedError(
                'more than one publisher sends commands, and their torques would take turns; '
                'stop all but one'
            )

    def _gravity_share(self, cycle: Cycle) -> float:
        """Return the share of the robot's own g(q) in the command, beyond what is left to us."""
        if cycle.gravity is None or self._command is None:
            return 0.0
        left = self.controller.terms.gravity_left_to_us(cycle.q, cycle.gravity)
        return gravity_share(self._command - left, cycle.gravity - left)


class FeedforwardSource(TorqueSource):
    """A feedforward controller, fed with each state in the cycle it arrives."""

    def __init__(self, controller: FeedforwardController) -> None:
        super().__init__(controller)
        self._last = np.zeros(controller.description.n)

    def observe(self, reading: FciReading, stamp: float, now: float) -> bool:
        """Return whether the states are trusted."""
        cycle = self._observe(reading, stamp, now)
        self.reason = self.controller.conflict or cycle.observation.reason
        return cycle.observation.condition is Condition.TRUSTED and self.controller.ready

    def begin(self) -> None:
        """Let the controller compute commands."""
        self._last = np.zeros_like(self._last)
        self.controller.enable()

    def torque(self, reading: FciReading, stamp: float, now: float) -> Array | None:
        """Return the controller's command, shape (n,) [N m], or None when it gives none."""
        cycle = self._observe(reading, stamp, now)
        if cycle.command is not None:
            self._last = cycle.command
        elif self.controller.mode not in (Mode.RUNNING, Mode.BRAKING):
            self.reason = self.controller.stop_reason or cycle.observation.reason
            return None
        return self._last  # once more for a repeated state

    def stop(self, reason: str) -> None:
        """Let the controller brake the arm to rest if it moves."""
        self.controller.disable(reason)

    def end(self) -> None:
        """Take the controller through its stop sequence at once: nothing is commanded any more."""
        self.controller.disable(self.reason, brake=False)
        while self.controller.stop_step(LONGEST_STEP_S) is not None:
            pass


def _carries_gravity(share: float) -> str:
    return (
        f'the command carries {share:.0%} of g(q), which the robot already carries itself; '
        'command no gravity (the feedforward node: target fci)'
    )
