# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What verbs that start nodes share: telling nodes the arm, and naming this command."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from pathlib import Path
import shlex
import sys

from ..arm.payload import payload_array, read_payload, yaml_number


def node_arguments(arguments: argparse.Namespace) -> tuple[str, ...]:
    """Return the ROS arguments that tell every node of this package a verb's arm."""
    given = {
        'robot_type': arguments.arm,
        'hand': arguments.hand,
        'inertial_set': getattr(arguments, 'inertial_set', None),
        'repair': getattr(arguments, 'repair', None),
        'arm_prefix': getattr(arguments, 'arm_prefix', None),
    }
    texts = {name: f'{value}' for name, value in given.items() if value}
    return tuple(part for name, text in texts.items() for part in ('-p', f'{name}:={text}'))


def payload_arguments(arguments: argparse.Namespace) -> tuple[str, ...]:
    """Return the ROS arguments for --payload, for nodes that have the parameter."""
    if arguments.payload is None:
        return ()
    numbers = payload_array(read_payload(arguments.payload))
    return ('-p', f'payload:={ros_array(numbers)}')


def ros_array(numbers: Iterable[float]) -> str:
    """Return numbers as a ROS argument; rcl takes no integer among floats."""
    return f'[{", ".join(yaml_number(number) for number in numbers)}]'


def this_command() -> str:
    """Return how this command can be started again from the same folder, as a shell takes it."""
    started = Path(sys.argv[0])
    if started.name == '__main__.py' or not started.exists():
        return f'{shlex.quote(sys.executable)} -m franka_dynamics'
    return shlex.quote(str(started))
