# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
A program that activates a ros2_control controller once the feedforward node waits for it.

Launch files of simulators run it. As a controller of efforts is activated, the simulator lets the
joints go. A node that has found out already who receives its torques sends the first one at once;
another one would ask for seconds, while the arm moves. Arguments: the node's full name, that of
the controller manager, and the controller's name.
"""

from collections.abc import Sequence
import math
import sys

from controller_manager_msgs.srv import SwitchController

from .node_client import NodeClient, NodeClientError
from ...control.core_table import State
from ...errors import FrankaDynamicsError

_TIMEOUT_S = 30.0  # in which the manager must answer


def activate_when_awaited(client: NodeClient, controller: str, node: str) -> None:
    """
    Activate a controller of the client's manager as soon as a node waits for it to be active.

    There is no time limit: who starts the node inactive activates it by hand. Raises
    NodeClientError if the manager does not activate the controller.
    """
    namespace = client.name.rpartition('/')[0]

    def is_awaited() -> bool:
        """Return whether the node is silent, and its status names the controller."""
        status = client.latest_status(node)
        if status is None:
            return False
        is_silent = status.values.get('state', '') == State.SILENT.value
        return is_silent and f'{namespace}/{controller} is inactive' in status.message

    client.wait_until(is_awaited, math.inf)
    answer = client.call_service(
        SwitchController,
        'switch_controller',
        activate_controllers=[controller],
        strictness=SwitchController.Request.STRICT,
    )
    if not answer.ok:
        raise NodeClientError(
            f'{controller} was not activated: the log of {client.name} says why.'
        )


def main(args: Sequence[str] | None = None) -> int:
    """Activate a controller once a node waits for it; return 1 if that fails."""
    node, manager, controller = sys.argv[1:] if args is None else args
    try:
        with NodeClient(manager, _TIMEOUT_S) as client:
            activate_when_awaited(client, controller, node)
    except KeyboardInterrupt:
        return 0  # the launch ends, and with it the need
    except FrankaDynamicsError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == '__main__':
    sys.exit(main())
