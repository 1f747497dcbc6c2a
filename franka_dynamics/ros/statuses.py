# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What nodes say of themselves, as data: diagnostics and reports of references, read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from diagnostic_msgs.msg import DiagnosticArray

# By the number that diagnostic_msgs has for it.
LEVELS = ('OK', 'WARN', 'ERROR', 'STALE')
SIMULATED_ARM = 'Simulated arm'


class Status(NamedTuple):
    """
    One diagnostic status.

    `node` is the full name without the leading slash, `subject` what the status is about, and
    `level` one of LEVELS. A status that is named in another way than this package's has no node.
    """

    node: str
    subject: str
    level: str
    message: str
    values: Mapping[str, str]

    @property
    def name(self) -> str:
        """The name under which it was published."""
        return f'{self.node}: {self.subject}' if self.node else self.subject


def read_statuses(message: DiagnosticArray) -> Iterator[Status]:
    """Yield the statuses of a message."""
    for entry in message.status:
        node, found, subject = entry.name.partition(': ')
        number = entry.level[0]
        yield Status(
            node if found else '',
            subject if found else entry.name,
            LEVELS[number] if number < len(LEVELS) else 'ERROR',
            entry.message,
            {pair.key: pair.value for pair in entry.values},
        )


class MotionReports:
    """
    What a node reports of one motion; of motions before and beside it come reports as well.

    Parameters
    ----------
    mark : str
        The motion's frame id, which the node repeats.

    """

    NOT_FOLLOWED = ('refused', 'interrupted')
    ENDED = ('finished', *NOT_FOLLOWED)

    def __init__(self, mark: str) -> None:
        self.mark = mark
        self.state = self.reason = ''

    def take(self, message: DiagnosticArray) -> None:
        """Take a message on ~/reference_state."""
        for entry in read_statuses(message):
            if self.mark and entry.values.get('frame_id') == self.mark:
                self.state = entry.values.get('state', '')
                self.reason = entry.values.get('reason', '')

    @property
    def ended(self) -> bool:
        """Whether nothing more is to come."""
        return self.state in self.ENDED

    @property
    def not_followed(self) -> str:
        """Why the motion was not followed to its end; empty if it was, or still is."""
        if self.state not in self.NOT_FOLLOWED:
            return ''
        return f'{self.state}, {self.reason}'.rstrip(' .,')
