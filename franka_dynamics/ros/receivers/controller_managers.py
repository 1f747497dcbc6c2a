# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Controllers of ros2_control: which ones the managers near some nodes list, and what each claims.

`ControllerManagers` finds the managers in the processes and the namespaces of nodes, and asks each
by a `ControllerManagerClient`. Of a controller that a manager lists, `wrong_claim_text` says
whether it commands the efforts of an arm's joints, and `controller_idle_reason` whether it does so
now.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence, Set
import time
from typing import Any

from ..topics import process_of
from ...errors import list_text

try:
    from controller_manager_msgs.srv import ListControllers
except ImportError:
    ListControllers = None

_LIST_CONTROLLERS = 'list_controllers'
_LIST_CONTROLLERS_TYPE = 'controller_manager_msgs/srv/ListControllers'
_BROADCASTER_TYPE = 'joint_state_broadcaster/JointStateBroadcaster'
_REQUEST_PERIOD_S = 1.0
# While torques wait for an answer, or for a controller's activation, in which a simulator lets the
# joints go.
_QUICK_REQUEST_PERIOD_S = 0.05
# A manager answers late while it loads a controller, or not at all if it has not discovered the
# node that asks.
_ANSWER_TIMEOUT_S = 1.0
_NOT_INSTALLED_TEXT = (
    'cannot be asked for its controllers, because controller_manager_msgs is not installed here '
    '(apt install ros-$ROS_DISTRO-controller-manager-msgs)'
)
# Controllers that write a message's k-th number to their k-th command interface, whatever it is.
_FORWARDING_CONTROLLER_TYPES = (
    'effort_controllers/JointGroupEffortController',
    'forward_command_controller/ForwardCommandController',
    'forward_command_controller/MultiInterfaceForwardCommandController',
)


# A controller -----------------------------------------------------------------------------------
def controller_idle_reason(controller: Any) -> str:
    """Return why a ros2_control controller applies no torque from its topic; '' if it does."""
    if controller.state != 'active':
        command = f'ros2 control switch_controllers --activate {controller.name}'
        return f'is {controller.state}; activate it ({command})'
    if controller.is_chained:
        return 'is chained: it takes commands from another controller'
    return ''


def wrong_claim_text(controller: Any, joint_names: Sequence[str]) -> str:
    """
    Return what a controller claims as text, or '' if it is `joint_names`' efforts in order.

    An inactive controller claims no interface yet, and says which ones it requires.
    """
    claims = list(controller.required_command_interfaces or controller.claimed_interfaces)
    # A claim is JOINT/effort, or CONTROLLER/JOINT/effort of one that commands another controller.
    joints = [name.split('/')[-2] for name in claims if name.endswith('/effort')]
    if controller.type in _FORWARDING_CONTROLLER_TYPES:
        is_right = len(joints) == len(claims) and joints == list(joint_names)
    else:
        # Beside the arm it may command other joints, such as those of a hand.
        is_right = [joint for joint in joints if joint in joint_names] == list(joint_names)
    return '' if is_right else f'a controller of {list_text(claims)}'


# A manager --------------------------------------------------------------------------------------
class ControllerManagerClient:
    """
    A client that asks one controller manager for its controllers, and keeps the latest answer.

    `controllers` maps names to controller_manager_msgs/ControllerState; None before an answer.
    `problem` says why there is none, or no new one, '' otherwise. `client` is None if the package
    controller_manager_msgs is missing, so that none can come. `process` is that of the manager, as
    `process_of` gives it.
    """

    def __init__(self, node: Any, manager_name: str) -> None:
        """Make the client of the manager with a full name, if it can be asked; ask nothing yet."""
        self.name = manager_name
        self.client = None
        self.process = b''
        self.problem = f'{manager_name} {_NOT_INSTALLED_TEXT}'
        if ListControllers is not None:
            self.problem = f'{self.name}/{_LIST_CONTROLLERS} has not answered yet'
            self.client = node.create_client(ListControllers, f'{self.name}/{_LIST_CONTROLLERS}')
        self.controllers: Mapping[str, Any] | None = None
        self._request: Any = None
        self._asked_at = -_REQUEST_PERIOD_S
        self._wait_start = time.monotonic()

    @property
    def has_new_answer(self) -> bool:
        """Whether an answer has come that `update_controllers` has not read yet."""
        return self._request is not None and bool(self._request.done())

    def update_controllers(self, poll_period: float) -> None:
        """Store a new answer, or why none came; request anew once `poll_period` [s] is over."""
        now = time.monotonic()
        if self.has_new_answer:
            answer = self._request.result()
            self._request = None
            self.controllers = {found.name: found for found in answer.controller}
            self._wait_start = now
            self.problem = ''
        if self.client is None:
            return
        if now > self._wait_start + poll_period + _ANSWER_TIMEOUT_S:
            waited = now - self._wait_start
            self.problem = f'{self.name}/{_LIST_CONTROLLERS} has not answered for {waited:.0f} s'
        if now >= self._asked_at + (poll_period if self._request is None else _ANSWER_TIMEOUT_S):
            if self._request is not None:
                self.client.remove_pending_request(self._request)
            self._request = self.client.call_async(ListControllers.Request())
            self._asked_at = now


