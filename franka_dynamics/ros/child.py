# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
`python -m franka_dynamics.ros.child MODULE ...` runs a node as the child of another program.

The child prepares itself: Python calls a function between fork and exec unsafely in a process with
other threads, such as the middleware's.
"""

from __future__ import annotations

import ctypes
import os
import runpy
import signal
import sys

_PR_SET_PDEATHSIG = 1  # linux/prctl.h


def default_signals() -> None:
    """
    Set up this process: default SIGINT, normal scheduling, SIGINT if its parent dies.

    Background jobs of a shell ignore SIGINT, so the default is restored. If the parent is killed,
    its nodes still get SIGINT, publish their stop sequence and end.
    """
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGINT, 0, 0, 0)
    # A child must not inherit its parent's real-time scheduling, but ask for its own.
    if os.sched_getscheduler(0) != os.SCHED_OTHER:
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))


if __name__ == '__main__':
    default_signals()
    del sys.argv[0]
    runpy.run_module(f'franka_dynamics.ros.{sys.argv[0]}', run_name='__main__', alter_sys=True)
