# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`franka-dynamics bag record`: a running system to a bag, checked while it is recorded."""

from __future__ import annotations

import argparse
from datetime import datetime
from pathlib import Path
import shlex
from typing import TYPE_CHECKING

from ._arm_options import add_arm_options, arm_as_given, load_arm, this_command
from ._interrupts import until_interrupted
from ._options import add_topic_options, output_folder
from ._say import terminal
from ..arm import ArmDescription
from ..errors import FrankaDynamicsError, OutputError, SettingsError

if TYPE_CHECKING:
    from ..ros.recording_session import Progress

SUMMARY = 'Record joint states, commands and diagnostics of a running system; say if it is usable.'
_SLOWER = 20.0  # times than the clock, at most
_DISCOVERY_S = 5.0  # who publishes may not be found sooner on a busy machine


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's options."""
    add_arm_options(parser)
    parser.add_argument(
        '--arm-prefix', default='', metavar='PREFIX', help='in front of every joint name, verbatim'
    )
    parser.add_argument(
        '--output',
        type=output_folder,
        metavar='FOLDER',
        help='the bag, a folder to be made (default: recording-DATE-TIME)',
    )
    parser.add_argument(
        '--duration',
        type=float,
        metavar='S',
        help="end by itself after so long by the joint states' stamps [s] (default: at Ctrl-C)",
    )
    add_topic_options(parser)
    parser.add_argument(
        '--node',
        default='feedforward',
        metavar='NAME',
        help='the feedforward node, if one runs (default: %(default)s)',
    )


def run(arguments: argparse.Namespace) -> int:
    """Record until interrupted; exit 1 if the recording cannot be used."""
    from rich.live import Live
    from rich.text import Text

    if arguments.duration is not None and not 0.0 < arguments.duration <= 86400.0:
        raise SettingsError(
            f'--duration is {arguments.duration}; it must be above 0 and at most 86400 s.'
        )
    from ..ros.recording_session import record

    arm = load_arm(arguments)
    bag = arguments.output or Path(datetime.now().strftime('recording-%Y%m%d-%H%M%S'))
    if bag.exists():
        raise OutputError(
            f'{bag} exists already; a bag is never overwritten. Choose another '
            'place with --output.'
        )
    console = terminal()
    # A bag that is not closed cannot be read: whatever ends this, the loop ends first.
    with (
        until_interrupted() as unasked,
        Live(console=console, refresh_per_second=4, transient=True) as live,
    ):

        def go_on(progress: Progress) -> bool:
            live.update(Text(f'recording {bag}: {progress}; Ctrl-C ends'))
            # By the arm's own stamps: a simulated arm may be slower than the clock.
            wanted = arguments.duration
            long_enough = wanted is not None and (
                progress.span >= wanted
                or progress.seconds
                > (_SLOWER * wanted if progress.states else max(_DISCOVERY_S, wanted))
            )
            return unasked() and not long_enough

        progress = record(
            bag,
            arm.joint_names,
            _absolute(arguments.topic),
            _absolute(arguments.command),
            _absolute(arguments.node),
            go_on,
        )
    console.print(
        f'{bag}: {progress.states} joint states in {progress.seconds:.1f} s, '
        f'{progress.rate:.0f} Hz',
    )
    return _judge(arm, bag, arguments, progress)


def _absolute(topic: str) -> str:
    return f'/{topic.lstrip("/")}'


def _judge(
    arm: ArmDescription,
    bag: Path,
    arguments: argparse.Namespace,
    progress: Progress,
) -> int:
    """Read the bag back as replay and identify would; 1 if they could not use it."""
    from ..recordings.plausibility import suspicions
    from ..recordings.preprocessing import prepare
    from ..recordings.recording import read_recording

    try:
        recording = read_recording(bag, arm.joint_names, topic=_absolute(arguments.topic))
        warnings = suspicions(recording, arm)
        motion = prepare(recording)
    except FrankaDynamicsError as error:
        print(f'not usable: {error}')
        return 1
    for sentence in warnings:
        print(f'warning: {sentence}')
    for sentence in (*motion.remarks, *(one for one in progress.problems if 'move' in one)):
        print(f'note: {sentence}')
    print(
        f'{"doubtful" if warnings else "usable"}: {len(motion)} samples at '
        f'{motion.options.rate:g} Hz. Next:'
    )
    # replay does not repair links: its figures are those of the set as published.
    options = arm_as_given(arguments, 'repair')
    print(f'  {this_command()} bag replay {shlex.quote(str(bag))} {options}')
    return 0
