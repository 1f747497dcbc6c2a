# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The commands `franka-dynamics node ...`."""

from pathlib import Path
from typing import Annotated, Literal

from ..command import Argument, command_of, Group, Option
from ..option_types import OUT_FILE_TYPE
from ..options import JsonPath
from ..requests import NodeAddress, PlayRequest

node = Group(
    'node',
    help="""Show or change a node, send motions, clear a fault.

    A command exits with 1 if the node fails or is silent, with 2 if it refuses a value.
    """,
)


@command_of(node, 'state')
def state(
    *,
    transition: Annotated[
        Literal['configure', 'activate', 'deactivate', 'cleanup', 'shutdown'] | None, Argument()
    ] = None,
    json: JsonPath = None,
    address: NodeAddress,
) -> int:
    """Print a node's state, rates and torques, or change its state."""
    from ..node_requests import change_state, print_state

    return change_state(address, transition) if transition else print_state(address, json)


# So that VALUE may begin with a minus sign, as the payload -1,0,0,0 does.
@command_of(node, 'set', context_settings={'ignore_unknown_options': True})
def set_(
    *,
    parameter: Annotated[str, Argument()],
    value: Annotated[str, Argument()],
    address: NodeAddress,
) -> None:
    """
    Set a parameter of a node.

    VALUE is YAML. For the parameter payload it may also be what the option --payload takes, or
    none.
    """
    from ..node_requests import set_parameter

    set_parameter(address, parameter, value)


@command_of(node, 'play')
def play(*, request: PlayRequest, address: NodeAddress) -> int:
    """
    Send a motion to a node and wait until it ends.

    FILE is a file of `identify plan`, or an arm with a shipped motion. With --record the motion is
    recorded in a bag, and the recording is checked.
    """
    from ..node_requests import play_motion

    return play_motion(address, request)


@command_of(node, 'clear')
def clear(*, address: NodeAddress) -> None:
    """Clear a node's fault; exit 1 if it remains."""
    from ..node_requests import clear_fault

    clear_fault(address)


@command_of(node, 'defaults')
def defaults(
    *,
    node: Annotated[Literal['feedforward', 'simulator'], Argument()] = 'feedforward',
    output: Annotated[Path | None, Option('file to write (default: print)', OUT_FILE_TYPE)] = None,
) -> None:
    """Print a node's default parameters as a commented YAML file."""
    from ..console import print_or_write
    from ...ros.parameter_tables import parameter_file_text

    print_or_write(parameter_file_text(node), output)
