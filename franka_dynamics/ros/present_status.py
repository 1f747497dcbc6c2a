# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What a feedforward node does now and why, in the words of its users."""

from __future__ import annotations

import time
from typing import Any

from .messages import publisher_names
from .receiver_check import ReceiverCheck
from ..control.ending import Ending
from ..control.feedforward import Feedforward, Remedy, State, Status
from ..control.reason import ADVICE, Code, Reason

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
            why = self.receivers.unheard or why
        elif self._node.active and status.state is State.SILENT and self.controller.enabled:
            why = self.missing() or why
        return status._replace(remedy=words, why=why)

    def in_words(self, why: Reason | Ending | Exception | str | None) -> str:
        """Return a reason, with advice for a node's user."""
        return why.text(self._advice) if isinstance(why, (Reason, Ending)) else str(why or '')

    def _advice(self, code: Code) -> str | None:
        if code is Code.TOO_RARE:
            return _RATE_ADVICE
        old = code in (Code.TOO_OLD, Code.AHEAD, Code.OLD_AT_START)
        return self._advice_on_clocks() if old else ADVICE.get(code)

    def _advice_on_clocks(self) -> str:
        """Return what to do about stamps that are not of this node's time."""
        publishers = publisher_names(self._node, '/clock')
        clocks = ', '.join(publishers)
        if self._node.get_parameter('use_sim_time').value:
            if not clocks:
                return 'use_sim_time is true, and nobody publishes /clock: start it, or set false'
            if len(publishers) > 1:
                return f'{clocks} all publish /clock, which goes to and fro: stop all but one'
            rate = self._node.clock_rate
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
