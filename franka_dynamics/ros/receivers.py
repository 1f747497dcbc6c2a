# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Kinds of nodes that receive torques, and which of them a target sends to.

A torque for a simulation contains gravity. A real arm, which compensates its gravity itself, would
rise with it.
"""

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import NamedTuple


class ReceiverKind(Enum):
    """Kind of node that receives the torques; the value describes it in log and error texts."""

    ARM = 'a simulated arm of this package'
    LIGHT_ARM = 'a simulated arm of this package that compensates its gravity'
    SIMULATED = 'a controller in simulated time'
    REAL = 'a controller in real time'
    OTHER = 'a controller of something else'
    UNSURE = 'not known yet'
    UNKNOWN = 'neither a simulated arm of this package nor a controller of a controller manager'


class Receiver(NamedTuple):
    """
    A node that receives the torques.

    `words` describe it where those of its kind do not suffice. `idle` says why it applies no
    torque now, '' if it does.
    """

    kind: ReceiverKind
    words: str = ''
    idle: str = ''

    def __str__(self) -> str:
        """Return what is known of the receiver, by default its kind, in words."""
        return self.words or self.kind.value


# The service (std_srvs/Trigger) by which a simulated arm of this package declares its kind. Not
# the topics: a dashboard may publish any status, too.
DECLARATION_SERVICES = {
    ReceiverKind.ARM: '~/franka_dynamics/takes_torques_with_gravity',
    ReceiverKind.LIGHT_ARM: '~/franka_dynamics/takes_torques_without_gravity',
}
# The service by which a controller declares the only target whose torques it takes.
TARGET_SERVICE = '~/franka_dynamics/takes_torques_for_{}'
TRIGGER_TYPE = 'std_srvs/srv/Trigger'

# Receivers that the node expects by its parameter `target`. Under fci it commands no gravity, so
# that an unknown receiver, such as a driver without ros2_control, may take its torques.
EXPECTED_RECEIVERS = {
    'fci': (ReceiverKind.REAL, ReceiverKind.LIGHT_ARM, ReceiverKind.UNKNOWN),
    'franka_gazebo': (ReceiverKind.SIMULATED,),
    'gz_ros2_control': (ReceiverKind.SIMULATED, ReceiverKind.ARM),
    'mujoco': (ReceiverKind.SIMULATED, ReceiverKind.ARM),
}


def declared_kind(name: str, services: Mapping[str, Sequence[str]]) -> ReceiverKind:
    """Return the kind that a node declares by its services, whose types are given by name."""
    for kind, service in DECLARATION_SERVICES.items():
        if TRIGGER_TYPE in services.get(service.replace('~', name), ()):
            return kind
    return ReceiverKind.UNKNOWN


def declared_targets(name: str, services: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the targets whose torques alone a node declares to take; none if any may come."""
    own = TARGET_SERVICE.replace('~', name)
    return [one for one in EXPECTED_RECEIVERS if TRIGGER_TYPE in services.get(own.format(one), ())]


def refusal_reason(target: str, topic: str, receivers: Mapping[str, Receiver]) -> str:
    """
    Return why receivers must not get torques for a target such as fci, or '' if they may.

    `receivers` has a topic's subscribers by their full names. Unknown subscribers, such as
    `ros2 topic echo`, are accepted beside an expected receiver.
    """
    expected = EXPECTED_RECEIVERS[target]
    present = any(one.kind in expected for one in receivers.values())
    wrong = {
        name: one
        for name, one in sorted(receivers.items())
        if one.kind not in expected and not (present and one.kind is ReceiverKind.UNKNOWN)
    }
    if not wrong:
        return ''
    kinds = {one.kind for one in wrong.values()}
    declared = [DECLARATION_SERVICES[kind] for kind in expected if kind in DECLARATION_SERVICES]
    how = 'Set target to what receives them, or remap ~/command'
    if kinds == {ReceiverKind.OTHER} and not any('target' in one.words for one in wrong.values()):
        how = "Remap ~/command to a controller of the effort of the arm's joints, in their order"
    elif declared and all(one == (ReceiverKind.UNKNOWN, '', '') for one in wrong.values()):
        how = f'A simulator of your own offers a service {declared[0]} of type {TRIGGER_TYPE}'
    return (
        f'{", ".join(f"{name} ({one})" for name, one in wrong.items())} receives {topic}, and '
        f'target {target} sends to {" or ".join(kind.value for kind in expected)}. {how}'
    )


def receivers_idle(target: str, receivers: Mapping[str, Receiver]) -> str:
    """Return why no receiver of a target applies torques now; '' if one does."""
    expected = [
        (name, one.idle)
        for name, one in receivers.items()
        if one.kind in EXPECTED_RECEIVERS[target] and one.kind is not ReceiverKind.UNKNOWN
    ]
    if not expected or not all(why for _, why in expected):
        return ''
    return ', '.join(f'{name} {why}' for name, why in expected)
