# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Real-time scheduling for a process, where the system permits it."""

from __future__ import annotations

import os

# As ros2_control's controller manager asks for; below the kernel's own threads.
PRIORITY = 50
# No ROS parameter: it counts before there is a node.
SWITCH = 'FRANKA_DYNAMICS_REALTIME'
ON, OFF = 'on', 'off'
# Fast DDS's own choice of transports, and files that may hold one.
_TRANSPORTS, _UDP = 'FASTDDS_BUILTIN_TRANSPORTS', 'UDPv4'
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
    or just killed ones, got no time. On one machine UDP costs no more.
    """
    if os.environ.get(SWITCH, default) != ON:
        return ''
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(priority))
    except PermissionError:
        return ('no real-time scheduling: this user may not use SCHED_FIFO; add '
                f'"@realtime - rtprio {priority}" to /etc/security/limits.conf and the user to '
                'that group, or expect late cycles on a busy machine')
    except (AttributeError, OSError) as error:
        return f'no real-time scheduling: {error}'
    if not any(name in os.environ for name in _PROFILES):
        os.environ.setdefault(_TRANSPORTS, _UDP)
    return ''
