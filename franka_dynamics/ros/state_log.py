# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Reports the controller's changes, a stopped clock, missing joint states, references' events."""

from __future__ import annotations

from typing import Any

import numpy as np

from .diagnostics import OK, StatusPublisher, WARN
from .messages import stamp_from_seconds
from .qos import REFERENCE_STATE_QOS
from ..control.cycle_result import Mode
from ..control.feedforward import FeedforwardController
from ..control.possible_motion import Condition
from ..control.reference import ReferenceEvent, ReferenceState

TOPIC = '~/reference_state'
_LOG_PERIOD_S = 1.0
_BAD = (ReferenceState.REFUSED, ReferenceState.INTERRUPTED)


class ReferenceReports(StatusPublisher):
    """Publishes and logs references' events; refusals are logged at most once a second."""

    def __init__(self, node: Any, controller: FeedforwardController) -> None:
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
            'to command again': self._controller.status().cleared_by,
        }
        text = f'reference {event.number} {event.state.value}'
        latest = self._controller.latest
        if event.goal is not None and latest is not None:
            error = np.abs(latest[1] - event.goal)
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
    """Logs changes of the controller's mode and fault, and what the first torque waits for."""

    def __init__(self, node: Any, controller: FeedforwardController) -> None:
        self._logger, self._controller = node.get_logger(), controller
        self._mode, self._fault = controller.mode, controller.faults.reason
        self._seen: tuple[Mode, str, Condition, bool] | None = None
        self._commanded = self._refusal_logged = False

    def activated(self, topic: str) -> None:
        """Log that the node was activated, and on which topic it expects joint states."""
        self._commanded = self._refusal_logged = False
        self._logger.info(f'activated: commands begin once the states on {topic} are trusted')

    def close(self) -> None:
        """Log the end of a fault that a new configuration clears."""
        if self._fault:
            self._logger.info('the fault was cleared')

    def note(self) -> bool:
        """
        Log changes of mode and fault, and what the first torque waits for.

        Returns whether one of these has changed since the last call: mode, fault, condition of the
        joint states, whether the first torque waits.
        """
        controller = self._controller
        seen = (
            controller.mode,
            controller.faults.reason,
            controller.supervisor.condition,
            bool(controller.waits_for),
        )
        if seen == self._seen:
            return False
        self._seen = seen
        status = controller.status()
        if status.mode is not self._mode:
            self._mode = status.mode
            self._log_mode(controller)
        fault = status.reason if status.faulty else ''
        if fault != self._fault:
            self._fault = fault
            if fault:
                self._logger.error(f'fault: {status}')
            else:
                self._logger.info('the fault was cleared')
        trusted = controller.supervisor.condition is Condition.TRUSTED
        if controller.waits_for and trusted and not (fault or self._refusal_logged):
            # Only the first reason for waiting is logged per activation: the guard's residual may
            # cross its bound often.
            self._refusal_logged = True
            self._logger.warning(status.reason)
        return True

    def _log_mode(self, controller: FeedforwardController) -> None:
        if self._mode is Mode.RUNNING:
            again = ' again' if self._commanded else ''
            self._commanded = True
            self._logger.info(
                f'commanding{again} (target {controller.settings.target}): '
                f'{controller.supervisor.reason}'
            )
        elif self._mode is Mode.SILENT:
            self._logger.info(f'silent: {controller.stop_ends}')
        else:
            self._logger.warning(f'{self._mode.value}: {controller.stop_reason}')


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
