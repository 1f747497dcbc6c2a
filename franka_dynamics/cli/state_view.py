# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Formats statuses, rates and torques of running nodes for the command `node state`."""

from collections.abc import Collection, Iterator, Sequence
import math

from rich.console import Group, RenderableType
from rich.text import Text

from ..report.elements import Cell, headers, Table
from ..ros.status import DiagnosticSubject, NodeSnapshot, StatusKey, TERM_HEADINGS

_LEVEL_COLORS = {'WARN': 'yellow', 'ERROR': 'red', 'STALE': 'magenta'}
_HIGH_TORQUE_TO_LIMIT = 0.8  # from there on yellow
_MAX_TORQUE_TO_LIMIT = 1.0  # from there on red
_MAX_STAMP_AGE_MS = 100.0  # older stamps come from a simulation slower than the clock
_MIN_OTHER_CLOCK_AGE_MS = 3.6e6  # stamps that far off are simulated time


def state_view(nodes: Sequence[NodeSnapshot], now: float) -> Group:
    """Return a rich view of nodes' statuses and feedforward nodes' rates, latency and torques."""
    ordered = sorted(nodes, key=lambda node: node.name)
    return Group(*(part for node in ordered for part in _node_lines(node, now)))


def _node_lines(node: NodeSnapshot, now: float) -> Iterator[RenderableType]:
    """Yield rich text of a node's name, statuses, rates and torques; one line for OK statuses."""
    silent = f' (silent for {now - node.updated_at:.0f} s)' if node.is_silent(now) else ''
    yield Text(f'{node.name}{silent}', 'bold red' if silent else 'bold')
    good = [subject for subject, status in node.statuses.items() if status.level == 'OK']
    if good:
        yield Text(f'OK: {", ".join(good)}', 'green')
    for subject, status in node.statuses.items():
        if subject not in good:
            level = status.level, _LEVEL_COLORS.get(status.level, '')
            yield Text.assemble(level, f' {subject}: {status.message}')
    if slowness := node.slowness_text():
        yield Text(f'the simulation {slowness}', 'yellow')
    if node.is_feedforward_node:
        yield _rates_text(node)
        yield _torque_table(node)


def _rates_text(node: NodeSnapshot) -> str:
    """
    Return as text a feedforward node's state and command rates, state age and latency.

    Where a simulation is slower than real time, the rates by stamps and by the clock differ.
    """
    states = DiagnosticSubject.JOINT_STATES
    command = DiagnosticSubject.COMMAND
    state_rate = _decimal_text(node.value_of(states, StatusKey.RATE))
    command_rate = _decimal_text(node.value_of(command, StatusKey.RATE))
    p50, p99 = map(_decimal_text, node.percentiles_of(command, StatusKey.LATENCY))
    age = _state_age_text(node.value_of(states, StatusKey.AGE))
    return (
        f'states {state_rate} Hz by their stamps, {age}; commands {command_rate} Hz by the clock '
        f'of this computer; latency p50 {p50} us, p99 {p99} us'
    )


def _state_age_text(age_ms: float) -> str:
    """Return the age of joint states [ms] as text, from 1 h on as a note of simulated time."""
    if abs(age_ms) >= _MIN_OTHER_CLOCK_AGE_MS:
        return 'simulated time'
    if age_ms > _MAX_STAMP_AGE_MS:
        return f'stamps {1e-3 * age_ms:.1f} s late'
    return f'{_decimal_text(age_ms, 1)} ms old'


def _decimal_text(value: float, decimals: int = 0) -> str:
    """Return a number as text with some `decimals`, or - if it is not finite."""
    return f'{value:.{decimals}f}' if math.isfinite(value) else '-'


def _torque_table(node: NodeSnapshot) -> Table:
    """Return a table of torques by joint and term, marked from 80 % of the joint's limit on."""
    terms = [term for term in TERM_HEADINGS if term in node.torques]
    unit = 'N m, of joints that slide N' if node.slides else 'N m'
    title = f'torques [{unit}]' if terms else 'no torque message has arrived yet'
    stem = _common_stem(node.torque_limits)
    if stem:
        title += f' of {stem}...'
    messages = [node.torques[term] for term in terms]
    torques_by_term = [dict(zip(message.name, message.effort)) for message in messages]
    rows = []
    for joint, limit in node.torque_limits.items():
        cells = (_torque_cell(torques.get(joint), limit) for torques in torques_by_term)
        rows.append((joint.removeprefix(stem), f'{limit:g}', *cells))
    numbers = headers((TERM_HEADINGS[term] for term in terms), '.2f')
    return Table(title, ['joint', 'limit', *numbers], rows)


def _common_stem(joint_names: Collection[str]) -> str:
    """Return what joints' names have before their numbers, '' unless all have it and a number."""
    stems = {name.rstrip('0123456789') for name in joint_names}
    if len(stems) != 1 or stems & set(joint_names):
        return ''
    return stems.pop()


def _torque_cell(torque: float | None, limit: float) -> Cell:
    """Return a table cell of a torque [N m], marked from 80 % and from 100 % of its limit."""
    load = abs(torque) / limit if torque is not None and limit > 0.0 else 0.0
    if load >= _MAX_TORQUE_TO_LIMIT:
        return Cell(torque, 'bad')
    return Cell(torque, 'warning' if load >= _HIGH_TORQUE_TO_LIMIT else '')
