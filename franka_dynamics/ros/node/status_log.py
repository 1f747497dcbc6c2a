# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The status of a feedforward node in words for its user, and the log of its changes."""

import math
import re
import time
from typing import Any, NamedTuple

from ..messages import FIRST_WALL_TIME_S
from ..receivers.receivers import ReceiverCheck
from ..topics import publisher_names
from ...control.core_table import Cause, Remedy, State
from ...control.ending import (
    CAUSE_OF_STATE_PROBLEM,
    Ending,
    PYTHON_LOOP_ADVICE,
    Reason,
    ReasonCode,
    Status,
)
from ...control.feedforward import Feedforward

MIN_REASON_DURATION_S = 1.0  # of a reason for silence, until another one is published
# How long a node waits until it says why [s]: a launch file starts one thing after the other.
_WAITING_LOG_DELAY_S = 3.0
MIN_CLOCK_RATE_HZ = 20.0  # below it the steps of a clock make joint states too old or too new
_REPEATED_LOG_PERIOD_S = 10.0  # of the same reason for silence
_MIN_LOG_PERIOD_S = 1.0  # of any other sentence, whatever its figures
_MISSING_STATE_TIMEOUT_S = 1.0  # after which missing joint states are a reason for silence

# How a node's user makes it command again, where the core's own words do not say it.
_REMEDY_TEXTS = {
    Remedy.START: 'activate the node (`franka-dynamics node state activate`); if active, wait',
    Remedy.CLEAR: 'remove the cause, then clear the fault (`franka-dynamics node clear`)',
}
_RATE_ADVICE = (
    'joint_state_publisher and broadcasters with a rate of their own are too slow: take the '
    "driver's own topic (franka/joint_states with franka_ros2), or raise the parameter period"
)
# Reasons that come of the clock: stamps of joint states are too old, or ahead of it.
_CLOCK_REASONS = (ReasonCode.STALE, ReasonCode.STAMP_AHEAD, ReasonCode.STALE_AT_START)


