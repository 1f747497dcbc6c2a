# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Joint states to and from serialized messages, by joint name."""

from collections.abc import Sequence
import math
from typing import NamedTuple

from builtin_interfaces.msg import Time
import numpy as np
from sensor_msgs.msg import JointState

from .messages import deserialize, STAMP, STAMP_AT, StampedTemplate
from ..errors import JointStateError, name_list
from ..typing import Array


class JointReading(NamedTuple):
    """
    The state of the arm's joints in one message; arrays of shape (n,), SI units.

    `stamp` is the message's stamp [s], `stamp_message` the same as a ROS message. `effort` is None
    if the message has none, or only zeros, or only NaN.
    """

    stamp: float
    stamp_message: Time
    position: Array
    velocity: Array
    effort: Array | None


_MAX_NANOSECONDS = 10**9 - 1
_LITTLE_ENDIAN = b'\x00\x01'  # how the bytes of a message from a little-endian computer begin
_NOTHING = np.zeros(0)
_NO_VELOCITIES = ' (franka_ros2 has them on franka/joint_states)'


class NoArmJointsError(JointStateError):
    """A joint state, such as a gripper's, has none of the arm's joints."""


class _MessageLayout:
    """
    Where a serialized JointState like a given one has its stamp and values.

    In OMG's XCDR, version 1, a number stands at a multiple of its size after the encapsulation
    header of four bytes.
    """

    def __init__(self, message: JointState, data: bytes) -> None:
        self._size, self._rows, same = len(data), list[tuple[int, int]](), [*range(STAMP_AT)]
        at = STAMP_AT + STAMP.size

        def skip(size: int) -> None:
            """Skip a count of four bytes, and what it counts."""
            nonlocal at
            at += -at % 4
            same.extend(range(at, at + 4 + size))
            at += 4 + size

        skip(len(message.header.frame_id.encode()) + 1)
        skip(0)
        for name in message.name:
            skip(len(name.encode()) + 1)
        fields = message.position, message.velocity, message.effort
        for values in fields:
            skip(0)
            at += (4 - at) % 8 if values else 0
            self._rows.append((len(values), at))
            at += 8 * len(values)
        self._same, self._known = np.array(same), b''
        # Of bytes in another form nothing is known.
        plain = data.startswith(_LITTLE_ENDIAN) and at <= len(data)
        if plain and all(a.tobytes() == b.tobytes() for a, b in zip(self.read(data), fields)):
            self._known = self._constant_bytes(data)

    def _constant_bytes(self, data: bytes) -> bytes:
        """Return the bytes that stay while stamp, values and padding change."""
        return np.frombuffer(data, dtype=np.uint8)[self._same].tobytes()

    def fits(self, data: bytes) -> bool:
        """Return whether other bytes have the same names and counts at the same places."""
        return len(data) == self._size and self._constant_bytes(data) == self._known

    def read(self, data: bytes) -> list[Array]:
        """Return positions, velocities and efforts in bytes that fit; some may be empty."""
        return [np.frombuffer(data, '<f8', count, at) for count, at in self._rows]


def joint_state_template(names: Sequence[str]) -> StampedTemplate:
    """Return a template of joint states: positions, velocities and efforts, shape (n,) each."""
    row = StampedTemplate.row(len(names))
    return StampedTemplate(JointState(name=list(names), position=row, velocity=row, effort=row))


class JointStateReader:
    """
    Reads an arm's positions, velocities and efforts from serialized joint states, by joint name.

    With `derive_velocity` a joint state without velocities, or with NaN alone, gets the mean ones
    since the state before, the first one zero. A joint state that is like the one before, but for
    stamp and values, is read without rclpy, which takes ten times as long.
    """

    def __init__(self, joint_names: Sequence[str], *, derive_velocity: bool = False) -> None:
        self._expected, self._derive = tuple(joint_names), derive_velocity
        self._last: tuple[float, Array, Array] | None = None  # stamp, position, derived velocity
        self._layout: _MessageLayout | None = None

    def read(self, data: bytes) -> JointReading:
        """
        Return the arm's part of a serialized sensor_msgs/JointState.

        Raises NoArmJointsError if the joint state has none of the arm's joints. Raises
        JointStateError if the bytes are no joint state, the stamp has 10^9 nanoseconds or more,
        one of the arm's joints is missing or named twice, there are not as many positions,
        velocities and, if any, efforts as names, or no velocity is measured. Other values are not
        checked.
        """
        if self._layout is not None and self._layout.fits(data):
            sec, nanosec = STAMP.unpack_from(data, STAMP_AT)
            rows = self._layout.read(data)
        else:
            message = self._parse_message(data)
            sec, nanosec = message.header.stamp.sec, message.header.stamp.nanosec
            rows = [*map(np.asarray, (message.position, message.velocity, message.effort))]
        if nanosec > _MAX_NANOSECONDS:
            raise JointStateError(
                f'The joint state cannot be read: its stamp has {nanosec} nanoseconds.'
            )
        q, velocity, effort = (one[self._order] if len(one) else _NOTHING for one in rows)
        if len(velocity) and math.isnan(velocity[0]) and np.isnan(velocity).all():
            if not self._derive:
                raise JointStateError(f'The velocities of all joints are NaN{_NO_VELOCITIES}.')
            velocity = _NOTHING
        stamp = sec + 1e-9 * nanosec
        return JointReading(
            stamp,
            Time(sec=sec, nanosec=nanosec),
            q,
            velocity if len(velocity) else self._mean_velocity(stamp, q),
            # Efforts become Python numbers, because numpy warns about some NaN patterns that a
            # message may hold.
            effort if is_measured(effort.tolist()) else None,
        )

    def _parse_message(self, data: bytes) -> JointState:
        """Return the message, and remember its layout; raise an error if it cannot be used."""
        message = deserialize(JointState, data, 'joint state', JointStateError)
        names, position, velocity = message.name, message.position, message.velocity
        order = self._joint_order(names)
        derived = self._derive and not velocity
        if not len(names) == len(position) == (len(names) if derived else len(velocity)):
            without = '' if velocity else _NO_VELOCITIES
            raise JointStateError(
                f'The joint state has {len(names)} names but {len(position)} values of position '
                f'and {len(velocity)} of velocity; both must be given for every joint{without}.'
            )
        if len(message.effort) not in (0, len(names)):
            raise JointStateError(
                f'The joint state has {len(names)} names but {len(message.effort)} values of '
                'effort; give one for every joint, or none.'
            )
        self._order, self._layout = np.array(order), _MessageLayout(message, data)
        return message

    def _mean_velocity(self, stamp: float, q: Array) -> Array:
        """Return the mean velocity since the state before; zero if there was none before it."""
        before, velocity = self._last, np.zeros(len(q))
        if before is not None and stamp == before[0]:
            return before[2]
        if before is not None and stamp > before[0]:
            velocity = (q - before[1]) / (stamp - before[0])
        self._last = stamp, q, velocity
        return velocity

    def _joint_order(self, given: Sequence[str]) -> list[int]:
        """Return the indices of the arm's joints in given names; raise an error if one lacks."""
        missing = [name for name in self._expected if name not in given]
        if missing:
            kind = NoArmJointsError if len(missing) == len(self._expected) else JointStateError
            raise kind(
                f'The joint state lacks {", ".join(missing)}; it has '
                f'{name_list(given) or "no joints"}. Set robot_type, arm_prefix or joint_names to '
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
