# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Classifies the nodes that receive torques, and says which torques each kind may receive.

A torque for a simulation contains gravity. A real arm, which compensates its gravity itself, would
rise with it.
"""

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import NamedTuple

# The service by which a controller declares the only target whose torques it takes.
TARGET_DECLARATION_SERVICE = '~/franka_dynamics/takes_torques_for_{}'
TRIGGER_TYPE = 'std_srvs/srv/Trigger'
ServiceTypes = Mapping[str, Sequence[str]]  # a node's services with their types


class ReceiverKind(Enum):
    """Kind of node that receives the torques; the value describes it in log and error texts."""

    SIMULATED_ARM = 'a simulated arm of this package'
    COMPENSATED_ARM = 'a simulated arm of this package that compensates its gravity'
    SIMULATED_CONTROLLER = 'a controller in simulated time'
    REAL_CONTROLLER = 'a controller in real time'
    OTHER_CONTROLLER = 'a controller of something else'
    OTHER_TARGET = 'a controller for another target'
    UNDETERMINED = 'not known yet'
    UNRECOGNISED = 'neither a simulated arm of this package nor a controller of a manager'


class Receiver(NamedTuple):
    """
    The kind of a node that receives torques, its description, and why it applies none.

    `description` says more than its kind, if more is known. `idle_reason` says why it applies no
    torque now, '' if it does.
    """

    kind: ReceiverKind
    description: str = ''
    idle_reason: str = ''

    def __str__(self) -> str:
        """Return the receiver's description, by default that of its kind."""
        return self.description or self.kind.value


# The service (std_srvs/Trigger) by which a simulated arm of this package declares its kind. Not
# the topics: a dashboard may publish any status, too.
DECLARATION_SERVICES = {
    ReceiverKind.SIMULATED_ARM: '~/franka_dynamics/takes_torques_with_gravity',
    ReceiverKind.COMPENSATED_ARM: '~/franka_dynamics/takes_torques_without_gravity',
}

# Receivers that the node expects by its parameter `target`. Under fci it commands no gravity, so
# that an unknown receiver, such as a driver without ros2_control, may take its torques.
EXPECTED_RECEIVERS = {
    'fci': (ReceiverKind.REAL_CONTROLLER, ReceiverKind.COMPENSATED_ARM, ReceiverKind.UNRECOGNISED),
    'franka_gazebo': (ReceiverKind.SIMULATED_CONTROLLER,),
    'gz_ros2_control': (ReceiverKind.SIMULATED_CONTROLLER, ReceiverKind.SIMULATED_ARM),
    'mujoco': (ReceiverKind.SIMULATED_CONTROLLER, ReceiverKind.SIMULATED_ARM),
}


def declared_kind(name: str, services: ServiceTypes) -> ReceiverKind:
    """Return the kind of receiver that a node declares by offering a service of that kind."""
    for kind, service in DECLARATION_SERVICES.items():
        if TRIGGER_TYPE in services.get(service.replace('~', name), ()):
            return kind
    return ReceiverKind.UNRECOGNISED


def declared_targets(name: str, services: ServiceTypes) -> list[str]:
    """Return the only targets whose torques a node declares to take; [] if it declares none."""
    own = TARGET_DECLARATION_SERVICE.replace('~', name)
    return [one for one in EXPECTED_RECEIVERS if TRIGGER_TYPE in services.get(own.format(one), ())]


def refusal_reason(target: str, topic: str, receivers: Mapping[str, Receiver]) -> str:
    """
    Return why receivers must not get torques for a target such as fci, or '' if they may.

    `receivers` has a topic's subscribers by their full names. Unknown subscribers, such as
    `ros2 topic echo`, are accepted beside an expected receiver.
    """
    expected = EXPECTED_RECEIVERS[target]
    present = any(receiver.kind in expected for receiver in receivers.values())
    ignored = ReceiverKind.UNRECOGNISED if present else None
    others = [(name, one) for name, one in sorted(receivers.items()) if one.kind not in expected]
    wrong = {name: receiver for name, receiver in others if receiver.kind is not ignored}
    if not wrong:
        return ''
    kinds = {receiver.kind for receiver in wrong.values()}
    declared = [DECLARATION_SERVICES[kind] for kind in expected if kind in DECLARATION_SERVICES]
    how = 'Set target to what receives them, or remap ~/command'
    if kinds == {ReceiverKind.OTHER_CONTROLLER}:
        how = "Remap ~/command to a controller of the effort of the arm's joints, in their order"
    elif declared and all(one == (ReceiverKind.UNRECOGNISED, '', '') for one in wrong.values()):
        how = f'A simulator of your own offers a service {declared[0]} of type {TRIGGER_TYPE}'
    return (
        f'{", ".join(f"{name} ({one})" for name, one in wrong.items())} receives {topic}, and '
        f'target {target} sends to {" or ".join(kind.value for kind in expected)}. {how}'
    )


def all_idle_reason(target: str, receivers: Mapping[str, Receiver]) -> str:
    """Return why none of a target's receivers applies torques now; '' if one does."""
    kinds = {*EXPECTED_RECEIVERS[target]} - {ReceiverKind.UNRECOGNISED}
    expected = [(name, one.idle_reason) for name, one in receivers.items() if one.kind in kinds]
    if not expected or not all(why for _, why in expected):
        return ''
    return ', '.join(f'{name} {why}' for name, why in expected)
