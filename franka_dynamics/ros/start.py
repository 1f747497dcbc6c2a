# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
How a node's process starts: entry points, signals, scheduling.

Nothing here imports ROS, which takes about a second.
"""

from __future__ import annotations

from collections.abc import Callable
import ctypes
from importlib import import_module
import os
import resource
import signal
import sys

# A closed terminal (SIGHUP) and Ctrl-\ (SIGQUIT), like Ctrl-C, must leave no torque on the arm.
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
_PR_SET_PDEATHSIG = 1  # linux/prctl.h


def end_at_once() -> None:
    """
    Let signals end this process with exit status 0 until a node handles them.

    A node's imports take about a second, and nothing has been commanded yet.
    """
    for number in SIGNALS:
        signal.signal(number, lambda *_: os._exit(0))


def _command(module: str) -> Callable[[], int]:
    def main() -> int:
        end_at_once()
        status: int = import_module(f'franka_dynamics.ros.{module}').main()
        return status

    return main


def run_child() -> int:
    """
    Run the node that the command line names, as the child of another program.

    The child prepares itself: Python calls a function between fork and exec unsafely in a process
    with other threads, such as the middleware's.
    """
    prepare_child()
    del sys.argv[0]
    return _command(sys.argv[0])()


feedforward_node = _command('feedforward_node')
gazebo_direct_node = _command('gazebo_direct_node')
simulator_node = _command('simulator_node')
trajectory_action_node = _command('trajectory_action_node')


# SCHED_FIFO priority of the control thread: that of ros2_control's controller manager.
PRIORITY = 50
# The switch is an environment variable, because it is read before a node with parameters exists.
SWITCH = 'FRANKA_DYNAMICS_REALTIME'
ON, OFF = 'on', 'off'
# Fast DDS's environment variable for the choice of transports, and its value for UDP alone.
_TRANSPORTS, _UDP = 'FASTDDS_BUILTIN_TRANSPORTS', 'UDPv4'
# Flags of mlockall from <sys/mman.h>: lock present and future pages, each when first used.
_CURRENT, _FUTURE, _ON_FAULT = 1, 2, 4
_PROFILES = ('FASTDDS_DEFAULT_PROFILES_FILE', 'FASTRTPS_DEFAULT_PROFILES_FILE')


def request_realtime(default: str = ON) -> str:
    """
    Request SCHED_FIFO; if it is granted, lock memory. Return '', or why SCHED_FIFO is refused.

    Call request_realtime before rclpy.init, so that the middleware's threads inherit the
    scheduling. Without SCHED_FIFO everything works, but a busy machine delays cycles. The
    environment variable FRANKA_DYNAMICS_REALTIME (on, off) overrides `default`, for which the
    simulated arm and the trajectory_action node pass off, because both can wait.

    Under SCHED_FIFO this function makes Fast DDS use UDP alone, unless environment variables set
    its transports or a profiles file: threads busy-wait for the locks of its shared memory, and
    under SCHED_FIFO they were seen to occupy every core for minutes. Under
    ROS_AUTOMATIC_DISCOVERY_RANGE=LOCALHOST the choice of UDP has no effect, because rmw_fastrtps
    then chooses the transports itself.
    """
    if os.environ.get(SWITCH, default) != ON:
        return ''
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(PRIORITY))
    except PermissionError:
        return (
            'no real-time scheduling: this user may not use SCHED_FIFO; add '
            f'"@realtime - rtprio {PRIORITY}" to /etc/security/limits.conf and the user to '
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
    Lock this process's memory so that it is not swapped out, unless a limit on locking applies.

    An allocation beyond a limit would fail in a control cycle, which is worse than a page fault.
    """
    unlimited = resource.getrlimit(resource.RLIMIT_MEMLOCK)[0] == resource.RLIM_INFINITY
    if unlimited or os.geteuid() == 0:
        ctypes.CDLL(None).mlockall(_CURRENT | _FUTURE | _ON_FAULT)


_BELOW_CYCLE = 10  # priority of the control thread minus that of the service thread


def lower_priority() -> None:
    """Under SCHED_FIFO, give the calling thread a lower priority than the control thread."""
    if os.sched_getscheduler(0) == os.SCHED_FIFO:
        # The thread that started this one may have a priority above PRIORITY.
        priority = min(PRIORITY, os.sched_getparam(0).sched_priority)
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(max(1, priority - _BELOW_CYCLE)))


def prepare_child() -> None:
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
