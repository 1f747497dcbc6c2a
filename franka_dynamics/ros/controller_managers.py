# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Asks ros2_control's controller managers which controllers they have, without waiting."""

from collections.abc import Iterable, Mapping, Sequence
import time
from typing import Any

from ..errors import name_list

try:
    from controller_manager_msgs.srv import ListControllers
except ImportError:
    ListControllers = None

_SERVICE, _SERVICE_TYPE = 'list_controllers', 'controller_manager_msgs/srv/ListControllers'
_ASK_PERIOD_S = 1.0
_QUICK_PERIOD_S = 0.2  # while torques wait for an answer, or for a controller's activation
# A manager answers late while it loads a controller, or not at all if it has not discovered the
# node that asks.
_ANSWER_TIMEOUT_S = 1.0
_MISSING = (
    'cannot be asked for its controllers, because controller_manager_msgs is not installed here '
    '(apt install ros-$ROS_DISTRO-controller-manager-msgs)'
)
# Controllers that write a message's k-th number to their k-th command interface, whatever it is.
_FORWARDING_TYPES = (
    'effort_controllers/JointGroupEffortController',
    'forward_command_controller/ForwardCommandController',
    'forward_command_controller/MultiInterfaceForwardCommandController',
)


class ControllerManager:
    """
    A controller manager with its latest answer.

    `controllers` maps names to controller_manager_msgs/ControllerState; None before an answer.
    `problem` says why there is none, or no new one, '' otherwise. `can_answer` is whether one may
    still come.
    """

    def __init__(self, node: Any, name: str) -> None:
        kind = ListControllers
        self._client = kind and node.create_client(kind, f'{name}/{_SERVICE}')
        self.name, self.can_answer = name, kind is not None
        self.problem = f'{name}/{_SERVICE} has not answered yet'
        if not self.can_answer:
            self.problem = f'{name} {_MISSING}'
        self.controllers: Mapping[str, Any] | None = None
        self._request: Any = None
        self._asked_at = -_ASK_PERIOD_S
        self._waits_since = time.monotonic()

    @property
    def has_answered(self) -> bool:
        """Whether an answer has come, which the next `ask` will read."""
        return self._request is not None and bool(self._request.done())

    def ask(self, period: float) -> None:
        """Store the manager's answer if it came; send a request once `period` [s] has passed."""
        now = time.monotonic()
        if self.has_answered:
            answer, self._request = self._request.result(), None
            self.controllers = {one.name: one for one in answer.controller}
            self._waits_since, self.problem = now, ''
        elif self.can_answer and now > self._waits_since + period + _ANSWER_TIMEOUT_S:
            waited = now - self._waits_since
            self.problem = f'{self.name}/{_SERVICE} has not answered for {waited:.0f} s'
        waits = _ANSWER_TIMEOUT_S if self._request is not None else period
        if self.can_answer and now >= self._asked_at + waits:
            self._cancel_request()
            self._request = self._client.call_async(ListControllers.Request())
            self._asked_at = now

    def _cancel_request(self) -> None:
        """Give up the request that has not been answered."""
        if self._request is not None:
            self._client.remove_pending_request(self._request)
            self._request = None

    def destroy(self, node: Any) -> None:
        """Destroy the client that asks the manager."""
        if self._client is not None:
            self._cancel_request()
            node.destroy_client(self._client)


class ControllerManagers:
    """The controller managers in the namespaces of a node's receivers."""

    def __init__(self, node: Any) -> None:
        self._node, self._known = node, dict[str, ControllerManager]()

    def update(self, namespaces: Iterable[str], *, quick: bool) -> None:
        """
        Ask the managers in namespaces; `quick` asks more often.

        A manager is known by the type of its service, whatever its name.
        """
        spaces = {one.rstrip('/') for one in namespaces}
        seen = {
            name
            for service, kinds in self._node.get_service_names_and_types()
            if _SERVICE_TYPE in kinds and service.endswith(f'/{_SERVICE}')
            if (name := service.rpartition('/')[0]).rpartition('/')[0] in spaces
        }
        for name in self._known.keys() - seen:
            self._known.pop(name).destroy(self._node)
        for name in sorted(seen):
            manager = self._known.get(name) or ControllerManager(self._node, name)
            self._known[name] = manager
            manager.ask(_QUICK_PERIOD_S if quick else _ASK_PERIOD_S)

    def in_namespace_of(self, node_name: str) -> list[ControllerManager]:
        """Return the managers in the namespace of a node, given by its full name."""
        space = node_name.rpartition('/')[0]
        return [one for one in self._known.values() if one.name.rpartition('/')[0] == space]

    @property
    def have_answered(self) -> bool:
        """Whether an answer has come, which the next `update` will read."""
        return any(one.has_answered for one in self._known.values())

    @property
    def problem(self) -> str:
        """Why a manager does not answer, or ''."""
        return next((one.problem for one in self._known.values() if one.problem), '')

    def close(self) -> None:
        """Forget all managers and their answers."""
        for name in list(self._known):
            self._known.pop(name).destroy(self._node)


def idle_reason(controller: Any) -> str:
    """Return why a controller applies no torque from its topic, or ''."""
    if controller.state != 'active':
        return (
            f'is {controller.state}; activate it (ros2 control switch_controllers --activate '
            f'{controller.name})'
        )
    return 'is chained: it takes commands from another controller' if controller.is_chained else ''


def wrong_claim(controller: Any, joints: Sequence[str]) -> str:
    """
    Return what a controller claims if it would not apply torques to these joints, else ''.

    An inactive controller claims no interface yet, and says which ones it requires.
    """
    claims = list(controller.required_command_interfaces or controller.claimed_interfaces)
    # One that commands another controller claims CONTROLLER/JOINT/effort.
    taken = [one.split('/')[-2] for one in claims if one.endswith('/effort') and '/' in one]
    if controller.type in _FORWARDING_TYPES:
        right = len(taken) == len(claims) and taken == list(joints)
    else:  # it may command a gripper, too
        right = [joint for joint in taken if joint in joints] == list(joints)
    return '' if right else f'a controller of {name_list(claims)}'
