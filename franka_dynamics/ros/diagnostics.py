# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Publishes and logs a configured feedforward node's status.

Diagnostics each second and after changes, with what becomes of references, and ~/status.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
import math
import re
import time
from typing import Any

from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
import numpy as np

from .messages import DESCRIPTION_QOS, publisher_names
from .receiver_check import ReceiverCheck
from .status import DiagnosticSubject, MODEL_DIFFERENCE_KEY, NodeStatus, REMEDY_KEY
from .term_publishers import TermPublishers
from ..control.feedforward import Feedforward, Remedy, State, Status
from ..control.reference import MAX_START_DISTANCE_RAD, ReferenceEvent, ReferenceState
from ..control.state_check import AGE_ADVICE, RATE_ADVICE

DIAGNOSTIC_PERIOD_S = 1.0
_NEAR_BOUND_RATIO = 0.8  # share of a bound above which diagnostics warn
_STATE_TIMEOUT_S = 1.0  # without joint states after which that is the reason for silence [s]
# Of a reason for silence, until it is logged; and between changes of ~/status by a reason alone.
_MIN_REASON_S = 1.0
_LOG_AGAIN_PERIOD_S = 10.0  # of the same reason
Row = tuple[str, str, str, Mapping[str, Any]]  # subject, level, message and values of a status

# How a node's user makes it command again, where the core's own words do not say it.
_REMEDIES = {
    Remedy.START: (
        'activate the node (`franka-dynamics node state activate`); if it is active, wait'
    ),
    Remedy.CLEAR: 'remove the cause, then clear the fault (`franka-dynamics node clear`)',
}


_RATE_ADVICE = (
    'joint_state_publisher and broadcasters with a rate of their own are too slow: take the '
    "driver's own topic (franka/joint_states with franka_ros2), or set min_input_rate"
)


class DurationWindow(deque[float]):
    """The last 4096 durations [s] of a step."""

    def __init__(self) -> None:
        super().__init__(maxlen=4096)

    def percentiles_us(self) -> dict[str, float]:
        """Return the median and the 99th percentile [us] by name; NaN without durations."""
        p50, p99 = np.percentile(list(self) or [float('nan')], (50, 99))
        return {'p50 [us]': 1e6 * float(p50), 'p99 [us]': 1e6 * float(p99)}