class _Phase(NamedTuple):
    """What of a status is logged when it changes; `node_waits` for states or a receiver."""

    state: State
    is_faulty: bool
    node_waits: bool


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
        remedy = controller.ending.remedy
        words = '' if self.is_shut_down else _REMEDY_TEXTS.get(remedy, remedy.value)
        why = self.reason_text(controller.ending) or status.why
        if status.state is State.RUNNING:
            why = self._receivers.delivery_problem or why
        elif self._node.active and status.state is State.SILENT and controller.enabled:
            why = self.missing_state_text() or why
        if two_sources := self._two_sources_text():
            why = f'{why}; {two_sources}'
        return status._replace(remedy=words, why=why)

    def _two_sources_text(self) -> str:
        """
        Return text that two sources send joint states, if impossible ones ended torques; else ''.

        Where messages have no numbers, a second source's first states end torques before the
        publishers that are connected show that there are two.
        """
        first = self.controller.ending.first_reason
        cause = None if first is None else CAUSE_OF_STATE_PROBLEM.get(first.code)
        if not self.controller.faulty or cause is not Cause.STATE_IMPOSSIBLE:
            self._two_sources = ''
        elif not self._two_sources:
            self._two_sources = self._node.state_sources.problem
        return self._two_sources

    def reason_text(self, why: object) -> str:
        """
        Return why torques ended or wait as text: '' for None.

        A Reason or an Ending comes with advice for the user, an exception or a text as it is.
        """
        if isinstance(why, (Reason, Ending)):
            return why.text(self._advice_for)
        return '' if why is None else str(why)

    def _advice_for(self, code: ReasonCode) -> str | None:
        """Return advice on the reason code of missing torques, or None if there is no advice."""
        if code is ReasonCode.RARE_STATES:
            return _RATE_ADVICE
        if code in _CLOCK_REASONS:
            return self._clock_advice()
        return PYTHON_LOOP_ADVICE.get(code)

    def _clock_advice(self) -> str:
        """Return advice about joint states with stamps that do not match the node's clock."""
        publishers = publisher_names(self._node, '/clock')
        cycle = self._node.cycle
        clocks = ', '.join(publishers)
        are_stamps_simulated = cycle.last_stamp < FIRST_WALL_TIME_S
        if self._node.get_parameter('use_sim_time').value:
            if not clocks:
                return 'use_sim_time is true, and nobody publishes /clock: start it, or set false'
            if len(publishers) > 1:
                return f'{clocks} all publish /clock, which goes to and fro: stop all but one'
            rate = cycle.clock_rate_hz
            if rate < MIN_CLOCK_RATE_HZ:
                return f'/clock has {rate:.2g} Hz ({clocks}): it needs {MIN_CLOCK_RATE_HZ:g} Hz'
            if not are_stamps_simulated and cycle.arrival_clock_time < FIRST_WALL_TIME_S:
                return f'/clock is from {clocks}: set use_sim_time where states are made too'
            return f'/clock is from {clocks}: take joint states of the same simulation'
        if clocks and are_stamps_simulated:
            return f'/clock comes from {clocks}: set use_sim_time true on this node'
        return 'synchronise clocks (chrony), or set max_state_age to 0 for stamps from elsewhere'

    def missing_state_text(self) -> str:
        """Return text on missing joint states; '' if a joint state came in the last second."""
        silence = time.monotonic() - self.state_arrival_time
        if silence < _MISSING_STATE_TIMEOUT_S:
            return ''
        observation = f'no joint state on {self._state_topic} for {silence:.0f} s'
        if problem := self._receivers.broadcaster_problem:
            return f'{observation}: {problem}'
        return (
            f'{observation}, where '
            f'{self._node.count_publishers(self._state_topic)} publish; `franka-dynamics doctor` '
            'lists what there is: start the driver or the simulator in this ROS_DOMAIN_ID, let a '
            'paused simulation go on, or remap joint_states to its topic'
        )

    def reset(self) -> None:
        """Begin the log anew, for a new activation, as if nothing had been logged before."""
        self.state_arrival_time = time.monotonic()
        self._log_times: dict[str, float] = {}  # when a sentence, without numbers, was logged [s]
        self._phase: _Phase | None = None  # the one that was logged last
        self._phase_begin = time.monotonic()
        # The sentence about two sources, kept from when states became impossible.
        self._two_sources = ''
        self._last_reason = ''  # the one that was logged last, and still holds
        self._has_run = False  # whether torques were commanded

    def log_status_changes(self, status: Status, *, node_waits: bool) -> None:
        """
        Log what has changed since the last call, and why the node waits.

        - Each end of torques is logged with its reason; a fault with the change of status.
        - A change of state, of the fault or of `node_waits` is logged once.
        - While torques flow, a problem of their delivery is repeated every 10 s; that nobody
          receives them is said first after 3 s.
        - While the node waits, the reason is repeated every 10 s, first after 3 s.
        """
        controller = self.controller
        now = time.monotonic()
        while controller.unreported_endings:
            ending = controller.unreported_endings.popleft()
            self._has_run = True
            if not ending.remedy.is_fault:
                self._last_reason = self.reason_text(ending)
                self.log_if_due(f'torques ended: {self._last_reason}')
        phase = _Phase(status.state, status.faulty, node_waits)
        if phase != self._phase:
            self._phase = phase
            self._phase_begin = now
            self._log_change(status, node_waits=node_waits)
        has_waited = now >= self._phase_begin + _WAITING_LOG_DELAY_S
        problem = self._receivers.delivery_problem if status.state is State.RUNNING else ''
        if problem and (has_waited or self._receivers.has_receiver):
            self.log_if_due(problem, _REPEATED_LOG_PERIOD_S)
        if node_waits and has_waited:
            yet = '' if self._has_run else ' yet'
            self.log_if_due(f'no torque{yet}: {status.why}', _REPEATED_LOG_PERIOD_S)

    def _log_change(self, status: Status, *, node_waits: bool) -> None:
        """Log a changed status, unless its reason was logged or a silent node just waits."""
        logger = self._node.get_logger()
        if status.state is State.RUNNING:
            self._last_reason = ''
            self._has_run = True
            logger.info(f'commanding (target {self.controller.settings.target})')
            return
        if status.why == self._last_reason:  # of the same stop
            return
        self._last_reason = status.why
        if status.faulty:
            logger.error(f'fault: {status}')
        elif status.state is not State.SILENT:
            logger.warning(f'{status}')
        elif not node_waits:
            logger.info(f'{status}')

    def log_if_due(self, text: str, gap: float = _MIN_LOG_PERIOD_S, *, warn: bool = True) -> None:
        """Log a text (as warning if `warn`), at most once per `gap` [s] whatever its numbers."""
        words = re.sub(r'[\d.]+', '', text)
        now = time.monotonic()
        if now >= self._log_times.get(words, -math.inf) + gap:
            self._log_times[words] = now
            if warn:
                self._node.get_logger().warning(text)
            else:
                self._node.get_logger().info(text)
