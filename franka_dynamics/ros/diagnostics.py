# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Publishes diagnostics of a configured feedforward node each second and after changes."""

from collections import deque
from collections.abc import Callable, Mapping
import math
import time
from typing import Any

from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
import numpy as np

from .present_status import MIN_REASON_S, PresentStatus, StatusLog
from .receiver_check import ReceiverCheck
from .status import DiagnosticSubject, Key, NodeStatus, PERCENTILES
from .term_publishers import TermPublishers
from .topics import DESCRIPTION_QOS, publisher_names
from ..control.core_state import Status
from ..control.feedforward import Feedforward, State
from ..motion.planning import MAX_START_DISTANCE_RAD
from ..motion.reference import ReferenceEvent, ReferenceState

DIAGNOSTIC_PERIOD_S = 1.0
_NEAR_BOUND_RATIO = 0.8  # share of a bound above which diagnostics warn
Row = tuple[str, str, str, Mapping[str, Any]]  # subject, level, message and values of a status


class DurationWindow(deque[float]):
    """The last 4096 durations [s] of a step."""

    def __init__(self) -> None:
        super().__init__(maxlen=4096)

    def percentiles_us(self, key: str) -> dict[str, float]:
        """Return percentiles of the durations [us] by `key.format(name)`; NaN without any."""
        found = 1e6 * np.percentile(list(self) or [np.nan], [*PERCENTILES.values()])
        return dict(zip(map(key.format, PERCENTILES), found.tolist()))


class StatusPublisher:
    """Publishes statuses of a node and its arm on /diagnostics."""

    def __init__(self, node: Any, arm: str = '') -> None:
        self._node, self._arm = node, arm
        self._name = node.get_fully_qualified_name().lstrip('/')
        # No lifecycle publisher, because nodes without lifecycle publish diagnostics, too.
        self._publisher = node.create_publisher(DiagnosticArray, '/diagnostics', 10)
        self.due = time.monotonic() + DIAGNOSTIC_PERIOD_S  # when to publish next [s]

    def array(self, stamp: Time, *rows: Row) -> DiagnosticArray:
        """Return statuses as a stamped diagnostic_msgs/DiagnosticArray."""
        statuses = [NodeStatus(self._name, *row).to_message(self._arm) for row in rows]
        message = DiagnosticArray(status=statuses)
        message.header.stamp = stamp
        return message

    def publish(self, *rows: Row) -> None:
        """Publish statuses, stamped with the node's clock; the next are due a second later."""
        self._publisher.publish(self.array(self._node.get_clock().now().to_msg(), *rows))
        self.due = time.monotonic() + DIAGNOSTIC_PERIOD_S


