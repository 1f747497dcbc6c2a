# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What the monitor knows of the arms it listens to, as plain data and as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
import math
from typing import Any

# In the order in which they are shown; the names of the feedforward node's topics.
TORQUE_TERMS = ('feedforward', 'gravity', 'coriolis', 'inertia_torque', 'external_torque')
LEVELS = ('OK', 'WARN', 'ERROR', 'STALE')
SILENT_AFTER_S = 3.0  # without diagnostics, which come once per second
_LIMIT = 'torque limit, '


@dataclass(frozen=True)
class Status:
    """One diagnostic status; `level` is one of LEVELS."""

    level: str
    message: str
    values: Mapping[str, str]


@dataclass(frozen=True)
class Torques:
    """One torque term: the stamp [s] of its joint state, joint names and torques [N m]."""

    stamp: float
    joints: tuple[str, ...]
    effort: tuple[float, ...]


@dataclass
class NodeView:
    """
    What has been heard of one node.

    `name` is its full name without the leading slash, `statuses` go by subject, `torques` by
    term. `heard` is the steady-clock time of its latest diagnostics [s].
    """

    name: str
    statuses: dict[str, Status] = field(default_factory=dict)
    torques: dict[str, Torques] = field(default_factory=dict)
    heard: float = 0.0
    command_rate: float = float('nan')
    _published: tuple[float, int] | None = None

    @property
    def namespace(self) -> str:
        """The node's namespace without slashes at its ends; empty for the root."""
        return self.name.rpartition('/')[0]

    @property
    def is_arm(self) -> bool:
        """Whether this is a feedforward node."""
        return {'Joint states', 'Command'} <= self.statuses.keys()

    @property
    def is_ours(self) -> bool:
        """Whether this is a node of this package: others speak on /diagnostics too."""
        return self.is_arm or 'Simulated arm' in self.statuses

    @property
    def torque_limits(self) -> dict[str, float]:
        """Torque limits by joint [N m]; empty until the node has told them."""
        arm = self.statuses.get('Arm')
        return {} if arm is None else {
            key[len(_LIMIT):].removesuffix(' [N m]'): float(value)
            for key, value in arm.values.items() if key.startswith(_LIMIT)}

    def silent(self, now: float) -> bool:
        """Return whether its diagnostics have ceased."""
        return now - self.heard > SILENT_AFTER_S

    def take(self, subject: str, status: Status, now: float) -> None:
        """Take one diagnostic status."""
        self.statuses[subject] = status
        self.heard = now
        if subject == 'Command' and 'published' in status.values:
            published = int(status.values['published'])
            if self._published is not None and now > self._published[0]:
                before, count = self._published
                # A count that fell is a node that was activated anew.
                self.command_rate = max(0, published - count) / (now - before)
            self._published = (now, published)

    def number(self, subject: str, key: str) -> float:
        """Return one diagnostic value as a number; NaN where there is none."""
        status = self.statuses.get(subject)
        value = parsed(status.values.get(key, '')) if status is not None else None
        return float(value) if isinstance(value, int | float) else float('nan')

    def as_dict(self, now: float) -> dict[str, Any]:
        """Return it for JSON: numbers as numbers, and null for what is not known."""
        return {
            'node': self.name, 'silent': self.silent(now),
            'command_rate_hz': finite(self.command_rate),
            'torque_limits': self.torque_limits,
            'statuses': {subject: {
                'level': status.level, 'message': status.message,
                'values': {key: parsed(value) for key, value in status.values.items()},
            } for subject, status in self.statuses.items()},
            'torques': {term: {
                'stamp': torques.stamp,
                'effort': {joint: finite(value)
                           for joint, value in zip(torques.joints, torques.effort)},
            } for term, torques in self.torques.items()}}


def parsed(text: str) -> Any:
    """Return a diagnostic value as what it stands for: a truth, a number, None for NaN, text."""
    if text in ('True', 'False'):
        return text == 'True'
    for kind in (int, float):
        try:
            return finite(kind(text))
        except ValueError:
            continue
    return text


def finite(value: float) -> float | None:
    """Return a number, or None where JSON has none for it."""
    return value if math.isfinite(value) else None


def at_fault(nodes: Iterable[NodeView], now: float) -> list[str]:
    """Return a sentence for every arm that is silent or reports an error."""
    sentences = []
    for node in nodes:
        if node.silent(now):
            sentences.append(f'{node.name} has been silent for {now - node.heard:.1f} s.')
        sentences += [f'{node.name}: {subject}: {status.message}'
                      for subject, status in node.statuses.items() if status.level == 'ERROR']
    return sentences
