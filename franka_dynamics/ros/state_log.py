# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Reports the controller's changes, a stopped clock, missing joint states, references' events."""

from __future__ import annotations

from typing import Any

import numpy as np

from .diagnostics import OK, StatusPublisher, WARN
from .messages import stamp_from_seconds
from .qos import REFERENCE_STATE_QOS
from ..control.feedforward import Feedforward, State
from ..control.reference import ReferenceEvent, ReferenceState

TOPIC = '~/reference_state'
_LOG_PERIOD_S = 1.0
_BAD = (ReferenceState.REFUSED, ReferenceState.INTERRUPTED)


class ReferenceReports(StatusPublisher):
    """Publishes and logs references' events; refusals are logged at most once a second."""

    def __init__(self, node: Any, controller: Feedforward) -> None:
        super().__init__(node, controller.description.name, TOPIC, REFERENCE_STATE_QOS)
        self._logger, self._controller = node.get_logger(), controller

    def note(self) -> None:
        """Publish and log the events of references since the last call."""
        events = self._controller.reference.events
        while events:
            self._report(events.popleft())

    def _report(self, event: ReferenceEvent) -> None:
        pairs: dict[str, Any] = {
            'state': event.state.value,
            'number': event.number,
            'frame_id': event.mark,
            'reason': event.reason,
            'remaining [s]': event.remaining,
            'to command again': self._controller.status.remedy,
        }
        text = f'reference {event.number} {event.state.value}'
        latest = self._controller.latest
        if event.goal is not None and latest is not None:
            error = np.abs(latest.q - event.goal)
            joint = int(np.argmax(error))
            name = self._controller.description.joint_names[joint]
            pairs |= {'error to its end [rad]': float(error[joint]), 'joint': name}
            if event.state in (ReferenceState.FINISHED, ReferenceState.INTERRUPTED):
                text += f', {error[joint]:.3g} rad from its end at {name}'
        if event.state is ReferenceState.INTERRUPTED:
            text += f', {event.remaining:.3g} s before it'
        text += f': {event.reason}' if event.reason else ''
        bad = event.state in _BAD
        self.publish(
            self.status('Reference', WARN if bad else OK, text, pairs),
            stamp=stamp_from_seconds(event.stamp),
        )
        if event.state is ReferenceState.REFUSED:
            self._logger.warning(text, throttle_duration_sec=_LOG_PERIOD_S)
        elif bad:
            self._logger.warning(text)
        else:
            self._logger.info(text)


# A simulated clock that has not moved for this long [s] stands still.
CLOCK_STANDS_AFTER_S = 1.0


class StateLog:
    """Logs a change of the controller's state, and of the reason for it."""

    def __init__(self, node: Any, controller: Feedforward) -> None:
        self._logger, self._controller = node.get_logger(), controller
        self._seen: tuple[State, bool] | None = None
        self._refused = ''

    def activated(self, topic: str) -> None:
        """Log that the node was activated, and on which topic it expects joint states."""
        self._refused = ''
        self._logger.info(f'activated: commands begin once the states on {topic} are good')

    def note(self) -> bool:
        """Log the status if it changed; return whether it did."""
        controller = self._controller
        status = controller.status
        seen = status.state, status.faulty
        waits = status.state is State.SILENT and controller.started and controller.usable
        if seen == self._seen and not (waits and status.why and not self._refused):
            return False
        if waits and status.why:  # only the first reason of an activation: it may change often
            self._refused = status.why
            self._logger.warning(f'no torque yet: {status.why}')
        if seen != self._seen:
            self._seen = seen
            if status.faulty:
                self._logger.error(f'fault: {status}')
            elif status.state is State.RUNNING:
                self._logger.info(f'commanding (target {controller.settings.target})')
            elif status.state is State.SILENT:
                self._logger.info(f'{status}')
            else:
                self._logger.warning(f'{status}')
        return True


class ClockLog:
    """Detects and logs that a simulated clock stands still, as while Gazebo is paused."""

    def __init__(self, node: Any) -> None:
        self._logger = node.get_logger()
        self._seen, self._moved_at = -1.0, 0.0
        self.stands = False

    def note(self, clock: float, now: float) -> None:
        """Log that the clock [s] has stopped or moves again; `now` is by the steady clock [s]."""
        if clock != self._seen:
            if self.stands:
                self._logger.info(f'simulated time goes on at {clock:.3f} s')
            self._seen, self._moved_at, self.stands = clock, now, False
        elif not self.stands and now - self._moved_at > CLOCK_STANDS_AFTER_S:
            self.stands = True
            self._logger.info(
                f'simulated time stands still at {clock:.3f} s: the last torque is held until it '
                'goes on'
                if clock
                else 'no time has come on /clock, which use_sim_time waits for'
            )


_FIRST_WARNING_S, _NEXT_WARNINGS_S = 2.0, 10.0


class MissingStates:
    """Decides when to warn that no joint state has come: after 2 s, then every 10 s."""

    def __init__(self, node: Any) -> None:
        self._node = node
        self._topic, self._next, self._began = 'joint_states', 0.0, 0.0

    def begin(self, topic: str, now: float) -> None:
        """Count time without joint states on a topic (full name) from `now`, steady clock [s]."""
        self._topic, self._began, self._next = topic, now, now + _FIRST_WARNING_S

    def check(self, waiting: bool, now: float) -> str:
        """Return a warning if the node is `waiting` for states and a warning is due, else ''."""
        if not waiting or now < self._next:
            return ''
        self._next = now + _NEXT_WARNINGS_S
        return (
            f'no joint state on {self._topic} for {now - self._began:.0f} s, where '
            f'{self._node.count_publishers(self._topic)} publish; `franka-dynamics doctor` lists '
            'what there is: start the driver or the simulator in this ROS_DOMAIN_ID, or remap '
            'joint_states to its topic'
        )
