# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What the monitor knows of the arms it listens to, as plain data and as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
import math
from typing import Any

from rich.bar import Bar
from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

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
        """Whether this is a node of this package: others publish on /diagnostics too."""
        return self.is_arm or 'Simulated arm' in self.statuses

    @property
    def torque_limits(self) -> dict[str, float]:
        """Torque limits by joint [N m]; empty until the node has told them."""
        arm = self.statuses.get('Arm')
        return (
            {}
            if arm is None
            else {
                key[len(_LIMIT) :].removesuffix(' [N m]'): float(value)
                for key, value in arm.values.items()
                if key.startswith(_LIMIT)
            }
        )

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
            'node': self.name,
            'silent': self.silent(now),
            'command_rate_hz': finite(self.command_rate),
            'torque_limits': self.torque_limits,
            'statuses': {
                subject: {
                    'level': status.level,
                    'message': status.message,
                    'values': {key: parsed(value) for key, value in status.values.items()},
                }
                for subject, status in self.statuses.items()
            },
            'torques': {
                term: {
                    'stamp': torques.stamp,
                    'effort': {
                        joint: finite(value)
                        for joint, value in zip(torques.joints, torques.effort)
                    },
                }
                for term, torques in self.torques.items()
            },
        }


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
        sentences += [
            f'{node.name}: {subject}: {status.message}'
            for subject, status in node.statuses.items()
            if status.level == 'ERROR'
        ]
    return sentences


_COLORS = {'OK': 'green', 'WARN': 'yellow', 'ERROR': 'red', 'STALE': 'magenta'}
_HEADINGS = dict(zip(TORQUE_TERMS, ('command', 'gravity', 'Coriolis', 'inertia', 'external')))
_HIGH, _TOO_HIGH = 0.8, 1.0  # shares of the torque limit
# Widths [characters]: bars, what a term needs beside its bar, and the table's first columns.
_LEAST_BAR, _MOST_BAR = 4, 20
_TERM_WIDTH, _FIRST_WIDTH = 13, 26
# Stamps this far from the clock are simulated time, whose age means nothing.
_MEANINGLESS_AGE_MS = 3.6e6


def monitor_view(nodes: Sequence[NodeView], now: float, width: int) -> RenderableType:
    """Return the picture of all nodes heard so far, for a terminal of a width [characters]."""
    if not nodes:
        return Text('waiting for diagnostics of a feedforward node ...', style='dim')
    return Group(*(_panel(node, now, width) for node in sorted(nodes, key=lambda n: n.name)))


def _panel(node: NodeView, now: float, width: int) -> Panel:
    silent = node.silent(now)
    parts: list[RenderableType] = [_states(node)]
    if node.is_arm:
        parts += [_figures(node), _torques(node, width)]
    title = f'{node.name} (silent for {now - node.heard:.0f} s)' if silent else node.name
    return Panel(
        Group(*parts),
        title=title,
        title_align='left',
        style='dim' if silent else '',
        border_style='red' if silent else '',
    )


def _states(node: NodeView) -> Table:
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(overflow='fold')
    for subject, status in node.statuses.items():
        table.add_row(
            Text(status.level, style=_COLORS.get(status.level, '')), subject, Text(status.message)
        )
    return table


def _figures(node: NodeView) -> Text:
    """Return rates and latencies in one line."""
    age = node.number('Joint states', 'age [ms]')
    return Text(
        '   '.join(
            (
                f'states {_number(node.number("Joint states", "rate [Hz]"))} Hz, '
                + (
                    f'{_number(age, 1)} ms old'
                    if abs(age) < _MEANINGLESS_AGE_MS
                    else 'simulated time'
                ),
                f'commands {_number(node.command_rate)} Hz',
                f'latency p50 {_number(node.number("Command", "latency p50 [us]"))} us, '
                f'p99 {_number(node.number("Command", "latency p99 [us]"))} us',
            )
        ),
        style='bold',
    )


def _number(value: float, digits: int = 0) -> str:
    return f'{value:.{digits}f}' if math.isfinite(value) else '-'


def _torques(node: NodeView, width: int) -> Table:
    """Return the torques by joint and term, as numbers and as bars against the limits."""
    terms = [term for term in TORQUE_TERMS if term in node.torques]
    bar = min((width - _FIRST_WIDTH) // max(len(terms), 1) - _TERM_WIDTH, _MOST_BAR)
    bar -= bar % 2  # so that a bar begins between two characters
    with_bars = bar >= _LEAST_BAR
    table = Table(
        box=None,
        padding=(0, 1),
        caption_justify='left',
        caption=(
            'no torques are listened to, or none has come'
            if not terms
            else 'torques [N m]' + ('; a full bar is the limit' if with_bars else '')
        ),
    )
    table.add_column('joint', no_wrap=True)
    table.add_column('limit', justify='right', no_wrap=True)
    for term in terms:
        table.add_column(_HEADINGS[term], justify='right', no_wrap=True, min_width=8)
        if with_bars:
            table.add_column('', width=bar)
    for joint, limit in node.torque_limits.items():
        cells: list[RenderableType] = []
        for term in terms:
            torque = dict(zip(node.torques[term].joints, node.torques[term].effort)).get(joint)
            cells.append('-' if torque is None else f'{torque:.2f}')
            if with_bars:
                cells.append('' if torque is None else torque_bar(torque, limit, bar))
        table.add_row(joint, f'{limit:g}', *cells)
    return table


def torque_bar(torque: float, limit: float, width: int) -> Bar:
    """Return a bar from the middle towards a torque's side; its end is the limit [N m]."""
    if not limit > 0.0 or not math.isfinite(torque):
        return Bar(1.0, 0.0, 0.0, width=width)
    share = torque / limit
    color = 'red' if abs(share) >= _TOO_HIGH else 'yellow' if abs(share) >= _HIGH else 'green'
    end = min(max(share, -1.0), 1.0)
    return Bar(2.0, 1.0 + min(end, 0.0), 1.0 + max(end, 0.0), width=width, color=color)