class StatusPublisher:
    """Publishes statuses of a node and its arm on /diagnostics."""

    def __init__(self, node: Any, arm: str = '') -> None:
        self._node, self._arm = node, arm
        self._name = node.get_fully_qualified_name().lstrip('/')
        # No lifecycle publisher, because nodes without lifecycle publish diagnostics, too.
        self._publisher = node.create_publisher(DiagnosticArray, '/diagnostics', 10)
        self.due = time.monotonic() + DIAGNOSTIC_PERIOD_S  # when to publish next [s]

    def array(self, stamp: Time, *rows: Row) -> DiagnosticArray:
        """Return statuses as a message."""
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
    old values do no harm, and the control cycle must not wait.
    """

    def __init__(self, node: Any, state_topic: str, receivers: ReceiverCheck) -> None:
        super().__init__(node)
        self._states, self._receivers = state_topic, receivers
        self.refused = ''  # why the last reference was refused
        self.on_reference_event: Callable[[ReferenceEvent], None] = lambda _: None
        self._status = node.create_publisher(DiagnosticStatus, '~/status', DESCRIPTION_QOS)
        self._reference: tuple[Row, ...] = ()  # what became of the latest reference
        self.latency, self.sent = DurationWindow(), 0  # torques that were published
        self._logged: dict[str, float] = {}  # when what was logged [s]
        self.ends = False  # whether the node ends, and never commands again

    def set_controller(
        self, controller: Feedforward, terms: TermPublishers, residual: float
    ) -> None:
        """Report on a controller from now on; `residual` is that of its cross-check."""
        self._controller, self._terms, self.residual = controller, terms, residual
        self._arm = controller.description.name
        self._seen: tuple[State, bool, bool] | None = None
        self._reason: str | None = None  # the reason that ~/status has
        self.refused = ''
        self._counted = (
            time.monotonic(),
            self.sent,
        )  # at the last diagnostics, and commands until then

    def begin_activation(self) -> None:
        """Count the time without joint states from now, the activation, on."""
        self.arrival = time.monotonic()  # of the latest joint state
        self._logged.clear()

    def report(self) -> None:
        """
        Log and publish events of references and changes of the controller's status.

        Diagnostics and ~/status are published if they are due, each kind of event logged at most
        once a second. Of a node that waits, ~/status and log have the present reason at most
        _MIN_REASON_S late.
        """
        controller, now = self._controller, time.monotonic()
        while controller.reference.events:
            event = controller.reference.events.popleft()
            self._report_reference(event)
            self.on_reference_event(event)
        status = self.present()
        waits = status.state is State.SILENT and controller.enabled
        seen = status.state, status.faulty, waits
        if seen != self._seen:
            self._log_change(status, waits)
            self._seen, self._since = seen, now
            self._reason, self._reason_at = None, -math.inf
        if status.why != self._reason and now >= self._reason_at + _MIN_REASON_S:
            self._reason, self._reason_at, self.due = status.why, now, now
        if waits and now >= self._since + _MIN_REASON_S:
            self._log_reason(status.why)
        if now >= self.due:
            self._publish_status(status)
            rows = self._joint_states(), self._command(), *self._reference, self._wrench()
            self.publish(*rows, *self._model())

    def _publish_status(self, status: Status) -> None:
        """
        Publish ~/status; late subscribers get the latest one.

        Its level is STALE while the node waits, OK while it commands torques, WARN while it brakes
        or holds the arm, ERROR while a fault is latched.
        """
        heard = 'WARN' if self._receivers.unheard else 'OK'
        level = {State.SILENT: 'STALE', State.RUNNING: heard}.get(status.state, 'WARN')
        level = 'ERROR' if status.faulty else level
        values = {'state': status.state.value, REMEDY_KEY: status.remedy}
        own = NodeStatus('', self._name, level, status.why, values)
        self._status.publish(own.to_message(self._arm))

    def present(self) -> Status:
        """Return the controller's status with the node's reason for silence and its remedies."""
        status = self._controller.status
        remedy = Remedy(status.remedy)
        words = '' if self.ends else _REMEDIES.get(remedy, remedy.value)
        why = self._in_words_of_ros(status.why)
        if status.state is State.RUNNING:
            why = self._receivers.unheard or why
        elif self._node.active and status.state is State.SILENT and self._controller.enabled:
            why = self._missing() or why
        return status._replace(remedy=words, why=why)

    def _in_words_of_ros(self, why: str) -> str:
        """Return a reason with advice for a node's user in place of that for a loop in Python."""
        if RATE_ADVICE in why:
            return why.replace(RATE_ADVICE, _RATE_ADVICE)
        return why.replace(AGE_ADVICE, self._advice_on_clocks()) if AGE_ADVICE in why else why

    def _advice_on_clocks(self) -> str:
        """Return what to do about stamps that are not of this node's time."""
        clocks = ', '.join(publisher_names(self._node, '/clock'))
        if self._node.get_parameter('use_sim_time').value:
            if not clocks:
                return 'use_sim_time is true, and nobody publishes /clock: start it, or set false'
            return (
                f'use_sim_time is true, with /clock from {clocks}; set it true where the joint '
                'states are made, too, or false here'
            )
        if clocks:
            return f'/clock comes from {clocks}: set use_sim_time true on this node'
        return (
            'synchronise the clocks (chrony), or set max_state_age to 0 for stamps that count '
            'from elsewhere'
        )

    def _log_change(self, status: Status, waits: bool) -> None:
        logger = self._node.get_logger()
        if status.faulty:
            logger.error(f'fault: {status}')
        elif status.state is State.RUNNING:
            logger.info(f'commanding (target {self._controller.settings.target})')
        elif status.state is not State.SILENT:
            logger.warning(f'{status}')
        elif not waits:
            logger.info(f'{status}')

    def _log_reason(self, why: str) -> None:
        """Log why a node waits; the same reason, whatever its figures, every 10 s."""
        if self._may_log(re.sub(r'[\d.]+', '', why), _LOG_AGAIN_PERIOD_S):
            self._node.get_logger().warning(f'no torque yet: {why}')

    def _may_log(self, what: str, period: float) -> bool:
        """Return whether it was not logged for a period [s], and note that it is logged now."""
        now = time.monotonic()
        due = now >= self._logged.get(what, -math.inf) + period
        if due:
            self._logged[what] = now
        return due

    def _report_reference(self, event: ReferenceEvent) -> None:
        controller, logger = self._controller, self._node.get_logger()
        pairs: dict[str, Any] = {
            'state': event.state.value,
            'number': event.number,
            'frame_id': event.goal_id,
            'reason': event.reason,
            'remaining [s]': event.remaining,
            REMEDY_KEY: self.present().remedy,
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
            text += f', {event.remaining:.3g} s before it'
        text += f': {self._in_words_of_ros(event.reason)}' if event.reason else ''
        bad = event.state in (ReferenceState.REFUSED, ReferenceState.INTERRUPTED) or (
            event.state is ReferenceState.FINISHED
            and pairs.get('error to its end [rad]', 0.0) > MAX_START_DISTANCE_RAD
        )  # the next motion could not begin where this one ends
        row = DiagnosticSubject.REFERENCE, 'WARN' if bad else 'OK', text, pairs
        self._reference = (row,)  # all events are published, and the latest one again
        self._publisher.publish(self.array(self._node.get_clock().now().to_msg(), row))
        # The points of a stream may replace each other a hundred times a second.
        if not self._may_log(event.state.value, DIAGNOSTIC_PERIOD_S):
            return
        if bad:  # rclpy allows one level at a place
            logger.warning(text)
        else:
            logger.info(text)

    def no_state(self) -> str:
        """Return why there is no joint state to plan a motion from, or ''."""
        if not self._node.active:
            return 'the node is not active'
        known = self._controller.latest is not None
        return self._missing() or ('' if known else self.present().why)

    def _missing(self) -> str:
        """Return a sentence if no joint state comes, or ''."""
        silence = time.monotonic() - self.arrival
        if silence < _STATE_TIMEOUT_S:
            return ''
        return (
            f'no joint state on {self._states} for {silence:.0f} s, where '
            f'{self._node.count_publishers(self._states)} publish; `franka-dynamics doctor` lists '
            'what there is: start the driver or the simulator in this ROS_DOMAIN_ID, let a paused '
            'simulation go on, or remap joint_states to its topic'
        )

    def _joint_states(self) -> Row:
        controller = self._controller
        level, message = 'OK', 'states are complete, fresh and fast'
        if not self._node.active:
            level, message = 'WARN', 'a node that is not active reads no joint states'
        elif missing := self._missing():
            level, message = 'STALE', missing
        elif controller.state_problem:
            unusable = controller.enabled and controller.latest is None
            problem = self._in_words_of_ros(controller.state_problem)
            level, message = 'ERROR' if unusable else 'STALE', problem
        elif not controller.states.has_enough:
            level, message = 'WARN', self._in_words_of_ros(controller.why)
        values = {
            'rate [Hz]': 1.0 / controller.states.period,
            'age [ms]': 1e3 * controller.states.median_age,
            'unusable': controller.counts['unusable states'],
            'effort': 'measured' if controller.disturbances.measured else 'not measured',
        }
        return DiagnosticSubject.JOINT_STATES, level, message, values

    def _command(self) -> Row:
        controller = self._controller
        # The shares are the largest since the last diagnostics, so that a short torque near its
        # bound causes one warning.
        status, shares = self.present(), controller.disturbances.largest.tolist()
        controller.disturbances.reset_largest()
        level, message = ('ERROR' if status.faulty else 'WARN'), str(status)
        receivers = self._receivers
        rivals = ', '.join(publisher_names(self._node, receivers.topic))
        since, before = self._counted
        self._counted = now, published = time.monotonic(), self.sent
        if status.state is State.RUNNING:
            level, message = 'WARN', ''
            if self.refused:
                message = f'reference refused: {self.refused}'
            elif rivals:
                message = f'{rivals} publishes on {receivers.topic}, too'
            elif max(shares) > _NEAR_BOUND_RATIO:
                joint = controller.names[shares.index(max(shares))]
                message = f"{joint} came near the guard's bound ({max(shares):.0%} of it)"
            else:
                level, message = 'WARN' if receivers.unheard else 'OK', status.why
        values = {
            'mode': status.state.value,
            'target': controller.settings.target,
            'published': published,
            'rate [Hz]': max(0, published - before) / (now - since),
            'cut by torque or rate limit': controller.counts['limited'],
            'stops': controller.counts['stops'],
            'faults latched': controller.counts['faults'],
            **{
                f'references {state.value}': count
                for state, count in controller.reference.counts.items()
            },
            'receivers': receivers.listed,
            'other publishers of commands': rivals or 'none',
            **{f'latency {name}': time for name, time in self.latency.percentiles_us().items()},
            **self._by_joint(
                'largest share of limit, {} [%]', 100.0 * controller.output.largest_share
            ),
            **self._by_joint('largest share of bound, {} [%]', 100.0 * np.array(shares)),
        }
        return DiagnosticSubject.COMMAND, level, message, values

    def _by_joint(self, key: str, numbers: Any) -> dict[str, float]:
        return {key.format(name): float(one) for name, one in zip(self._controller.names, numbers)}

    def _wrench(self) -> Row:
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

    def _model(self) -> tuple[Row, Row]:
        arm, mass = self._controller.description, self._controller.settings.payload[0]
        payload = f', payload {mass:g} kg' if mass else ''
        name = f'{arm.name} ({arm.inertial_set}, hand {arm.hand}{payload})'
        limits = self._by_joint('{}', arm.limit('effort'))
        model = DiagnosticSubject.ARM, 'OK', name, {MODEL_DIFFERENCE_KEY: self.residual}
        return model, (DiagnosticSubject.TORQUE_LIMITS, 'OK', arm.name, limits)
