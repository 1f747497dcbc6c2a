# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Runs a node until its first timer interrupts it, and prints how `main` ended, as JSON.

    python test/ros/ending.py MODULE CLASS [ROS arguments]
"""

from importlib import import_module
import json
import os
from pathlib import Path
import signal
import sys


def middleware_threads() -> list[str]:
    """Return the names of Fast DDS's threads in this process."""
    names = [one.joinpath('comm').read_text().strip() for one in Path('/proc/self/task').iterdir()]
    # The watchdog of shared memory belongs to the library, and ends as the library is unloaded.
    return sorted(one for one in names if one.startswith('dds.') and one != 'dds.shm.wdog')


def main(module: str, kind: str, *arguments: str) -> None:
    """Run a node of a module of the package; print its exit status and threads."""
    program = import_module(f'franka_dynamics.ros.{module}')
    seen: list[str] = []

    class Interrupted(getattr(program, kind)):
        def __init__(self) -> None:
            super().__init__()
            # Served once the node is activated, if it activates itself.
            self.create_timer(0.02, self._interrupt)

        def _interrupt(self) -> None:
            seen[:] = middleware_threads()
            os.kill(os.getpid(), signal.SIGINT)

    setattr(program, kind, Interrupted)
    status = program.main([module, '--ros-args', *arguments])
    print(json.dumps({'status': status, 'running': seen, 'left': middleware_threads()}))


if __name__ == '__main__':
    main(*sys.argv[1:])
