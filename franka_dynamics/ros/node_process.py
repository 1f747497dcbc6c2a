# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The process of a node, with its start, threads, log, signals and exit code."""

from collections.abc import Callable, Sequence
import gc
import math
import os
import re
import signal
import stat
import subprocess
import sys
import threading
import time
from typing import Any

import rclpy
from rclpy.exceptions import InvalidHandle
from rclpy.executors import ExternalShutdownException
from rclpy.lifecycle import TransitionCallbackReturn
from rclpy.signals import SignalHandlerOptions
from rclpy.utilities import remove_ros_args

from . import FASTDDS_PROFILE_VARIABLES, see_whole_graph, use_fastdds_profile
from .node_entities import NodeEntities  # noqa: F401  # other modules may import it from here
from .rclpy_private import Executor, RCLError, UnknownROSArgsError
from .realtime import (
    lower_thread_priority,
    REALTIME_OFF,
    REALTIME_ON,
    REALTIME_VARIABLE,
    request_realtime,
)
from ..constants import REALTIME_PRIORITY
from ..errors import FrankaDynamicsError, list_text, SettingsError, short_text

EXIT_REFUSED = 1  # the node refused to configure or activate at autostart
EXIT_INVALID_INPUT = 2
MAX_SHUTDOWN_TIME_S = 10.0  # for braking, the stop sequence, delivery and a busy machine
# A closed terminal (SIGHUP) and Ctrl-\ (SIGQUIT), like Ctrl-C, must leave no torque on the arm.
STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
# Python's thread switch interval [s]: how long another thread may keep the interpreter while the
# control thread waits to answer a joint state. With 1 ms or more, torques were seen to be late;
# Python's default is 5 ms.
_THREAD_SWITCH_INTERVAL_S = 1e-4
_MIN_LOG_PERIOD_S = 1.0

# rcl appends its own source file and line to its messages, and what its parser looked for.
_SOURCE_LOCATION_PATTERN = re.compile(
    r', at \S+:\d+|Error: (error not set|Expected lexeme type [^,]*, [a-z0-9 ]* at index \d+)'
)


def make_log_nonblocking() -> None:
    """
    Make the log on standard error non-blocking, so that a terminal's Ctrl-S stops no thread.

    rclpy logs with Python's lock held, so that a full pipe or terminal would stop every thread,
    and a forward controller would apply the last torque for ever. A child process passes the log
    on; what it cannot pass on is lost. A log that goes to a file stays as it is, because a file
    never blocks.
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
    """A request to end the process, made by SIGINT, SIGTERM, SIGHUP or SIGQUIT."""

    def __init__(self) -> None:
        """Install the handlers of these signals."""
        self._request_time = math.inf
        for number in STOP_SIGNALS:
            signal.signal(number, self._on_signal)

    def _on_signal(self, *_: object) -> None:
        """Store the time of the first signal."""
        self._request_time = min(self._request_time, time.monotonic())

    @property
    def is_requested(self) -> bool:
        """Whether a signal has arrived."""
        return self._request_time < math.inf

    @property
    def is_shutdown_overdue(self) -> bool:
        """Whether a signal came, and 10 s have passed since the first."""
        return time.monotonic() - self._request_time > MAX_SHUTDOWN_TIME_S


def start_error_sentence(error: Exception) -> str:
    """
    Return text that explains an error of rclpy at the start of a node.

    A parameter file, a ROS argument or an environment variable such as ROS_DOMAIN_ID cannot be
    used, or SROS 2 security does not work.
    """
    reason = ' '.join(_SOURCE_LOCATION_PATTERN.sub('', str(error)).split()).rstrip('. ')
    if reason.startswith('['):  # a list of words is all that UnknownROSArgsError says
        reason = f'it does not know the words {reason} after --ros-args'
    return f'ROS starts no node: {reason}.'


def _program_name(argv: Sequence[str]) -> str:
    """Return the name of a node's program by its command line."""
    return os.path.basename(argv[0]).removesuffix('.py')


def _usage(argv: Sequence[str]) -> str:
    """Return how a node's program is called."""
    return (
        f'usage: {_program_name(argv)} --ros-args [-p NAME:=VALUE] [--params-file FILE] '
        '[-r OLD:=NEW]\n`franka-dynamics node defaults` prints the parameters.'
    )


def _require_only_ros_arguments(argv: Sequence[str]) -> None:
    """Raise SettingsError with a node's usage for words that are not ROS's, or that it refuses."""
    try:
        others = [word for word in remove_ros_args(argv)[1:] if word != '--']
    except (RCLError, UnknownROSArgsError) as error:
        raise SettingsError(f'{start_error_sentence(error)}\n{_usage(argv)}') from error
    if others:
        raise SettingsError(
            f'{_program_name(argv)} takes no words but those after --ros-args; it got '
            f'{list_text(others)}.\n{_usage(argv)}'
        )


