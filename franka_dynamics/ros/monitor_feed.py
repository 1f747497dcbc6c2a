# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Diagnostics and torque terms of this package's nodes, read whenever `poll` is called."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from functools import partial
import math
import time
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray
from rclpy.subscription import Subscription
from sensor_msgs.msg import JointState

from .messages import seconds, taken
from .node_process import guest_node
from .qos import STATE_QOS
from .statuses import read_statuses, SIMULATED_ARM, Status

# The feedforward node's torque topics, in the order in which they are displayed.
TORQUE_TERMS = ('feedforward', 'gravity', 'coriolis', 'inertia_torque', 'external_torque')
SILENT_AFTER_S = 3.0  # time without diagnostics after which a node is silent [s]
_LIMIT = 'torque limit, '
_DIAGNOSTICS_DEPTH = 50


@dataclass
class NodeView:
    """
    The latest messages of one node.

    `name` is the node's full name without the leading slash. `statuses` maps each subject to a
    diagnostic status, `torques` each term to a torque message. `heard` is the steady-clock time of
    the latest diagnostics [s], `command_rate` the rate of published commands [Hz].
    """

    name: str
    statuses: dict[str, Status] = field(default_factory=dict)
    torques: dict[str, JointState] = field(default_factory=dict)
    heard: float = 0.0
    command_rate: float = float('nan')
    _published: tuple[float, int] | None = None

    @property
    def namespace(self) -> str:
        """The node's namespace without slashes at its ends; empty for the root."""
        return self.name.rpartition('/')[0]

    @property
    def is_arm(self) -> bool:
        """Whether the node is a feedforward node."""
        return {'Joint states', 'Command'} <= self.statuses.keys()

    @property
    def is_ours(self) -> bool:
        """Whether the node belongs to this package; other nodes publish on /diagnostics too."""
        return self.is_arm or self.is_simulated

    @property
    def is_simulated(self) -> bool:
        """Whether the node is a simulated arm."""
        return SIMULATED_ARM in self.statuses

    @property
    def torque_limits(self) -> dict[str, float]:
        """Torque limits by joint [N m]; empty until the node has published them."""
        arm = self.statuses.get('Arm')
        return (
            {}
            if arm is None
            else {
                key[len(_LIMIT) :].removesuffix(' [N m]'): float(value)
                for key, value in arm.values.items()
                if key.startswith(_LIMIT)
            }
        )

    def silent(self, now: float) -> bool:
        """Return whether the node's latest diagnostics are older than SILENT_AFTER_S."""
        return now - self.heard > SILENT_AFTER_S

    def take(self, status: Status, now: float) -> None:
        """Store one diagnostic status, and update the command rate."""
        self.statuses[status.subject] = status
        self.heard = now
        if status.subject == 'Command' and 'published' in status.values:
            published = int(status.values['published'])
            if self._published is not None and now > self._published[0]:
                before, count = self._published
                # The count of commands restarts at each activation, so it may have decreased.
                self.command_rate = max(0, published - count) / (now - before)
            self._published = (now, published)

    def number(self, subject: str, key: str) -> float:
        """Return one diagnostic value as a number; NaN if there is none."""
        status = self.statuses.get(subject)
        value = parsed(status.values.get(key, '')) if status is not None else None
        return float(value) if isinstance(value, int | float) else float('nan')

    def as_dict(self, now: float) -> dict[str, Any]:
        """Return the node's data for JSON: numbers as numbers, unknown values as null."""
        return {
            'node': self.name,
            'silent': self.silent(now),
            'command_rate_hz': finite(self.command_rate),
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
                    'effort': dict(zip(message.name, map(finite, message.effort))),
                }
                for term, message in self.torques.items()
            },
        }


def parsed(text: str) -> Any:
    """Convert a diagnostic value to a bool, a number, None for NaN or infinity, or a string."""
    if text in ('True', 'False'):
        return text == 'True'
    for kind in (int, float):
        try:
            return finite(kind(text))
        except ValueError:
            continue
    return text


def finite(value: float) -> float | None:
    """Return a number, or None for NaN and infinity, which JSON cannot express."""
    return value if math.isfinite(value) else None


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


class MonitorFeed:
    """
    Keeps NodeViews of nodes heard on /diagnostics; `nodes` are those of this package.

    `poll` reads all topics without an executor. Subscriptions to torque topics have depth 1:
    the middleware overwrites older messages, and a topic at 1 kHz costs one message per poll.

    Only nodes in `namespaces`, given without slashes at their ends, are kept; if `namespaces` is
    empty, nodes of every namespace.
    """

    def __init__(self, namespaces: Collection[str] = ()) -> None:
        self._guest = guest_node('monitor')
        self._node, _ = self._guest.__enter__()
        self._namespaces = set(namespaces)
        self._heard: dict[str, NodeView] = {}
        self._listened_to: set[str] = set()
        self._torque_topics: list[Subscription] = []
        self._diagnostics = self._node.create_subscription(
            DiagnosticArray, '/diagnostics', self._on_diagnostics, _DIAGNOSTICS_DEPTH
        )

    @property
    def nodes(self) -> list[NodeView]:
        """Nodes of this package heard so far."""
        return [node for node in self._heard.values() if node.is_ours]

    @property
    def arms(self) -> list[NodeView]:
        """Feedforward nodes heard so far."""
        return [node for node in self._heard.values() if node.is_arm]

    @property
    def complete(self) -> bool:
        """Whether feedforward nodes were heard, and each one's command rate and all its terms."""
        return bool(self.arms) and all(
            math.isfinite(node.command_rate) and set(TORQUE_TERMS) <= node.torques.keys()
            for node in self.arms
        )

    def poll(self) -> None:
        """Read all waiting diagnostics and the latest message of each torque topic."""
        while _take(self._diagnostics):
            pass
        for topic in self._torque_topics:
            _take(topic)

    def close(self) -> None:
        """Destroy the monitor's node."""
        self._guest.__exit__(None, None, None)

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        now = time.monotonic()
        for status in read_statuses(message):
            view = NodeView(status.node)
            if not status.node or (self._namespaces and view.namespace not in self._namespaces):
                continue
            view = self._heard.setdefault(status.node, view)
            view.take(status, now)
            if view.is_arm and view.name not in self._listened_to:
                self._listen_to(view)

    def _listen_to(self, view: NodeView) -> None:
        self._listened_to.add(view.name)
        for term in TORQUE_TERMS:
            self._torque_topics.append(
                self._node.create_subscription(
                    JointState,
                    f'/{view.name}/{term}',
                    partial(view.torques.__setitem__, term),
                    STATE_QOS,
                )
            )


def _take(subscription: Subscription) -> bool:
    """Call a subscription's callback with one waiting message; return whether there was one."""
    waiting = taken(subscription)
    if waiting is None:
        return False
    subscription.callback(waiting[0])
    return True
