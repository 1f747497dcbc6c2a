# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Diagnostics, ~/status and the log of status changes of a feedforward node."""

from collections.abc import Callable
import math
import re
import time
from typing import Any

from diagnostic_msgs.msg import DiagnosticStatus
import numpy as np

from .messages import FIRST_WALL_TIME_S
from .receivers import ReceiverCheck
from .status import (
    DiagnosticSubject,
    DurationWindow,
    FORMER_MODEL_DIFFERENCE,
    StatusKey,
    StatusPublisher,
    StatusRow,
)
from .term_publishers import TermPublishers
from .topics import DESCRIPTION_QOS, publisher_names
from ..control.core_state import Status
from ..control.ending import (
    Cause,
    CAUSE_OF_STATE_PROBLEM,
    Ending,
    PYTHON_LOOP_ADVICE,
    Reason,
    ReasonCode,
)
from ..control.feedforward import Feedforward, Remedy, State
from ..motion.planning import MAX_START_DISTANCE_RAD
from ..motion.reference import ReferenceEvent, ReferenceState, REPLACED_REASON

_WARNING_FRACTION_OF_BOUND = 0.8  # share of a bound above which diagnostics warn
MIN_REASON_DURATION_S = 1.0  # of a reason for silence, until it is logged
_REPEATED_LOG_PERIOD_S = 10.0  # of the same reason for silence
_MIN_LOG_PERIOD_S = 1.0  # of any other sentence, whatever its figures
_MISSING_STATE_TIMEOUT_S = 1.0  # after which missing joint states are a reason for silence
MIN_CLOCK_RATE_HZ = 20.0  # below it the steps of a clock make joint states too old or too new

# How a node's user makes it command again, where the core's own words do not say it.
_REMEDY_TEXTS = {
    Remedy.START: 'activate the node (`franka-dynamics node state activate`); if active, wait',
    Remedy.CLEAR: 'remove the cause, then clear the fault (`franka-dynamics node clear`)',
}
_RATE_ADVICE = (
    'joint_state_publisher and broadcasters with a rate of their own are too slow: take the '
    "driver's own topic (franka/joint_states with franka_ros2), or raise the parameter period"
)


