# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Who may command a topic: one process at a time, by locks that the kernel releases at its death.

A small file in shared memory stands for one command topic of one ROS domain on one machine. Its
locks say who may publish, its bytes what was published last and where a stop would end: so a
keeper can take a torque back without having heard a message, and never beside a living writer.
docs/reference/writers.md has the states and who changes them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import IntEnum
import fcntl
import hashlib
import mmap
import os
from pathlib import Path
import stat
import struct
import tempfile
import time
from typing import NamedTuple

import numpy as np

from ..errors import LeaseError
from ..typing import Array

_MOST_JOINTS = 32
_MAGIC = b'franka_dynamics1'
_LAYOUT = np.dtype(
    [
        ('magic', 'S16'),
        ('name', 'S64'),  # of the node that holds it
        ('state', 'u4'),
        ('generation', 'u4'),  # counts activations
        ('process', 'i8'),  # which holds it, as numbered in this namespace:
        ('namespace', 'u8'),
        ('time', 'f8'),
        ('joints', 'u8'),  # 0 before the first torque
        ('torque', 'f8', _MOST_JOINTS),
        ('rest', 'f8', _MOST_JOINTS),
        ('rate', 'f8', _MOST_JOINTS),
    ]
)
_STATE, _STATE_AT = struct.Struct('=II'), 16 + 64  # and generation, behind magic and name
# How long an activation waits for one who is about to let go, or takes a torque back.
_PATIENCE_S, _STEP_S = 0.5, 2e-3


class LeaseState(IntEnum):
    """Whose torque acts on the topic."""

    ENDED = 0  # nobody's: none yet, or the stop sequence has ended
    COMMANDING = 1  # the holder's
    TAKEN = 2  # the keeper's, who takes the holder's back


class Lock(IntEnum):
    """
    The bytes of the file that are locked, one by one.

    The holder's from activation to the orderly end; the speaker's while it is checked that nobody
    took over, noted what is published, and published; the one of the keeper that is on duty.
    """

    HOLDER = 0
    SPEAKER = 1
    DUTY = 2


class Record(NamedTuple):
    """
    What a lease says.

    `time` is the last sign of life of whoever published last (CLOCK_MONOTONIC, [s]). `torque`,
    `rest` and `rate`, shape (n,), are the last torque published, where a stop would end [N m], and
    how fast a torque may change [N m/s]; n is 0 before the first.
    """

    state: LeaseState
    name: str
    process: int
    namespace: int
    time: float
    torque: Array
    rest: Array
    rate: Array

    @property
    def acts(self) -> bool:
        """Whether a torque acts that a stop sequence would change."""
        return self.state is LeaseState.TAKEN or (
            self.state is LeaseState.COMMANDING and not np.array_equal(self.torque, self.rest)
        )


def lease_path(topic: str, domain: int) -> Path:
    """Return the file of a command topic, by its full name, in a ROS domain."""
    shared = Path('/dev/shm')
    folder = shared if shared.is_dir() else Path(tempfile.gettempdir())
    digest = hashlib.sha256(f'{domain} {topic}'.encode()).hexdigest()
    return folder / f'franka_dynamics-{os.getuid()}' / digest


def process_namespace() -> int:
    """Return a number of the namespace that this process's own number belongs to."""
    return os.stat('/proc/self/ns/pid').st_ino


