# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Nodes as processes that begin where `python -m` has imported what they need.

Importing takes most of each start, and hundreds of nodes start here. So one process, which is
this file as a script, imports all of it and only waits: each node is a copy of it, which runs the
module's `main` with its own arguments, output, folder and signals. It has no thread but those of
LTTng, which sleep, and which no copy has.
"""

import atexit
from contextlib import suppress
import gc
from importlib import import_module
import json
import os
from pathlib import Path
import select
import signal
import socket
import subprocess
import sys
from typing import ClassVar
from warnings import catch_warnings, simplefilter

ROOT = Path(__file__).parents[2]
NODES = (
    'feedforward_node',
    'gazebo_direct_node',
    'simulator_node',
    'trajectory_action_node',
)
# Modules that the nodes import later, if they are installed.
LATER = ('mujoco', 'rosidl_generator_py')
_MOST_BYTES = 1 << 16
# pytest changes this variable with every test, and no node reads it.
_IGNORED = 'PYTEST_CURRENT_TEST'


class ForkedNode:
    """A node as a process, with the part of the interface of subprocess.Popen that tests use."""

    _origin: ClassVar['_Origin | None'] = None

    def __init__(self, module, arguments, output, environment) -> None:
        if ForkedNode._origin is None:
            ForkedNode._origin = _Origin(environment)
        self.pid = ForkedNode._origin.copy(module, arguments, output)
        self.returncode: int | None = None

    @classmethod
    def can_be(cls, module, environment) -> bool:
        """Return whether such a node would be the same as one started in the usual way."""
        return module in NODES and (
            cls._origin is None or cls._origin.environment == _without_test(environment)
        )

    def send_signal(self, number) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def poll(self) -> int | None:
        if self.returncode is None:
            self._take(os.waitpid(self.pid, os.WNOHANG))
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        if self.poll() is None:
            ended = os.pidfd_open(self.pid)
            try:
                if not select.select([ended], [], [], timeout)[0]:
                    raise subprocess.TimeoutExpired(str(self.pid), timeout)
            finally:
                os.close(ended)
            self._take(os.waitpid(self.pid, 0))
        return self.returncode

    def _take(self, ended: tuple[int, int]) -> None:
        pid, status = ended
        if pid:
            self.returncode = os.waitstatus_to_exitcode(status)


class _Origin:
    """The process that is forked for each node; it lives as long as this process."""

    def __init__(self, environment) -> None:
        self.environment = _without_test(environment)
        self._channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, str(Path(__file__)), str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                env=environment,
            )
        from ..processes import KEPT  # which a script cannot import

        KEPT.add(self._process.pid)
        atexit.register(self.close)

    def close(self) -> None:
        """Let the process end."""
        self._channel.close()
        self._process.wait()

    def copy(self, module, arguments, output) -> int:
        """Return the number of a new process, which is a child of this one."""
        request = json.dumps([module, arguments, os.getcwd()]).encode()
        socket.send_fds(self._channel, [request], [output.fileno()])
        return int(self._channel.recv(_MOST_BYTES))


def _without_test(environment) -> dict[str, str]:
    return {name: value for name, value in environment.items() if name != _IGNORED}


def _copies(channel):
    """Copy this process on request; return, in a copy, the function that it shall run."""
    while True:
        request, files, *_ = socket.recv_fds(channel, _MOST_BYTES, 1)
        if not request:
            return lambda: 0  # the process of the tests has ended
        told, tell = os.pipe()
        with catch_warnings():
            simplefilter('ignore', DeprecationWarning)  # Python 3.12's, of LTTng's threads
            between = os.fork()
            # A fork of the fork: its parent ends at once, so that the process of the tests adopts
            # it.
            pid = os.fork() if between == 0 else None
        if between == 0:
            if pid:
                os.write(tell, str(pid).encode())
                os._exit(0)
            os.close(told)
            os.close(tell)
            channel.close()
            return _node(*json.loads(request), files[0])
        os.close(tell)
        os.close(files[0])
        os.waitpid(between, 0)
        channel.send(os.read(told, 100))
        os.close(told)


def _node(name, arguments, folder, output):
    """Return a node's function in a process that is as one that has just imported it."""
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.close(output)
    os.chdir(folder)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    module = import_module(f'franka_dynamics.ros.{name}')
    sys.argv = [module.__file__, *arguments]
    return module.main


def _run(number: int) -> int:
    # Ctrl-C in a terminal reaches this process too; it ends with the tests.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.path[0] = str(ROOT)
    with socket.socket(fileno=number) as channel:
        for name in NODES:
            import_module(f'franka_dynamics.ros.{name}')
        for name in LATER:
            with suppress(ImportError):
                import_module(name)
        # The garbage collector need not search, and thereby copy, the imported objects in each
        # fork.
        gc.collect()
        gc.freeze()
        run = _copies(channel)
    return run()


if __name__ == '__main__':
    sys.exit(_run(int(sys.argv[1])))
