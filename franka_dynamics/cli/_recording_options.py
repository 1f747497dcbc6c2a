# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The options by which a verb is told how a recording is to be read and filtered."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
import sys
import time
from typing import Any, TYPE_CHECKING

from ._arm_options import add_payload_option, NamedArm
from ._options import add_joint_name_options, arm_prefix_option
from ..arm import ArmDescription
from ..errors import RecordingError
from ..options import option
from ..recordings.preprocessing import SignalOptions
from ..recordings.recording import read_recording

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

    from ..recordings.recording import Recording


@dataclass(frozen=True, kw_only=True)
class RecordingOptions(SignalOptions, NamedArm):
    """How a recording of an arm is read and filtered."""

    arm_prefix: str = arm_prefix_option()
    joint_names: tuple[str, ...] = option(
        'how the joints are called in the bag, from base to tip', 'NAME', default=()
    )
    topic: str | None = option(
        'topic of the joint states (default: /joint_states, or the only one there is)',
        default=None,
    )
    stamps: str = option(
        "the messages' own stamps or the recorder's",
        choices=('header', 'received'),
        default='header',
    )

    @property
    def signal(self) -> SignalOptions:
        """The signal processing alone."""
        return self.part(SignalOptions)

    def read(self, bag: str, arm: ArmDescription, bar: Progress) -> Recording:
        """Return a bag's recording of an arm."""
        return read_recording(
            bag,
            joint_names(self, arm),
            topic=self.topic,
            stamps=self.stamps,
            progress=reading(bar, bag),
        )


def add_recording_options(parser: argparse.ArgumentParser) -> None:
    """Add the arm, its payload, joints' names, the topic and the signal processing."""
    parser.add_argument(
        '--arm',
        default='fer',
        metavar='ARM',
        help='a shipped arm or the path of an arm file (default: %(default)s)',
    )
    add_joint_name_options(parser, 'how the joints are called in the bag, from base to tip')
    add_payload_option(parser)
    parser.add_argument(
        '--topic',
        help='topic of the joint states (default: /joint_states, or the only one there is)',
    )
    parser.add_argument(
        '--stamps',
        choices=('header', 'received'),
        default='header',
        help="the messages' own stamps or the recorder's (default: %(default)s)",
    )
    parser.add_argument(
        '--rate',
        type=float,
        default=30.0,
        metavar='HZ',
        help='samples per second after resampling (default: %(default)s)',
    )
    parser.add_argument(
        '--cutoff',
        type=float,
        default=3.0,
        metavar='HZ',
        help='of the low-pass on position, velocity and effort (default: %(default)s)',
    )
    parser.add_argument(
        '--trim',
        type=float,
        default=0.3,
        metavar='S',
        help='dropped at each end after filtering (default: %(default)s)',
    )


def signal_options(arguments: argparse.Namespace) -> SignalOptions:
    """Return the signal processing that the options ask for."""
    return SignalOptions(rate=arguments.rate, cutoff=arguments.cutoff, trim=arguments.trim)


def joint_names(arguments: Any, arm: ArmDescription) -> tuple[str, ...]:
    """Return how the arm's joints are called in the bag."""
    names = tuple(arguments.joint_names or arm.joint_names)
    if len(names) != arm.n:
        raise RecordingError(
            f'--joint-names has {len(names)} names, but {arm.name} has {arm.n} '
            'joints; name each, from base to tip.'
        )
    return names


def read_from_options(
    arguments: argparse.Namespace, arm: ArmDescription, bar: Progress, bag: str | None = None
) -> Recording:
    """Read a bag (the one of the options if not given) as the options say."""
    path = arguments.bag if bag is None else bag
    return read_recording(
        path,
        joint_names(arguments, arm),
        topic=arguments.topic,
        stamps=arguments.stamps,
        progress=reading(bar, path),
    )


def reading(bar: Progress, path: str) -> Callable[[int, int], None]:
    """Return a function that shows how many messages of a bag have been read."""
    task = bar.add_task(f'reading {path}', total=None)
    return lambda done, total: bar.update(task, completed=done, total=total)


_LINE_EVERY_S = 10.0


def progress_bar(console: Console) -> Progress:
    """Return a progress bar that leaves no trace; outside a terminal, lines on standard error."""
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
    )

    class Bar(Progress):
        told = time.monotonic()

        def update(self, task_id: Any, **changes: Any) -> None:
            super().update(task_id, **changes)
            if self.disable and time.monotonic() - self.told > _LINE_EVERY_S:
                self.told = time.monotonic()
                task = self.tasks[self.task_ids.index(task_id)]
                print(
                    f'{task.description}: {task.completed:.0f} of {task.total or 0.0:.0f}',
                    file=sys.stderr,
                )

    return Bar(
        TextColumn('{task.description}'),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
