# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
The stop sequence of a process that can no longer publish it itself.

ros2_control's forward controllers hold their last command for ever. The lease of the command
topic says what was published last, where a stop would end and how fast a torque may change; so
the torque of a node that died or stands still is taken back without a model of the arm.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
import os
import signal
import time
from typing import Any

import numpy as np

from .lease import LeaseFile, LeaseState, Lock, process_namespace, Record
from .limits import TorqueLimiter
from ..errors import LeaseError
from ..typing import Array

# [s] A look that comes later than this after the one before it finds a machine that stands still,
# and says nothing about the node's silence.
_LATE_S = 0.02


class KeeperState(str, Enum):
    """What a keeper does."""

    STANDBY = 'standby'  # another keeper watches the topic
    WATCHING = 'watching'
    STOPPING = 'stopping'  # the stop sequence is being published


class Keeper:
    """
    Watches the lease of one command topic, and takes the torque back.

    Parameters
    ----------
    topic : str
        The command topic, by its full name.
    domain : int
        The ROS domain.
    silence : float
        How long the thread that commands may stand still [s]; 0 for any time.
    publish : callable
        Publishes a torque, shape (n,) [N m], on the topic.
    logger : object
        With methods `info`, `warning` and `error` that take a sentence.

    Raises
    ------
    LeaseError
        As LeaseFile.

    """

    def __init__(
        self,
        topic: str,
        domain: int,
        silence: float,
        publish: Callable[[Array], None],
        logger: Any,
    ) -> None:
        self._file = LeaseFile(topic, domain)
        self._silence, self._publish, self._logger = silence, publish, logger
        self.state = KeeperState.STANDBY
        self._started = self._looked = self._stepped = self._began = time.monotonic()
        self._watched: int | None = None  # the generation
        self._told = ''  # of a lease that cannot be read
        self._torque = self._rest = np.zeros(0)

    def close(self) -> None:
        """Let another keeper watch."""
        self._file.close()

    def look(self) -> None:
        """Do what is due; to be called every millisecond."""
        now = time.monotonic()
        late, self._looked = now - self._looked > _LATE_S, now
        if self.state is KeeperState.STANDBY:
            if not self._file.lock(Lock.DUTY):
                return
            self.state = KeeperState.WATCHING
            self._logger.info(f'{self._file.topic} is watched')
        try:
            if self.state is KeeperState.STOPPING:
                self._step(now)
            elif self._file.lock(Lock.HOLDER):
                self._look_at_vacant(now)
            else:
                self._look_at_held(now, late)
        except LeaseError as error:
            if str(error) != self._told:
                self._logger.error(str(error))
            self._told = str(error)
        finally:
            # While it is held here nobody else can begin to command.
            if self.state is not KeeperState.STOPPING:
                self._file.unlock(Lock.HOLDER)

    def _look_at_vacant(self, now: float) -> None:
        """Stop where the last holder of the lease has left a torque behind."""
        record = self._file.read()
        if not record.acts:
            return
        if record.time < self._started:
            # Too long ago to know what acts by now: a stop might be a step.
            self._logger.error(
                f'{record.name} has ended before this keeper watched it and may have left '
                f'{_text(record.torque)} N m on {self._file.topic}: deactivate its receiver',
            )
            self._file.fields['state'] = LeaseState.ENDED
            return
        self._begin(record, now, f'{record.name} (process {record.process}) has ended')

    def _look_at_held(self, now: float, late: bool) -> None:
        """Stop where the holder of the lease stands still."""
        file = self._file
        state, generation = file.state
        if generation != self._watched:
            self._watched = generation
            record = file.read()
            self._logger.info(f'{record.name} (process {record.process}) is watched')
        taken = state == LeaseState.TAKEN  # by a keeper that has ended in the middle of a stop
        if not taken and (late or not self._silent(now)):
            return
        if not file.lock(Lock.SPEAKER):
            record = file.read()
            if not taken and record.acts:
                self._end_process(record)
            return
        try:
            record = file.read()
            who = f'{record.name} (process {record.process})'
            if record.state is LeaseState.TAKEN:
                self._begin(record, now, f'another keeper has ended while it stopped {who}')
            elif record.acts and self._silent(now):
                still = 1e3 * (now - record.time)
                self._begin(record, now, f'{who} stands still for {still:.0f} ms')
        finally:
            file.unlock(Lock.SPEAKER)

    def _silent(self, now: float) -> bool:
        """Whether the thread that commands has stood still for too long: judged here alone."""
        return 0.0 < self._silence < now - float(self._file.fields['time'])

    def _end_process(self, record: Record) -> None:
        """
        End a process that stands still in the very act of publishing.

        It cannot be told that another speaks: its message may come out at any later time. Its
        end releases the locks, and the next look finds its torque.
        """
        what = f'{record.name} (process {record.process}) stands still while it publishes'
        if record.namespace != process_namespace():
            self._logger.error(f'{what}, and cannot be ended from here: end it')
            self._silence = 0.0
            return
        try:
            process = os.pidfd_open(record.process)
        except ProcessLookupError:
            return
        try:
            # It holds the lease still, so its number is nobody else's.
            if self._file.locked_elsewhere(Lock.HOLDER):
                self._logger.error(f'{what}: it is ended')
                signal.pidfd_send_signal(process, signal.SIGKILL)
        finally:
            os.close(process)

    def _begin(self, record: Record, now: float, reason: str) -> None:
        self._file.fields['state'] = LeaseState.TAKEN
        self._file.note_alive()
        self.state = KeeperState.STOPPING
        self._torque, self._rest = record.torque, record.rest
        # No torque is too large to be taken back: the rate alone counts.
        self._limiter = TorqueLimiter(np.full(len(record.rate), np.inf), record.rate)
        self._began = self._stepped = now
        self._publish(self._torque)
        self._logger.error(
            f'{reason}: publishing the stop sequence on {self._file.topic} from '
            f'{_text(self._torque)} to {_text(self._rest)} N m',
        )

    def _step(self, now: float) -> None:
        if np.array_equal(self._torque, self._rest):
            self._file.fields['state'] = LeaseState.ENDED
            self.state = KeeperState.WATCHING
            self._logger.warning(
                f'the stop sequence ended after {1e3 * (now - self._began):.0f} ms'
            )
            return
        self._torque = self._limiter.limit(self._rest, self._torque, now - self._stepped).torque
        self._stepped = now
        self._file.note(self._torque, self._rest)
        self._publish(self._torque)


def _text(torque: Array) -> str:
    return str(np.round(torque, 3).tolist())
