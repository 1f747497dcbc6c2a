# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A part of a node's subscriptions, timers and services, for an executor of its own."""

from collections.abc import Callable
from typing import Any

_ENTITY_LIST_NAMES = (
    'subscriptions',
    'timers',
    'services',
    'clients',
    'waitables',
    'guards',
)


class NodeEntities:
    """
    A view of a node with only the subscriptions, timers and services for one executor.

    rclpy assigns a whole node to one executor; of two nodes both would take the name of
    `-r __node:=NAME`. On one thread a request with 100 parameters delays a torque by 23 ms and a
    trajectory of 2000 points by 63 ms, which would stop the arm; with one thread for control
    cycles and one for services and other topics the delays are 1.5 and 3.1 ms
    (benchmarks/services.py, medians of 3, load 7 on two cores).
    """

    def __init__(self, node: Any, is_served: Callable[[Any], bool]) -> None:
        """Store the node and `is_served`, a function that returns True for entities to show."""
        self._node = node
        self._is_served = is_served
        self.executor: Any = None  # the executor sets it

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the node; of an entity list only what `is_served` accepts."""
        value = getattr(self._node, name)
        if name not in _ENTITY_LIST_NAMES:
            return value
        return [entity for entity in list(value) if self._is_served(entity)]
