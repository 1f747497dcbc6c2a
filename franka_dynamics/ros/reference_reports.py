# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The topic ~/reference_state and the log: what becomes of each reference."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray
import numpy as np

from .diagnostics import OK, status, WARN
from .messages import stamp_from_seconds
from .qos import REFERENCE_STATE_QOS
from ..control.cycle import Mode
from ..control.feedforward import FeedforwardController
from ..control.reference import ReferencePoint, Trajectory
from ..control.reference_progress import ReferenceEvent, ReferenceProgress, ReferenceState

TOPIC = '~/reference_state'
_LOG_PERIOD_S = 1.0
_BAD = (ReferenceState.REFUSED, ReferenceState.INTERRUPTED)


class ReferenceReports:
    """
    Publishes every station of every reference, and logs it.

    Parameters
    ----------
    node : Node
        The feedforward node.
    controller : FeedforwardController
        Which follows the references.

    """

    def __init__(self, node: Any, controller: FeedforwardController) -> None:
        self._node, self._controller = node, controller
        self._progress = ReferenceProgress()
        # No lifecycle publisher: that a stop has interrupted a motion is told all the same.
        self._publisher = node.create_publisher(DiagnosticArray, TOPIC, REFERENCE_STATE_QOS)

    @property
    def counts(self) -> dict[ReferenceState, int]:
        """How often each station was reached."""
        return self._progress.counts

    def refused(self, reason: str, mark: str) -> None:
        """Tell of a reference that is not followed; `mark` as `trajectory_mark` reads it."""
        self._tell(self._progress.refused(self._state()[0], reason, mark))

    def accepted(self, planned: Trajectory | ReferencePoint, mark: str) -> None:
        """Tell of a reference that is followed, or that only has torques added to it."""
        stamp, q = self._state()
        if self._controller.mode is Mode.RUNNING:
            self._tell(self._progress.accepted(planned, stamp, q, mark))
        else:
            self._tell(
                self._progress.passed_on(
                    stamp,
                    'torques were added to it, but it is not followed here: '
                    f'{self._controller.supervisor.reason}',
                    mark,
                )
            )

    def note(self) -> None:
        """Tell what has changed; cheap while no reference is under way."""
        if self._progress.under_way:
            controller = self._controller
            self._tell(
                self._progress.update(
                    *self._state(),
                    running=controller.mode is Mode.RUNNING,
                    reason=controller.stop_reason or controller.conflict,
                )
            )

    def destroy(self) -> None:
        """Take the topic down."""
        self._node.destroy_publisher(self._publisher)

    def _state(self) -> tuple[float, Any]:
        latest = self._controller.latest
        return (0.0, None) if latest is None else latest[:2]

    def _tell(self, events: Sequence[ReferenceEvent]) -> None:
        for event in events:
            pairs: dict[str, Any] = {
                'state': event.state.value,
                'number': event.number,
                'frame_id': event.mark,
                'reason': event.reason,
                'remaining [s]': event.remaining,
            }
            text = f'reference {event.number} {event.state.value}'
            if event.error is not None:
                joint = int(np.argmax(event.error))
                name = self._controller.description.joint_names[joint]
                pairs |= {'error to its end [rad]': float(event.error[joint]), 'joint': name}
                if event.state in (ReferenceState.FINISHED, ReferenceState.INTERRUPTED):
                    text += f', {event.error[joint]:.3g} rad from its end at {name}'
            if event.state is ReferenceState.INTERRUPTED:
                text += f', {event.remaining:.3g} s before it'
            text += f': {event.reason}' if event.reason else ''
            bad = event.state in _BAD
            message = DiagnosticArray(
                status=[
                    status(
                        self._node.get_fully_qualified_name().lstrip('/'),
                        'Reference',
                        WARN if bad else OK,
                        text,
                        self._controller.description.name,
                        pairs,
                    )
                ]
            )
            message.header.stamp = stamp_from_seconds(event.stamp)
            self._publisher.publish(message)
            if event.state is ReferenceState.REFUSED:
                self._node.get_logger().warning(text, throttle_duration_sec=_LOG_PERIOD_S)
            elif bad:
                self._node.get_logger().warning(text)
            else:
                self._node.get_logger().info(text)