class LeaseFile:
    """
    The locks and bytes of one command topic; made where there is none, and never removed.

    Parameters
    ----------
    topic : str
        The command topic, by its full name.
    domain : int
        The ROS domain.

    Raises
    ------
    LeaseError
        If the file cannot be opened, or others could write to it.

    """

    def __init__(self, topic: str, domain: int) -> None:
        self.topic, self.path = topic, lease_path(topic, domain)
        try:
            _make_private(self.path.parent)
            self._descriptor = os.open(
                self.path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600
            )
            if os.fstat(self._descriptor).st_size < _LAYOUT.itemsize:
                os.ftruncate(self._descriptor, _LAYOUT.itemsize)
            self._bytes = mmap.mmap(self._descriptor, _LAYOUT.itemsize)
        except OSError as error:
            raise LeaseError(
                f'the lease of {topic}, {self.path}, cannot be opened ({error}); make that '
                'writable: without it no keeper could take the torque back.'
            ) from error
        self.fields = np.frombuffer(self._bytes, dtype=_LAYOUT)[0]

    def close(self) -> None:
        """Let all locks go."""
        for which in Lock:
            self.unlock(which)
        os.close(self._descriptor)

    def lock(self, which: Lock, *, wait: bool = False) -> bool:
        """Lock a byte; return whether it is locked now, as it always is after `wait`."""
        command = fcntl.F_OFD_SETLKW if wait else fcntl.F_OFD_SETLK
        try:
            fcntl.fcntl(self._descriptor, command, _LOCKED[which])
        except BlockingIOError:
            return False
        return True

    def unlock(self, which: Lock) -> None:
        """Unlock a byte."""
        fcntl.fcntl(self._descriptor, fcntl.F_OFD_SETLK, _UNLOCKED[which])

    @contextmanager
    def locked(self, which: Lock) -> Iterator[None]:
        """Wait for a byte, and hold it locked."""
        self.lock(which, wait=True)
        try:
            yield
        finally:
            self.unlock(which)

    def locked_elsewhere(self, which: Lock) -> bool:
        """Return whether somebody else has locked a byte."""
        answer = fcntl.fcntl(self._descriptor, fcntl.F_OFD_GETLK, _LOCKED[which])
        return bool(struct.unpack_from('h', answer)[0] != fcntl.F_UNLCK)

    def read(self) -> Record:
        """
        Return what the bytes say; to be relied on under a lock that keeps others from writing.

        Raises
        ------
        LeaseError
            If nobody here can have written them.

        """
        fields = self.fields
        joints = int(fields['joints'])
        rows = [
            fields[name][: min(joints, _MOST_JOINTS)].copy() for name in ('torque', 'rest', 'rate')
        ]
        if not (
            bytes(fields['magic']) in (b'', _MAGIC)
            and int(fields['state']) in tuple(LeaseState)
            and joints <= _MOST_JOINTS
            and np.isfinite([fields['time'], *np.ravel(rows)]).all()
            and (rows[2] > 0.0).all()
        ):
            raise LeaseError(
                f'the lease of {self.topic} is damaged; stop what commands it, and remove '
                f'{self.path}.'
            )
        return Record(
            LeaseState(int(fields['state'])),
            bytes(fields['name']).decode(errors='replace'),
            int(fields['process']),
            int(fields['namespace']),
            float(fields['time']),
            *rows,
        )

    @property
    def state(self) -> tuple[int, int]:
        """State and generation, unchecked."""
        state, generation = _STATE.unpack_from(self._bytes, _STATE_AT)
        return state, generation

    def note_alive(self) -> None:
        """Note a sign of life."""
        self.fields['time'] = time.monotonic()

    def note(self, torque: Array, rest: Array) -> None:
        """Note a torque that is to be published, where a stop would end, and a sign of life."""
        fields, n = self.fields, len(torque)
        fields['torque'][:n], fields['rest'][:n] = torque, rest
        fields['joints'] = n
        self.note_alive()

    def begin(self, name: str, rate: Array) -> tuple[int, int]:
        """Note a new holder, this process; return state and generation."""
        fields = self.fields
        state = LeaseState.COMMANDING, (int(fields['generation']) + 1) % 2**32
        fields['rate'][: len(rate)] = rate
        fields['magic'], fields['name'] = _MAGIC, name.encode()[:64]
        fields['process'], fields['namespace'] = os.getpid(), process_namespace()
        fields['joints'] = 0
        self.note_alive()
        fields['generation'], fields['state'] = state[1], state[0]
        return int(state[0]), state[1]


