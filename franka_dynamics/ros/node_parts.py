# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
One node on two threads: the control cycle on one, services and parameters on the other.

rclpy gives a whole node to one executor. Here each of two executors is given the part of it that
is in, or not in, one callback group; so that no service, however long, is in the way of a cycle.

The cycle goes before all else where the system permits real-time scheduling.
"""

from __future__ import annotations

from collections.abc import Callable
import ctypes
import os
from queue import SimpleQueue
import resource
import sys
import threading
from typing import Any

from rclpy._rclpy_pybind11 import RCLError
from rclpy.experimental import EventsExecutor

from ..errors import shortened

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


# [s] How long a thread that computes keeps the interpreter from one that must answer a state.
# From 1 ms on, torques were seen to be late; Python's own is 5 ms.
_SWITCH_INTERVAL_S = 1e-4
_BELOW_CYCLE = 10  # priorities, under SCHED_FIFO


class NodePart:
    """
    The entities of a node that an executor is to serve.

    Parameters
    ----------
    node : Node
        Whose entities they are.
    serves : callable
        Given an entity: whether it belongs to this part.

    """

    def __init__(self, node: Any, serves: Callable[[Any], bool]) -> None:
        self._node, self._serves = node, serves
        self.executor: Any = None  # which the executor sets

    def get_logger(self) -> Any:
        """Return the node's logger, by which the executor tells a callback's exception."""
        return self._node.get_logger()

    def _of(self, entities: Any) -> list[Any]:
        return [entity for entity in list(entities) if self._serves(entity)]

    @property
    def subscriptions(self) -> list[Any]:
        """The part's subscriptions."""
        return self._of(self._node.subscriptions)

    @property
    def timers(self) -> list[Any]:
        """The part's timers."""
        return self._of(self._node.timers)

    @property
    def services(self) -> list[Any]:
        """The part's services."""
        return self._of(self._node.services)

    @property
    def clients(self) -> list[Any]:
        """The part's clients."""
        return self._of(self._node.clients)

    @property
    def waitables(self) -> list[Any]:
        """The part's waitables."""
        return self._of(self._node.waitables)

    @property
    def guards(self) -> list[Any]:
        """The part's guard conditions."""
        return self._of(self._node.guards)


class CycleCalls:
    """Calls from other threads, made one at a time between two events of the cycle's thread."""

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
        """Return what a function returns on the cycle's thread, or raise what it raises there."""
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

    Parameters
    ----------
    part : NodePart
        What is served.
    log : callable
        Given a sentence about a request that could not be read.
    run_due : callable
        Called after each event; returns for how long nothing will be due [s].

    """

    def __init__(
        self, part: NodePart, log: Callable[[str], None], run_due: Callable[[], float]
    ) -> None:
        self._executor = EventsExecutor()
        self._executor.add_node(part)  # type: ignore[arg-type]
        self._log, self._run_due = log, run_due
        self._closing = False
        self.failure: BaseException | None = None  # of a callback; nothing is served after it
        self._switch_interval = sys.getswitchinterval()
        sys.setswitchinterval(_SWITCH_INTERVAL_S)
        self._thread = threading.Thread(target=self._serve, name='services', daemon=True)
        self._thread.start()

    def wake(self) -> None:
        """Look at the node's entities anew; some have come or gone."""
        self._executor.wake()

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
                self._log(f'a message could not be read: {shortened(str(error), 200)}')
            except BaseException as error:
                self.failure = error
                return


def lower_priority() -> None:
    """
    Put this thread below the cycle's, where that is under SCHED_FIFO.

    The cycle's own may be the highest there is: libfranka raises the thread that connects.
    """
    if os.sched_getscheduler(0) == os.SCHED_FIFO:
        priority = min(PRIORITY, os.sched_getparam(0).sched_priority)
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(max(1, priority - _BELOW_CYCLE)))
