# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Observes running nodes: diagnostic statuses as data, and topics read when their reader asks.

`python -m franka_dynamics.ros.observer NODE` ends once NODE says on ~/status that the arm is held.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
import math
import signal
import sys
import time
from typing import Any, NamedTuple, Self

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
import rclpy
from rclpy.context import Context
from rclpy.signals import SignalHandlerOptions
from sensor_msgs.msg import JointState

from .messages import (
    ARM,
    COMMAND,
    DESCRIPTION_QOS,
    HELD,
    JOINT_STATES,
    seconds,
    SIMULATED_ARM,
    STATE_QOS,
    TORQUE_LIMIT,
)
from .node_process import not_started
from .rclpy_private import Poller, RCLError
from ..errors import listed, SettingsError

# Severities; the index of each is its level number in diagnostic_msgs.
LEVELS = ('OK', 'WARN', 'ERROR', 'STALE')
# The feedforward node's torque topics, in the order in which they are displayed.
TORQUE_TERMS = ('feedforward', 'gravity', 'coriolis', 'inertia_torque', 'external_torque')
SILENT_AFTER_S = 3.0  # time without diagnostics after which a node is silent [s]
_DIAGNOSTICS_DEPTH = 50
_POLL_S = 0.02  # between two looks while waiting [s]


class Status(NamedTuple):
    """
    One diagnostic status.

    This package names its statuses "node: subject". `node` is the node's full name without the
    leading slash, or '' if the status's name contains no ': '. `level` is the status's severity,
    one of LEVELS.
    """

    node: str
    subject: str
    level: str
    message: str
    values: Mapping[str, str]

    @property
    def name(self) -> str:
        """The name under which the status was published."""
        return f'{self.node}: {self.subject}' if self.node else self.subject

    @property
    def held(self) -> bool:
        """Whether it is a receiver's status that says that the arm is held."""
        return self.values.get(HELD) == 'True'


def read_status(entry: DiagnosticStatus) -> Status:
    """Return one diagnostic status as data."""
    node, found, subject = entry.name.partition(': ')
    level = dict(enumerate(LEVELS)).get(entry.level[0], 'ERROR')
    values = {pair.key: pair.value for pair in entry.values}
    return Status(node if found else '', subject or entry.name, level, entry.message, values)


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
        self._heard: dict[str, NodeView] | None = None  # by node; None before it is asked for
        self._context = Context()
        try:
            rclpy.init(context=self._context, signal_handler_options=SignalHandlerOptions.NO)
            self.node = rclpy.create_node(
                name, context=self._context, enable_rosout=False, start_parameter_services=False
            )
        except RCLError as error:
            raise SettingsError(not_started(error)) from error
        self.poller = Poller(self.node)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.poller.close()
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
        return None if message is None else read_status(message)

    def diagnostics(self) -> dict[str, NodeView]:
        """Return by its name each node heard on /diagnostics since the first call, of any kind."""
        if self._heard is None:
            self._heard = {}
            take = self._on_diagnostics
            self.node.create_subscription(
                DiagnosticArray, '/diagnostics', take, _DIAGNOSTICS_DEPTH
            )
        return self._heard

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        for status in map(read_status, message.status):
            view = self.diagnostics().setdefault(status.node, NodeView(status.node))
            view.take(status, time.monotonic())

    def statuses(self) -> dict[str, Status]:
        """Return the latest status of each name that was heard on /diagnostics."""
        views = self.diagnostics().values()
        return {one.name: one for view in views for one in view.statuses.values()}

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
        """Call the subscriptions of `node` with what waits now, at most as much as is queued."""
        self.poller.poll(self._note_arrival)

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
        asked, own = [(node, 'node'), *((topic, 'topic') for topic in topics)], self.node

        def present(what: str) -> list[str]:
            if what == 'node':
                nodes = own.get_node_names_and_namespaces()
                return [f'{space.rstrip("/")}/{name}' for name, space in nodes]
            known = own.get_topic_names_and_types()
            return [name for name, _ in known if own.count_publishers(name)]

        def found(name: str, what: str) -> bool:
            return name[:1] in ('', '/') or any(one.endswith(f'/{name}') for one in present(what))

        self.until(lambda: all(found(*one) for one in asked), seconds)
        full, *others = (name and resolved(name, present(what), what) for name, what in asked)
        return full, others


