# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Runs a node as a process: its start, signals, log and exit code."""

from collections.abc import Callable, Sequence
import gc
import math
import os
import re
import signal
import stat
import subprocess
import sys
import time
from types import FrameType
from typing import Any

import rclpy
from rclpy.executors import ExternalShutdownException
from rclpy.signals import SignalHandlerOptions

from . import FASTDDS_PROFILE_VARIABLES, use_fastdds_profile
from .rclpy_private import RCLError, UnknownROSArgsError
from .realtime import OFF, ON, REALTIME_VARIABLE, request_realtime
from ..errors import FrankaDynamicsError, name_list
from ..names import REALTIME_PRIORITY

EXIT_REFUSED = 1  # the node refused to configure or activate at autostart
EXIT_INVALID_INPUT = 2
MAX_SHUTDOWN_S = 10.0  # for braking, the stop sequence, delivery and a busy machine
# A closed terminal (SIGHUP) and Ctrl-\ (SIGQUIT), like Ctrl-C, must leave no torque on the arm.
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)

# rcl appends its own source file and line to its messages.
_SOURCES = re.compile(r', at \S+:\d+|Error: error not set')


def make_log_nonblocking() -> None:
    """
    Make logging non-blocking, so that a stalled reader of the log, as after Ctrl-S, stops nothing.

    rclpy logs with Python's lock held, so that a full pipe or terminal would stop every thread,
    and a forward controller would apply the last torque for ever. A child process passes the log
    on; what it cannot pass on is lost. A file never blocks.
    """
    if stat.S_ISREG(os.fstat(2).st_mode):
        return
    os.environ.setdefault('RCUTILS_COLORIZED_OUTPUT', str(int(os.isatty(2))))
    reader, writer = os.pipe()
    # In a session of its own, so that Ctrl-C in a terminal leaves it until this process has ended.
    subprocess.Popen(['cat'], stdin=reader, stdout=2, start_new_session=True)
    os.set_blocking(writer, False)
    os.dup2(writer, 2)
    os.close(reader)
    os.close(writer)


class StopRequest:
    """Handles SIGINT, SIGTERM, SIGHUP and SIGQUIT by setting `requested`."""

    def __init__(self) -> None:
        self._since = math.inf
        for number in SIGNALS:
            signal.signal(number, self._note)

    def _note(self, _number: int, _frame: FrameType | None) -> None:
        """Store when the first signal arrived."""
        self._since = min(self._since, time.monotonic())

    @property
    def requested(self) -> bool:
        """Whether a signal has arrived."""
        return self._since < math.inf

    @property
    def shutdown_overdue(self) -> bool:
        """Whether the process still runs 10 s after the first signal."""
        return time.monotonic() - self._since > MAX_SHUTDOWN_S

    def ignore_from_now_on(self) -> None:
        """
        Ignore further signals while the process shuts down.

        Ctrl-C in a terminal reaches every process, and launch sends its own SIGINT to each:
        without SIG_IGN a second SIGINT would kill a process whose Python has removed its handlers.
        """
        for number in SIGNALS:
            signal.signal(number, signal.SIG_IGN)


def start_error_sentence(error: Exception) -> str:
    """
    Return a sentence about an error of rclpy at the start of a node.

    A parameter file, a ROS argument or an environment variable such as ROS_DOMAIN_ID cannot be
    used, or SROS 2 security does not work.
    """
    reason = ' '.join(_SOURCES.sub('', str(error)).split()).rstrip('. ')
    return f'ROS starts no node: {reason}.'


def usage_error(words: Sequence[str]) -> str:
    """Return how to start a node if its command line has words outside --ros-args, else ''."""
    program, *given = words or ['']
    others, of_ros = list[str](), False
    for word in given:
        of_ros = word == '--ros-args' or (of_ros and word != '--')
        if not of_ros and word != '--':
            others.append(word)
    if not others:
        return ''
    name = os.path.basename(program).removesuffix('.py')
    return (
        f'{name} takes no words but those after --ros-args; it got {name_list(others)}.\n'
        f'usage: {name} --ros-args [-p NAME:=VALUE] [--params-file FILE] [-r OLD:=NEW]\n'
        '`franka-dynamics node defaults` prints the parameters.'
    )


def run_node(
    make: Callable[[], Any],
    run: Callable[[Any, StopRequest], int],
    args: Sequence[str] | None = None,
    realtime: str = ON,
) -> int:
    """
    Create a node and run it until SIGINT, SIGTERM, SIGHUP or SIGQUIT; return the exit code.

    A signal sets the StopRequest that `run` receives; rclpy's own signal handler would shut the
    context down before the stop sequence is published. The exit code is that of `run`, 0 if the
    context was shut down from outside, or 2 if the node cannot start, for instance because of a
    wrong parameter.

    `args` is the command line; None for the process's own. `realtime` (ON or OFF) says whether to
    ask for SCHED_FIFO if FRANKA_DYNAMICS_REALTIME is not set.
    """
    words = list(sys.argv if args is None else args)
    if usage := usage_error(words):
        print(usage, file=sys.stderr)
        return EXIT_INVALID_INPUT
    make_log_nonblocking()
    no_realtime = request_realtime(realtime)
    if not any(name in os.environ for name in FASTDDS_PROFILE_VARIABLES):
        use_fastdds_profile('fastdds_discovery.xml')
    stop = StopRequest()
    try:
        try:
            rclpy.init(args=words, signal_handler_options=SignalHandlerOptions.NO)
            node = make()
        except (FrankaDynamicsError, RCLError, UnknownROSArgsError) as error:
            own = isinstance(error, FrankaDynamicsError)
            print(error if own else start_error_sentence(error), file=sys.stderr)
            return EXIT_INVALID_INPUT
        if no_realtime:
            node.get_logger().warning(no_realtime)
        elif os.sched_getscheduler(0) == os.SCHED_FIFO:
            node.get_logger().info(
                f'runs under SCHED_FIFO {REALTIME_PRIORITY}, which `nice` does not change; '
                f'{REALTIME_VARIABLE}={OFF} switches it off'
            )
        try:
            return run(node, stop)
        except ExternalShutdownException:
            return 0
        finally:
            node.destroy_node()
    finally:
        # `run` has ended its executors. With the node the middleware's threads have ended: one
        # that still runs while the process unloads its libraries may crash it.
        rclpy.try_shutdown()
        stop.ignore_from_now_on()
        # An activation froze the node, whose callbacks refer to it: let it be collected, and the
        # context with it.
        gc.unfreeze()
