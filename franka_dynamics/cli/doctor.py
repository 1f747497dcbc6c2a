# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`franka-dynamics doctor`: whether a machine, and what runs on it, is as it should be."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
import json
import sys
from typing import TYPE_CHECKING

from ._machine_checks import Check, Level, machine_checks
from ._options import add_topic_options, output_file
from ..errors import SettingsError

if TYPE_CHECKING:
    from rich.console import Console

SUMMARY = 'Check permissions, versions, DDS, topics, clock and who carries gravity, a line each.'
GROUP = 'while it runs'
_STYLES = {Level.GOOD: 'green', Level.NOTE: 'yellow', Level.BAD: 'red'}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's options."""
    add_topic_options(parser)
    parser.add_argument(
        '--listen',
        type=float,
        default=3.0,
        metavar='S',
        help='how long to listen to the running system (default: %(default)s)',
    )
    parser.add_argument(
        '--machine', action='store_true', help='look at this machine alone, not at what runs on it'
    )
    parser.add_argument(
        '--json', type=output_file, metavar='FILE', help='write all lines to this file'
    )


def run(arguments: argparse.Namespace) -> int:
    """Print one line a check; exit 1 if something is to be done."""
    from rich.console import Console

    from ..files import write_text

    if not 0.5 <= arguments.listen <= 600.0:
        raise SettingsError(f'--listen is {arguments.listen}; it must be within 0.5 and 600 s.')
    console, found = Console(), []
    for check in _checks(arguments, console):
        found.append(check)
        console.print(
            f'[{_STYLES[check.level]}]{check.level.value:5}[/] {check.subject}: ', end=''
        )
        console.print(check.text, highlight=False, markup=False, soft_wrap=True)
    if arguments.json:
        write_text(
            arguments.json,
            json.dumps(
                [
                    {'subject': one.subject, 'level': one.level.value, 'text': one.text}
                    for one in found
                ],
                indent=2,
            )
            + '\n',
        )
    return 1 if any(check.level is Level.BAD for check in found) else 0


def _checks(arguments: argparse.Namespace, console: Console) -> Iterator[Check]:
    yield from machine_checks()
    if arguments.machine:
        return
    try:
        from ..ros.system_checks import system_checks
    except ImportError as error:
        yield Check(
            'ROS 2',
            Level.BAD,
            f'cannot be imported ({error}); source it, or install its '
            'wheels with pip install -r requirements/ros-jazzy.txt',
        )
        return
    if console.is_terminal:
        print(f'listening for {arguments.listen:g} s ...', file=sys.stderr)
    lines = list(
        system_checks(
            f'/{arguments.topic.lstrip("/")}',
            f'/{arguments.command.lstrip("/")}',
            arguments.listen,
        )
    )
    yield from (Check(subject, Level(level), text) for subject, level, text in lines)
