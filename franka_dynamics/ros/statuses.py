# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Diagnostic statuses as data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus

# Severities; the index of each is its level number in diagnostic_msgs.
LEVELS = ('OK', 'WARN', 'ERROR', 'STALE')
SIMULATED_ARM = 'Simulated arm'


class Status(NamedTuple):
    """
    One diagnostic status.

    This package names its statuses "node: subject". `node` is the node's full name without the
    leading slash, or '' if the status's name contains no ': '. `level` is the status's severity,
    one of LEVELS.
    """

    node: str
    subject: str
    level: str
    message: str
    values: Mapping[str, str]

    @property
    def name(self) -> str:
        """The name under which the status was published."""
        return f'{self.node}: {self.subject}' if self.node else self.subject


def read_statuses(message: DiagnosticArray) -> Iterator[Status]:
    """Yield the diagnostic statuses in a message."""
    return map(read_status, message.status)


def read_status(entry: DiagnosticStatus) -> Status:
    """Return one diagnostic status as data."""
    node, found, subject = entry.name.partition(': ')
    number = entry.level[0]
    return Status(
        node if found else '',
        subject if found else entry.name,
        LEVELS[number] if number < len(LEVELS) else 'ERROR',
        entry.message,
        {pair.key: pair.value for pair in entry.values},
    )
