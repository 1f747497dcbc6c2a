# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Listens to diagnostics and torque topics of every arm there is, without keeping up with them."""

from __future__ import annotations

from collections.abc import Collection
from functools import partial
import math
import time

from diagnostic_msgs.msg import DiagnosticArray
import rclpy
from rclpy.context import Context
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions
from rclpy.subscription import Subscription
from sensor_msgs.msg import JointState

from .messages import seconds
from .qos import STATE_QOS
from ..report.monitor import LEVELS, NodeView, Status, TORQUE_TERMS, Torques

_DIAGNOSTICS_DEPTH = 50


class MonitorFeed(Node):
    """
    Keeps a NodeView of every node of this package that publishes diagnostics.

    Topics are read when `poll` is called, without an executor and with depth 1: what comes
    between two polls is overwritten in the middleware and never reaches Python, so a kilohertz
    costs Python no more than the screen's own rate.

    Parameters
    ----------
    namespaces : collection of str
        Only nodes of these namespaces, without slashes at their ends; all if empty.
    with_torques : bool
        Whether to subscribe to torques; the nodes then compute and publish them.

    """

    def __init__(self, namespaces: Collection[str] = (), *, with_torques: bool = True) -> None:
        self._own_context = Context()
        rclpy.init(context=self._own_context, signal_handler_options=SignalHandlerOptions.NO)
        super().__init__(
            'monitor',
            context=self._own_context,
            enable_rosout=False,
            start_parameter_services=False,
        )
        self._namespaces, self._with_torques = set(namespaces), with_torques
        self._heard: dict[str, NodeView] = {}
        self._listened_to: set[str] = set()
        self._torque_topics: list[Subscription] = []
        self._diagnostics = self.create_subscription(
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
        """Whether every arm heard has reported twice, and sent all that is listened to."""
        return bool(self.arms) and all(
            math.isfinite(node.command_rate)
            and (not self._with_torques or set(TORQUE_TERMS) <= node.torques.keys())
            for node in self.arms
        )

    def poll(self) -> None:
        """Take what has come: all diagnostics, and the latest message of each torque topic."""
        while _take(self._diagnostics):
            pass
        for topic in self._torque_topics:
            _take(topic)

    def close(self) -> None:
        """Leave the graph."""
        self.destroy_node()
        self._own_context.try_shutdown()

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        now = time.monotonic()
        for entry in message.status:
            name, found, subject = entry.name.partition(': ')
            if not found:
                continue
            view = NodeView(name)
            if self._namespaces and view.namespace not in self._namespaces:
                continue
            view = self._heard.setdefault(name, view)
            view.take(
                subject,
                Status(
                    LEVELS[entry.level[0]] if entry.level[0] < len(LEVELS) else 'ERROR',
                    entry.message,
                    {pair.key: pair.value for pair in entry.values},
                ),
                now,
            )
            if self._with_torques and view.is_arm and name not in self._listened_to:
                self._listen_to(view)

    def _listen_to(self, view: NodeView) -> None:
        self._listened_to.add(view.name)
        for term in TORQUE_TERMS:
            self._torque_topics.append(
                self.create_subscription(
                    JointState,
                    f'/{view.name}/{term}',
                    partial(self._on_torques, view, term),
                    STATE_QOS,
                )
            )

    def _on_torques(self, view: NodeView, term: str, message: JointState) -> None:
        view.torques[term] = Torques(
            seconds(message.header.stamp), tuple(message.name), tuple(message.effort)
        )


def _take(subscription: Subscription) -> bool:
    """Hand one waiting message to its callback; return whether there was one."""
    with subscription.handle:
        taken = subscription.handle.take_message(subscription.msg_type, subscription.raw)
    if taken is None:
        return False
    subscription.callback(taken[0])
    return True
