# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A listener to other nodes' topics that takes messages only when it is polled."""

from collections.abc import Callable, Collection, Sequence
from functools import partial
import time
from typing import Any, Self

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
import numpy as np
import rclpy
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import NodeNameNonExistentError
from rclpy.signals import SignalHandlerOptions
from sensor_msgs.msg import JointState

from . import see_whole_graph
from .joint_states import JointStateReader
from .node_process import start_error_sentence
from .rclpy_private import RCLError, take_waiting_messages
from .status import NodeSnapshot, NodeStatus, TERM_HEADINGS
from .topics import DESCRIPTION_QOS, STATE_QOS, TORQUE_TYPE
from ..arrays import Array
from ..errors import JointStateError, list_text, SettingsError

_QUEUE_DEPTH = 50
_FULL_NAME_TIMEOUT_S = 1.0  # wait for a topic named without its namespace [s]
_POLL_PERIOD_S = 0.02  # between two looks while waiting [s]
_MAX_SPINS_PER_POLL = 50  # of the executor per poll, each for one message


def full_name(name: str, candidates: Collection[str], node_or_topic: str) -> str:
    """
    Return the full name that a shorter one stands for; raise SettingsError if it may be several.

    A name with a leading slash is a full name. Another name is looked up in `candidates`, full
    names: first in the root namespace, then in all others. If it is not there, the root namespace
    is assumed. Raises SettingsError, with `node_or_topic` in it, if several namespaces have it.
    """
    found = sorted(candidate for candidate in candidates if candidate.endswith(f'/{name}'))
    if name.startswith('/') or not found or f'/{name}' in found:
        return f'/{name.removeprefix("/")}'
    if len(found) > 1:
        raise SettingsError(f'{name} may be {node_or_topic}s {list_text(found)}; name it fully.')
    return found[0]


