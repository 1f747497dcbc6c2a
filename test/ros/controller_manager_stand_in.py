# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
The services of controller_manager 4.46 that its spawner and our node call, with its refusals.

Its one kind of controller is ForwardCommandController, which holds the last command while it is
active. The real spawner talks to it.
"""

from controller_manager_msgs.msg import ControllerState
from controller_manager_msgs.srv import (
    ConfigureController,
    ListControllers,
    LoadController,
    SwitchController,
    UnloadController,
)
import numpy as np
import rclpy
from std_msgs.msg import Float64MultiArray


class ControllerManager:
    """A controller manager in a namespace; `events` lists what was done, in order."""

    def __init__(self, context, namespace=''):
        # A node of its own: the spawner sets parameters on it that nobody declared.
        self.node = rclpy.create_node(
            'controller_manager',
            namespace=namespace,
            context=context,
            allow_undeclared_parameters=True,
        )
        self.states, self.events, self.torque = {}, [], np.zeros(7)
        for kind, name, answer in (
            (ListControllers, 'list_controllers', self._list),
            (LoadController, 'load_controller', self._load),
            (ConfigureController, 'configure_controller', self._configure),
            (SwitchController, 'switch_controller', self._switch),
            (UnloadController, 'unload_controller', self._unload),
        ):
            self.node.create_service(kind, f'~/{name}', answer)
        self.node.create_subscription(
            Float64MultiArray, 'effort_controller/commands', self._on_command, 1
        )

    def _on_command(self, message):
        if self.states.get('effort_controller') == 'active':
            self.torque = np.array(message.data)

    def _list(self, _, answer):
        answer.controller = [
            ControllerState(name=name, state=state) for name, state in self.states.items()
        ]
        return answer

    def _done(self, what, name, answer, state):
        answer.ok = state is not None
        if answer.ok:
            self.states[name] = state
            self.events.append((what, name))
        return answer

    def _load(self, request, answer):
        known = self.node.has_parameter(f'{request.name}.params_file')
        new = known and request.name not in self.states
        return self._done('load', request.name, answer, 'unconfigured' if new else None)

    def _configure(self, request, answer):
        allowed = self.states.get(request.name) in ('unconfigured', 'inactive')
        return self._done('configure', request.name, answer, 'inactive' if allowed else None)

    def _switch(self, request, answer):
        strict = request.strictness == SwitchController.Request.STRICT
        wanted = [(name, 'inactive', 'active') for name in request.activate_controllers]
        wanted += [(name, 'active', 'inactive') for name in request.deactivate_controllers]
        usable = [one for one in wanted if self.states.get(one[0]) == one[1]]
        answer.ok = usable == wanted or not strict
        for name, _, state in usable if answer.ok else ():
            self.states[name] = state
            self.events.append((state, name, self.torque.copy()))
            self.torque = np.zeros(7)
        return answer

    def _unload(self, request, answer):
        answer.ok = self.states.get(request.name) in ('unconfigured', 'inactive')
        if answer.ok:
            del self.states[request.name]
            self.events.append(('unload', request.name))
        return answer
