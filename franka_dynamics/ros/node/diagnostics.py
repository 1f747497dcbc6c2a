# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Diagnostics and ~/status of a feedforward node."""

from collections.abc import Callable
import math
import time
from typing import Any, NamedTuple, Self

from diagnostic_msgs.msg import DiagnosticStatus
import numpy as np

from .status_log import MIN_REASON_DURATION_S, StatusLog
from .term_publishers import TermPublishers
from ..status import (
    DiagnosticSubject,
    DurationWindow,
    StatusKey,
    StatusPublisher,
    StatusRow,
)
from ..topics import DESCRIPTION_QOS, publisher_names
from ...control.core_table import State
from ...control.ending import Status
from ...control.feedforward import Feedforward
from ...motion.planning import MAX_START_DISTANCE_RAD
from ...motion.reference import ReferenceEvent, ReferenceState, REPLACED_REASON

_WARNING_FRACTION_OF_BOUND = 0.8  # share of a bound above which diagnostics warn
_WRENCH_KEYS = ('fx [N]', 'fy [N]', 'fz [N]', 'mx [N m]', 'my [N m]', 'mz [N m]')
# Events after which a motion's distance from its end is told.
_END_EVENTS = (ReferenceState.FINISHED, ReferenceState.INTERRUPTED)


class _PublishedStatus(NamedTuple):
    """What ~/status says of a node: a change of `why` alone is published with a delay."""

    state: State
    is_faulty: bool
    node_waits: bool
    why: str

    def has_same_state(self, other: Self | None) -> bool:
        """Return whether another status differs from this one in its reason at most."""
        return other is not None and self[:-1] == other[:-1]


class _EndError(NamedTuple):
    """The joint that is furthest from the end of a motion, and how far [rad or m]."""

    joint: int
    distance: float


