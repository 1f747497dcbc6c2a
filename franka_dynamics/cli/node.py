# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`franka-dynamics node`: a running node's parameters, state and reference, without `ros2`."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

TRANSITIONS = ('configure', 'activate', 'deactivate', 'cleanup', 'shutdown')


class _Action(NamedTuple):
    """One question to a node: what it takes, and how it is asked."""

    SUMMARY: str
    takes: tuple[tuple[str, dict[str, Any]], ...]
    ask: Callable[[Any, argparse.Namespace], str]

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare the action's options."""
        for name, settings in self.takes:
            parser.add_argument(name, **settings)
        parser.add_argument(
            '--node',
            default='feedforward',
            metavar='NAME',
            help='the node, with its namespace (default: %(default)s)',
        )

    def run(self, arguments: argparse.Namespace) -> int:
        """Ask; exit 1 if the node does not answer or refuses."""
        from ..ros.node_client import NodeClient, NodeClientError

        with NodeClient(arguments.node) as client:
            try:
                print(self.ask(client, arguments))
            except NodeClientError as error:
                print(error)
                return 1
        return 0


def _state(client: Any, arguments: argparse.Namespace) -> str:
    asked = arguments.transition
    return str(client.state() if asked is None else client.change_state(asked))


def _play(client: Any, arguments: argparse.Namespace) -> str:
    from ..ros.node_client import patience_with, read_trajectory_file

    motion = read_trajectory_file(arguments.file)
    last = motion.points[-1].time_from_start
    print(f'{len(motion.points)} points, {last.sec + 1e-9 * last.nanosec:g} s ...', flush=True)
    return str(client.play(motion, patience_with(motion)))


_PARAMETER = ('parameter', {'metavar': 'PARAMETER', 'help': 'its name'})
STATE = _Action(
    "Print a node's state, or change it.",
    (
        (
            'transition',
            {
                'nargs': '?',
                'choices': TRANSITIONS,
                'metavar': 'TRANSITION',
                'help': f'to another state: {", ".join(TRANSITIONS)}',
            },
        ),
    ),
    _state,
)
GET = _Action(
    "Print a parameter of a node's.",
    (_PARAMETER,),
    lambda client, arguments: str(client.get(arguments.parameter)),
)
SET = _Action(
    "Set a parameter of a node's.",
    (_PARAMETER, ('value', {'metavar': 'VALUE', 'help': 'as YAML has it'})),
    lambda client, arguments: str(client.set(arguments.parameter, arguments.value)),
)
PLAY = _Action(
    'Send a node a motion, and follow it to its end.',
    (('file', {'type': Path, 'metavar': 'FILE', 'help': 'a trajectory of identify plan'}),),
    _play,
)