class StatusLog:
    """
    A log of changes of a feedforward node's status, in words for the node's user.

    The log says why torques end, wait or are not received. `controller` is set when the node is
    configured. `state_arrival_time` is that of the latest joint state [s], `is_shut_down` says
    that the node never commands again.
    """

    controller: Feedforward

    def __init__(self, node: Any, state_topic: str, receiver_check: ReceiverCheck) -> None:
        """Make an empty log for a node, its topic of joint states and its receiver check."""
        self._node = node
        self._state_topic = state_topic
        self._receivers = receiver_check
        self.is_shut_down = False
        self.reset()

    def status(self) -> Status:
        """Return the controller's status with remedy and reason worded for the node's user."""
        controller = self.controller
        status = controller.status
        remedy = Remedy(status.remedy)
        words = '' if self.is_shut_down else _REMEDY_TEXTS.get(remedy, remedy.value)
        why = self.reason_text(controller.ending) or status.why
        if status.state is State.RUNNING:
            why = self._receivers.delivery_problem or why
        elif self._node.active and status.state is State.SILENT and controller.enabled:
            why = self.missing_state_text() or why
        if sources := self._sources_of_impossible_states():
            why = f'{why}; {sources}'
        return status._replace(remedy=words, why=why)

    def _sources_of_impossible_states(self) -> str:
        """
        Return that two sources send joint states, if impossible ones ended torques; else ''.

        Where messages have no numbers, a second source's first states end torques before the
        publishers that are connected show that there are two.
        """
        first = self.controller.ending.first_reason
        cause = None if first is None else CAUSE_OF_STATE_PROBLEM.get(first.code)
        if not self.controller.faulty or cause is not Cause.STATE_IMPOSSIBLE:
            self._sources = ''
        elif not self._sources:
            self._sources = self._node.state_sources.problem
        return self._sources

    def reason_text(self, why: object) -> str:
        """Return a Reason or Ending as text with advice for the user; else a str, '' of None."""
        return why.text(self._advice_for) if isinstance(why, (Reason, Ending)) else str(why or '')

    def _advice_for(self, code: ReasonCode) -> str | None:
        """Return advice on the reason code of missing torques, or None if there is no advice."""
        if code is ReasonCode.RARE_STATES:
            return _RATE_ADVICE
        old = code in (
            ReasonCode.STALE,
            ReasonCode.STAMP_AHEAD,
            ReasonCode.STALE_AT_START,
        )
        return self._clock_advice() if old else PYTHON_LOOP_ADVICE.get(code)

    def _clock_advice(self) -> str:
        """Return advice about joint states with stamps that do not match the node's clock."""
        publishers = publisher_names(self._node, '/clock')
        cycle = self._node.cycle
        clocks = ', '.join(publishers)
        is_simulated = cycle.last_stamp < FIRST_WALL_TIME_S  # the stamps of joint states
        if self._node.get_parameter('use_sim_time').value:
            if not clocks:
                return 'use_sim_time is true, and nobody publishes /clock: start it, or set false'
            if len(publishers) > 1:
                return f'{clocks} all publish /clock, which goes to and fro: stop all but one'
            rate = cycle.clock_rate_hz
            if rate < MIN_CLOCK_RATE_HZ:
                return f'/clock has {rate:.2g} Hz ({clocks}): it needs {MIN_CLOCK_RATE_HZ:g} Hz'
            if not is_simulated and cycle.arrival_clock_time < FIRST_WALL_TIME_S:
                return f'/clock is from {clocks}: set use_sim_time where states are made too'
            return f'/clock is from {clocks}: take joint states of the same simulation'
        if clocks and is_simulated:
            return f'/clock comes from {clocks}: set use_sim_time true on this node'
        return 'synchronise clocks (chrony), or set max_state_age to 0 for stamps from elsewhere'

    def missing_state_text(self) -> str:
        """Return text on missing joint states; '' if a joint state came in the last second."""
        silence = time.monotonic() - self.state_arrival_time
        if silence < _MISSING_STATE_TIMEOUT_S:
            return ''
        said = f'no joint state on {self._state_topic} for {silence:.0f} s'
        if problem := self._receivers.broadcaster_problem:
            return f'{said}: {problem}'
        return (
            f'{said}, where '
            f'{self._node.count_publishers(self._state_topic)} publish; `franka-dynamics doctor` '
            'lists what there is: start the driver or the simulator in this ROS_DOMAIN_ID, let a '
            'paused simulation go on, or remap joint_states to its topic'
        )

    def reset(self) -> None:
        """Begin the log anew, for a new activation, as if nothing had been logged before."""
        self.state_arrival_time = time.monotonic()
        self._log_times: dict[str, float] = {}  # when what was logged [s]
        self._last_status: tuple[State, bool, bool] | None = None
        # What says, since states were impossible, that two sources send them.
        self._sources = ''
        self._last_reason = ''
        self._has_run = False
        self._change_time = time.monotonic()

    def log_status_changes(self, status: Status, *, node_waits: bool) -> None:
        """Log ended torques, changes of status, delivery problems, and why the node waits."""
        controller = self.controller
        now = time.monotonic()
        while controller.unreported_endings:
            ending = controller.unreported_endings.popleft()
            self._has_run = True
            if not ending.is_latched:  # a fault is logged below
                self._last_reason = self.reason_text(ending)
                self.log_if_due(f'torques ended: {self._last_reason}')
        seen = status.state, status.faulty, node_waits
        if seen != self._last_status:
            self._last_status = seen
            self._change_time = now
            self._log_change(status, node_waits)
        if status.state is State.RUNNING and self._receivers.delivery_problem:
            self.log_if_due(self._receivers.delivery_problem, _REPEATED_LOG_PERIOD_S)
        if node_waits and now >= self._change_time + MIN_REASON_DURATION_S:
            yet = '' if self._has_run else ' yet'
            self.log_if_due(f'no torque{yet}: {status.why}', _REPEATED_LOG_PERIOD_S)

    def _log_change(self, status: Status, node_waits: bool) -> None:
        """Log a changed status, unless its reason was logged or a silent node just waits."""
        logger = self._node.get_logger()
        if status.state is State.RUNNING:
            self._last_reason = ''
            self._has_run = True
            logger.info(f'commanding (target {self.controller.settings.target})')
        elif status.why == self._last_reason:  # of the same stop
            return
        elif status.faulty:
            logger.error(f'fault: {status}')
        elif status.state is not State.SILENT:
            logger.warning(f'{status}')
        elif not node_waits:
            logger.info(f'{status}')
        self._last_reason = '' if status.state is State.RUNNING else status.why

    def log_if_due(self, text: str, gap: float = _MIN_LOG_PERIOD_S, *, warn: bool = True) -> None:
        """Log a text (as warning if `warn`), at most once per `gap` [s] whatever its numbers."""
        what = re.sub(r'[\d.]+', '', text)
        now = time.monotonic()
        if now >= self._log_times.get(what, -math.inf) + gap:
            self._log_times[what] = now
            if warn:
                self._node.get_logger().warning(text)
            else:
                self._node.get_logger().info(text)


