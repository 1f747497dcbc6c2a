# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
A mark of a running process that the kernel removes when the process ends, however it ends.

The commanding process listens on a Unix socket in the abstract namespace, named after its
command topic, and never accepts: the kernel completes connections by itself. It also closes them
when the process ends, by SIGKILL too, so that whoever is connected knows within a millisecond.
It costs the commanding process nothing while it runs. Both must be on one machine and in one
network namespace; elsewhere there is only the silence of the command topic to go by.
"""

from __future__ import annotations

from collections.abc import Callable
import hashlib
import os
import socket
import threading

_CONNECTIONS = 8
_RETRY_S = 0.1


def _name(topic: str) -> str:
    """Return the address of a command topic; hashed, because addresses are at most 107 bytes."""
    domain = os.environ.get('ROS_DOMAIN_ID') or '0'
    digest = hashlib.sha256(f'{domain} {topic}'.encode()).hexdigest()
    return f'\0franka_dynamics/{digest}'


class ProcessBeacon:
    """
    Is there as long as its process is.

    Parameters
    ----------
    topic : str
        The resolved name of the command topic.

    """

    def __init__(self, topic: str) -> None:
        self._socket: socket.socket | None = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self._socket.bind(_name(topic))
            self._socket.listen(_CONNECTIONS)
        except OSError:
            # Another process commands the same topic; it is found by its messages.
            self.close()

    @property
    def lit(self) -> bool:
        """Whether it can be seen; false where another process stands for the same topic."""
        return self._socket is not None

    def close(self) -> None:
        """Take it away."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None


class BeaconWatch:
    """
    Watches for a process from a thread of its own, which sleeps in the kernel.

    Parameters
    ----------
    topic : str
        The resolved name of its command topic.
    appeared, vanished : callable
        Called from that thread.

    """

    def __init__(
        self, topic: str, appeared: Callable[[], None], vanished: Callable[[], None]
    ) -> None:
        self._address = _name(topic)
        self._appeared, self._vanished = appeared, vanished
        self._closed = threading.Event()
        self._socket: socket.socket | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop watching."""
        self._closed.set()
        if self._socket is not None:
            try:
                self._socket.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass  # it was not connected
        self._thread.join()

    def _run(self) -> None:
        while not self._closed.is_set():
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
                self._socket = connection
                try:
                    connection.connect(self._address)
                    if self._closed.is_set():  # before there was a connection to shut down
                        return
                    self._appeared()
                    connection.recv(1)
                except ConnectionResetError:
                    pass  # ended before the connection was accepted, as it always is
                except OSError:
                    self._closed.wait(_RETRY_S)
                    continue
                finally:
                    self._socket = None
            if not self._closed.is_set():
                self._vanished()