class TopicListener:
    """
    A node with an rclpy context of its own that listens to other nodes; a context manager.

    It installs no signal handlers, and has neither a log topic nor parameter services. Raises
    SettingsError if ROS cannot start it, as with a ROS_DOMAIN_ID that is no number.

    Messages and answers are taken when `poll` is called. `on_wait` is called after each poll of
    a wait; an exception that it raises ends the wait.
    """

    def __init__(self, name: str, on_wait: Callable[[], None] = lambda: None) -> None:
        """Make the listening node, in a context of its own; raise SettingsError if ROS cannot."""
        self.on_wait = on_wait
        self._messages: dict[str, Any] = {}  # messages by topic; None before the first
        self.arrival_ns = 0  # of the message that is taken, system time [ns]
        # By node; None until `heard_nodes` is called.
        self._snapshots: dict[str, NodeSnapshot] | None = None
        self._context = Context()
        see_whole_graph()
        try:
            rclpy.init(context=self._context, signal_handler_options=SignalHandlerOptions.NO)
            self.node = rclpy.create_node(
                name,
                context=self._context,
                enable_rosout=False,
                start_parameter_services=False,
            )
        except RCLError as error:
            raise SettingsError(start_error_sentence(error)) from error
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self.node)

    def __enter__(self) -> Self:
        """Return the listener."""
        return self

    def __exit__(self, *_: object) -> None:
        """Destroy the node and its context."""
        self._executor.shutdown()
        self.node.destroy_node()
        self._context.try_shutdown()

    def newest_message(
        self, message_type: type, topic: str, qos: Any = STATE_QOS, *, raw: bool = False
    ) -> Any:
        """Return a topic's newest message, bytes if `raw`, or None; at first, subscribe."""
        if topic not in self._messages:
            self._messages[topic] = None
            store_message = partial(self._messages.__setitem__, topic)
            self.node.create_subscription(message_type, topic, store_message, qos, raw=raw)
        return self._messages[topic]

    def joint_positions(self, topic: str, names: Sequence[str]) -> Array | None:
        """Return named joints' newest positions (n,) [rad or m], or None while none has come."""
        message = self.newest_message(JointState, topic)
        if message is None or not set(names) <= set(message.name):
            return None
        positions = dict(zip(message.name, message.position))
        return np.array([positions[name] for name in names])

    def latest_status(self, node_name: str) -> NodeStatus | None:
        """Return the latest status on a node's ~/status, or None; subscribe at the first call."""
        message = self.newest_message(DiagnosticStatus, f'{node_name}/status', DESCRIPTION_QOS)
        return None if message is None else NodeStatus.from_message(message)

    def heard_nodes(self) -> dict[str, NodeSnapshot]:
        """Return snapshots of the nodes heard on /diagnostics since the first call, by name."""
        if self._snapshots is None:
            self._snapshots = {}
            self.node.create_subscription(
                DiagnosticArray, '/diagnostics', self._on_diagnostics, _QUEUE_DEPTH
            )
        return self._snapshots

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        """Store the statuses of a diagnostic message by their nodes."""
        for status in map(NodeStatus.from_message, message.status):
            name = status.node_name
            snapshot = self.heard_nodes().setdefault(name, NodeSnapshot(name))
            snapshot.store_status(status, time.monotonic())

    def package_nodes(self, namespaces: Collection[str] = ()) -> list[NodeSnapshot]:
        """
        Return snapshots of this package's nodes that were heard, with the newest torques.

        `namespaces`, without slashes at their ends, selects nodes; by default all are returned.
        """
        found = [
            node
            for node in self.heard_nodes().values()
            if (node.is_feedforward_node or node.is_simulator)
            and (not namespaces or node.name.rpartition('/')[0] in namespaces)
        ]
        for node in found:
            if not node.is_feedforward_node:
                continue
            for term in TERM_HEADINGS:
                message = self.newest_message(JointState, f'/{node.name}/{term}')
                if message is not None:
                    node.torques[term] = message
        return found

    def poll(self) -> None:
        """Process waiting messages and answers, a bounded number of each, without blocking."""
        taken = take_waiting_messages(self.node, self._store_arrival_time)
        self._store_arrival_time(0)
        # Then only answers of services are left to the executor, and it takes one at a time.
        for _ in range(1 if taken else _MAX_SPINS_PER_POLL):
            self._executor.spin_once(timeout_sec=0.0)

    def _store_arrival_time(self, arrival_ns: int) -> None:
        """Store when the present message arrived, system time [ns]; 0 stands for now."""
        self.arrival_ns = arrival_ns or time.time_ns()  # not every middleware tells it

    def wait_until(self, is_done: Callable[[], bool], timeout: float) -> bool:
        """Poll until `is_done()` is True or `timeout` [s] is over; return whether it is True."""
        end = time.monotonic() + timeout
        self.poll()
        while not is_done():
            left = end - time.monotonic()
            if left <= 0.0:
                return False
            self.on_wait()
            time.sleep(min(left, _POLL_PERIOD_S))
            self.poll()
        return True

    def poll_for(self, duration: float) -> None:
        """Process messages and answers for `duration` [s], at least once."""
        self.wait_until(lambda: False, duration)

    def command_topic_of(self, node_name: str) -> str:
        """
        Return the topic on which a feedforward node publishes torques, '' if none is known.

        `node_name` is a full name. ~/command may be remapped to any topic, and it alone is of its
        message type.
        """
        namespace, _, name = node_name.rpartition('/')
        try:
            found = self.node.get_publisher_names_and_types_by_node(name, namespace or '/')
        except NodeNameNonExistentError:
            return ''
        return next((topic for topic, types in found if TORQUE_TYPE in types), '')

    def find_node_name(self, name: str, timeout: float) -> str:
        """
        Return the full name of a node that a user named, once it is found or at the time-out.

        A name without a leading slash is looked up among the discovered nodes, for at most
        `timeout` [s]. Raises SettingsError if several namespaces have it.
        """
        return self._find_full_names([name], timeout, self._node_names, 'node')[0]

    def find_topic_names(self, names: Sequence[str], timeout: float) -> list[str]:
        """
        Return the full names of topics that a user named, once all are found or at the time-out.

        A name without a leading slash is looked up among the discovered topics that somebody
        publishes, for at most `timeout` [s]. Raises SettingsError if several namespaces have it.
        """
        return self._find_full_names(names, timeout, self._published_topics, 'topic')

    def _node_names(self) -> list[str]:
        """Return the full names of all discovered nodes."""
        names: list[str] = self.node.get_fully_qualified_node_names()
        return names

    def _published_topics(self) -> list[str]:
        """Return the names of the discovered topics on which somebody publishes."""
        known = self.node.get_topic_names_and_types()
        return [name for name, _ in known if self.node.count_publishers(name)]

    def _find_full_names(
        self,
        names: Sequence[str],
        timeout: float,
        discovered: Callable[[], list[str]],
        node_or_topic: str,
    ) -> list[str]:
        """Return full names that stand in `discovered()`, once all do or at the time-out [s]."""

        def are_discovered() -> bool:
            """Return whether each name is full already, or the end of a discovered name."""
            candidates = discovered()
            return all(
                name.startswith('/')
                or any(candidate.endswith(f'/{name}') for candidate in candidates)
                for name in names
            )

        self.wait_until(are_discovered, timeout)
        candidates = discovered()
        return [full_name(name, candidates, node_or_topic) for name in names]


class ArmPositionListener(TopicListener):
    """
    A listener to the positions of one arm's joints; a context manager.

    `topic` may be named without its namespace. `problem` says why there is no newest position, ''
    if there is one. Raises SettingsError if several namespaces have the topic.
    """

    def __init__(self, joint_names: Sequence[str], topic: str) -> None:
        """Find the topic of the joint states, and subscribe."""
        super().__init__('view')
        self._reader = JointStateReader(list(joint_names))
        try:
            (self._topic,) = self.find_topic_names([topic], _FULL_NAME_TIMEOUT_S)
        except SettingsError:
            self.__exit__()
            raise
        self.problem = f'waiting for {self._topic}'

    def read_position(self) -> Array | None:
        """Return the newest positions, (n,) [rad or m], without waiting, or None."""
        self.poll()
        data = self.newest_message(JointState, self._topic, raw=True)
        if data is None:
            return None
        try:
            position = self._reader.read(data).position
        except JointStateError as error:
            self.problem = str(error)
            return None
        self.problem = ''
        if np.isfinite(position).all():
            return position
        self.problem = f'{self._topic} has positions that are not finite'
        return None
