# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
A node that observes others; messages are taken when its user polls.

`python -m franka_dynamics.ros.observer NODE` ends once NODE says on ~/status that the arm is held.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import partial
import math
import signal
import sys
import time
from typing import Any, Self

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
import rclpy
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.signals import SignalHandlerOptions
from sensor_msgs.msg import JointState

from .messages import DESCRIPTION_QOS, STATE_QOS
from .node_process import not_started
from .rclpy_private import RCLError, take_waiting
from .status import NodeView, Status, TORQUE_TERMS
from ..errors import listed, SettingsError

_DIAGNOSTICS_DEPTH = 50
_POLL_S = 0.02  # between two looks while waiting [s]
_MAX_SPINS = 50  # of the executor per poll, each for one message


def resolved(name: str, present: Collection[str], what: str) -> str:
    """
    Return the full name of a node or topic that a user gave.

    A name with a leading slash is a full name. Another name is looked up in `present`, full names:
    first in the root namespace, then in all others. If it is not there, the root namespace is
    assumed. Raises SettingsError, with `what` in the sentence, if several namespaces have it.
    """
    found = sorted(one for one in present if one.endswith(f'/{name}'))
    if name.startswith('/') or not found or f'/{name}' in found:
        return f'/{name.removeprefix("/")}'
    if len(found) > 1:
        raise SettingsError(
            f'{name} stands for {len(found)} {what}s here: {listed(found)}; name one of them, '
            'with its slash.'
        )
    return found[0]


class Observer:
    """
    A node of its own in a context of its own; use as a context manager.

    It installs no signal handlers, and has neither a log topic nor parameter services. Raises
    SettingsError if ROS cannot start it, as with a ROS_DOMAIN_ID that is no number.

    Messages and answers are taken when `poll` is called. `meanwhile` is called after each poll of
    a wait; an exception that it raises ends the wait.
    """

    def __init__(self, name: str, meanwhile: Callable[[], None] = lambda: None) -> None:
        self._meanwhile = meanwhile
        self._messages: dict[str, Any] = {}  # messages by topic; None before the first
        self.arrival = 0  # of the message that is taken, system time [ns]
        self._views: dict[str, NodeView] | None = None  # by node; None until it is called for
        self._context = Context()
        try:
            rclpy.init(context=self._context, signal_handler_options=SignalHandlerOptions.NO)
            self.node = rclpy.create_node(
                name, context=self._context, enable_rosout=False, start_parameter_services=False
            )
        except RCLError as error:
            raise SettingsError(not_started(error)) from error
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self.node)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._executor.shutdown()
        self.node.destroy_node()
        self._context.try_shutdown()

    def newest(self, kind: type, topic: str, qos: Any = STATE_QOS, *, raw: bool = False) -> Any:
        """Return a topic's newest message, or its bytes; None before one came after this call."""
        if topic not in self._messages:
            self._messages[topic] = None
            take = partial(self._messages.__setitem__, topic)
            self.node.create_subscription(kind, topic, take, qos, raw=raw)
        return self._messages[topic]

    def status(self, node: str) -> Status | None:
        """Return the latest typed status of a node, on ~/status; None before one has come."""
        message = self.newest(DiagnosticStatus, f'{node}/status', DESCRIPTION_QOS)
        return None if message is None else Status.read(message)

    def diagnostics(self) -> dict[str, NodeView]:
        """Return by its name each node heard on /diagnostics since the first call, of any kind."""
        if self._views is None:
            self._views = {}
            take = self._on_diagnostics
            self.node.create_subscription(
                DiagnosticArray, '/diagnostics', take, _DIAGNOSTICS_DEPTH
            )
        return self._views

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        for status in map(Status.read, message.status):
            view = self.diagnostics().setdefault(status.node, NodeView(status.node))
            view.take(status, time.monotonic())

    def nodes(self, namespaces: Collection[str] = ()) -> list[NodeView]:
        """
        Return this package's nodes that were heard, feedforward nodes with their newest torques.

        With `namespaces`, given without slashes at their ends, only the nodes in those.
        """
        found = [
            one
            for one in self.diagnostics().values()
            if (one.is_arm or one.is_simulated)
            and (not namespaces or one.name.rpartition('/')[0] in namespaces)
        ]
        for one in found:
            for term in TORQUE_TERMS if one.is_arm else ():
                message = self.newest(JointState, f'/{one.name}/{term}')
                if message is not None:
                    one.torques[term] = message
        return found

    def poll(self) -> None:
        """Call the callbacks of `node` for what waits now."""
        taken = take_waiting(self.node, self._note_arrival)
        self._note_arrival(0)
        for _ in range(1 if taken else _MAX_SPINS):
            self._executor.spin_once(timeout_sec=0.0)

    def _note_arrival(self, nanoseconds: int) -> None:
        self.arrival = nanoseconds or time.time_ns()  # not every middleware tells it

    def until(self, done: Callable[[], bool], seconds: float) -> bool:
        """Poll until `done` returns True, at most `seconds`; return whether it did."""
        end = time.monotonic() + seconds
        self.poll()
        while not done():
            left = end - time.monotonic()
            if left <= 0.0:
                return False
            self._meanwhile()
            time.sleep(min(left, _POLL_S))
            self.poll()
        return True

    def wait(self, seconds: float) -> None:
        """Poll for `seconds`, at least once."""
        self.until(lambda: False, seconds)

    def find(
        self, seconds: float, node: str = '', topics: Sequence[str] = ()
    ) -> tuple[str, list[str]]:
        """
        Return the full names of a node and of topics that a user named.

        A name without a leading slash is looked up among the nodes or the published topics that
        are discovered: until all are found, but for at most `seconds` [s].
        """
        wanted, own = [(node, 'node'), *((topic, 'topic') for topic in topics)], self.node

        def present(what: str) -> list[str]:
            if what == 'node':
                nodes = own.get_node_names_and_namespaces()
                return [f'{space.rstrip("/")}/{name}' for name, space in nodes]
            known = own.get_topic_names_and_types()
            return [name for name, _ in known if own.count_publishers(name)]

        def found(name: str, what: str) -> bool:
            return name[:1] in ('', '/') or any(one.endswith(f'/{name}') for one in present(what))

        self.until(lambda: all(found(*one) for one in wanted), seconds)
        full, *others = (name and resolved(name, present(what), what) for name, what in wanted)
        return full, others


def main() -> int:
    """Wait until the node that the command line names says that the arm is held."""
    node = sys.argv[1]
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # launch ends this process so
    with Observer('waits') as observer:
        observer.until(lambda: bool((one := observer.status(node)) and one.held), math.inf)
    return 0


if __name__ == '__main__':
    sys.exit(main())
