# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Diagnostic statuses of nodes as data, with their subjects, keys and conversion to messages."""

from collections import deque
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
import math
import time
from typing import Any, NamedTuple, Self

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
import numpy as np
from sensor_msgs.msg import JointState

from .messages import stamp_to_seconds

# Severities; the index of each is its level number in diagnostic_msgs.
DIAGNOSTIC_LEVELS = ('OK', 'WARN', 'ERROR', 'STALE')
DURATION_PERCENTILES = {'p50 [us]': 50.0, 'p99 [us]': 99.0}  # of durations
# Headings of the feedforward node's torque topics, in the order in which they are shown.
TERM_HEADINGS = {
    'feedforward': 'cmd.',
    'gravity': 'g',
    'coriolis': 'C dq',
    'inertia_torque': 'M ddq',
    'external_torque': 'ext.',
}
DIAGNOSTIC_PERIOD_S = 1.0
SILENCE_TIMEOUT_S = 3.0  # time without diagnostics after which a node is silent [s]
# A simulation below this share of the intended pace is slow: 0.95 of 1.0 still rounds to that.
MIN_REAL_TIME_FACTOR = 0.95
# Subject, level, message and values of a status.
StatusRow = tuple[str, str, str, Mapping[str, Any]]


class DiagnosticSubject(StrEnum):
    """The subject of a diagnostic status of a simulated arm or a feedforward node."""

    SIMULATED_ARM = 'Simulated arm'
    JOINT_STATES = 'Joint states'
    COMMAND = 'Command'
    REFERENCE = 'Reference'
    EXTERNAL_WRENCH = 'External wrench'
    ARM = 'Arm'


class StatusKey(StrEnum):
    """A key of a value in a diagnostic status that programs read."""

    ARM_HELD = 'held'  # whether torques hold the receiver's arm against gravity
    REMEDY = 'to command again'
    REFUSAL_ERROR_TYPE = 'refused by'
    TORQUE_LIMIT = 'torque limit, {} [{}]'  # of a joint, in its unit
    MODEL_DIFFERENCE = 'largest difference of the two models, relative'
    RATE = 'rate [Hz]'
    AGE = 'age [ms]'
    STOP_COUNT = 'stops'
    LATENCY = 'latency {}'  # of one of DURATION_PERCENTILES
    SIMULATED_TIME = 'simulated time [s]'
    REAL_TIME_FACTOR = 'simulated per real time'  # over the last seconds
    COMMANDED_STEPS = 'steps commanded'
    MISSED_STEPS = 'steps without a new command'
    ROUND_TRIP = 'round trip {}'  # of one of DURATION_PERCENTILES


class NodeStatus(NamedTuple):
    """
    One diagnostic status of a node about a subject, as on /diagnostics.

    This package names its statuses "node: subject". `node_name` is its full name without the
    leading slash, or '' if the status's name contains no ': '. `level` is the status's severity,
    one of DIAGNOSTIC_LEVELS. Values that were received are text.
    """

    node_name: str
    subject: str
    level: str
    message: str
    values: Mapping[str, Any]

    @property
    def name(self) -> str:
        """Name of this status in a diagnostic message, composed of node and subject."""
        return f'{self.node_name}: {self.subject}' if self.node_name else self.subject

    @property
    def sentence(self) -> str:
        """The status as one text: state, reason and, if there is one, the remedy."""
        remedy = self.values.get(StatusKey.REMEDY)
        advice = f'; {StatusKey.REMEDY}: {remedy}' if remedy else ''
        return f'{self.values.get("state", self.level)}: {self.message}{advice}'

    @property
    def is_arm_held(self) -> bool:
        """Whether this is a receiver's ~/status, as text, that says that torques hold the arm."""
        return self.values.get(StatusKey.ARM_HELD) == 'True'

    @classmethod
    def from_message(cls, message: DiagnosticStatus) -> Self:
        """Return the status in a diagnostic_msgs/DiagnosticStatus."""
        node, found, subject = message.name.partition(': ')
        number = message.level[0]
        level = DIAGNOSTIC_LEVELS[number] if number < len(DIAGNOSTIC_LEVELS) else 'ERROR'
        values = {pair.key: pair.value for pair in message.values}
        return cls(
            node if found else '',
            subject or message.name,
            level,
            message.message,
            values,
        )

    def to_message(self, hardware_id: str) -> DiagnosticStatus:
        """Return the status as a diagnostic_msgs/DiagnosticStatus, floats as %.6g."""
        values = [
            KeyValue(
                key=key,
                value=f'{value:.6g}' if isinstance(value, float) else str(value),
            )
            for key, value in self.values.items()
        ]
        return DiagnosticStatus(
            level=bytes([DIAGNOSTIC_LEVELS.index(self.level)]),
            name=self.name,
            message=self.message,
            hardware_id=hardware_id,
            values=values,
        )


class DurationWindow(deque[float]):
    """The latest durations [s], at most 4096, of a repeated step such as a round trip."""

    def __init__(self) -> None:
        """Make an empty window."""
        super().__init__(maxlen=4096)

    def percentiles_us(self, key_format: str) -> dict[str, float]:
        """Return percentiles of the durations [us] by keys of `key_format`; NaN if empty."""
        found = 1e6 * np.percentile(list(self) or [np.nan], [*DURATION_PERCENTILES.values()])
        return dict(zip(map(key_format.format, DURATION_PERCENTILES), found.tolist()))


