# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
A program that says why a ros2_control controller was not activated, and unloads it.

Launch files run it after a failed spawner, which leaves its controller loaded: the next start
would find it there, with the parameters of the failed one. Arguments: the full name of the
controller manager, and the controller's name.
"""

from collections.abc import Iterator, Sequence
import sys
from typing import Any

from controller_manager_msgs.srv import ListControllers, UnloadController

from .node_client import NodeClient
from ..errors import FrankaDynamicsError, list_text

_TIMEOUT_S = 10.0


def failure_sentences(manager: str, name: str, controllers: Sequence[Any]) -> Iterator[str]:
    """Yield why a controller is not activated, as far as its manager's controllers tell it."""
    failed = next((controller for controller in controllers if controller.name == name), None)
    manager_option = '' if manager == '/controller_manager' else f' -c {manager}'
    if failed is None:
        yield f'{name} was not loaded: the log of {manager} says why.'
        return
    if failed.state == 'active':
        yield (
            f'{name} is active already, as an earlier start left it: '
            f'ros2 run controller_manager unspawner {name}{manager_option}'
        )
        return
    needed = set(failed.required_command_interfaces)
    has_holder = False
    for controller in controllers:
        taken = sorted(needed.intersection(controller.claimed_interfaces))
        if taken:
            has_holder = True
            yield (
                f'{controller.name} has {list_text(taken)}, which {name} needs: '
                f'ros2 control switch_controllers --deactivate {controller.name}{manager_option}'
            )
    if not has_holder:
        yield f'{name} is {failed.state}: the log of {manager} says why.'


def main(args: Sequence[str] | None = None) -> int:
    """Print why a controller is not active, and unload it unless it is; return 1 if that fails."""
    manager, name = sys.argv[1:] if args is None else args
    try:
        with NodeClient(manager, _TIMEOUT_S) as client:
            found = client.call_service(ListControllers, 'list_controllers').controller
            for sentence in failure_sentences(manager, name, found):
                print(sentence, flush=True)
            if any(listed.name == name and listed.state != 'active' for listed in found):
                client.call_service(UnloadController, 'unload_controller', name=name)
    except FrankaDynamicsError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == '__main__':
    sys.exit(main())