def run_node(
    make_node: Callable[[], Any],
    run: Callable[[Any, StopRequest], int],
    args: Sequence[str] | None = None,
    realtime_default: str = REALTIME_ON,
) -> int:
    """
    Create a node and `run` it until it ends or a signal asks it to; return the exit code.

    A signal sets the StopRequest that `run` receives; rclpy's own signal handler would shut the
    context down before the stop sequence is published. The exit code is that of `run`, 0 if the
    context was shut down from outside or --help asks for the usage, or 2 if the node cannot start,
    for instance because of a wrong parameter.

    `args` is the command line; None for the process's own. `realtime_default` (REALTIME_ON or
    REALTIME_OFF) says whether to ask for SCHED_FIFO if FRANKA_DYNAMICS_REALTIME is not set.
    """
    words = list(sys.argv if args is None else args)
    if any(word in ('-h', '--help') for word in words[1:]):
        print(_usage(words))
        return 0
    try:
        _require_only_ros_arguments(words)
    except SettingsError as error:
        print(error, file=sys.stderr)
        return EXIT_INVALID_INPUT
    make_log_nonblocking()
    no_realtime = request_realtime(realtime_default)
    if not any(name in os.environ for name in FASTDDS_PROFILE_VARIABLES):
        use_fastdds_profile('fastdds_discovery.xml')
    see_whole_graph()
    try:
        return _run_until_shutdown(make_node, run, words, no_realtime)
    finally:
        # An activation froze the node, whose callbacks refer to it, and rclpy's executors refer to
        # its entities in circles. They are collected now, where nothing uses them any more, and
        # the middleware's threads end with them: one that still runs while the process unloads its
        # libraries may crash it.
        gc.unfreeze()
        gc.collect()


def _run_until_shutdown(
    make_node: Callable[[], Any],
    run: Callable[[Any, StopRequest], int],
    words: list[str],
    no_realtime: str,
) -> int:
    """Create a node, run it and shut ROS down as `run_node` says; return the exit code."""
    stop = StopRequest()
    try:
        try:
            rclpy.init(args=words, signal_handler_options=SignalHandlerOptions.NO)
            node = make_node()
        except (FrankaDynamicsError, RCLError, UnknownROSArgsError) as error:
            is_own = isinstance(error, FrankaDynamicsError)
            print(error if is_own else start_error_sentence(error), file=sys.stderr)
            return EXIT_INVALID_INPUT
        if no_realtime:
            node.get_logger().warning(no_realtime)
        elif os.sched_getscheduler(0) == os.SCHED_FIFO:
            node.get_logger().info(
                f'runs under SCHED_FIFO {REALTIME_PRIORITY}; {REALTIME_VARIABLE}={REALTIME_OFF} '
                'switches it off, `nice` does not change it'
            )
        try:
            return run(node, stop)
        except ExternalShutdownException:
            return 0
        finally:
            node.destroy_node()
    finally:
        rclpy.try_shutdown()  # `run` has ended its executors
        # Ctrl-C in a terminal reaches every process, and launch sends its own SIGINT to each:
        # without SIG_IGN a second one would kill a process whose Python has removed its handlers.
        for number in STOP_SIGNALS:
            signal.signal(number, signal.SIG_IGN)


def _run_service_thread(node: Any, stop: StopRequest) -> None:
    """
    Serve a node's services, other topics and background tasks; shut it down at a signal.

    This ends when the node's cycles have ended, too. Under SCHED_FIFO the calling thread gets a
    lower priority than the control thread.
    """
    lower_thread_priority()
    due = 0.0
    with Executor() as executor:
        executor.add_node(node.service_entities)
        while node.runs_cycles and not stop.is_requested:
            try:
                executor.spin_once(timeout_sec=due)
                due = node.run_background_tasks()
            except RCLError as error:
                # The bytes of a message or request do not have its type's format.
                text = f'a message could not be read: {short_text(str(error), 200)}'
                node.get_logger().warning(text, throttle_duration_sec=_MIN_LOG_PERIOD_S)
            except InvalidHandle as error:
                # The entity was destroyed after its event was queued. rclpy's other executors
                # ignore InvalidHandle, too.
                node.get_logger().debug(f'what was to be served is gone: {error}')
        if stop.is_requested:
            node.shut_down()


def run_lifecycle_node(node: Any, stop: StopRequest) -> int:
    """
    Run a lifecycle node until a signal, ROS's end or a failed autostart; return the exit code.

    The node must have a parameter `autostart`, and the attributes and methods of FeedforwardNode:
    `control_entities`, `service_entities`, `runs_cycles`, `should_stop`, `cycle.run_timed_tasks`,
    `run_background_tasks` and `shut_down`. This thread runs the control cycles to the end: the
    service thread shuts the node down. The exit code is 0 after an orderly end, 1 if the node
    refused to configure or activate at autostart.
    """
    failures = list[BaseException]()

    def serve() -> None:
        """Run the service thread; store an exception that ends it in `failures`."""
        try:
            _run_service_thread(node, stop)
        except BaseException as error:
            failures.append(error)

    services = threading.Thread(target=serve, name='services', daemon=True)
    sys.setswitchinterval(_THREAD_SWITCH_INTERVAL_S)
    with Executor() as cycles:
        cycles.add_node(node.control_entities)
        try:
            node.should_stop = lambda: stop.is_requested
            if node.get_parameter('autostart').value:
                for transition in (node.trigger_configure, node.trigger_activate):
                    if transition() != TransitionCallbackReturn.SUCCESS:
                        # The node has logged the reason.
                        return 0 if stop.is_requested else EXIT_REFUSED
            node.runs_cycles = True
            services.start()
            due = 0.0
            while services.is_alive() and rclpy.ok() and not stop.is_shutdown_overdue:
                cycles.spin_once(timeout_sec=due)
                due = node.cycle.run_timed_tasks()
            if failures:
                raise failures[0]
            return 0
        finally:
            node.runs_cycles = False
            if services.is_alive():
                services.join(MAX_SHUTDOWN_TIME_S)  # not for ever: a callback may hang
            if rclpy.ok():
                node.shut_down()
