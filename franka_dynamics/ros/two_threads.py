# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Runs one node on two threads: the control cycle on one, references and services on the other.

rclpy assigns a whole node to one executor. A NodePart makes an executor serve only some of the
node's callback groups. On one thread a request with 100 parameters delays a torque by 23 ms and a
trajectory of 2000 points by 63 ms, which would stop the arm; on two threads the delays are 1.5 and
3.1 ms (benchmarks/services.py, medians of 3, load 7 on two cores).
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
import sys
import threading
from typing import Any

from rclpy._rclpy_pybind11 import RCLError
from rclpy.exceptions import InvalidHandle
from rclpy.experimental import EventsExecutor

from .realtime import lower_priority
from ..errors import shortened

# Python's thread switch interval [s]: how long another thread may keep the interpreter while the
# control thread waits to answer a joint state. With 1 ms or more, torques were seen to be late;
# Python's default is 5 ms.
_SWITCH_INTERVAL_S = 1e-4
_LOG_PERIOD_S = 1.0


_ENTITIES = ('subscriptions', 'timers', 'services', 'clients', 'waitables', 'guards')


class NodePart:
    """The subscriptions, timers, services and so on of a node that one executor serves."""

    def __init__(self, node: Any, serves: Callable[[Any], bool]) -> None:
        self._node, self._serves = node, serves
        self.executor: Any = None  # the executor sets it

    def __getattr__(self, kind: str) -> Any:
        """Return an attribute of the node; of a list of entities only what the executor serves."""
        found = getattr(self._node, kind)
        return [one for one in list(found) if self._serves(one)] if kind in _ENTITIES else found


class ControlThreadCalls:
    """Runs functions for other threads on the control thread, between that thread's events."""

    def __init__(self) -> None:
        self._calls: SimpleQueue[tuple[Callable[[], Any], Future[Any]]] = SimpleQueue()
        self._thread: int | None = None
        self._attaching = threading.Lock()
        self._wake: Callable[[], None] = lambda: None

    def attach(self, wake: Callable[[], None]) -> None:
        """Make the calling thread the control thread; `wake` must end its wait for events."""
        self._thread, self._wake = threading.get_ident(), wake

    def detach(self) -> None:
        """Run waiting functions; from now on each caller's own thread runs its function."""
        with self._attaching:
            self._thread = None
        while self.run_one():
            pass

    def call(self, function: Callable[[], Any]) -> Any:
        """Run a function on the control thread and wait; return its result or raise its error."""
        with self._attaching:  # so that no call is queued after `detach`
            elsewhere = self._thread not in (None, threading.get_ident())
            if elsewhere:
                outcome: Future[Any] = Future()
                self._calls.put((function, outcome))
        if not elsewhere:
            return function()
        self._wake()
        return outcome.result()

    def run_one(self) -> bool:
        """Run one waiting function, if there is one; return whether there was."""
        if self._calls.empty():
            return False
        function, outcome = self._calls.get()
        try:
            outcome.set_result(function())
        except BaseException as error:
            outcome.set_exception(error)
        return True


class ServiceThread:
    """
    A thread that serves part of a node until closed.

    Under SCHED_FIFO the thread has a lower priority than the control thread. `run_due` is called
    after each event and when due; it returns the time until the next call [s].
    """

    def __init__(self, part: NodePart, run_due: Callable[[], float]) -> None:
        self._executor = EventsExecutor()
        self._executor.add_node(part)  # type: ignore[arg-type]
        self._logger, self._run_due = part.get_logger(), run_due
        self._closing = False
        self.failure: BaseException | None = None  # the error of a callback that ended the thread
        self._switch_interval = sys.getswitchinterval()
        sys.setswitchinterval(_SWITCH_INTERVAL_S)
        self._thread = threading.Thread(target=self._serve, name='services', daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End the thread and wait for it."""
        self._closing = True
        self._executor.wake()
        self._thread.join()
        self._executor.shutdown()
        sys.setswitchinterval(self._switch_interval)

    def _serve(self) -> None:
        lower_priority()
        due = 0.0
        while not self._closing:
            try:
                self._executor.spin_once(timeout_sec=due)
                due = self._run_due()
            except RCLError as error:
                # The bytes of a message or request do not have its type's format.
                self._logger.warning(
                    f'a message could not be read: {shortened(str(error), 200)}',
                    throttle_duration_sec=_LOG_PERIOD_S,
                )
            except InvalidHandle as error:
                # Another thread destroyed the entity after its event was queued, as at
                # deactivation. rclpy's other executors ignore InvalidHandle, too.
                self._logger.debug(f'what was to be served is gone: {error}')
            except BaseException as error:
                self.failure = error
                return
