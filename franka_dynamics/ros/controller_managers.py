# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Asks controller managers for their controllers, and says what a controller does with torques."""

from collections.abc import Iterable, Mapping, Sequence, Set
import time
from typing import Any

from ..errors import name_list

try:
    from controller_manager_msgs.srv import ListControllers
except ImportError:
    ListControllers = None

_LIST_CONTROLLERS = 'list_controllers'
_LIST_CONTROLLERS_TYPE = 'controller_manager_msgs/srv/ListControllers'
_REQUEST_PERIOD_S = 1.0
_QUICK_REQUEST_PERIOD_S = 0.2  # while torques wait for an answer, or for a controller's activation
# A manager answers late while it loads a controller, or not at all if it has not discovered the
# node that asks.
_ANSWER_TIMEOUT_S = 1.0
_NO_MESSAGES_INSTALLED = (
    'cannot be asked for its controllers, because controller_manager_msgs is not installed here '
    '(apt install ros-$ROS_DISTRO-controller-manager-msgs)'
)
# Controllers that write a message's k-th number to their k-th command interface, whatever it is.
_FORWARDING_TYPES = (
    'effort_controllers/JointGroupEffortController',
    'forward_command_controller/ForwardCommandController',
    'forward_command_controller/MultiInterfaceForwardCommandController',
)


class ControllerManagerClient:
    """
    A client of one controller manager, with the manager's latest answer.

    `controllers` maps names to controller_manager_msgs/ControllerState; None before an answer.
    `problem` says why there is none, or no new one, '' otherwise. `can_answer` is whether one may
    still come.
    """

    def __init__(self, node: Any, name: str) -> None:
        """Make the client of the manager with a full name; it asks nothing yet."""
        self.name, self.can_answer = name, ListControllers is not None
        self.client: Any = None
        if self.can_answer:
            self.problem = f'{name}/{_LIST_CONTROLLERS} has not answered yet'
            self.client = node.create_client(ListControllers, f'{name}/{_LIST_CONTROLLERS}')
        else:
            self.problem = f'{name} {_NO_MESSAGES_INSTALLED}'
        self.controllers: Mapping[str, Any] | None = None
        self._request: Any = None
        self._asked_at = -_REQUEST_PERIOD_S
        self._waits_since = time.monotonic()

    @property
    def has_new_answer(self) -> bool:
        """Whether an answer has come that `update_controllers` has not read yet."""
        return self._request is not None and bool(self._request.done())

    def update_controllers(self, period: float) -> None:
        """Store the manager's answer if it has come; send a new request after `period` [s]."""
        now = time.monotonic()
        if self.has_new_answer:
            answer, self._request = self._request.result(), None
            self.controllers = {one.name: one for one in answer.controller}
            self._waits_since, self.problem = now, ''
        elif self.can_answer and now > self._waits_since + period + _ANSWER_TIMEOUT_S:
            waited = now - self._waits_since
            self.problem = f'{self.name}/{_LIST_CONTROLLERS} has not answered for {waited:.0f} s'
        waits = _ANSWER_TIMEOUT_S if self._request is not None else period
        if self.can_answer and now >= self._asked_at + waits:
            if self._request is not None:
                self.client.remove_pending_request(self._request)
            self._request, self._asked_at = self.client.call_async(ListControllers.Request()), now


class ControllerManagerClients:
    """Clients of all controller managers in the namespaces of the nodes that receive torques."""

    def __init__(self, node: Any) -> None:
        """Store the node that asks; no manager is known yet."""
        self._node, self._known = node, dict[str, ControllerManagerClient]()

    def update_managers(self, namespaces: Iterable[str], *, quick: bool) -> None:
        """
        Find the managers in namespaces, and ask each for its controllers, more often if `quick`.

        A manager is known by the type of its service, whatever its name.
        """
        spaces = {one.rstrip('/') for one in namespaces}
        seen = {
            name
            for service, kinds in self._node.get_service_names_and_types()
            if _LIST_CONTROLLERS_TYPE in kinds and service.endswith(f'/{_LIST_CONTROLLERS}')
            if (name := service.rpartition('/')[0]).rpartition('/')[0] in spaces
        }
        self._remove_managers(self._known.keys() - seen)
        for name in sorted(seen):
            manager = self._known.get(name) or ControllerManagerClient(self._node, name)
            self._known[name] = manager
            manager.update_controllers(_QUICK_REQUEST_PERIOD_S if quick else _REQUEST_PERIOD_S)

    def managers_in_namespace_of(self, node_name: str) -> list[ControllerManagerClient]:
        """Return the managers in the namespace of a node, given by its full name."""
        space = node_name.rpartition('/')[0]
        return [one for one in self._known.values() if one.name.rpartition('/')[0] == space]

    @property
    def has_new_answer(self) -> bool:
        """Whether a manager's answer has come that `update_managers` has not read yet."""
        return any(one.has_new_answer for one in self._known.values())

    @property
    def problem(self) -> str:
        """Why the first manager without a new answer does not answer; '' if all answer."""
        return next((one.problem for one in self._known.values() if one.problem), '')

    def close(self) -> None:
        """Destroy the clients of all managers, with their answers."""
        self._remove_managers(set(self._known))

    def _remove_managers(self, names: Set[str]) -> None:
        """Destroy the clients of the managers with these names, with their answers."""
        for name in names:
            if (client := self._known.pop(name).client) is not None:
                self._node.destroy_client(client)


def controller_idle_reason(controller: Any) -> str:
    """Return why a ros2_control controller applies no torque from its topic; '' if it does."""
    if controller.state != 'active':
        return (
            f'is {controller.state}; activate it (ros2 control switch_controllers --activate '
            f'{controller.name})'
        )
    return 'is chained: it takes commands from another controller' if controller.is_chained else ''


def wrong_claim_text(controller: Any, joints: Sequence[str]) -> str:
    """
    Return which interfaces a controller claims, if not the efforts of these joints, else ''.

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
