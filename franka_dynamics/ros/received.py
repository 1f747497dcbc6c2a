# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Reads messages from serialized bytes, or refuses them with one sentence."""

from __future__ import annotations

from collections.abc import Sequence
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rclpy._rclpy_pybind11 import RMWError
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState

from .messages import JointReading
from ..errors import FrankaDynamicsError, JointStateError, listed, shortened

# Largest size of a joint state that is read: hundreds of joints with long names.
MOST_STATE_BYTES = 1 << 16
_MOST_NANOSECONDS = 10**9 - 1


class UnreadableMessageError(FrankaDynamicsError, ValueError):
    """The bytes are no message of the expected type, or too many."""


class OtherJointsError(JointStateError):
    """A joint state, such as a gripper's, names none of the arm's joints."""


def received(kind: type, data: bytes, most_bytes: int) -> Any:
    """
    Return the message of a type from serialized bytes.

    Raises UnreadableMessageError if the bytes are no message of the type, or more than
    `most_bytes`.
    """
    if len(data) > most_bytes:
        raise UnreadableMessageError(
            f'it is {len(data)} bytes long, and at most {most_bytes} are read'
        )
    try:
        return deserialize_message(data, kind)
    except (RMWError, UnicodeDecodeError) as error:
        raise UnreadableMessageError(shortened(' '.join(str(error).split()), 200)) from error


class JointStateReader:
    """Reads the arm's joints by name from serialized joint states with joints in any order."""

    def __init__(self, joint_names: Sequence[str]) -> None:
        self._expected = tuple(joint_names)
        self._names: list[str] | None = None  # joint names of the latest message
        self._order: NDArray[np.int_] = np.zeros(0, dtype=int)

    def read(self, data: bytes) -> JointReading:
        """
        Return the arm's part of a serialized sensor_msgs/JointState.

        Raises OtherJointsError if the joint state has none of the arm's joints. Raises
        JointStateError if the bytes are no joint state, the stamp has 10^9 nanoseconds or more,
        one of the arm's joints is missing or named twice, or there are not as many positions,
        velocities and, if any, efforts as names. Values are not checked.
        """
        try:
            message = received(JointState, data, MOST_STATE_BYTES)
        except UnreadableMessageError as error:
            raise JointStateError(f'The joint state cannot be read: {error}.') from error
        stamp = message.header.stamp
        if stamp.nanosec > _MOST_NANOSECONDS:
            raise JointStateError(
                f'The joint state cannot be read: its stamp has {stamp.nanosec} nanoseconds.'
            )
        names, position, velocity = message.name, message.position, message.velocity
        if names != self._names:
            self._order = np.array(self._find(names))
            self._names = names
        if not len(names) == len(position) == len(velocity):
            raise JointStateError(
                f'The joint state has {len(names)} names but {len(position)} values of position '
                f'and {len(velocity)} of velocity; both must be given for every joint.'
            )
        effort = message.effort
        if len(effort) not in (0, len(names)):
            raise JointStateError(
                f'The joint state has {len(names)} names but {len(effort)} values of effort; give '
                'one for every joint, or none.'
            )
        order = self._order
        efforts = np.frombuffer(effort)[order] if len(effort) else None
        return JointReading(
            stamp.sec,
            stamp.nanosec,
            np.frombuffer(position)[order],
            np.frombuffer(velocity)[order],
            # Efforts become Python numbers, because numpy warns about some NaN patterns that a
            # message may hold.
            efforts if efforts is not None and is_measured(efforts.tolist()) else None,
        )

    def _find(self, given: Sequence[str]) -> list[int]:
        missing = [name for name in self._expected if name not in given]
        if missing:
            kind = OtherJointsError if len(missing) == len(self._expected) else JointStateError
            raise kind(
                f'The joint state lacks {", ".join(missing)}; it has '
                f'{listed(given) or "no joints"}. Set robot_type, arm_prefix or joint_names to '
                'match, or listen to the topic that carries this arm.'
            )
        doubled = [name for name in self._expected if given.count(name) > 1]
        if doubled:
            raise JointStateError(
                f'The joint state names {", ".join(doubled)} more than once; nobody can tell '
                'which value holds.'
            )
        return [given.index(name) for name in self._expected]


def is_measured(effort: Sequence[float]) -> bool:
    """
    Return False for efforts that are missing, all exactly zero, or all NaN.

    Drivers without torque sensors, Gazebo's among them, fill the effort field with zeros, and
    joint_state_broadcaster with NaN where the hardware has no effort interface. A real arm never
    measures exactly zero at every joint.
    """
    return any(effort) and not all(map(math.isnan, effort))
