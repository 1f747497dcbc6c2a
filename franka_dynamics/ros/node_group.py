# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Nodes of this package as child processes that start, are watched and end together."""

from __future__ import annotations

from collections.abc import Sequence
import ctypes
import os
from pathlib import Path
import signal
import subprocess
import sys

from ..errors import FrankaDynamicsError

_END_TIMEOUT_S = 10.0
_PR_SET_PDEATHSIG = 1  # linux/prctl.h
_LIBC = ctypes.CDLL(None)


class NodeEndedError(FrankaDynamicsError):
    """A node that was to run has ended."""


class NodeGroup:
    """
    Child processes with default signals; use as a context manager, which ends them all.

    They have sessions of their own, so that Ctrl-C in a terminal reaches them once, from here:
    the node that holds the arm ends first, while the arm still listens.

    Parameters
    ----------
    folder : Path
        Where each node's output goes, NAME.log.

    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._running: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, module: str, arguments: Sequence[str]) -> None:
        """Start a module of `franka_dynamics.ros` with ROS arguments."""
        with (self._folder / f'{module}.log').open('wb') as log:
            self._running[module] = subprocess.Popen(
                [sys.executable, '-m', f'franka_dynamics.ros.{module}', '--ros-args', *arguments],
                stdout=log,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
                preexec_fn=default_signals,
            )

    def require_all(self) -> None:
        """
        Raise if one has ended.

        Raises
        ------
        NodeEndedError
            Quoting the last line that it said.

        """
        for module, process in self._running.items():
            if process.poll() is not None:
                raise NodeEndedError(
                    f'{module} has ended with {process.returncode}: '
                    f'{last_line(self._folder / f"{module}.log")}'
                )

    def end_all(self) -> None:
        """End the nodes in the reverse order of their start, by SIGINT, then by SIGKILL."""
        while self._running:
            _, process = self._running.popitem()
            process.send_signal(signal.SIGINT)
            try:
                process.wait(_END_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def __enter__(self) -> NodeGroup:
        return self

    def __exit__(self, *_: object) -> None:
        self.end_all()


def default_signals() -> None:
    """
    Let a child begin with default signals, and interrupt it if its parent dies.

    A shell's background has SIGINT ignored. A parent that was killed ends nobody: its nodes are
    to publish their stop sequence and end all the same.
    """
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGINT, 0, 0, 0)
    # Whoever started us may have its own real-time scheduling; a child asks for its own.
    if os.sched_getscheduler(0) != os.SCHED_OTHER:
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))


def last_line(log: Path) -> str:
    """Return the last line of a log, or that there is none."""
    text = log.read_text(errors='replace').strip() if log.exists() else ''
    return text.splitlines()[-1] if text else 'it said nothing'