def _make_private(folder: Path) -> None:
    folder.mkdir(mode=0o700, exist_ok=True)
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid() or status.st_mode & 0o077:
        raise LeaseError(
            f"{folder} is to be this user's alone (mode 0700), because who can write there can "
            'stop the arm; remove it.'
        )


def _flock(kind: int, which: Lock) -> bytes:
    """Return a struct flock of one byte."""
    return struct.pack('hhqqi4x', kind, os.SEEK_SET, which, 1, 0)


_LOCKED = {which: _flock(fcntl.F_WRLCK, which) for which in Lock}
_UNLOCKED = {which: _flock(fcntl.F_UNLCK, which) for which in Lock}


class CommandLease:
    """
    The side of the node that commands.

    Parameters
    ----------
    topic : str
        The command topic, by its full name.
    domain : int
        The ROS domain.
    name : str
        Of the node, by which others are told who commands.

    Raises
    ------
    LeaseError
        As LeaseFile.

    """

    def __init__(self, topic: str, domain: int, name: str) -> None:
        self._file = LeaseFile(topic, domain)
        self._name = name
        self._mine: tuple[int, int] | None = None  # state and generation

    @property
    def held(self) -> bool:
        """Whether this may publish, as far as it knows."""
        return self._mine is not None

    def is_kept(self) -> bool:
        """Return whether a keeper watches."""
        return self._file.locked_elsewhere(Lock.DUTY)

    def acquire(self, rate: Array) -> Array:
        """
        Become the one who may publish; return what was published last, shape (n,) [N m].

        Parameters
        ----------
        rate : ndarray, shape (n,)
            How fast a torque may change [N m/s].

        Raises
        ------
        LeaseError
            If somebody else commands, or a keeper has still to take a torque back.

        """
        give_up = time.monotonic() + _PATIENCE_S
        while refusal := self._try(rate):
            if time.monotonic() > give_up:
                raise LeaseError(refusal)
            time.sleep(_STEP_S)
        return self._before

    def _try(self, rate: Array) -> str:
        file = self._file
        before = file.read()
        if not file.lock(Lock.HOLDER):
            return (
                f'{before.name or "a keeper"} (process {before.process}) commands {file.topic}; '
                'two sources of torque would take turns. Stop it, or remap ~/command'
            )
        with file.locked(Lock.SPEAKER):
            before = file.read()
            if before.acts and self.is_kept():
                file.unlock(Lock.HOLDER)
                return (
                    f'the keeper has still to take back the torque of {before.name} on '
                    f'{file.topic}; activate again when it has'
                )
            self._before = before.torque
            self._mine = file.begin(self._name, rate)
        return ''

    def speak(self, torque: Array, rest: Array, publish: Callable[[], object]) -> bool:
        """
        Publish a torque unless a keeper took over; return whether it was published.

        Parameters
        ----------
        torque, rest : ndarray, shape (n,)
            The torque, and where a stop sequence from it would end [N m].
        publish : callable
            Sends it.

        """
        file = self._file
        file.lock(Lock.SPEAKER, wait=True)
        try:
            if self._mine is None or file.state != self._mine:
                self._mine = None
                return False
            file.note(torque, rest)
            publish()
        finally:
            file.unlock(Lock.SPEAKER)
        return True

    def note_alive(self) -> bool:
        """Let keepers know that the thread which commands goes round; False once one took over."""
        if self._mine is None:
            return True
        if self._file.state != self._mine:
            self._mine = None
            return False
        self._file.note_alive()
        return True

    def release(self) -> None:
        """Let go once the stop sequence has ended."""
        if self._mine is not None:
            with self._file.locked(Lock.SPEAKER):
                if self._file.state == self._mine:
                    self._file.fields['state'] = LeaseState.ENDED
        self._mine = None
        self._file.unlock(Lock.HOLDER)

    def close(self) -> None:
        """Let go, and close the file."""
        self.release()
        self._file.close()
