# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Deactivates and unloads a controller of ros2_control.

The feedforward node, when shut down, unloads the controller that its parameter `controller` names.
franka_ros2.launch.py runs `python3 -m franka_dynamics.ros.controller_unloading MANAGER CONTROLLER`
twice: before it loads the controller, because controller_manager does not configure an active
controller, and after the node has ended, because a killed node has not unloaded the controller.
"""

from __future__ import annotations

import sys

from builtin_interfaces.msg import Duration

from .node_client import NodeClient
from ..errors import FrankaDynamicsError, SettingsError

_PATIENCE_S = 2.0  # [s]; short, because launch kills a node 10 s after Ctrl-C
_START_PATIENCE_S = 30.0  # [s]; long, because franka_ros2 may still be starting


def require_messages() -> None:
    """Raise SettingsError if controller_manager_msgs is not installed."""
    try:
        import controller_manager_msgs.srv  # noqa: F401
    except ImportError as error:
        raise SettingsError(
            'unloading a controller needs controller_manager_msgs: sudo apt install '
            'ros-$ROS_DISTRO-controller-manager-msgs.'
        ) from error


def unload(manager: str, controller: str, patience: float = _PATIENCE_S) -> str:
    """
    Deactivate and unload a controller if it is loaded; return a sentence about what happened.

    `patience` is how long to wait for a service of the controller manager to appear [s]. Raises
    NodeClientError if the controller manager does not answer. Raises FrankaDynamicsError if the
    controller stays loaded.
    """
    from controller_manager_msgs.srv import ListControllers, SwitchController, UnloadController

    with NodeClient(manager, patience=patience) as client:
        loaded = client.ask(ListControllers, 'list_controllers', ListControllers.Request())
        if controller not in (one.name for one in loaded.controller):
            return f'{controller} was not loaded'
        switch = SwitchController.Request(
            deactivate_controllers=[controller],
            strictness=SwitchController.Request.BEST_EFFORT,
            timeout=Duration(sec=round(_PATIENCE_S)),
        )
        client.ask(SwitchController, 'switch_controller', switch)
        # controller_manager refuses to unload a controller that is still active.
        request = UnloadController.Request(name=controller)
        if not client.ask(UnloadController, 'unload_controller', request).ok:
            raise FrankaDynamicsError(
                f'{manager} did not unload {controller}, which may still be active: '
                f'ros2 run controller_manager unspawner {controller} -c {manager}.'
            )
    return f'{controller} was deactivated and unloaded'


def main() -> int:
    """Unload the controller that the command line names; return a process exit status."""
    manager, controller = sys.argv[1:]
    try:
        require_messages()
        print(f'{unload(manager, controller, _START_PATIENCE_S)}.')
    except FrankaDynamicsError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == '__main__':
    sys.exit(main())
