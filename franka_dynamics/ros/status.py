# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Diagnostic statuses as data, for nodes that publish them and programs that read them."""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple, Self

from diagnostic_msgs.msg import DiagnosticStatus, KeyValue
from sensor_msgs.msg import JointState

from .messages import seconds

# Severities; the index of each is its level number in diagnostic_msgs.
LEVELS = ('OK', 'WARN', 'ERROR', 'STALE')
PERCENTILES = {'p50 [us]': 50.0, 'p99 [us]': 99.0}  # of durations
# Headings of the feedforward node's torque topics, in the order in which they are shown.
TORQUE_TERMS = {
    'feedforward': 'cmd.',
    'gravity': 'g',
    'coriolis': 'C dq',
    'inertia_torque': 'M ddq',
    'external_torque': 'ext.',
}
SILENT_AFTER_S = 3.0  # time without diagnostics after which a node is silent [s]


class DiagnosticSubject(StrEnum):
    """What a diagnostic status of a simulated arm or a feedforward node is about."""

    SIMULATED_ARM = 'Simulated arm'
    JOINT_STATES = 'Joint states'
    COMMAND = 'Command'
    REFERENCE = 'Reference'
    EXTERNAL_WRENCH = 'External wrench'
    ARM = 'Arm'
    TORQUE_LIMITS = 'Torque limits [N m]'  # the keys of its values are joints


class Key(StrEnum):
    """Keys of diagnostic values that programs read."""

    HELD = 'held'  # whether torques hold the receiver's arm against gravity
    REMEDY = 'to command again'
    REFUSED_BY = 'refused by'
    MODEL_DIFFERENCE = 'largest difference of the two models [N m, relative above 1 N m]'
    RATE = 'rate [Hz]'
    AGE = 'age [ms]'
    STOPS = 'stops'
    LATENCY = 'latency {}'  # of one of PERCENTILES
    SIMULATED_TIME = 'simulated time [s]'
    COMMANDED = 'steps commanded'
    MISSED = 'steps without a new command'
    ROUND_TRIP = 'round trip {}'  # of one of PERCENTILES


class NodeStatus(NamedTuple):
    """
    One status of a node about a subject, as on /diagnostics.

    This package names its statuses "node: subject". `node` is the node's full name without the
    leading slash, or '' if the status's name contains no ': '. `level` is the status's severity,
    one of LEVELS. Values that were received are text.
    """

    node: str
    subject: str
    level: str
    message: str
    values: Mapping[str, Any]

    @property
    def name(self) -> str:
        """Name of this status in a diagnostic message: node and subject."""
        return f'{self.node}: {self.subject}' if self.node else self.subject

    @property
    def sentence(self) -> str:
        """What the status of a node says: state, reason and what makes it command again."""
        remedy = self.values.get(Key.REMEDY)
        way = f'; {Key.REMEDY}: {remedy}' if remedy else ''
        return f'{self.values.get("state", self.level)}: {self.message}{way}'

    @property
    def is_arm_held(self) -> bool:
        """Whether this is a receiver's status and says that torques hold the arm."""
        return self.values.get(Key.HELD) == 'True'

    @classmethod
    def from_message(cls, message: DiagnosticStatus) -> Self:
        """Return the status that a message holds."""
        node, found, subject = message.name.partition(': ')
        level = dict(enumerate(LEVELS)).get(message.level[0], 'ERROR')
        values = {pair.key: pair.value for pair in message.values}
        return cls(node if found else '', subject or message.name, level, message.message, values)

    def to_message(self, hardware: str) -> DiagnosticStatus:
        """Return the status as a message for an arm; floats have six significant digits."""
        return DiagnosticStatus(
            level=bytes([LEVELS.index(self.level)]),
            name=self.name,
            message=self.message,
            hardware_id=hardware,
            values=[
                KeyValue(key=key, value=f'{value:.6g}' if isinstance(value, float) else str(value))
                for key, value in self.values.items()
            ],
        )


@dataclass
class NodeSnapshot:
    """
    The latest messages heard from one node.

    `name` is the node's full name without the leading slash. `statuses` maps each subject to a
    diagnostic status, `torques` each term to a torque message. `updated` is the steady-clock time
    of the latest diagnostics [s].
    """

    name: str
    statuses: dict[str, NodeStatus] = field(default_factory=dict)
    torques: dict[str, JointState] = field(default_factory=dict)
    updated: float = 0.0

    @property
    def is_feedforward_node(self) -> bool:
        """Whether the node is a feedforward node."""
        return DiagnosticSubject.COMMAND in self.statuses

    @property
    def is_simulator(self) -> bool:
        """Whether the node is a simulated arm."""
        return DiagnosticSubject.SIMULATED_ARM in self.statuses

    @property
    def torque_limits(self) -> dict[str, float]:
        """Torque limits by joint [N m]; empty until the node has published them."""
        status = self.statuses.get(DiagnosticSubject.TORQUE_LIMITS)
        return {} if status is None else {one: float(x) for one, x in status.values.items()}

    def is_silent(self, now: float) -> bool:
        """Return whether the node's latest diagnostics are older than SILENT_AFTER_S."""
        return now - self.updated > SILENT_AFTER_S

    def store(self, status: NodeStatus, now: float) -> None:
        """Store one diagnostic status."""
        self.statuses[status.subject], self.updated = status, now

    def number(self, subject: str, key: str) -> float:
        """Return one diagnostic value as a number; NaN if there is none."""
        status = self.statuses.get(subject)
        return float('nan') if status is None else float(status.values.get(key, 'nan'))

    def as_dict(self, now: float) -> dict[str, Any]:
        """Return the node's data for JSON: numbers as numbers, where NaN becomes null."""
        return {
            'node': self.name,
            'silent': self.is_silent(now),
            'torque_limits': self.torque_limits,
            'statuses': {
                subject: {
                    'level': status.level,
                    'message': status.message,
                    'values': {key: _parsed(value) for key, value in status.values.items()},
                }
                for subject, status in self.statuses.items()
            },
            'torques': {
                term: {
                    'stamp': seconds(message.header.stamp),
                    'effort': dict(zip(message.name, message.effort)),
                }
                for term, message in self.torques.items()
            },
        }


def _parsed(text: str) -> bool | int | float | str:
    """Convert a diagnostic value to a bool or a number, if it is one."""
    if text in ('True', 'False'):
        return text == 'True'
    with suppress(ValueError):
        return int(text) if text.lstrip('-').isdigit() else float(text)
    return text


def fault_sentences(nodes: Iterable[NodeSnapshot], now: float) -> list[str]:
    """Return a sentence for each silent node and for each status of level ERROR."""
    sentences = []
    for node in nodes:
        if node.is_silent(now):
            sentences.append(f'{node.name} has been silent for {now - node.updated:.1f} s.')
        sentences += [
            f'{one.name}: {one.message}' for one in node.statuses.values() if one.level == 'ERROR'
        ]
    return sentences
