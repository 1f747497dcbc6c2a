# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The receiver of torques for a simulated arm from a topic, and the receiver's status."""

from collections.abc import Callable
import time
from typing import Any

from diagnostic_msgs.msg import DiagnosticStatus
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import Trigger

from .. import COMMAND_TOPIC
from ..messages import float64_message_prefix, read_float64_message
from ..receivers.receiver_kinds import DECLARATION_SERVICES, ReceiverKind
from ..status import NodeStatus, StatusKey
from ..topics import DESCRIPTION_QOS, publisher_names, PUBLISHER_QOS, subscribe_numbered
from ...arm import ArmDescription
from ...arrays import Array
from ...control.settings import Settings
from ...errors import list_text, SettingsError
from ...simulation.receiver import (
    COMMAND_TIMEOUT_S,
    ReceiverState,
    TorqueReceiver,
    TorqueRefusal,
)

_STATUS_PERIOD_S = 1.0  # of ~/status
_MIN_LOG_PERIOD_S = 1.0  # of a repeated sentence in the log
# Diagnostic levels of ~/status; WARN in all other states.
_DIAGNOSTIC_LEVEL_BY_STATE = {
    ReceiverState.WAITING: 'STALE',
    ReceiverState.FOLLOWING: 'OK',
    ReceiverState.FAULT: 'ERROR',
}


class CommandReceiver(TorqueReceiver):
    """
    A receiver of an arm's torques from the command topic, which publishes its state on ~/status.

    `on_torque_taken` is called after each accepted torque. A service declares to senders whether
    the arm adds its gravity torque to a torque that it takes.
    """

    def __init__(
        self,
        node: Any,
        arm: ArmDescription,
        settings: Settings,
        on_torque_taken: Callable[[], None],
        holding_torque: Array | None = None,
    ) -> None:
        """Make the subscription, the status publisher and the declaration service on a node."""
        super().__init__(arm, settings, COMMAND_TIMEOUT_S, holding=holding_torque)
        self._node = node
        self._arm = arm
        self._on_torque_taken = on_torque_taken
        self._message_prefix = float64_message_prefix(arm.n)
        self.is_arm_held = False  # whether a torque holds the arm; its owner sets it
        self._published_state: tuple[ReceiverState, bool] | None = None
        self._next_publication_time = 0.0
        self._publisher = node.create_publisher(DiagnosticStatus, '~/status', DESCRIPTION_QOS)
        self._subscription = subscribe_numbered(
            node,
            Float64MultiArray,
            COMMAND_TOPIC,
            self._on_torque,
            qos_profile=PUBLISHER_QOS,
        )
        adds_gravity = settings.profile.receiver_adds_gravity
        kind = ReceiverKind.COMPENSATED_ARM if adds_gravity else ReceiverKind.SIMULATED_ARM
        node.create_service(Trigger, DECLARATION_SERVICES[kind], self._on_state_request)
        self.publish_status_if_due()

    def _on_state_request(self, _: Trigger.Request, answer: Trigger.Response) -> Trigger.Response:
        """Return `answer` with the receiver's state as text, and success False in a fault."""
        answer.success = self.state is not ReceiverState.FAULT
        answer.message = self.state_text
        return answer

    def publish_status_if_due(self) -> None:
        """
        Publish the receiver's status each second and on changes of state; log those changes.

        `ros2 topic echo` subscribes without the durability of a publisher that it has not
        discovered yet, and gets only what is published later.
        """
        before = self._published_state
        self._published_state = (self.state, self.is_arm_held)
        if before == self._published_state and time.monotonic() < self._next_publication_time:
            return
        self._next_publication_time = time.monotonic() + _STATUS_PERIOD_S
        # The C++ controller publishes values of the same keys on its ~/status.
        values = {
            'state': self.state.status_word,
            StatusKey.ARM_HELD: self.is_arm_held,
            'time-outs': self.timeout_count,
            **{f'refused: {why.value}': n for why, n in self.refusal_counts.items()},
        }
        level = _DIAGNOSTIC_LEVEL_BY_STATE.get(self.state, 'WARN')
        name = self._node.get_fully_qualified_name()
        status = NodeStatus('', name, level, self.state_text, values)
        self._publisher.publish(status.to_message(self._arm.name))
        if before is None or self.state is not before[0]:
            self._node.get_logger().info(self.state_text)

    def _on_torque(self, data: bytes, sequence_number: int | None) -> None:
        """Accept a serialized torque, or log why it is refused."""
        try:
            torque = read_float64_message(data, self._message_prefix)
        except SettingsError as error:
            self._node.get_logger().error(str(error), throttle_duration_sec=_MIN_LOG_PERIOD_S)
            return
        refusal = self.accept(torque, sequence_number)
        if refusal is None:
            self._on_torque_taken()
            return
        sentence = self._refusal_sentence(refusal, torque)
        self._node.get_logger().error(sentence, throttle_duration_sec=_MIN_LOG_PERIOD_S)

    def _refusal_sentence(self, refusal: TorqueRefusal, torque: Array) -> str:
        """Return text on why a torque is refused, and what is accepted."""
        if refusal is TorqueRefusal.OTHER_PUBLISHER:
            topic = self._subscription.topic_name
            names = ', '.join(publisher_names(self._node, topic))
            return (
                f'a second sender of torques on {topic} is not followed; publishers listed there: '
                f'{names}'
            )
        arm = self._arm
        values = torque.tolist()
        units = ' or '.join(dict.fromkeys(joint.kind.effort_unit for joint in arm.joints))
        return (
            f'a command of {len(values)} values [{list_text(values)}] was refused '
            f'({refusal.value}): {arm.n} torques in the order {", ".join(arm.joint_names)} '
            f'are needed, each finite and at most {arm.limit("effort").tolist()} {units}'
        )