class StatusPublisher:
    """A publisher of a node's statuses on /diagnostics, with the arm as hardware_id."""

    def __init__(self, node: Any, arm_name: str = '') -> None:
        """Make the publisher on a node; `arm_name` is that of its arm, if known."""
        self._node = node
        self._arm_name = arm_name
        self._node_name = node.get_fully_qualified_name().lstrip('/')
        # No lifecycle publisher, because nodes without lifecycle publish diagnostics, too.
        self._publisher = node.create_publisher(DiagnosticArray, '/diagnostics', 10)
        self.next_publication_time = time.monotonic() + DIAGNOSTIC_PERIOD_S  # [s]

    def own_status_message(self, *row: Any) -> DiagnosticStatus:
        """Return a message for ~/status with a level, a text and values."""
        return NodeStatus('', self._node_name, *row).to_message(self._arm_name)

    def publish_rows(self, *rows: StatusRow, is_event: bool = False) -> None:
        """Publish status rows, stamped now; unless `is_event`, set the next time to publish."""
        statuses = [NodeStatus(self._node_name, *row).to_message(self._arm_name) for row in rows]
        message = DiagnosticArray(status=statuses)
        message.header.stamp = self._node.get_clock().now().to_msg()
        self._publisher.publish(message)
        if not is_event:
            self.next_publication_time = time.monotonic() + DIAGNOSTIC_PERIOD_S


@dataclass
class NodeSnapshot:
    """
    The latest diagnostics and torque messages received from one node.

    `name` is the node's full name without the leading slash. `statuses` maps each subject to a
    diagnostic status, `torques` each term to a torque message. `updated_at` is the steady-clock
    time of the latest diagnostics [s].
    """

    name: str
    statuses: dict[str, NodeStatus] = field(default_factory=dict)
    torques: dict[str, JointState] = field(default_factory=dict)
    updated_at: float = 0.0

    @property
    def is_feedforward_node(self) -> bool:
        """Whether the node is a feedforward node, by the diagnostics received."""
        return DiagnosticSubject.COMMAND in self.statuses

    @property
    def is_simulator(self) -> bool:
        """Whether the node is a simulated arm, by the diagnostics received."""
        return DiagnosticSubject.SIMULATED_ARM in self.statuses

    @property
    def torque_limits(self) -> dict[str, float]:
        """Torque limits by joint [N m or N]; empty until the node has published them."""
        status = self.statuses.get(DiagnosticSubject.ARM)
        before = StatusKey.TORQUE_LIMIT.partition('{}')[0]
        return {
            key.removeprefix(before).rpartition(' [')[0]: _number_or_nan(value)
            for key, value in (status.values if status else {}).items()
            if key.startswith(before)
        }

    @property
    def slides(self) -> bool:
        """Whether a joint of the node's arm slides, so that its torques are forces [N]."""
        status = self.statuses.get(DiagnosticSubject.ARM)
        return any(key.endswith(' [N]') for key in (status.values if status else {}))

    def is_silent(self, now: float) -> bool:
        """Return whether the node's latest diagnostics are older than SILENCE_TIMEOUT_S."""
        return now - self.updated_at > SILENCE_TIMEOUT_S

    def store_status(self, status: NodeStatus, now: float) -> None:
        """Store a diagnostic status, received at the time `now` [s], by subject."""
        self.statuses[status.subject] = status
        self.updated_at = now

    def value_of(self, subject: str, key: str) -> float:
        """Return a key's value in the status about a subject; NaN if missing or no number."""
        status = self.statuses.get(subject)
        return math.nan if status is None else _number_or_nan(status.values.get(key))

    def percentiles_of(self, subject: str, key_format: str) -> list[float]:
        """Return durations [us] at DURATION_PERCENTILES in the status about a subject, or NaN."""
        return [self.value_of(subject, key_format.format(name)) for name in DURATION_PERCENTILES]

    def slowness_text(self, intended_factor: float = 1.0) -> str:
        """Return which share of real time a simulation slower than intended has, else ''."""
        factor = self.value_of(DiagnosticSubject.SIMULATED_ARM, StatusKey.REAL_TIME_FACTOR)
        slow = factor < MIN_REAL_TIME_FACTOR * min(1.0, intended_factor)
        return f'runs at {factor:.2f} of real time' if slow else ''

    def as_dict(self, now: float) -> dict[str, Any]:
        """Return name, silence at `now` [s], torque limits, statuses, torques as a JSON dict."""
        return {
            'node': self.name,
            'silent': self.is_silent(now),
            'torque_limits': self.torque_limits,
            'statuses': {
                subject: {
                    'level': status.level,
                    'message': status.message,
                    'values': {key: _parse_value(value) for key, value in status.values.items()},
                }
                for subject, status in self.statuses.items()
            },
            'torques': {
                term: {
                    'stamp': stamp_to_seconds(message.header.stamp),
                    'effort': dict(zip(message.name, message.effort)),
                }
                for term, message in self.torques.items()
            },
        }


def _number_or_nan(value: Any) -> float:
    """Return a diagnostic value as a number; NaN if it is none, as another program may send."""
    with suppress(TypeError, ValueError):
        return float(value)
    return math.nan


def _parse_value(text: str) -> bool | int | float | str:
    """Return a diagnostic value's text as a bool or number if it is one, else unchanged."""
    if text in ('True', 'False'):
        return text == 'True'
    with suppress(ValueError):
        return int(text) if text.lstrip('-').isdigit() else float(text)
    return text


def fault_sentences(nodes: Collection[NodeSnapshot], now: float) -> list[str]:
    """Return a text for each silent node and for each status of level ERROR."""
    silent = [node for node in nodes if node.is_silent(now)]
    statuses = [status for node in nodes for status in node.statuses.values()]
    return [
        *(f'{status.name}: {status.message}' for status in statuses if status.level == 'ERROR'),
        *(f'{node.name} has been silent for {now - node.updated_at:.1f} s.' for node in silent),
    ]
