# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What the actions of `node` can be given."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from ._action import Action
from ._options import file_option, folder_option, json_option, new_bag, Topics
from ..options import argument, option

TRANSITIONS = ('configure', 'activate', 'deactivate', 'cleanup', 'shutdown')


@dataclass(frozen=True, kw_only=True)
class Question(Action):
    """A request to a node; exit 1 if the node fails or is silent, 2 if it refuses a value."""

    node: str = option('the node, with its namespace', 'NAME', default='feedforward')
    timeout: float = option(
        'how long to wait for the node [s]', 'S', default=5.0, least=0.1, most=3600.0
    )


@dataclass(frozen=True, kw_only=True)
class State(Question):
    """Print a node's state and figures, and what it does and why; or change the state."""

    work: ClassVar[str] = 'node.state'
    transition: str | None = argument(
        f'to another state: {", ".join(TRANSITIONS)}',
        'TRANSITION',
        choices=TRANSITIONS,
        default=None,
    )
    json: Path | None = json_option()


@dataclass(frozen=True, kw_only=True)
class Set(Question):
    """Set a parameter of a node."""

    work: ClassVar[str] = 'node.set_parameter'
    parameter: str = argument('name of the parameter', 'PARAMETER')
    value: str = argument('the value in YAML; of payload also a value of --payload, none', 'VALUE')


@dataclass(frozen=True, kw_only=True)
class Play(Question, Topics):
    """Send a motion to a node and wait until it ends; with --record, record it and judge that."""

    work: ClassVar[str] = 'node.play'
    file: Path = argument('a file of `identify plan`, or an arm with a shipped motion', 'FILE')
    lead: float = option(
        "time to the motion's beginning [s]", 'S', default=0.0, least=0.0, most=60.0
    )
    record: Path | None = folder_option('record all topics in this new bag', kind=new_bag)


@dataclass(frozen=True, kw_only=True)
class Clear(Question):
    """Clear a node's fault, so that the node commands again; exit 1 if the fault remains."""

    work: ClassVar[str] = 'node.clear'


@dataclass(frozen=True, kw_only=True)
class Monitor(Action):
    """Show rates, latencies, states and torques of running feedforward nodes in a terminal."""

    work: ClassVar[str] = 'node.monitor'
    namespace: tuple[str, ...] = option(
        "only nodes in these namespaces, '/' for the root (default: all)", 'NS', default=()
    )


@dataclass(frozen=True, kw_only=True)
class Defaults(Action):
    """Print a node's default parameters as a commented YAML file."""

    work: ClassVar[str] = 'node.defaults'
    node: str = argument(
        'feedforward, simulator or trajectory_action', 'NODE', default='feedforward'
    )
    output: Path | None = file_option('file to write (default: print)')
