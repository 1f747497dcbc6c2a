# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
`python -m franka_dynamics.ros MODULE ...` runs a node as the child of another program.

The child prepares itself: Python calls a function between fork and exec unsafely in a process with
other threads, such as the middleware's.
"""

import runpy
import sys

from .start import prepare_child

if __name__ == '__main__':
    prepare_child()
    del sys.argv[0]
    runpy.run_module(f'franka_dynamics.ros.{sys.argv[0]}', run_name='__main__', alter_sys=True)
