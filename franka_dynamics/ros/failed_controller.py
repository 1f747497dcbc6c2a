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
    own = next((one for one in controllers if one.name == name), None)
    where = '' if manager == '/controller_manager' else f' -c {manager}'
    if own is None:
        yield f'{name} was not loaded: the log of {manager} says why.'
    elif own.state == 'active':
        yield (
            f'{name} is active already, as an earlier start left it: '
            f'ros2 run controller_manager unspawner {name}{where}'
        )
    else:
        wanted = set(own.required_command_interfaces)
        taken = {
            one.name: sorted(wanted.intersection(one.claimed_interfaces)) for one in controllers
        }
        holders = {holder: names for holder, names in taken.items() if names}
        for holder, names in holders.items():
            yield (
                f'{holder} has {list_text(names)}, which {name} needs: '
                f'ros2 control switch_controllers --deactivate {holder}{where}'
            )
        if not holders:
            yield f'{name} is {own.state}: the log of {manager} says why.'


def main(args: Sequence[str] | None = None) -> int:
    """Print why a controller is not active, and unload it unless it is; return 1 if that fails."""
    manager, name = sys.argv[1:] if args is None else args
    try:
        with NodeClient(manager, _TIMEOUT_S) as client:
            found = client.call_service(ListControllers, 'list_controllers').controller
            for sentence in failure_sentences(manager, name, found):
                print(sentence, flush=True)
            if any(one.name == name and one.state != 'active' for one in found):
                client.call_service(UnloadController, 'unload_controller', name=name)
    except FrankaDynamicsError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == '__main__':
    sys.exit(main())
