# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Declarations of the commands `franka-dynamics node ...`."""

import click

from .. import options as shared
from ..command import Group
from ..option_types import NEW_BAG_TYPE, Number, OUT_FILE_TYPE
from ..options import flag, option

_NODE_NAMES = ('feedforward', 'simulator')
_TRANSITIONS = ('configure', 'activate', 'deactivate', 'cleanup', 'shutdown')
_node_options = shared.with_options(
    shared.node_option,
    option(
        '--timeout',
        'how long to wait for the node [s]',
        Number(0.1, 3600.0),
        default=5.0,
    ),
)


@click.group(cls=Group)
def node() -> None:
    """
    Show or change a node, send motions, clear a fault.

    A command exits with 1 if the node fails or is silent, with 2 if it refuses a value.
    """


@node.command('state', func='node_requests.print_or_change_state')
@click.argument('transition', type=click.Choice(_TRANSITIONS), required=False)
@shared.json_option
@_node_options
def node_state() -> None:
    """Print a node's state, rates and torques, or change its state."""


@node.command(
    'set',
    func='node_requests.set_parameter',
    # So that VALUE may begin with a minus sign, as the payload -1,0,0,0 does.
    context_settings={'ignore_unknown_options': True},
)
@click.argument('parameter')
@click.argument('value')
@_node_options
def set_parameter() -> None:
    """
    Set a parameter of a node.

    VALUE is YAML. For the parameter payload it may also be what the option --payload takes, or
    none.
    """


@node.command('play', func='node_requests.play_motion')
@click.argument('file', type=click.Path(), required=False)
@flag(
    '--joints-one-by-one',
    'in place of FILE: move each joint alone by 0.1 rad and back, and stop if another moves',
)
@option(
    '--lead',
    "time in which the arm first moves to the motion's beginning [s]",
    Number(0.0, 60.0),
    default=0.0,
)
@option('--record', 'record all topics in this new bag', NEW_BAG_TYPE)
@shared.topic_options
@_node_options
def play_motion() -> None:
    """
    Send a motion to a node and wait until it ends.

    FILE is a file of `identify plan`, or an arm with a shipped motion. With --record the motion is
    recorded in a bag, and the recording is checked.
    """


@node.command('clear', func='node_requests.clear_fault')
@_node_options
def clear_fault() -> None:
    """Clear a node's fault; exit 1 if it remains."""


@node.command('defaults')
@click.argument('node', type=click.Choice(_NODE_NAMES), default='feedforward')
@option('--output', 'file to write (default: print)', OUT_FILE_TYPE)
def node_defaults() -> None:
    """Print a node's default parameters as a commented YAML file."""
