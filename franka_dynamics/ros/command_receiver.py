# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The topic from which a simulated arm takes its torques, and what its receiver says of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from std_msgs.msg import Float64MultiArray, String

from .messages import with_number
from .qos import DESCRIPTION_QOS, PUBLISHER_QOS, qos_overriding_options
from .rivals import publisher_names
from ..control.receiver import ReceiverState, TorqueReceiver
from ..errors import CommandRefusedError

COMMAND_TOPIC = 'effort_controller/commands'
_LOG_PERIOD_S = 1.0
_SENTENCES = {
    ReceiverState.WAITING: 'no torque has come yet',
    ReceiverState.FOLLOWING: 'following',
    ReceiverState.BRAKING: 'braking: no torque has come for more than {timeout:g} s',
    ReceiverState.HOLDING: 'carrying the arm at rest until torques come',
    ReceiverState.RELEASED: 'released: the arm is at rest, the torque goes to zero',
}


class CommandReceiver:
    """
    Hands the torques of a topic to a TorqueReceiver, and publishes its state on `~/receiver`.

    Parameters
    ----------
    node : Node
        Of the arm.
    receiver : TorqueReceiver
        Of the same arm.
    on_followed : callable
        Called after each torque that is followed.

    """

    def __init__(
        self, node: Any, receiver: TorqueReceiver, on_followed: Callable[[], None]
    ) -> None:
        self._node, self._receiver, self._on_followed = node, receiver, on_followed
        self.refused = 0
        self._told: ReceiverState | None = None
        self._publisher = node.create_publisher(String, '~/receiver', DESCRIPTION_QOS)
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
        """What the receiver does and why."""
        return _SENTENCES[self._receiver.state].format(timeout=self._receiver.timeout)

    def note(self) -> bool:
        """Tell a change of state; return whether there was one."""
        state = self._receiver.state
        if state is self._told:
            return False
        self._told = state
        self._publisher.publish(String(data=f'{state.value}: {self.sentence}'))
        log = self._node.get_logger()
        # rclpy refuses one call with two severities.
        if state is ReceiverState.BRAKING:
            log.warning(self.sentence)
        else:
            log.info(self.sentence)
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
