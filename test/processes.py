# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Runs Python, waits for processes, and ends processes that a test left running."""

from collections.abc import Iterator
from contextlib import contextmanager
import ctypes
import os
from pathlib import Path
import signal
import subprocess
import sys
import time

import pytest

# Tests wait this long only if processes are left; a browser's processes end late.
GRACE_S = 20.0
_PR_SET_CHILD_SUBREAPER = 36  # linux/prctl.h
# Helpers that Python keeps for the life of a process.
_PYTHONS_OWN = ('multiprocessing.resource_tracker', 'multiprocessing.forkserver')

# Of a single wait; only reached when something is broken.
TIMEOUT_S = 120.0
ROOT = Path(__file__).parents[1]
PYTHONPATH = os.pathsep.join([str(ROOT), os.environ.get('PYTHONPATH', '')])


def start_python(*words, environment=(), **options) -> subprocess.Popen:
    """Start Python, which finds this package; Ctrl-C interrupts it, its output goes to pipes."""
    pipes = {'stdout': subprocess.PIPE, 'stderr': subprocess.PIPE}
    return subprocess.Popen(
        [sys.executable, *map(str, words)],
        text=True,
        env={**os.environ, 'PYTHONPATH': PYTHONPATH, **dict(environment)},
        **{**pipes, **options},
    )


@contextmanager
def background(*words, **options) -> Iterator[subprocess.Popen]:
    """Start Python as `start_python` does; kill it at the end, if it still runs."""
    with start_python(*words, **options) as process:
        try:
            yield process
        finally:
            process.kill()


def run_python(*words, cwd=None, stdout=subprocess.PIPE, **environment) -> tuple[int, str, str]:
    """Run Python as `start_python` does; return its exit status, output and errors."""
    with background(*words, environment=environment, cwd=cwd, stdout=stdout) as process:
        output, errors = process.communicate(timeout=TIMEOUT_S)
    return process.returncode, output, errors


def printed(*words, **given) -> str:
    """Run Python, which must end without an error; return its output."""
    status, output, errors = run_python(*words, **given)
    assert status == 0, errors
    return output


def until(done, what, *, process=None, said=lambda: '', timeout=TIMEOUT_S):
    """Wait until `done` returns something true, and return it; or fail with what is said."""
    give_up = time.monotonic() + timeout
    while not (result := done()):
        assert time.monotonic() < give_up, f'never happened: {what}; {said()}'
        assert process is None or process.poll() is None, f'ended before: {what}; {said()}'
        time.sleep(0.02)
    return result


@contextmanager
def failing_after(seconds: float) -> Iterator[None]:
    """Fail the test, in the line that it has come to, if what is done within takes longer."""

    def fail(_number, _frame):
        pytest.fail(f'not done after {seconds:g} s')

    before = signal.signal(signal.SIGALRM, fail)
    left, _ = signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, left)
        signal.signal(signal.SIGALRM, before)


def take_charge():
    """
    Let children begin with Ctrl-C at work, and let orphans among them come to this process.

    A background shell ignores SIGINT, and children inherit that; a signal that is handled here
    is back at its default in them.
    """
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def descendants(of):
    """Return the command lines of a process's running descendants, by process number."""
    parents = {}
    commands = {}
    for entry in Path('/proc').iterdir():
        if not entry.name.isdecimal():
            continue
        try:
            state, parent = (entry / 'stat').read_text().rpartition(')')[2].split()[:2]
            command = (entry / 'cmdline').read_text().replace('\0', ' ').strip()
        except OSError:
            continue  # it has just ended
        if state != 'Z':
            parents[int(entry.name)] = int(parent)
            commands[int(entry.name)] = command
    found = set()
    new = {of}
    while new := {number for number, parent in parents.items() if parent in new} - found:
        found |= new
    return {
        number: commands[number]
        for number in found
        # A copy of the fork server, such as a node, has the command line of its parent.
        if not any(name in commands[number] for name in _PYTHONS_OWN)
        or commands[number] == commands.get(parents[number])
    }


def still_running(before, grace=GRACE_S):
    """Wait for new descendants of this process to end; return the remaining ones."""
    give_up = time.monotonic() + grace
    while True:
        left = {n: text for n, text in descendants(os.getpid()).items() if n not in before}
        if not left or time.monotonic() > give_up:
            return left
        time.sleep(0.05)


def kill_all(processes):
    """Kill processes that have not ended yet."""
    for number in processes:
        try:
            os.kill(number, signal.SIGKILL)
        except ProcessLookupError:
            pass
