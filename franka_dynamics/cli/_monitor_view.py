# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Draws what `node monitor` shows of feedforward nodes and simulated arms."""

from __future__ import annotations

from collections.abc import Sequence
import math

from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from ..ros.observer import NodeView, TORQUE_TERMS

_COLORS = {'OK': 'green', 'WARN': 'yellow', 'ERROR': 'red', 'STALE': 'magenta'}
_HEADINGS = dict(zip(TORQUE_TERMS, ('cmd.', 'g', 'C dq', 'M ddq', 'ext.')))
_HIGH, _TOO_HIGH = 0.8, 1.0  # shares of the torque limit

# Stamps an hour or more off the clock are taken for simulated time, for which no age is shown.
_MEANINGLESS_AGE_MS = 3.6e6
# A simulated arm whose stamps are more than 0.1 s behind the clock runs slower than real time.
# With the default max_state_age a node refuses states more than 0.1 s old.
_LATE_MS = 100.0


def monitor_view(nodes: Sequence[NodeView], now: float, *, brief: bool = False) -> RenderableType:
    """
    Return a panel for each node heard so far; before the first, one line that says "waiting".

    With `brief` one line names all statuses that are OK, and joints have their numbers alone.
    """
    if not nodes:
        return Text('waiting for diagnostics of a feedforward node ...', style='dim')
    simulated = {node.namespace for node in nodes if node.is_simulated}
    return Group(
        *(
            _panel(node, now, brief=brief, simulated=node.namespace in simulated)
            for node in sorted(nodes, key=lambda node: node.name)
        )
    )


def _panel(node: NodeView, now: float, *, brief: bool, simulated: bool) -> Panel:
    silent = node.silent(now)
    parts: list[RenderableType] = [_states(node, brief=brief)]
    if node.is_arm:
        parts += [_figures(node, simulated=simulated), _torques(node, brief=brief)]
    title = f'{node.name} (silent for {now - node.heard:.0f} s)' if silent else node.name
    return Panel(
        Group(*parts),
        title=title,
        title_align='left',
        style='dim' if silent else '',
        border_style='red' if silent else '',
    )


def _states(node: NodeView, *, brief: bool) -> RenderableType:
    """Return a line for every diagnostic status; with `brief`, one line for all that are OK."""
    good = [subject for subject, status in node.statuses.items() if status.level == 'OK']
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(overflow='fold')
    for subject, status in node.statuses.items():
        if brief and subject in good:
            continue
        table.add_row(
            Text(status.level, style=_COLORS.get(status.level, '')), subject, Text(status.message)
        )
    if not (brief and good):
        return table
    return Group(Text(f'OK: {", ".join(good)}', style=_COLORS['OK']), table)


def _figures(node: NodeView, *, simulated: bool) -> Text:
    """Return one line of figures: rate and age of states, rate and latency of commands."""
    rate, age = (node.number('Joint states', key) for key in ('rate [Hz]', 'age [ms]'))
    commands = node.number('Command', 'rate [Hz]')
    p50, p99 = (_number(node.number('Command', f'latency {p} [us]')) for p in ('p50', 'p99'))
    return Text(
        f'states {_number(rate)} Hz, {_age(age, simulated=simulated)}   '
        f'commands {_number(commands)} Hz   latency p50 {p50} us, p99 {p99} us',
        style='bold',
    )


def _age(age: float, *, simulated: bool) -> str:
    """Return the states' age [ms] in words: ms, seconds behind the clock, or simulated time."""
    if abs(age) >= _MEANINGLESS_AGE_MS:
        return 'simulated time'
    if simulated and age > _LATE_MS:
        return f'simulated time, {1e-3 * age:.1f} s behind the clock'
    if age > _LATE_MS:
        return f'stamps {1e-3 * age:.1f} s behind the clock'
    return f'{_number(age, 1)} ms old'


def _number(value: float, digits: int = 0) -> str:
    return f'{value:.{digits}f}' if math.isfinite(value) else '-'


def _torques(node: NodeView, *, brief: bool) -> Table:
    """Return a table of torques by joint and term, coloured from 80 % of the joint's limit."""
    terms = [term for term in TORQUE_TERMS if term in node.torques]
    caption = 'torques [N m]' if terms else 'no torque message has arrived yet'
    common = next(iter(node.torque_limits), '').rstrip('0123456789') if brief else ''
    caption += f' of {common}...' if common else ''
    table = Table(box=None, padding=(0, 1), caption_justify='left', caption=caption)
    table.add_column('joint', overflow='fold')
    for heading in ('limit', *(_HEADINGS[term] for term in terms)):
        table.add_column(heading, justify='right', no_wrap=True)
    for joint, limit in node.torque_limits.items():
        torques = [dict(zip(of.name, of.effort)) for of in map(node.torques.get, terms) if of]
        shown = (_torque(of.get(joint), limit) for of in torques)
        table.add_row(joint.removeprefix(common), f'{limit:g}', *shown)
    return table


def _torque(torque: float | None, limit: float) -> Text:
    if torque is None:
        return Text('-')
    share = abs(torque) / limit if limit > 0.0 else 0.0
    style = 'red' if share >= _TOO_HIGH else 'yellow' if share >= _HIGH else ''
    return Text(f'{torque:.2f}', style=style)
