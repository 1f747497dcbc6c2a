# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""References of the feedforward node, which follows or refuses them and reports on them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray
import numpy as np
from trajectory_msgs.msg import JointTrajectory

from .messages import (
    motion_message,
    OK,
    PUBLISHER_QOS,
    REFERENCE_QOS,
    REFERENCE_STATE_QOS,
    stamp_from_seconds,
    status_message,
    WARN,
)
from .trajectories import read_trajectory, reference_of
from ..control.feedforward import Feedforward
from ..control.reference import Reference, ReferenceEvent, ReferenceState
from ..control.trajectory import Trajectory
from ..control.trajectory_goal import with_torques
from ..errors import ReferenceRefusedError

_BAD = (ReferenceState.REFUSED, ReferenceState.INTERRUPTED)
_MOST_MARK = 64  # largest number of characters of a reference's frame id in reports
_LOG_PERIOD_S = 1.0


class References:
    """
    Passes references from `~/reference` to a controller; reports them on `~/reference_state`.

    `controller` returns the node's controller, or None while the node is not configured.
    """

    def __init__(self, node: Any, controller: Callable[[], Feedforward | None]) -> None:
        self._node, self._controller = node, controller
        self.refused = ''  # why the last reference was refused
        self._filled = node.create_lifecycle_publisher(
            JointTrajectory, '~/feedforward_trajectory', PUBLISHER_QOS
        )
        self._events = node.create_publisher(
            DiagnosticArray, '~/reference_state', REFERENCE_STATE_QOS
        )
        node.create_subscription(
            JointTrajectory, '~/reference', self._take, REFERENCE_QOS, raw=True
        )

    def _take(self, data: bytes) -> None:
        """Follow or refuse a reference; publish a trajectory with torques if it is subscribed."""
        controller = self._controller()
        if controller is None:
            return
        mark = self.refused = ''
        try:
            message = read_trajectory(data)
            # A joint trajectory needs no frame, so the sender may use frame_id to mark a
            # trajectory and recognise the reports about it.
            mark = message.header.frame_id[:_MOST_MARK]
            request = reference_of(message)
            planned = _planned(controller, request.arguments(controller.description), mark)
        except ReferenceRefusedError as error:
            self.refused = str(error)
            stamp = 0.0 if controller.latest is None else controller.latest.stamp
            controller.reference.refuse(stamp, self.refused, mark)
            return
        if not request.is_set_point and self._filled.get_subscription_count() > 0:
            filled, efforts = with_torques(planned, controller.law.trajectory_efforts)
            self._filled.publish(
                motion_message(list(controller.names), filled, efforts, filled.begin)
            )

    def report(self) -> None:
        """Publish and log references' events since the last call; refusals once a second."""
        controller = self._controller()
        while controller is not None and controller.reference.events:
            self._report(controller, controller.reference.events.popleft())

    def _report(self, controller: Feedforward, event: ReferenceEvent) -> None:
        pairs: dict[str, Any] = {
            'state': event.state.value,
            'number': event.number,
            'frame_id': event.mark,
            'reason': event.reason,
            'remaining [s]': event.remaining,
            'to command again': controller.status.remedy,
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
        text += f': {event.reason}' if event.reason else ''
        bad = event.state in _BAD
        name = f'{self._node.get_fully_qualified_name()[1:]}: Reference'
        status = status_message(
            name, WARN if bad else OK, text, pairs, controller.description.name
        )
        message = DiagnosticArray(status=[status])
        message.header.stamp = stamp_from_seconds(event.stamp)
        self._events.publish(message)
        logger = self._node.get_logger()
        if event.state is ReferenceState.REFUSED:
            logger.warning(text, throttle_duration_sec=_LOG_PERIOD_S)
        elif bad:
            logger.warning(text)
        else:
            logger.info(text)


def _planned(controller: Feedforward, arguments: dict[str, Any], mark: str) -> Trajectory:
    """Follow a reference; if states come too rarely for torques, only plan a trajectory."""
    latest, slow = controller.latest, controller.period * controller.limits.min_input_rate > 1
    if not slow or latest is None or arguments.get('times') is None:
        return controller.follow(**arguments, mark=mark)
    beside = Reference(controller.description)
    beside.at(latest.stamp)
    planned = beside.follow(**arguments, measured=latest.q)
    reason = f'torques were added to it, but it is not followed here: {controller.trouble}'
    controller.reference.pass_by(planned, latest.stamp, reason, mark)
    return planned
