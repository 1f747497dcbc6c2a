# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
One node on two threads: the control cycle on one, services and parameters on the other.

rclpy gives a whole node to one executor. Here each of two executors is given the part of it that
is in, or not in, one callback group. On one thread a request of 100 parameters holds a torque up
for 23 ms and a trajectory of 2000 points for 63 ms, after which the arm would be stopped; on two
it is 1.5 and 3.1 ms (benchmarks/services.py, medians of 3, load 7 on two cores).
"""

from __future__ import annotations

from collections.abc import Callable
from queue import SimpleQueue
import sys
import threading
from typing import Any

from rclpy._rclpy_pybind11 import RCLError
from rclpy.exceptions import InvalidHandle
from rclpy.experimental import EventsExecutor

from .realtime import lower_priority
from ..errors import shortened

# [s] How long a thread that computes keeps the interpreter from one that must answer a state.
# From 1 ms on, torques were seen to be late; Python's own is 5 ms.
_SWITCH_INTERVAL_S = 1e-4
_LOG_PERIOD_S = 1.0


_ENTITIES = ('subscriptions', 'timers', 'services', 'clients', 'waitables', 'guards')


class NodePart:
    """The entities of a node that an executor is to serve."""

    def __init__(self, node: Any, serves: Callable[[Any], bool]) -> None:
        self._node, self._serves = node, serves
        self.executor: Any = None  # which the executor sets

    def __getattr__(self, kind: str) -> Any:
        """Return an attribute of the node; of lists of its entities only those of this part."""
        found = getattr(self._node, kind)
        return [one for one in list(found) if self._serves(one)] if kind in _ENTITIES else found


class ControlThreadCalls:
    """Calls from other threads, made one at a time between two events of the control thread."""

    def __init__(self) -> None:
        self._calls: SimpleQueue[tuple[Callable[[], Any], dict[str, Any], threading.Event]] = (
            SimpleQueue()
        )
        self._thread: int | None = None
        self._attaching = threading.Lock()
        self._wake: Callable[[], None] = lambda: None

    def attach(self, wake: Callable[[], None]) -> None:
        """Take calls from now on; this thread runs them, once `wake` has ended its waiting."""
        self._thread, self._wake = threading.get_ident(), wake

    def detach(self) -> None:
        """Take no more calls: whoever calls does it himself."""
        with self._attaching:
            self._thread = None
        while self.run_one():
            pass

    def call(self, function: Callable[[], Any]) -> Any:
        """Return what a function returns on the control thread, or raise what it raises there."""
        outcome: dict[str, Any] = {}
        done = threading.Event()
        with self._attaching:  # so that none is put where nobody takes it any more
            elsewhere = self._thread not in (None, threading.get_ident())
            if elsewhere:
                self._calls.put((function, outcome, done))
        if not elsewhere:
            return function()
        self._wake()
        done.wait()
        if 'error' in outcome:
            raise outcome['error']
        return outcome['result']

    def run_one(self) -> bool:
        """Run a call that waits, if one does; return whether one did."""
        if self._calls.empty():
            return False
        function, outcome, done = self._calls.get()
        try:
            outcome['result'] = function()
        except BaseException as error:
            outcome['error'] = error
        done.set()
        return True


class ServiceThread:
    """
    Serves a part of a node until closed, with less priority than the thread that made it.

    `run_due` is called after each event, and returns for how long nothing will be due [s].
    """

    def __init__(self, part: NodePart, run_due: Callable[[], float]) -> None:
        self._executor = EventsExecutor()
        self._executor.add_node(part)  # type: ignore[arg-type]
        self._logger, self._run_due = part.get_logger(), run_due
        self._closing = False
        self.failure: BaseException | None = None  # of a callback; nothing is served after it
        self._switch_interval = sys.getswitchinterval()
        sys.setswitchinterval(_SWITCH_INTERVAL_S)
        self._thread = threading.Thread(target=self._serve, name='services', daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End the thread."""
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
                # What somebody sent is no request or message of its type.
                self._logger.warning(
                    f'a message could not be read: {shortened(str(error), 200)}',
                    throttle_duration_sec=_LOG_PERIOD_S,
                )
            except InvalidHandle as error:
                # The other thread destroyed an entity between its event and here, as on
                # deactivation; rclpy's other executors pass that over too.
                self._logger.debug(f'what was to be served is gone: {error}')
            except BaseException as error:
                self.failure = error
                return