class FeedforwardDiagnostics(StatusPublisher):
    """
    Publishes and logs the state of a feedforward node and of its controller.

    The service thread publishes diagnostics and reads the controller without the lock: slightly
    old values do no harm, and the control cycle must not wait. `status` has what the node does.
    """

    def __init__(self, node: Any, state_topic: str, receivers: ReceiverCheck) -> None:
        super().__init__(node)
        self._receivers = receivers
        self.status = PresentStatus(node, state_topic, receivers)
        self._log = StatusLog(node, self.status)
        self.refused = ''  # why the last reference was refused
        self.on_reference_event: Callable[[ReferenceEvent], None] = lambda _: None
        self._status = node.create_publisher(DiagnosticStatus, '~/status', DESCRIPTION_QOS)
        self._reference: tuple[Row, ...] = ()  # what became of the latest reference
        self.latency, self.sent = DurationWindow(), 0  # torques that were published

    def set_controller(
        self, controller: Feedforward, terms: TermPublishers, residual: float
    ) -> None:
        """Report on a controller from now on; `residual` is that of its cross-check."""
        self._controller, self._terms, self.residual = controller, terms, residual
        self.status.controller, self._arm = controller, controller.description.name
        # What ~/status says (state, whether a fault is latched, whether the node waits; the
        # reason), and since when [s].
        self._published_state: tuple[Any, str] = None, ''
        self._published_at = -math.inf
        self.refused = ''
        self._counted = time.monotonic(), self.sent  # at the last diagnostics
        self._log.begin()

    def begin_activation(self) -> None:
        """Count the time without joint states from now on; the node is being activated."""
        self.status.arrival = time.monotonic()
        self._log.begin()

    def report(self) -> None:
        """
        Log and publish events of references and changes of the controller's status.

        Diagnostics and ~/status are published if they are due. Of a node that waits, ~/status has
        the present reason at most MIN_REASON_S late.
        """
        controller, now = self._controller, time.monotonic()
        while controller.reference.events:
            event = controller.reference.events.popleft()
            refused = type(event.reason).__name__
            event = event._replace(reason=self.status.in_words(event.reason))
            self._report_reference(event, refused)
            self.on_reference_event(event)
        status = self.status.present()
        waits = status.state is State.SILENT and controller.enabled
        self._log.report(status, waits=waits)
        state = (status.state, status.faulty, waits), status.why
        if state[0] != self._published_state[0]:
            self._published_at = -math.inf
        if state != self._published_state and now >= self._published_at + MIN_REASON_S:
            self._published_state, self._published_at, self.due = state, now, now
        if now >= self.due:
            # The largest since the last report, so that a short peak near the bound is reported.
            shares = controller.disturbances.largest.tolist()
            controller.disturbances.reset_largest_shares()
            level, message, values = self._summary(status, shares)
            own = NodeStatus('', self._name, level, message, values)
            self._status.publish(own.to_message(self._arm))  # late subscribers get the latest
            figures = values | self._command_figures(shares)
            command = DiagnosticSubject.COMMAND, level, message, figures
            rows = self._joint_state_row(), command, *self._reference, self._wrench_row()
            self.publish(*rows, *self._model_rows())

    def _report_reference(self, event: ReferenceEvent, refused_by: str) -> None:
        """Publish and log an event of a reference, and keep it for later diagnostics."""
        controller = self._controller
        pairs: dict[str, Any] = {
            'state': event.state.value,
            'number': event.number,
            'frame_id': event.goal_id,
            'reason': event.reason,
            Key.REFUSED_BY: refused_by if event.state is ReferenceState.REFUSED else '',
            'remaining [s]': event.remaining_time,
            Key.REMEDY: self.status.present().remedy,
        }
        text = f'reference {event.number} {event.state.value}'
        if event.goal is not None and controller.latest is not None:
            error = np.abs(controller.latest.q - event.goal)
            joint = int(np.argmax(error))
            name = controller.names[joint]
            pairs |= {'error to its end [rad]': float(error[joint]), 'joint': name}
            if event.state in (ReferenceState.FINISHED, ReferenceState.INTERRUPTED):
                text += f', {error[joint]:.3g} rad from its end at {name}'
        if event.state is ReferenceState.INTERRUPTED:
            text += f', {event.remaining_time:.3g} s before it'
        text += f': {event.reason}' if event.reason else ''
        bad = event.state in (ReferenceState.REFUSED, ReferenceState.INTERRUPTED) or (
            event.state is ReferenceState.FINISHED
            and pairs.get('error to its end [rad]', 0.0) > MAX_START_DISTANCE_RAD
        )  # the next motion could not begin where this one ends
        row = DiagnosticSubject.REFERENCE, 'WARN' if bad else 'OK', text, pairs
        self._reference = (row,)  # all events are published, and the latest one again
        self._publisher.publish(self.array(self._node.get_clock().now().to_msg(), row))
        self._log.report_reference(text, bad=bad)

    def _joint_state_row(self) -> Row:
        """Return the row Joint states: rate, age, and what is wrong with them."""
        controller = self._controller
        level, message = 'OK', 'states are complete, fresh and fast'
        if not self._node.active:
            level, message = 'WARN', 'a node that is not active reads no joint states'
        elif missing := self.status.missing():
            level, message = 'STALE', missing
        elif controller.states.problem is not None:
            unusable = controller.enabled and controller.latest is None
            problem = self.status.in_words(controller.states.problem)
            level, message = 'ERROR' if unusable else 'STALE', problem
        elif not controller.states.has_enough_states:
            level, message = 'WARN', self.status.in_words(controller.ending)
        values = {
            Key.RATE: 1.0 / controller.states.period,
            Key.AGE: 1e3 * controller.states.median_age,
            'unusable': controller.counts['unusable states'],
            'effort': 'measured' if controller.disturbances.measured else 'not measured',
        }
        return DiagnosticSubject.JOINT_STATES, level, message, values

    def _summary(self, status: Status, shares: list[float]) -> tuple[str, str, dict[str, Any]]:
        """
        Return level, message and values that ~/status and the row Command have in common.

        The level is STALE while the node waits, OK while it commands torques and nothing is wrong,
        ERROR while a fault is latched, else WARN. `shares` are those of the guard's bounds.
        """
        level = 'ERROR' if status.faulty else 'STALE' if status.state is State.SILENT else 'WARN'
        message, largest = status.why, max(shares)
        if status.state is State.RUNNING:
            if self.refused:
                message = f'reference refused: {self.refused}'
            elif largest > _NEAR_BOUND_RATIO and not self._receivers.delivery_problem:
                joint = self._controller.names[shares.index(largest)]
                message = f"{joint} came near the guard's bound ({largest:.0%} of it)"
            elif not self._receivers.delivery_problem:
                level = 'OK'
        return level, message, {'state': status.state.value, Key.REMEDY: status.remedy}

    def _command_figures(self, shares: list[float]) -> dict[str, Any]:
        """Return what the row Command has beyond ~/status."""
        controller, receivers = self._controller, self._receivers
        since, before = self._counted
        self._counted = now, published = time.monotonic(), self.sent
        references = controller.reference.counts.items()
        return {
            'target': controller.settings.target,
            'published': published,
            Key.RATE: max(0, published - before) / (now - since),
            'cut by torque or rate limit': controller.counts['limited'],
            Key.STOPS: controller.counts['stops'],
            'faults latched': controller.counts['faults'],
            **{f'references {state.value}': count for state, count in references},
            'receivers': receivers.listed,
            'other publishers of commands': ', '.join(publisher_names(self._node, receivers.topic))
            or 'none',
            **self.latency.percentiles_us(Key.LATENCY),
            **self._by_joint(
                'largest share of limit, {} [%]', 100.0 * controller.output.largest_share
            ),
            **self._by_joint('largest share of bound, {} [%]', 100.0 * np.array(shares)),
        }

    def _by_joint(self, key: str, numbers: Any) -> dict[str, float]:
        """Return one number per joint, by `key` with the joint's name in place of {}."""
        return {key.format(name): float(one) for name, one in zip(self._controller.names, numbers)}

    def _wrench_row(self) -> Row:
        """Return the row External wrench."""
        latest = self._controller.latest
        wrench = None if latest is None else self._terms.external_wrench(latest.q)
        if wrench is None:
            unknown = 'unknown: effort is not measured, or too few states came'
            return DiagnosticSubject.EXTERNAL_WRENCH, 'OK', unknown, {}
        rows = ('fx [N]', 'fy [N]', 'fz [N]', 'mx [N m]', 'my [N m]', 'mz [N m]')
        values = {
            'singular': wrench.singular,
            **dict(zip(rows, wrench.wrench.tolist())),
            'not explained by it [N m]': wrench.unexplained,
        }
        level = 'WARN' if wrench.singular else 'OK'
        return DiagnosticSubject.EXTERNAL_WRENCH, level, wrench.accuracy_text(), values

    def _model_rows(self) -> tuple[Row, Row]:
        """Return the rows Arm and Torque limits."""
        arm, mass = self._controller.description, self._controller.settings.payload[0]
        payload = f', payload {mass:g} kg' if mass else ''
        name = f'{arm.name} ({arm.inertial_set}, hand {arm.hand}{payload})'
        limits = self._by_joint('{}', arm.limit('effort'))
        model = DiagnosticSubject.ARM, 'OK', name, {Key.MODEL_DIFFERENCE.value: self.residual}
        return model, (DiagnosticSubject.TORQUE_LIMITS, 'OK', arm.name, limits)
