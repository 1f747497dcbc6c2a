# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`franka-dynamics node load`: a parameter file into a running node, all or nothing."""

from __future__ import annotations

import argparse
from pathlib import Path
import sys

SUMMARY = 'Load a parameter file into a running node: all of it at once, or none of it.'


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's options."""
    parser.add_argument('node', help='fully qualified name, such as /feedforward')
    parser.add_argument(
        'file',
        type=Path,
        help='as `ros2 param dump` or `franka-dynamics '
        'node defaults` writes it; values that are so already may stay in it',
    )
    parser.add_argument(
        '--timeout',
        type=float,
        default=10.0,
        metavar='S',
        help='how long to wait for the node [s] (default: %(default)s)',
    )


def run(arguments: argparse.Namespace) -> int:
    """Load; exit 1 if the node is not there or refuses, 2 if the file is at fault."""
    from ..ros.node_client import NodeClient, NodeClientError

    try:
        with NodeClient(arguments.node, arguments.timeout) as client:
            loaded = client.load(arguments.file)
    except NodeClientError as error:
        print(f'franka-dynamics: nothing was set: {error}', file=sys.stderr)
        return 1
    print(
        f'set: {", ".join(loaded.changed) or "nothing"}; {len(loaded.unchanged)} were so already'
    )
    return 0
