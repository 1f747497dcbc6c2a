# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Kinds of receivers of torques, and which of them a target sends to."""

from collections.abc import Mapping
from enum import Enum
from typing import NamedTuple

TRIGGER_TYPE = 'std_srvs/srv/Trigger'


class ReceiverKind(Enum):
    """Kind of node that receives the torques; the value describes it in log and error texts."""

    SIMULATED_ARM = 'a simulated arm of this package'
    COMPENSATED_ARM = 'a simulated arm of this package that compensates its gravity'
    SIMULATED_CONTROLLER = 'a controller in simulated time'
    REAL_CONTROLLER = 'a controller in real time'
    OTHER_CONTROLLER = 'a controller of something else'
    OTHER_TARGET = 'a controller for another target'
    UNRECOGNISED = 'neither a simulated arm of this package nor a controller of a manager'
    UNDETERMINED = 'not known yet'  # a controller manager is asked about it
    UNSEEN = 'not seen completely yet'  # ROS's graph does not show all of it


class Receiver(NamedTuple):
    """
    A receiver of torques: its kind, more about that, why it is idle, why the kind is uncertain.

    `description` says more than its kind, if more is known. `idle_reason` says why it applies no
    torque now, '' if it does. `uncertainty` says why its kind is not known for certain, '' if it
    is.
    """

    kind: ReceiverKind
    description: str = ''
    idle_reason: str = ''
    uncertainty: str = ''

    def __str__(self) -> str:
        """Return why the kind is uncertain, or else the description, or else the kind's text."""
        return self.uncertainty or self.description or self.kind.value


# The service (std_srvs/Trigger) by which a simulated arm of this package declares its kind. Topics
# would not do: a dashboard may publish any status, too.
DECLARATION_SERVICES = {
    ReceiverKind.SIMULATED_ARM: '~/franka_dynamics/takes_torques_with_gravity',
    ReceiverKind.COMPENSATED_ARM: '~/franka_dynamics/takes_torques_without_gravity',
}
# The service by which a controller declares the only target whose torques it takes.
TARGET_DECLARATION_SERVICE = '~/franka_dynamics/takes_torques_for_{}'

# Receivers that the node expects by its parameter `target`. Under fci it commands no gravity, so
# that an unknown receiver, such as a driver without ros2_control, may take its torques.
EXPECTED_KINDS = {
    'fci': (
        ReceiverKind.REAL_CONTROLLER,
        ReceiverKind.COMPENSATED_ARM,
        ReceiverKind.UNRECOGNISED,
    ),
    'franka_gazebo': (ReceiverKind.SIMULATED_CONTROLLER,),
    'gz_ros2_control': (ReceiverKind.SIMULATED_CONTROLLER, ReceiverKind.SIMULATED_ARM),
    'mujoco': (ReceiverKind.SIMULATED_CONTROLLER, ReceiverKind.SIMULATED_ARM),
}
# Kinds of receivers that are certainly wrong if the target does not expect them.
CERTAINLY_WRONG_KINDS = (
    ReceiverKind.REAL_CONTROLLER,
    ReceiverKind.OTHER_CONTROLLER,
    ReceiverKind.OTHER_TARGET,
    ReceiverKind.UNDETERMINED,
)


def wrong_receivers(target: str, receivers: Mapping[str, Receiver]) -> dict[str, Receiver]:
    """
    Return those receivers, by name, that must not get torques for a target such as fci.

    Unrecognised subscribers, such as `ros2 topic echo`, are accepted beside an expected receiver.
    """
    accepted = EXPECTED_KINDS[target]
    if any(receiver.kind in accepted for receiver in receivers.values()):
        accepted = (*accepted, ReceiverKind.UNRECOGNISED)
    return {
        name: receiver
        for name, receiver in sorted(receivers.items())
        if receiver.kind not in accepted
    }


def refusal_reason(target: str, topic: str, receivers: Mapping[str, Receiver]) -> str:
    """
    Return why receivers must not get torques for a target such as fci, or '' if they may.

    `receivers` has a topic's subscribers by their full names.
    """
    wrong = wrong_receivers(target, receivers)
    if not wrong:
        return ''
    named = ', '.join(f'{name} ({receiver})' for name, receiver in wrong.items())
    expected = ' or '.join(kind.value for kind in EXPECTED_KINDS[target])
    advice = _advice_on_wrong_receivers(target, list(wrong.values()))
    return f'{named} receives {topic}, and target {target} sends to {expected}. {advice}'


def _advice_on_wrong_receivers(target: str, wrong: list[Receiver]) -> str:
    """Return what the user can do about receivers that must not get torques for a target."""
    if all(receiver.kind is ReceiverKind.OTHER_CONTROLLER for receiver in wrong):
        return "Remap ~/command to a controller of the effort of the arm's joints, in their order"
    services = [
        DECLARATION_SERVICES[kind]
        for kind in EXPECTED_KINDS[target]
        if kind in DECLARATION_SERVICES
    ]
    # Of these nothing is known but that they subscribe: it may be a simulator of the user's.
    if services and all(receiver == Receiver(ReceiverKind.UNRECOGNISED) for receiver in wrong):
        return f'A simulator of your own offers a service {services[0]} of type {TRIGGER_TYPE}'
    return 'Set target to what receives them, or remap ~/command'


def all_idle_reason(target: str, receivers: Mapping[str, Receiver]) -> str:
    """Return why all receivers of the target's known kinds are idle; '' if one is not, or none."""
    known_kinds = {*EXPECTED_KINDS[target]} - {ReceiverKind.UNRECOGNISED}
    expected = {
        name: receiver for name, receiver in receivers.items() if receiver.kind in known_kinds
    }
    if not all(receiver.idle_reason for receiver in expected.values()):
        return ''
    return ', '.join(f'{name} {receiver.idle_reason}' for name, receiver in expected.items())
