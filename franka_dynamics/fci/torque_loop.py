# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The loop that answers the robot once per millisecond, from the first torque to the last."""

from __future__ import annotations

from enum import Enum

import numpy as np

from .connection import COMMUNICATION, FciConnection, FciReading
from .preflight import Preflight, PreflightVerdict
from .sources import TorqueSource
from ..control.limits import LONGEST_STEP_S, TorqueLimiter
from ..errors import FciError
from ..typing import Array

# The robot stops at a torque rate above the limit; a change at exactly the limit may round
# above it.
_RATE_SHARE = 0.999
_LONGEST_REASON = 300  # characters


class LoopState(str, Enum):
    """What the loop does with the robot."""

    IDLE = 'idle'  # states are read, nothing is commanded
    CONTROLLING = 'controlling'
    STOPPING = 'stopping'  # the source takes its torque back, then the motion ends
    FAULT = 'fault'  # the robot stopped by itself; it waits to be recovered


class TorqueLoop:
    """
    Joins a robot and a source of torques.

    Whatever the source asks for, the torque begins at zero, stays within the limits, changes by
    less than the robot's torque rate per cycle, and returns to zero before the motion ends. How an
    arm is stopped is the source's to say; what it leaves, also by an exception, which is then kept
    in `failure`, ramps to zero.

    Parameters
    ----------
    connection : FciConnection
        The robot.
    source : TorqueSource
        What to command.
    start_check : Preflight
        Which must not refuse before a motion begins.
    effort, effort_rate : ndarray, shape (7,)
        Torque limit [N m] and torque-rate limit [N m/s].

    """

    def __init__(
        self,
        connection: FciConnection,
        source: TorqueSource,
        start_check: Preflight,
        effort: Array,
        effort_rate: Array,
    ) -> None:
        self._connection, self.source, self.start_check = connection, source, start_check
        self.failure: Exception | None = None
        self._limiter = TorqueLimiter(effort, _RATE_SHARE * np.asarray(effort_rate))
        self._last = np.zeros(len(effort))
        self.state = LoopState.IDLE
        self.reason = 'not enabled'
        self.last_stop, self.stops = '', 0
        self.enabled = False
        self._asks = False  # whether the source still has something to say
        self.cut = 0  # commands cut by a limit
        self.written = 0

    @property
    def torque(self) -> Array:
        """The torque commanded last, shape (7,) [N m]."""
        return self._last

    @property
    def latched(self) -> bool:
        """Whether only `enable` brings torques back: a reflex, a refusal or the source's fault."""
        return (
            self.state is LoopState.FAULT
            or bool(self.source.fault)
            or self.start_check.result.verdict is PreflightVerdict.REFUSED
        )

    def read(self) -> FciReading:
        """
        Wait for the next state.

        Raises
        ------
        FciError
            If the connection is lost. A reflex is no error here: it leads to FAULT, and the
            next state is read.

        """
        try:
            return self._connection.read()
        except FciError as error:
            self._stopped_by_robot(error)
        return self._connection.read()

    def answer(self, reading: FciReading, stamp: float, now: float) -> None:
        """
        Command what is to be commanded from a state, if anything.

        Parameters
        ----------
        reading : FciReading
            The state just read.
        stamp : float
            Its stamp, as it is published [s].
        now : float
            Steady clock [s].

        Raises
        ------
        FciError
            If the connection is lost.

        """
        try:
            if self.state in (LoopState.CONTROLLING, LoopState.STOPPING):
                self._command(reading, stamp, now)
            else:
                self._wait(reading, stamp, now)
            if self.failure is None:
                self.source.monitor()
            if self.source.fault and self.enabled:
                self._refuse(self.source.fault)
        except FciError as error:
            self._stopped_by_robot(error)
        except Exception as error:
            self.fail(error)

    def enable(self) -> None:
        """
        Allow torques, releasing the robot from a reflex if it is in one.

        Raises
        ------
        FciError
            If the robot does not let itself be recovered.

        """
        if self.state is LoopState.FAULT:
            self._connection.recover()
            self.state = LoopState.IDLE
        if self.state is LoopState.IDLE:
            self.reason = 'waiting for something to command'
            self.start_check.restart()
        self.source.clear_fault()
        self.enabled = True

    def disable(self, reason: str) -> None:
        """Let the source stop the arm if need be, and command nothing more until enabled."""
        self.enabled = False
        if self.state is LoopState.CONTROLLING:
            self._stop(reason)
            if self.failure is None:
                self.source.stop(reason)
        elif self.state is LoopState.IDLE:
            self.reason = reason

    def fail(self, error: Exception) -> None:
        """Ramp to zero without asking the source again, after an exception anywhere."""
        self.failure = self.failure or error
        self.disable(f'{type(error).__name__}: {error}'[:_LONGEST_REASON])

    def _wait(self, reading: FciReading, stamp: float, now: float) -> None:
        """Take a state while nothing is commanded, and begin where all agree."""
        if self.failure is not None:
            return
        ready = self.source.observe(reading, stamp, now)
        if not self.enabled or self.source.fault or self.state is not LoopState.IDLE:
            return
        verdict = self.start_check.observe(reading)
        if verdict is PreflightVerdict.REFUSED:
            self._refuse(f'refused: {self.start_check.result.sentence}')
        elif not ready:
            self.reason = self.source.reason
        elif verdict is PreflightVerdict.WAITING:
            self.reason = self.start_check.result.sentence
        else:
            self._begin()

    def _refuse(self, reason: str) -> None:
        """Command nothing more until enabled again, and say so where nothing was commanded."""
        was_idle = self.state is LoopState.IDLE
        self.disable(reason)
        if was_idle:
            self.last_stop, self.stops = reason, self.stops + 1

    def _begin(self) -> None:
        self._connection.begin()
        self._last, self._asks = np.zeros_like(self._last), True
        self.source.begin()
        self.state, self.reason = LoopState.CONTROLLING, 'torques are commanded'

    def _command(self, reading: FciReading, stamp: float, now: float) -> None:
        desired = self._desired(reading, stamp, now)
        limited = self._limiter.limit(desired, self._last, LONGEST_STEP_S)
        last = not self._asks and not limited.torque.any()
        self._connection.write(limited.torque, last=last)
        self._last = limited.torque
        self.written += 1
        self.cut += bool(limited.cut_by_limit.any() or limited.cut_by_rate.any())
        if last:
            self.state = LoopState.IDLE
            self.start_check.restart()
            self._end_source()

    def _desired(self, reading: FciReading, stamp: float, now: float) -> Array:
        """Return what the source asks for, or zeros where it has nothing more to say."""
        desired, reason = None, ''
        if self._asks and self.failure is None:
            try:
                desired, reason = self.source.torque(reading, stamp, now), self.source.reason
            except Exception as error:
                # This cycle too is answered, with the first step of the ramp.
                self.fail(error)
        if desired is not None and np.isfinite(desired).all():
            return desired
        self._asks = False
        if self.state is LoopState.CONTROLLING:
            self._stop(reason if desired is None else 'the computed torque is not finite')
        return np.zeros_like(self._last)

    def _end_source(self) -> None:
        try:
            self.source.end()
        except Exception as error:
            self.failure = self.failure or error

    def _stop(self, reason: str) -> None:
        self.state, self.reason = LoopState.STOPPING, reason
        self.last_stop, self.stops = reason, self.stops + 1

    def _stopped_by_robot(self, error: FciError) -> None:
        """Go on reading after a reflex or a refusal; nothing can be done about a lost link."""
        was_commanding = self.state in (LoopState.CONTROLLING, LoopState.STOPPING)
        self.state, self.enabled = LoopState.FAULT, False
        self.reason = self.last_stop = f'{error.fault}: {error}'
        self.stops += 1
        if was_commanding:
            self._end_source()
        if error.fault == COMMUNICATION:
            raise error