class FeedforwardDiagnostics(StatusPublisher):
    """
    The publisher and log of the diagnostics of a feedforward node and its controller.

    The service thread publishes diagnostics and reads the controller without the lock: slightly
    old values do no harm, and the control cycle must not wait. `status_log` has the status in
    words, and logs it.
    """

    def __init__(self, node: Any, state_topic: str, terms: TermPublishers) -> None:
        """Make the publishers on a node; `set_controller` must be called before any report."""
        super().__init__(node)
        self._receivers = node.receivers
        self._terms = terms
        self.model_difference = math.nan
        self.status_log = StatusLog(node, state_topic, node.receivers)
        self.refusal_text = ''  # why the last reference was refused
        self.on_reference_event: Callable[[ReferenceEvent], None] = lambda _: None
        self._status_pub = node.create_publisher(DiagnosticStatus, '~/status', DESCRIPTION_QOS)
        self._motion_row: tuple[StatusRow, ...] = ()  # what became of the latest reference
        self.latencies = DurationWindow()
        self.published_count = 0  # torques that were published

    def set_controller(self, controller: Feedforward, model_difference: float) -> None:
        """Set the controller to report on, and its two dynamics models' largest difference."""
        self.controller = self.status_log.controller = controller
        self._arm_name = controller.description.name
        self.model_difference = model_difference
        self.refusal_text = ''
        # What ~/status says (state, whether a fault is latched, whether the node waits; the
        # reason), since when [s], and the torques published up to the last diagnostics.
        self._published_state: tuple[Any, str] = None, ''
        self._published_at = -math.inf
        self._last_count = (time.monotonic(), self.published_count)
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
        waits = status.state is State.SILENT and controller.enabled
        self.status_log.log_status_changes(status, node_waits=waits)
        state = (status.state, status.faulty, waits), status.why
        if state[0] != self._published_state[0]:
            self._published_at = -math.inf
        if state != self._published_state and now >= self._published_at + MIN_REASON_DURATION_S:
            self._published_state = state
            self._published_at = now
            self.next_publication_time = now
        if now >= self.next_publication_time:
            # The largest since the last report, so that a short peak near the bound is reported.
            shares = controller.disturbances.max_bound_ratios.tolist()
            controller.disturbances.max_bound_ratios[:] = 0.0
            level, message, values = self._status_row(status, shares)
            self._status_pub.publish(self.own_status_message(level, message, values))
            figures = values | self._command_values(np.array(shares))
            command = DiagnosticSubject.COMMAND, level, message, figures
            rows = (
                self._joint_state_row(),
                command,
                *self._motion_row,
                self._wrench_row(),
            )
            self.publish_rows(*rows, self._arm_row())

    def _report_event(self, event: ReferenceEvent) -> None:
        """Publish, log and store a reference motion's event; call `on_reference_event`."""
        controller = self.controller
        refusal = type(event.reason).__name__
        event = event._replace(reason=self.status_log.reason_text(event.reason))
        pairs: dict[str, Any] = {
            'state': event.state.value,
            'number': event.number,
            'frame_id': event.goal_id,
            'reason': event.reason,
            StatusKey.REFUSAL_ERROR_TYPE: refusal if event.state is ReferenceState.REFUSED else '',
            'remaining [s]': event.remaining_time,
            StatusKey.REMEDY: self.status_log.status().remedy,
        }
        text = f'reference {event.number} {event.state.value}'
        is_far = False
        if event.goal_position is not None and controller.latest is not None:
            error = np.abs(controller.latest.q - event.goal_position)
            joint = int(np.argmax(error))
            is_far = error[joint] > MAX_START_DISTANCE_RAD  # the next motion could not begin here
            name = controller.joint_names[joint]
            pairs |= {'error to its end [rad]': float(error[joint]), 'joint': name}
            if event.state in (ReferenceState.FINISHED, ReferenceState.INTERRUPTED):
                unit = controller.description.joints[joint].kind.position_unit
                text += f', {error[joint]:.3g} {unit} from its end at {name}'
        if event.state is ReferenceState.INTERRUPTED:
            text += f', {event.remaining_time:.3g} s before it'
        text += f': {event.reason}' if event.reason else ''
        is_bad_by_state = {
            ReferenceState.REFUSED: True,
            ReferenceState.INTERRUPTED: event.reason != REPLACED_REASON,
            ReferenceState.FINISHED: is_far,
        }
        bad = is_bad_by_state.get(event.state, False)
        # All events are published, and the latest one again.
        self._motion_row = ((DiagnosticSubject.REFERENCE, 'WARN' if bad else 'OK', text, pairs),)
        self.publish_rows(*self._motion_row, is_event=True)
        self.status_log.log_if_due(text, warn=bad)
        self.on_reference_event(event)

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
        level = 'ERROR' if status.faulty else 'STALE' if status.state is State.SILENT else 'WARN'
        message = status.why
        largest = max(bound_ratios)
        if status.state is State.RUNNING:
            if self._receivers.delivery_problem:
                pass  # the reason names it
            elif self.refusal_text:
                message = f'reference refused: {self.refusal_text}'
            elif largest > _WARNING_FRACTION_OF_BOUND:
                joint = self.controller.joint_names[bound_ratios.index(largest)]
                message = f'{joint} came near its disturbance bound ({largest:.0%} of it)'
            else:
                level = 'OK'
        return (
            level,
            message,
            {'state': status.state.value, StatusKey.REMEDY: status.remedy},
        )

    def _command_values(self, bound_ratios: Any) -> dict[str, Any]:
        """Return the values of the diagnostic row Command that ~/status does not have."""
        controller = self.controller
        receivers = self._receivers
        since, before = self._last_count
        self._last_count = now, published = time.monotonic(), self.published_count
        others = ', '.join(publisher_names(self._node, receivers.topic)) or 'none'
        references = controller.reference.counts.items()
        largest = controller.output.peak_to_limit
        return {
            'target': controller.settings.target,
            'published': published,
            StatusKey.RATE: max(0, published - before) / (now - since),
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
        rows = ('fx [N]', 'fy [N]', 'fz [N]', 'mx [N m]', 'my [N m]', 'mz [N m]')
        forces = dict(zip(rows, wrench.wrench.tolist()))
        left = wrench.unexplained_torque
        values = {
            'singular': wrench.is_singular,
            **forces,
            'not explained by it [N m]': left,
        }
        level = 'WARN' if wrench.is_singular else 'OK'
        return DiagnosticSubject.EXTERNAL_WRENCH, level, wrench.accuracy_text(), values

    def _arm_row(self) -> StatusRow:
        """Return the diagnostic row of the arm's model, with the joints' torque limits."""
        arm = self.controller.description
        mass = self.controller.settings.payload[0]
        payload = f', payload {mass:g} kg' if mass else ''
        name = f'{arm.name} ({arm.inertial_set}, hand {arm.hand}{payload})'
        values = {
            StatusKey.MODEL_DIFFERENCE.value: self.model_difference,
            FORMER_MODEL_DIFFERENCE: self.model_difference,
        }
        names = self.controller.joint_names
        for joint, name, limit in zip(arm.joints, names, arm.limit('effort').tolist()):
            unit = joint.kind.effort_unit
            # Of a joint that slides the unit in the key was N m, and stays beside N until 0.3.
            for each in dict.fromkeys(('N m', unit)):
                values[StatusKey.TORQUE_LIMIT.format(name, each)] = limit
        return DiagnosticSubject.ARM, 'OK', name, values
