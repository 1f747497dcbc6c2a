# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The commands `franka-dynamics node ...`: their options; `node_requests` does the work."""

from __future__ import annotations

from typing import Any

import click

from ._command import CommaList, Group, Number, option
from ._options import json_option, NEW_BAG, node_option, OUTPUT_FILE, topic_options, with_options

_NODES = ('feedforward', 'simulator', 'trajectory_action')
_TRANSITIONS = ('configure', 'activate', 'deactivate', 'cleanup', 'shutdown')
_NODE_OPTIONS = with_options(
    node_option,
    option('--timeout', 'how long to wait for the node [s]', Number(0.1, 3600.0), default=5.0),
)


@click.group(cls=Group)
def node() -> None:
    """
    Use a node: state, set, play, clear, monitor, defaults.

    A command exits with 1 if the node fails or is silent, with 2 if it refuses a value.
    """


@node.command()
@click.argument('transition', type=click.Choice(_TRANSITIONS), required=False)
@json_option
@_NODE_OPTIONS
def state(**options: Any) -> int:
    """Print a node's lifecycle state, status, rates and torques; or change the state."""
    from .node_requests import state

    return state(**options)


@node.command('set', context_settings={'ignore_unknown_options': True})  # a payload of -1,0,0,0
@click.argument('parameter')
@click.argument('value')
@_NODE_OPTIONS
def set_(**options: Any) -> int:
    """
    Set a parameter of a node.

    VALUE is written in YAML; of the parameter payload also as the option --payload, or none.
    """
    from .node_requests import set_parameter

    return set_parameter(**options)


@node.command()
@click.argument('file', type=click.Path())
@option('--lead', "time to the motion's beginning [s]", Number(0.0, 60.0), default=0.0)
@option('--record', 'record all topics in this new bag', NEW_BAG)
@topic_options
@_NODE_OPTIONS
def play(**options: Any) -> int:
    """
    Send a motion to a node and wait until it ends; with --record, record a bag and check it.

    FILE is a file of `identify plan`, or an arm with a shipped motion.
    """
    from .node_requests import play

    return play(**options)


@node.command()
@_NODE_OPTIONS
def clear(**options: Any) -> int:
    """Clear a node's fault, so that the node commands again; exit 1 if the fault remains."""
    from .node_requests import clear_fault

    return clear_fault(**options)


@node.command()
@option(
    '--namespace', "only nodes in these, '/' for the root (default: all)", CommaList('NAME,...')
)
def monitor(**options: Any) -> int:
    """Show rates, latencies, states and torques of running feedforward nodes in a terminal."""
    from .node_requests import monitor

    return monitor(**options)


@node.command()
@click.argument('node', type=click.Choice(_NODES), default='feedforward')
@option('--output', 'file to write (default: print)', OUTPUT_FILE)
def defaults(**options: Any) -> int:
    """Print a node's default parameters as a commented YAML file."""
    from .node_requests import defaults

    return defaults(**options)
