# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Draws what `node state` shows of feedforward nodes and simulated arms."""

from collections.abc import Sequence
import math
from typing import Any

from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from ..ros.status import (
    DiagnosticSubject,
    NodeSnapshot,
    StatusKey,
    TERM_HEADINGS,
    TIME_PERCENTILES,
)

_LEVEL_COLORS = {'WARN': 'yellow', 'ERROR': 'red', 'STALE': 'magenta'}
_HIGH_TORQUE_RATIO, _MAX_TORQUE_RATIO = 0.8, 1.0  # of torque to its limit: yellow, red
_MAX_STAMP_AGE_MS = 100.0  # older stamps come from a simulation slower than the clock
_MIN_OTHER_CLOCK_AGE_MS = 3.6e6  # stamps that far off are simulated time


def state_view(nodes: Sequence[NodeSnapshot], now: float) -> RenderableType:
    """
    Return a panel for each node heard so far, or a line "waiting ..." before the first.

    One line names all statuses that are OK; joints have their numbers alone.
    """
    if not nodes:
        return Text('waiting for diagnostics of a feedforward node ...', style='dim')
    ordered = sorted(nodes, key=lambda node: node.name)
    return Group(*(_node_panel(node, now) for node in ordered))


def _node_panel(node: NodeSnapshot, now: float) -> Panel:
    """Return a panel with a node's statuses, rates, latency and torques; dim if it is silent."""
    table = Table.grid(padding=(0, 2))
    for column in range(3):
        table.add_column(no_wrap=column < 2, overflow='fold')
    good = [one for one, status in node.statuses.items() if status.level == 'OK']
    parts: list[Any] = [Text(f'OK: {", ".join(good)}', style='green')] if good else []
    for subject, status in node.statuses.items():
        if subject not in good:
            level = Text(status.level, style=_LEVEL_COLORS.get(status.level, ''))
            table.add_row(level, subject, Text(status.message))
    parts.append(table)
    if node.is_feedforward_node:
        states, command = DiagnosticSubject.JOINT_STATES, DiagnosticSubject.COMMAND
        rate, age = (node.value_of(states, key) for key in (StatusKey.RATE, StatusKey.AGE))
        p50, p99 = (
            node.value_of(command, StatusKey.LATENCY.format(name)) for name in TIME_PERCENTILES
        )
        commands = _decimal_text(node.value_of(command, StatusKey.RATE))
        line = f'states {_decimal_text(rate)} Hz, {_age_text(age)}   commands {commands} Hz   '
        line += f'latency p50 {_decimal_text(p50)} us, p99 {_decimal_text(p99)} us'
        parts += [Text(line, style='bold'), _torque_table(node)]
    silent = f' (silent for {now - node.updated_at:.0f} s)' if node.is_silent(now) else ''
    dim, red = ('dim', 'red') if silent else ('', '')
    title = f'{node.name}{silent}'
    return Panel(Group(*parts), title=title, title_align='left', style=dim, border_style=red)


def _age_text(age: float) -> str:
    """Return the states' age as text: in ms, in s if stamps are late, or 'simulated time'."""
    if abs(age) >= _MIN_OTHER_CLOCK_AGE_MS:
        return 'simulated time'
    return (
        f'stamps {1e-3 * age:.1f} s late'
        if age > _MAX_STAMP_AGE_MS
        else f'{_decimal_text(age, 1)} ms old'
    )


def _decimal_text(value: float, digits: int = 0) -> str:
    """Return a number as text with `digits` decimals, or - if it is not finite."""
    return f'{value:.{digits}f}' if math.isfinite(value) else '-'


def _torque_table(node: NodeSnapshot) -> Table:
    """Return a table of torques by joint and term, coloured from 80 % of the joint's limit."""
    terms = [term for term in TERM_HEADINGS if term in node.torques]
    caption = 'torques [N m]' if terms else 'no torque message has arrived yet'
    heads = {name.rstrip('0123456789') for name in node.torque_limits}
    common = heads.pop() if len(heads) == 1 and not heads & {*node.torque_limits} else ''
    caption += f' of {common}...' if common else ''
    table = Table(box=None, padding=(0, 1), caption_justify='left', caption=caption)
    table.add_column('joint', overflow='fold')
    for heading in ('limit', *(TERM_HEADINGS[term] for term in terms)):
        table.add_column(heading, justify='right', no_wrap=True)
    torques = [dict(zip(node.torques[term].name, node.torques[term].effort)) for term in terms]
    for joint, limit in node.torque_limits.items():
        shown = (_torque_text(of.get(joint, math.nan), limit) for of in torques)
        table.add_row(joint.removeprefix(common), f'{limit:g}', *shown)
    return table


def _torque_text(torque: float, limit: float) -> Text:
    """Return a torque [N m], yellow from 80 % of its limit, red from the limit on."""
    load = abs(torque) / limit if limit > 0.0 else 0.0
    style = 'red' if load >= _MAX_TORQUE_RATIO else 'yellow' if load >= _HIGH_TORQUE_RATIO else ''
    return Text(_decimal_text(torque, 2), style=style)