@dataclass
class NodeView:
    """
    The latest messages of one node.

    `name` is the node's full name without the leading slash. `statuses` maps each subject to a
    diagnostic status, `torques` each term to a torque message. `heard` is the steady-clock time of
    the latest diagnostics [s].
    """

    name: str
    statuses: dict[str, Status] = field(default_factory=dict)
    torques: dict[str, JointState] = field(default_factory=dict)
    heard: float = 0.0

    @property
    def is_arm(self) -> bool:
        """Whether the node is a feedforward node."""
        return {JOINT_STATES, COMMAND} <= self.statuses.keys()

    @property
    def is_simulated(self) -> bool:
        """Whether the node is a simulated arm."""
        return SIMULATED_ARM in self.statuses

    @property
    def torque_limits(self) -> dict[str, float]:
        """Torque limits by joint [N m]; empty until the node has published them."""
        values = self.statuses[ARM].values if ARM in self.statuses else {}
        before, after = TORQUE_LIMIT.split('{}')
        return {
            key.removeprefix(before).removesuffix(after): float(value)
            for key, value in values.items()
            if key.startswith(before)
        }

    def silent(self, now: float) -> bool:
        """Return whether the node's latest diagnostics are older than SILENT_AFTER_S."""
        return now - self.heard > SILENT_AFTER_S

    def take(self, status: Status, now: float) -> None:
        """Store one diagnostic status."""
        self.statuses[status.subject], self.heard = status, now

    def number(self, subject: str, key: str) -> float:
        """Return one diagnostic value as a number; NaN if there is none."""
        status = self.statuses.get(subject)
        return float('nan') if status is None else float(status.values.get(key, 'nan'))

    def as_dict(self, now: float) -> dict[str, Any]:
        """Return the node's data for JSON: numbers as numbers, unknown values as null."""
        return {
            'node': self.name,
            'silent': self.silent(now),
            'torque_limits': self.torque_limits,
            'statuses': {
                subject: {
                    'level': status.level,
                    'message': status.message,
                    'values': {key: parsed(value) for key, value in status.values.items()},
                }
                for subject, status in self.statuses.items()
            },
            'torques': {
                term: {
                    'stamp': seconds(message.header.stamp),
                    'effort': dict(zip(message.name, map(_finite, message.effort))),
                }
                for term, message in self.torques.items()
            },
        }


def parsed(text: str) -> Any:
    """Convert a diagnostic value to a bool, a number, None for NaN or infinity, or a string."""
    if text in ('True', 'False'):
        return text == 'True'
    try:
        return int(text) if text.lstrip('-').isdigit() else _finite(float(text))
    except ValueError:
        return text


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None  # JSON has neither NaN nor infinity


def at_fault(nodes: Iterable[NodeView], now: float) -> list[str]:
    """Return a sentence for every silent node and for every status of level ERROR."""
    sentences = []
    for node in nodes:
        if node.silent(now):
            sentences.append(f'{node.name} has been silent for {now - node.heard:.1f} s.')
        sentences += [
            f'{node.name}: {subject}: {status.message}'
            for subject, status in node.statuses.items()
            if status.level == 'ERROR'
        ]
    return sentences


def main() -> int:
    """Wait until the node that the command line names says that the arm is held."""
    node = sys.argv[1]
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # launch ends this process so
    with Observer('waits') as observer:
        observer.until(lambda: bool((one := observer.status(node)) and one.held), math.inf)
    return 0


if __name__ == '__main__':
    sys.exit(main())
