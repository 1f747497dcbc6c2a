# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
The two threads of a lifecycle node: one for control cycles, one for services and other topics.

rclpy assigns a whole node to one executor. NodeEntities makes an executor serve only some of the
node's callback groups; of two nodes both would take the name of `-r __node:=NAME`. On one thread a
request with 100 parameters delays a torque by 23 ms and a trajectory of 2000 points by 63 ms,
which would stop the arm; on two threads the delays are 1.5 and 3.1 ms (benchmarks/services.py,
medians of 3, load 7 on two cores).
"""

from collections.abc import Callable
from concurrent.futures import Future
import sys
import threading
from typing import Any

import rclpy
from rclpy.exceptions import InvalidHandle
from rclpy.lifecycle import TransitionCallbackReturn

from .node_process import EXIT_REFUSED, lower_thread_priority, MAX_SHUTDOWN_TIME_S, StopRequest
from .rclpy_private import Executor, RCLError
from ..errors import short_text

# Python's thread switch interval [s]: how long another thread may keep the interpreter while the
# control thread waits to answer a joint state. With 1 ms or more, torques were seen to be late;
# Python's default is 5 ms.
_SWITCH_INTERVAL_S = 1e-4
_MIN_LOG_PERIOD_S = 1.0
_ENTITY_LISTS = ('subscriptions', 'timers', 'services', 'clients', 'waitables', 'guards')


class NodeEntities:
    """A view of a node with only the subscriptions, timers and services for one executor."""

    def __init__(self, node: Any, serves: Callable[[Any], bool]) -> None:
        """Show of a node's entities those for which `serves` returns True."""
        self._node, self._serves = node, serves
        self.executor: Any = None  # the executor sets it

    def __getattr__(self, kind: str) -> Any:
        """Return an attribute of the node; of its entity lists only the entities to serve."""
        found = getattr(self._node, kind)
        return [*filter(self._serves, list(found))] if kind in _ENTITY_LISTS else found


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
                node.get_logger().warning(
                    f'a message could not be read: {short_text(str(error), 200)}',
                    throttle_duration_sec=_MIN_LOG_PERIOD_S,
                )
            except InvalidHandle as error:
                # The entity was destroyed after its event was queued. rclpy's other executors
                # ignore InvalidHandle, too.
                node.get_logger().debug(f'what was to be served is gone: {error}')
        if stop.is_requested:
            node.shut_down()


def run_lifecycle_node(node: Any, stop: StopRequest) -> int:
    """
    Run a lifecycle node until a signal asks it to end, then shut it down; return the exit code.

    The node must have a parameter `autostart`, and the attributes and methods of FeedforwardNode:
    `control_entities`, `service_entities`, `runs_cycles`, `should_stop`, `cycle.run_timed_tasks`,
    `run_background_tasks` and `shut_down`. This thread runs the control cycles to the end: the
    service thread shuts the node down. The exit code is 0 after an orderly end, 1 if the node
    refused to configure or activate at autostart.
    """
    served = Future[None]()

    def serve() -> None:
        try:
            _run_service_thread(node, stop)
            served.set_result(None)
        except BaseException as error:
            served.set_exception(error)

    services = threading.Thread(target=serve, name='services', daemon=True)
    sys.setswitchinterval(_SWITCH_INTERVAL_S)
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
            while not served.done() and rclpy.ok() and not stop.is_shutdown_overdue:
                cycles.spin_once(timeout_sec=due)
                due = node.cycle.run_timed_tasks()
            if served.done():
                served.result()  # raises the error that ended the thread
            return 0
        finally:
            node.runs_cycles = False
            if services.is_alive():
                services.join(MAX_SHUTDOWN_TIME_S)  # not for ever: a callback may hang
            if rclpy.ok():
                node.shut_down()