class FeedforwardDiagnostics(StatusPublisher):
    """
    The publisher and log of the diagnostics of a feedforward node and its controller.

    The service thread publishes diagnostics and reads the controller without the lock: slightly
    old values do no harm, and the control cycle must not wait. `status_log` has the status in
    words, and logs it.
    """

    _published_status: _PublishedStatus | None

    def __init__(self, node: Any, state_topic: str, terms: TermPublishers) -> None:
        """Make the publishers on a node; `set_controller` must be called before any report."""
        super().__init__(node)
        self._receivers = node.receivers
        self._terms = terms
        self.model_difference = math.nan
        self.status_log = StatusLog(node, state_topic, node.receivers)
        self._refusal_text = ''  # why the last reference was refused
        self.on_reference_event: Callable[[ReferenceEvent], None] = lambda _: None
        self._status_pub = node.create_publisher(DiagnosticStatus, '~/status', DESCRIPTION_QOS)
        self._motion_row: tuple[StatusRow, ...] = ()  # what became of the latest reference
        self.latencies = DurationWindow()
        self.published_count = 0  # torques that were published

    def report_refusal(self, text: str) -> None:
        """Report why the last reference was refused, or, by '', no longer."""
        self._refusal_text = text

    def set_controller(self, controller: Feedforward, model_difference: float) -> None:
        """Set the controller to report on, and its two dynamics models' largest difference."""
        self.controller = self.status_log.controller = controller
        self._arm_name = controller.description.name
        self.model_difference = model_difference
        self._refusal_text = ''
        self._published_status = None
        self._published_at = -math.inf  # since when ~/status says that [s]
        # When the last diagnostics were made [s], and how many torques were published until then.
        self._last_count_time = time.monotonic()
        self._last_count = self.published_count
        self.status_log.reset()

    def report_status_changes(self) -> None:
        """
        Log and publish changes of the controller's status and events of reference motions.

        Diagnostics and ~/status are published if they are due. Of a node that waits, ~/status has
        the present reason at most MIN_REASON_DURATION_S late.
        """
        controller = self.controller
        now = time.monotonic()
        while controller.reference.events:
            self._report_event(controller.reference.events.popleft())
        status = self.status_log.status()
        node_waits = status.state is State.SILENT and controller.enabled
        self.status_log.log_status_changes(status, node_waits=node_waits)
        shown = _PublishedStatus(status.state, status.faulty, node_waits, status.why)
        if not shown.has_same_state(self._published_status):
            self._published_at = -math.inf  # a change of state is published at once
        is_due = now >= self._published_at + MIN_REASON_DURATION_S
        if shown != self._published_status and is_due:
            self._published_status = shown
            self._published_at = now
            self.next_publication_time = now
        if now >= self.next_publication_time:
            self._publish_status(status)

    def _publish_status(self, status: Status) -> None:
        """Publish a status on ~/status, and all diagnostics."""
        bound_ratios = self._take_bound_ratios()
        level, message, values = self._status_row(status, bound_ratios)
        self._status_pub.publish(self.own_status_message(level, message, values))
        figures = values | self._command_values(np.array(bound_ratios))
        self.publish_rows(
            self._joint_state_row(),
            (DiagnosticSubject.COMMAND, level, message, figures),
            *self._motion_row,
            self._wrench_row(),
            self._arm_row(),
        )

    def _take_bound_ratios(self) -> list[float]:
        """
        Return the largest disturbances over bounds since the last report, and begin anew.

        A short peak near the bound is reported so. The control thread may write one between both
        steps, which is then lost.
        """
        peaks = self.controller.disturbances.max_bound_ratios
        bound_ratios: list[float] = peaks.tolist()
        peaks[:] = 0.0
        return bound_ratios

    def _report_event(self, event: ReferenceEvent) -> None:
        """Publish, log and store a reference motion's event; call `on_reference_event`."""
        refusal = type(event.reason).__name__
        event = event._replace(reason=self.status_log.reason_text(event.reason))
        end_error = self._end_error(event)
        values: dict[str, Any] = {
            'state': event.state.value,
            'number': event.number,
            'frame_id': event.goal_id,
            'reason': event.reason,
            StatusKey.REFUSAL_ERROR_TYPE: refusal if event.state is ReferenceState.REFUSED else '',
            'remaining [s]': event.remaining_time,
            StatusKey.REMEDY: self.status_log.status().remedy,
        }
        if end_error is not None:
            values['error to its end [rad]'] = end_error.distance
            values['joint'] = self.controller.joint_names[end_error.joint]
        text = self._event_text(event, end_error)
        is_bad = _is_bad_event(event, end_error)
        # All events are published, and the latest one again.
        level = 'WARN' if is_bad else 'OK'
        self._motion_row = ((DiagnosticSubject.REFERENCE, level, text, values),)
        self.publish_rows(*self._motion_row, is_event=True)
        # Of the references of a stream, which end within a second, the first one is logged.
        self.status_log.log_if_due(text, warn=is_bad)
        self.on_reference_event(event)

    def _end_error(self, event: ReferenceEvent) -> _EndError | None:
        """Return the distance from a motion's end, or None before a state, or without an end."""
        latest = self.controller.latest
        if event.goal_position is None or latest is None:
            return None
        distances = np.abs(latest.q - event.goal_position)
        joint = int(np.argmax(distances))
        return _EndError(joint, float(distances[joint]))

    def _event_text(self, event: ReferenceEvent, end_error: _EndError | None) -> str:
        """Return an event of a reference as text."""
        text = f'reference {event.number} {event.state.value}'
        if end_error is not None and event.state in _END_EVENTS:
            unit = self.controller.description.joints[end_error.joint].kind.position_unit
            name = self.controller.joint_names[end_error.joint]
            text += f', {end_error.distance:.3g} {unit} from its end at {name}'
        if event.state is ReferenceState.INTERRUPTED:
            text += f', {event.remaining_time:.3g} s before it'
        return f'{text}: {event.reason}' if event.reason else text

    def _joint_state_row(self) -> StatusRow:
        """Return the diagnostic row with rate, age and problem, if any, of joint states."""
        controller = self.controller
        level = 'OK'
        message = 'states are complete, fresh and fast'
        if not self._node.active:
            level = 'WARN'
            message = 'a node that is not active reads no joint states'
        elif missing := self.status_log.missing_state_text():
            level = 'STALE'
            message = missing
        elif controller.states.problem is not None:
            unusable = controller.enabled and controller.latest is None
            problem = self.status_log.reason_text(controller.states.problem)
            level = 'ERROR' if unusable else 'STALE'
            message = problem
        elif not controller.states.has_enough_states:
            level = 'WARN'
            message = self.status_log.reason_text(controller.ending)
        values = {
            StatusKey.RATE: 1.0 / controller.states.period,
            StatusKey.AGE: 1e3 * controller.states.median_age,
            'unusable': controller.counts['unusable states'],
            'effort': 'measured' if controller.disturbances.has_effort else 'not measured',
        }
        return DiagnosticSubject.JOINT_STATES, level, message, values

    def _status_row(
        self, status: Status, bound_ratios: list[float]
    ) -> tuple[str, str, dict[str, Any]]:
        """
        Return the level, message and values common to ~/status and the diagnostic row Command.

        The level is STALE while the node waits, OK while it commands torques and nothing is wrong,
        ERROR while a fault is latched, else WARN. `bound_ratios` are disturbances over bounds.
        """
        values = {'state': status.state.value, StatusKey.REMEDY: status.remedy}
        if status.state is not State.RUNNING:
            level = 'STALE' if status.state is State.SILENT else 'WARN'
            return 'ERROR' if status.faulty else level, status.why, values
        level = 'ERROR' if status.faulty else 'WARN'
        if self._receivers.delivery_problem:
            return level, status.why, values  # the reason names the problem
        if self._refusal_text:
            return level, f'reference refused: {self._refusal_text}', values
        largest = max(bound_ratios)
        if largest > _WARNING_FRACTION_OF_BOUND:
            joint = self.controller.joint_names[bound_ratios.index(largest)]
            message = f'{joint} came near its disturbance bound ({largest:.0%} of it)'
            return level, message, values
        return 'OK', status.why, values

    def _command_values(self, bound_ratios: Any) -> dict[str, Any]:
        """Return the values of the diagnostic row Command that ~/status does not have."""
        controller = self.controller
        receivers = self._receivers
        now = time.monotonic()
        published = self.published_count
        rate = max(0, published - self._last_count) / (now - self._last_count_time)
        self._last_count = published
        self._last_count_time = now
        others = ', '.join(publisher_names(self._node, receivers.topic)) or 'none'
        references = controller.reference.counts.items()
        largest = controller.output.peak_to_limit
        return {
            'target': controller.settings.target,
            'published': published,
            StatusKey.RATE: rate,
            'cut by torque or rate limit': controller.counts['limited'],
            StatusKey.STOP_COUNT: controller.counts['stops'],
            'faults latched': controller.counts['faults'],
            **{f'references {state.value}': count for state, count in references},
            'receivers': receivers.receivers_text,
            'other publishers of commands': others,
            **self.latencies.percentiles_us(StatusKey.LATENCY),
            **self._values_by_joint('largest share of limit, {} [%]', 100.0 * largest),
            **self._values_by_joint('largest share of bound, {} [%]', 100.0 * bound_ratios),
        }

    def _values_by_joint(self, key_format: str, numbers: Any) -> dict[str, float]:
        """Return the joints' numbers by `key_format`, with each joint's name in place of {}."""
        return dict(zip(map(key_format.format, self.controller.joint_names), map(float, numbers)))

    def _wrench_row(self) -> StatusRow:
        """Return the row of the external wrench [N, N m], base axes, at `frame`, or 'unknown'."""
        latest = self.controller.latest
        wrench = None if latest is None else self._terms.external_wrench(latest.q)
        if wrench is None:
            unknown = 'unknown: effort is not measured, or too few states came'
            return DiagnosticSubject.EXTERNAL_WRENCH, 'OK', unknown, {}
        values = {
            'singular': wrench.is_singular,
            **dict(zip(_WRENCH_KEYS, wrench.wrench.tolist())),
            'not explained by it [N m]': wrench.unexplained_torque,
        }
        level = 'WARN' if wrench.is_singular else 'OK'
        return DiagnosticSubject.EXTERNAL_WRENCH, level, wrench.accuracy_text(), values

    def _arm_row(self) -> StatusRow:
        """Return the diagnostic row of the arm's model, with the joints' torque limits."""
        arm = self.controller.description
        mass = self.controller.settings.payload[0]
        payload = f', payload {mass:g} kg' if mass else ''
        message = f'{arm.name} ({arm.inertial_set}, hand {arm.hand}{payload})'
        values = {StatusKey.MODEL_DIFFERENCE.value: self.model_difference}
        joint_names = self.controller.joint_names
        for joint, name, limit in zip(arm.joints, joint_names, arm.limit('effort').tolist()):
            values[StatusKey.TORQUE_LIMIT.format(name, joint.kind.effort_unit)] = limit
        return DiagnosticSubject.ARM, 'OK', message, values


def _is_bad_event(event: ReferenceEvent, end_error: _EndError | None) -> bool:
    """Return whether an event of a reference is a warning."""
    if event.state is ReferenceState.REFUSED:
        return True
    if event.state is ReferenceState.INTERRUPTED:
        return bool(event.reason != REPLACED_REASON)
    # The next motion could not begin where this one has left the arm.
    is_far = end_error is not None and end_error.distance > MAX_START_DISTANCE_RAD
    return event.state is ReferenceState.FINISHED and is_far
