# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Real-time scheduling of a node's process, and the priorities of its threads."""

import ctypes
import os
import resource

from . import FASTDDS_PROFILE_VARIABLES
from ..constants import REALTIME_PRIORITY

# Environment variable for real-time scheduling, read before a node with parameters exists.
REALTIME_VARIABLE = 'FRANKA_DYNAMICS_REALTIME'
REALTIME_ON = 'on'
REALTIME_OFF = 'off'
# Fast DDS's environment variable for the choice of transports.
_TRANSPORTS_VARIABLE = 'FASTDDS_BUILTIN_TRANSPORTS'
_UDP_TRANSPORT = 'UDPv4'
# Flags of mlockall from <sys/mman.h>: lock present and future pages, each when first used.
_MCL_CURRENT = 1
_MCL_FUTURE = 2
_MCL_ONFAULT = 4
_SERVICE_PRIORITY_OFFSET = 10  # priority of the control thread minus that of the service thread


def request_realtime(default: str = REALTIME_ON) -> str:
    """
    Request SCHED_FIFO, unless it is switched off; return why it was refused, or ''.

    If it is granted, memory is locked against swapping, unless the user has a limit on that.

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
    if os.environ.get(REALTIME_VARIABLE, default) != REALTIME_ON:
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
        os.environ.setdefault(_TRANSPORTS_VARIABLE, _UDP_TRANSPORT)
    # An allocation beyond a limit on locked memory would fail in a control cycle, which is worse
    # than a page fault.
    unlimited = resource.getrlimit(resource.RLIMIT_MEMLOCK)[0] == resource.RLIM_INFINITY
    if unlimited or os.geteuid() == 0:
        ctypes.CDLL(None).mlockall(_MCL_CURRENT | _MCL_FUTURE | _MCL_ONFAULT)
    return ''


def lower_thread_priority() -> None:
    """Set the calling thread's priority, under SCHED_FIFO, below that of the control thread."""
    if os.sched_getscheduler(0) == os.SCHED_FIFO:
        # The thread that started this one may have a priority above REALTIME_PRIORITY.
        priority = min(REALTIME_PRIORITY, os.sched_getparam(0).sched_priority)
        lower = os.sched_param(max(1, priority - _SERVICE_PRIORITY_OFFSET))
        os.sched_setscheduler(0, os.SCHED_FIFO, lower)
