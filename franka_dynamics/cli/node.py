# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Declarations of the commands `franka-dynamics node ...`; other modules do their work."""

import click

from . import _options as shared
from ._command import Group, Number, option

_NODE_NAMES = ('feedforward', 'simulator')
_TRANSITIONS = ('configure', 'activate', 'deactivate', 'cleanup', 'shutdown')
_node_options = shared.with_options(
    shared.node_option,
    option('--timeout', 'how long to wait for the node [s]', Number(0.1, 3600.0), default=5.0),
)


@click.group(cls=Group)
def node() -> None:
    """
    Show or change a node, send motions, clear a fault.

    A command exits with 1 if the node fails or is silent, with 2 if it refuses a value.
    """


@node.command(work='node_requests.print_or_change_state')
@click.argument('transition', type=click.Choice(_TRANSITIONS), required=False)
@shared.json_option
@_node_options
def state() -> None:
    """Print a node's lifecycle state, status, rates and torques; or change the state."""


# A payload of -1,0,0,0 is no option.
@node.command(
    'set', work='node_requests.set_parameter', context_settings={'ignore_unknown_options': True}
)
@click.argument('parameter')
@click.argument('value')
@_node_options
def set_() -> None:
    """
    Set a parameter of a node.

    VALUE is written in YAML; of the parameter payload also as the option --payload, or none.
    """


@node.command(work='node_requests.play_motion')
@click.argument('file', type=click.Path())
@option('--lead', "time to the motion's beginning [s]", Number(0.0, 60.0), default=0.0)
@option('--record', 'record all topics in this new bag', shared.NEW_BAG_TYPE)
@shared.topic_options
@_node_options
def play() -> None:
    """
    Send a motion to a node and wait until it ends; with --record, record a bag and check it.

    FILE is a file of `identify plan`, or an arm with a shipped motion.
    """


@node.command(work='node_requests.clear_fault')
@_node_options
def clear() -> None:
    """Clear a node's fault, so that the node commands again; exit 1 if the fault remains."""


@node.command()
@click.argument('node', type=click.Choice(_NODE_NAMES), default='feedforward')
@option('--output', 'file to write (default: print)', shared.FILE_TYPE)
def defaults() -> None:
    """Print a node's default parameters as a commented YAML file."""
