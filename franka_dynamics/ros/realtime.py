# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Real-time scheduling and locked memory of a node's process."""

import ctypes
import os
import resource

from . import FASTDDS_PROFILE_VARIABLES
from ..names import REALTIME_PRIORITY

# Environment variable for real-time scheduling, read before a node with parameters exists.
REALTIME_VARIABLE = 'FRANKA_DYNAMICS_REALTIME'
ON, OFF = 'on', 'off'
# Fast DDS's environment variable for the choice of transports, and its value for UDP alone.
_TRANSPORTS, _UDP = 'FASTDDS_BUILTIN_TRANSPORTS', 'UDPv4'
# Flags of mlockall from <sys/mman.h>: lock present and future pages, each when first used.
_CURRENT, _FUTURE, _ON_FAULT = 1, 2, 4


def request_realtime(default: str = ON) -> str:
    """
    Request SCHED_FIFO and, if it is granted, lock memory; return why it is refused, or ''.

    Call request_realtime before rclpy.init, so that the middleware's threads inherit the
    scheduling. Without SCHED_FIFO everything works, but a busy machine delays cycles. The
    environment variable FRANKA_DYNAMICS_REALTIME (on, off) overrides `default`, for which the
    simulated arm passes off, because it can wait.

    Under SCHED_FIFO this function makes Fast DDS use UDP alone, unless environment variables set
    its transports or a profiles file: threads busy-wait for the locks of its shared memory, and
    under SCHED_FIFO they were seen to occupy every core for minutes. Under
    ROS_AUTOMATIC_DISCOVERY_RANGE=LOCALHOST the choice of UDP has no effect, because rmw_fastrtps
    then chooses the transports itself.
    """
    if os.environ.get(REALTIME_VARIABLE, default) != ON:
        return ''
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(REALTIME_PRIORITY))
    except PermissionError:
        return (
            'no real-time scheduling: this user may not use SCHED_FIFO; add '
            f'"@realtime - rtprio {REALTIME_PRIORITY}" to /etc/security/limits.conf and the user '
            'to that group, or expect late cycles on a busy machine'
        )
    except OSError as error:
        return f'no real-time scheduling: {error}'
    if not any(name in os.environ for name in FASTDDS_PROFILE_VARIABLES):
        os.environ.setdefault(_TRANSPORTS, _UDP)
    _lock_memory()
    return ''


def _lock_memory() -> None:
    """
    Lock this process's memory so that it is not swapped out, unless a limit on locking applies.

    An allocation beyond a limit would fail in a control cycle, which is worse than a page fault.
    """
    unlimited = resource.getrlimit(resource.RLIMIT_MEMLOCK)[0] == resource.RLIM_INFINITY
    if unlimited or os.geteuid() == 0:
        ctypes.CDLL(None).mlockall(_CURRENT | _FUTURE | _ON_FAULT)


_PRIORITY_STEP = 10  # priority of the control thread minus that of the service thread


def lower_priority() -> None:
    """Under SCHED_FIFO, set the calling thread's priority below that of the control thread."""
    if os.sched_getscheduler(0) == os.SCHED_FIFO:
        # The thread that started this one may have a priority above REALTIME_PRIORITY.
        priority = min(REALTIME_PRIORITY, os.sched_getparam(0).sched_priority)
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(max(1, priority - _PRIORITY_STEP)))
