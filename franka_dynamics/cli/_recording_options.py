# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The options by which a verb is told how a recording is to be read and filtered."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
import sys
import time
from typing import Any, TYPE_CHECKING

from ._arm_options import NamedArm
from ._options import arm_prefix_option
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
class BagNames(NamedArm):
    """What joints and topic are called in a recording of an arm."""

    arm_prefix: str = arm_prefix_option()
    joint_names: tuple[str, ...] = option(
        'how the joints are called in the bag, from base to tip', 'NAME', default=()
    )
    topic: str | None = option(
        'topic of the joint states (default: /joint_states, or the only one there is)',
        default=None,
    )

    def names_in_bag(self, arm: ArmDescription) -> tuple[str, ...]:
        """Return how the arm's joints are called in the bag."""
        names = self.joint_names or arm.joint_names
        if len(names) != arm.n:
            raise RecordingError(
                f'--joint-names has {len(names)} names, but {arm.name} has {arm.n} joints; name '
                'each, from base to tip.'
            )
        return names


@dataclass(frozen=True, kw_only=True)
class RecordingOptions(SignalOptions, BagNames):
    """How a recording of an arm is read and filtered."""

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
            self.names_in_bag(arm),
            topic=self.topic,
            stamps=self.stamps,
            progress=reading(bar, bag),
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
