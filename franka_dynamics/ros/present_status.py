# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What a feedforward node does now and why, in the words of its users, and its log of that."""

import math
import re
import time
from typing import Any

from .receiver_check import ReceiverCheck
from .topics import publisher_names
from ..control.core_state import Status
from ..control.ending import Ending, LOOP_ADVICE, Reason, ReasonCode
from ..control.feedforward import Feedforward, Remedy, State

_STATE_TIMEOUT_S = 1.0  # without joint states after which that is the reason for silence [s]
MIN_CLOCK_RATE_HZ = 20.0  # below it the steps of a clock make joint states too old or too new

# How a node's user makes it command again, where the core's own words do not say it.
_REMEDIES = {
    Remedy.START: (
        'activate the node (`franka-dynamics node state activate`); if it is active, wait'
    ),
    Remedy.CLEAR: 'remove the cause, then clear the fault (`franka-dynamics node clear`)',
}
_RATE_ADVICE = (
    'joint_state_publisher and broadcasters with a rate of their own are too slow: take the '
    "driver's own topic (franka/joint_states with franka_ros2), or raise the parameter period"
)


class PresentStatus:
    """
    The status of a node and of its controller, which is set when the node is configured.

    `arrival` is when the latest joint state came [s], `ends` says that the node never commands
    again.
    """

    controller: Feedforward

    def __init__(self, node: Any, state_topic: str, receivers: ReceiverCheck) -> None:
        self._node, self._states, self.receivers = node, state_topic, receivers
        self.arrival, self.ends = 0.0, False

    def present(self) -> Status:
        """Return the controller's status with the node's reason for silence and its remedies."""
        status = self.controller.status
        remedy = Remedy(status.remedy)
        words = '' if self.ends else _REMEDIES.get(remedy, remedy.value)
        why = self.in_words(self.controller.ending) or status.why
        if status.state is State.RUNNING:
            why = self.receivers.delivery_problem or why
        elif self._node.active and status.state is State.SILENT and self.controller.enabled:
            why = self.missing() or why
        return status._replace(remedy=words, why=why)

    def in_words(self, why: object) -> str:
        """Return a reason, with advice for a node's user."""
        return why.text(self._advice) if isinstance(why, (Reason, Ending)) else str(why or '')

    def _advice(self, code: ReasonCode) -> str | None:
        """Return what a node's user can do about a reason, or None."""
        if code is ReasonCode.TOO_RARE:
            return _RATE_ADVICE
        old = code in (ReasonCode.TOO_OLD, ReasonCode.AHEAD, ReasonCode.OLD_AT_START)
        return self._advice_on_clocks() if old else LOOP_ADVICE.get(code)

    def _advice_on_clocks(self) -> str:
        """Return what to do about stamps that are not of this node's time."""
        publishers = publisher_names(self._node, '/clock')
        clocks = ', '.join(publishers)
        if self._node.get_parameter('use_sim_time').value:
            if not clocks:
                return 'use_sim_time is true, and nobody publishes /clock: start it, or set false'
            if len(publishers) > 1:
                return f'{clocks} all publish /clock, which goes to and fro: stop all but one'
            rate = self._node.cycle.clock_rate
            if rate < MIN_CLOCK_RATE_HZ:
                return (
                    f'the clock comes at {rate:.2g} Hz from {clocks}: publish it with each joint '
                    f'state, at {MIN_CLOCK_RATE_HZ:g} Hz at least'
                )
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

    def missing(self) -> str:
        """Return a sentence that says that no joint state comes, or '' if one came lately."""
        silence = time.monotonic() - self.arrival
        if silence < _STATE_TIMEOUT_S:
            return ''
        return (
            f'no joint state on {self._states} for {silence:.0f} s, where '
            f'{self._node.count_publishers(self._states)} publish; `franka-dynamics doctor` lists '
            'what there is: start the driver or the simulator in this ROS_DOMAIN_ID, let a paused '
            'simulation go on, or remap joint_states to its topic'
        )


MIN_REASON_S = 1.0  # of a reason for silence, until it is logged
_LOG_AGAIN_PERIOD_S = 10.0  # of the same reason for silence
_MIN_PERIOD_S = 1.0  # of any other sentence, whatever its figures


class StatusLog:
    """Logs changes of a status, and why torques ended, do not begin or are not received."""

    def __init__(self, node: Any, present: PresentStatus) -> None:
        self._node, self._present = node, present
        self.begin()

    def begin(self) -> None:
        """Begin an activation: log all reasons anew."""
        self._logged: dict[str, float] = {}  # when what was logged [s]
        self._seen: tuple[State, bool, bool] | None = None
        self._last_reason, self._has_run, self._changed_at = '', False, time.monotonic()

    def report(self, status: Status, *, waits: bool) -> None:
        """Log what is new; `waits` says whether torques are to begin by themselves."""
        controller, now = self._present.controller, time.monotonic()
        while controller.ends:
            ending = controller.ends.popleft()
            self._has_run = True
            if not ending.is_latched:  # a fault is logged below
                self._last_reason = self._present.in_words(ending)
                self._warn(f'torques ended: {self._last_reason}', _MIN_PERIOD_S)
        seen = status.state, status.faulty, waits
        if seen != self._seen:
            self._seen, self._changed_at = seen, now
            self._log_change(status, waits, controller.settings.target)
        if status.state is State.RUNNING and self._present.receivers.delivery_problem:
            self._warn(self._present.receivers.delivery_problem, _LOG_AGAIN_PERIOD_S)
        if waits and now >= self._changed_at + MIN_REASON_S:
            yet = '' if self._has_run else ' yet'
            self._warn(f'no torque{yet}: {status.why}', _LOG_AGAIN_PERIOD_S)

    def _log_change(self, status: Status, waits: bool, target: str) -> None:
        """Log a status that differs from the one before."""
        logger = self._node.get_logger()
        if status.state is State.RUNNING:
            self._last_reason, self._has_run = '', True
            logger.info(f'commanding (target {target})')
        elif status.why == self._last_reason:  # of the same stop
            return
        elif status.faulty:
            logger.error(f'fault: {status}')
        elif status.state is not State.SILENT:
            logger.warning(f'{status}')
        elif not waits:
            logger.info(f'{status}')
        self._last_reason = '' if status.state is State.RUNNING else status.why

    def report_reference(self, text: str, *, bad: bool) -> None:
        """Log what became of a reference; of many that replace each other, once a second."""
        if bad:
            self._warn(text, _MIN_PERIOD_S)
        elif self._is_due(text, _MIN_PERIOD_S):
            self._node.get_logger().info(text)

    def _warn(self, text: str, period: float) -> None:
        """Log a warning, at most once in a period [s]."""
        if self._is_due(text, period):
            self._node.get_logger().warning(text)

    def _is_due(self, text: str, period: float) -> bool:
        """Return whether a text was not logged, whatever its figures, in the last period [s]."""
        what, now = re.sub(r'[\d.]+', '', text), time.monotonic()
        due = now >= self._logged.get(what, -math.inf) + period
        if due:
            self._logged[what] = now
        return due
