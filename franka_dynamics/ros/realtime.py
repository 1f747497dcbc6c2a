# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The control cycle goes before all else, where the system permits real-time scheduling."""

from __future__ import annotations

import ctypes
import os
import resource

# As ros2_control's controller manager asks for; below the kernel's own threads.
PRIORITY = 50
# No ROS parameter: it counts before there is a node.
SWITCH = 'FRANKA_DYNAMICS_REALTIME'
ON, OFF = 'on', 'off'
# Fast DDS's own choice of transports, and files that may hold one.
_TRANSPORTS, _UDP = 'FASTDDS_BUILTIN_TRANSPORTS', 'UDPv4'
# Of mlockall, from <sys/mman.h>: what there is, what will be, and only what is really touched.
_CURRENT, _FUTURE, _ON_FAULT = 1, 2, 4
_PROFILES = ('FASTDDS_DEFAULT_PROFILES_FILE', 'FASTRTPS_DEFAULT_PROFILES_FILE')


def request_realtime(default: str = ON, priority: int = PRIORITY) -> str:
    """
    Put this process under SCHED_FIFO; return an empty text, or why it was not done.

    To be called before rclpy.init, so that the middleware's threads inherit it. Without it
    everything works, but a busy machine delays cycles. The environment variable
    FRANKA_DYNAMICS_REALTIME (on, off) overrides `default`: a simulated arm can wait, and two of
    them would leave nothing of a small machine to anybody else.

    Under SCHED_FIFO, Fast DDS is told to use UDP alone, unless the environment says otherwise.
    Its shared memory has locks that are waited for by spinning: threads under SCHED_FIFO were
    seen to spin on every core for minutes, while those that held the locks, ordinary processes
    or just killed ones, got no time. Under ROS_AUTOMATIC_DISCOVERY_RANGE=LOCALHOST rmw_fastrtps
    chooses the transports, shared memory among them, and this has no effect.
    """
    if os.environ.get(SWITCH, default) != ON:
        return ''
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(priority))
    except PermissionError:
        return (
            'no real-time scheduling: this user may not use SCHED_FIFO; add '
            f'"@realtime - rtprio {priority}" to /etc/security/limits.conf and the user to '
            'that group, or expect late cycles on a busy machine'
        )
    except (AttributeError, OSError) as error:
        return f'no real-time scheduling: {error}'
    if not any(name in os.environ for name in _PROFILES):
        os.environ.setdefault(_TRANSPORTS, _UDP)
    _lock_memory()
    return ''


def _lock_memory() -> None:
    """
    Keep the pages in use from being swapped out, where that cannot fail later.

    Under a limit, an allocation beyond it would fail in the middle of a cycle: worse than a
    page that has to be fetched.
    """
    unlimited = resource.getrlimit(resource.RLIMIT_MEMLOCK)[0] == resource.RLIM_INFINITY
    if unlimited or os.geteuid() == 0:
        ctypes.CDLL(None).mlockall(_CURRENT | _FUTURE | _ON_FAULT)


_BELOW_CYCLE = 10  # priorities, under SCHED_FIFO


def lower_priority() -> None:
    """
    Put this thread below the cycle's, where that is under SCHED_FIFO.

    The cycle's own may be the highest there is: libfranka raises the thread that connects.
    """
    if os.sched_getscheduler(0) == os.SCHED_FIFO:
        priority = min(PRIORITY, os.sched_getparam(0).sched_priority)
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(max(1, priority - _BELOW_CYCLE)))