# All managers -----------------------------------------------------------------------------------
class ControllerManagers:
    """
    Clients of the controller managers that may have loaded some nodes as controllers.

    Iterating gives the clients.
    """

    def __init__(self, node: Any) -> None:
        """Store the node that queries the ROS graph and asks; there is no manager yet."""
        self._node = node
        self._clients = dict[str, ControllerManagerClient]()

    def __iter__(self) -> Iterator[ControllerManagerClient]:
        """Return an iterator of the clients."""
        return iter(self._clients.values())

    def update(self, endpoints: Collection[Any], ask_often: bool) -> None:
        """
        Update which managers may have the nodes of endpoints; ask each when due.

        They are asked more often if `ask_often`. A manager is known by the type of its service,
        whatever its name.
        """
        found = self._managers_near(endpoints)
        self._remove(self._clients.keys() - found.keys())
        for name, process in sorted(found.items()):
            if name not in self._clients:
                self._clients[name] = ControllerManagerClient(self._node, name)
            self._clients[name].process = process
            period = _QUICK_REQUEST_PERIOD_S if ask_often else _REQUEST_PERIOD_S
            self._clients[name].update_controllers(period)

    def _managers_near(self, endpoints: Collection[Any]) -> dict[str, bytes]:
        """
        Return the managers in the processes or namespaces of endpoints, by full names.

        The values are the processes that they share with an endpoint, b'' if none.
        """
        namespaces = {endpoint.node_namespace.rstrip('/') for endpoint in endpoints}
        processes = {process_of(endpoint) for endpoint in endpoints}
        found = dict[str, bytes]()
        for service, types in self._node.get_service_names_and_types():
            manager_name, _, service_name = service.rpartition('/')
            if _LIST_CONTROLLERS_TYPE not in types or service_name != _LIST_CONTROLLERS:
                continue
            # The graph lists a service's requests as a topic.
            requests = self._node.get_subscriptions_info_by_topic(
                f'rq{service}Request', no_mangle=True
            )
            shared = [process for process in map(process_of, requests) if process in processes]
            process = shared[0] if shared else b''
            if process or manager_name.rpartition('/')[0] in namespaces:
                found[manager_name] = process
        return found

    @property
    def has_new_answer(self) -> bool:
        """Whether a manager's answer has come that `update` has not read yet."""
        return any(client.has_new_answer for client in self)

    @property
    def problem(self) -> str:
        """Why a controller manager (the first of several) does not answer; '' if all answer."""
        return next((client.problem for client in self if client.problem), '')

    @property
    def broadcaster_problem(self) -> str:
        """Which broadcaster of joint states a manager has that is not active; '' if none is."""
        for manager in self:
            for controller in (manager.controllers or {}).values():
                if controller.type != _BROADCASTER_TYPE or controller.state == 'active':
                    continue
                return (
                    f'{controller.name} of {manager.name} is {controller.state}, as after a '
                    'reflex: recover the robot, activate its hardware component, and then the '
                    f'controllers (ros2 control switch_controllers --activate {controller.name} '
                    f'... -c {manager.name})'
                )
        return ''

    def close(self) -> None:
        """Destroy the clients of all managers, with their answers."""
        self._remove(set(self._clients))

    def _remove(self, manager_names: Set[str]) -> None:
        """Destroy the clients of the managers with these names, with their answers."""
        for name in manager_names:
            if (client := self._clients.pop(name).client) is not None:
                self._node.destroy_client(client)
