# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The command topic of a simulated arm, and the status of its receiver."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from diagnostic_msgs.msg import DiagnosticStatus, KeyValue
from std_msgs.msg import Float64MultiArray

from .diagnostics import OK, WARN
from .messages import with_number
from .qos import DESCRIPTION_QOS, PUBLISHER_QOS, qos_overriding_options
from .rivals import publisher_names
from ..control.receiver import ReceiverState, TorqueReceiver
from ..errors import CommandRefusedError

COMMAND_TOPIC = 'effort_controller/commands'
_LOG_PERIOD_S = 1.0
# The same as in the generated C++ controller, whose topic has the same name.
_SENTENCES = {
    ReceiverState.WAITING: 'waiting for a first command',
    ReceiverState.FOLLOWING: 'following',
    ReceiverState.BRAKING: 'no torque comes any more: braking by the model',
    ReceiverState.HOLDING: 'holding the arm until a command comes',
    ReceiverState.STOPPED: 'stopped',
}
_USUAL = (ReceiverState.WAITING, ReceiverState.FOLLOWING, ReceiverState.HOLDING)


class CommandReceiver:
    """
    Passes the torques of a topic to a TorqueReceiver, and publishes its state on `~/status`.

    Parameters
    ----------
    node : Node
        Of the arm.
    receiver : TorqueReceiver
        Of the same arm.
    arm : str
        Its name.
    on_followed : callable
        Called after each accepted torque.

    """

    def __init__(
        self, node: Any, receiver: TorqueReceiver, arm: str, on_followed: Callable[[], None]
    ) -> None:
        self._node, self._receiver, self._on_followed = node, receiver, on_followed
        self._arm = arm
        self.refused = 0
        self._told: ReceiverState | None = None
        self._publisher = node.create_publisher(DiagnosticStatus, '~/status', DESCRIPTION_QOS)
        self._subscription = node.create_subscription(
            Float64MultiArray,
            COMMAND_TOPIC,
            with_number(self._on_torque),
            PUBLISHER_QOS,
            qos_overriding_options=qos_overriding_options(),
        )
        self.note()

    @property
    def sentence(self) -> str:
        """A sentence with the receiver's state and its reason."""
        return _SENTENCES[self._receiver.state]

    def note(self) -> bool:
        """Publish and log a change of state; return whether there was one."""
        state = self._receiver.state
        if state is self._told:
            return False
        self._told = state
        level, log = OK, self._node.get_logger()
        # rclpy refuses different severities in calls from the same line.
        if state in _USUAL:
            log.info(self.sentence)
        else:
            level = WARN
            log.warning(self.sentence)
        self._publisher.publish(
            DiagnosticStatus(
                level=level,
                name=self._node.get_fully_qualified_name(),
                message=self.sentence,
                hardware_id=self._arm,
                values=[
                    KeyValue(key=key, value=str(value))
                    for key, value in (
                        ('time-outs', self._receiver.timeouts),
                        ('refused: other publisher', self._receiver.foreign),
                        ('refused: wrong size or not finite', self.refused),
                    )
                ],
            )
        )
        return True

    def _on_torque(self, message: Float64MultiArray, number: int | None) -> None:
        try:
            followed = self._receiver.take(message.data, number)
        except CommandRefusedError as error:
            self.refused += 1
            self._node.get_logger().error(str(error), throttle_duration_sec=_LOG_PERIOD_S)
            return
        if followed:
            self._on_followed()
            return
        topic = self._subscription.topic_name
        self._node.get_logger().error(
            f'a second sender of torques on {topic} is not followed; publishers listed there: '
            f'{", ".join(publisher_names(self._node, topic))}',
            throttle_duration_sec=_LOG_PERIOD_S,
        )
