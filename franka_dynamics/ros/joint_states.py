# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Joint states as the bytes of their messages: readers, and the layout that speeds reading up.

rclpy takes ten times as long to read a joint state as a pattern of its bytes.
"""

from collections.abc import Sequence
import math
import re
from typing import NamedTuple

from builtin_interfaces.msg import Time
import numpy as np
from sensor_msgs.msg import JointState

from .messages import (
    is_effort_measured,
    LITTLE_ENDIAN_HEADER,
    parse_message,
    STAMP_OFFSET,
    STAMP_STRUCT,
)
from ..arrays import Array, NDArray
from ..errors import JointStateError, list_text

_MAX_STAMP_NANOSECONDS = 10**9 - 1
_EMPTY_ARRAY = np.zeros(0)
_VELOCITY_ADVICE = ' (franka_ros2 has them on franka/joint_states)'


class JointReading(NamedTuple):
    """
    A joint state's stamp, and the arm's positions, velocities, efforts or None, (n,) in SI units.

    `stamp` is the message's stamp [s], `stamp_message` the same as a ROS message. `effort` is None
    if the message has none, or only zeros, or only NaN.
    """

    stamp: float
    stamp_message: Time
    position: Array
    velocity: Array
    effort: Array | None


class NoArmJointsError(JointStateError):
    """A joint state, such as a gripper's, has none of the arm's joints, but `joint_names`."""

    def __init__(self, text: str, joint_names: Sequence[str]) -> None:
        """Store the text, and the names of the joints that the joint state has."""
        super().__init__(text)
        self.joint_names = joint_names


class _LayoutPattern:
    """
    A regular expression for serialized messages, made field by field from one that is an example.

    In OMG's XCDR, version 1, a number stands at a multiple of its size, counted after the
    encapsulation header of four bytes. What lies between is padding, of any value.

        offset  0        4      12                   aligned to 4           aligned to 8
                header | stamp | padding, count, text, ... | padding, count | padding, numbers
    """

    def __init__(self, data: bytes) -> None:
        """Begin with the encapsulation header of the example `data`, and with any stamp."""
        self._data = data
        self._parts = [re.escape(data[:STAMP_OFFSET]), b'(.{%d})' % STAMP_STRUCT.size]
        self._offset = STAMP_OFFSET + STAMP_STRUCT.size

    def _add_padding(self, size: int) -> None:
        """Add the padding before a number of so many bytes."""
        padding = (STAMP_OFFSET - self._offset) % size
        self._parts.append(b'.{%d}' % padding)
        self._offset += padding

    def add_constant(self, size: int) -> None:
        """Add the example's next field: a count of four bytes, and `size` bytes of content."""
        self._add_padding(4)
        end = self._offset + 4 + size
        self._parts.append(re.escape(self._data[self._offset : end]))
        self._offset = end

    def add_numbers(self, count: int) -> None:
        """Add a group of any float64 numbers, with the example's count before them."""
        self.add_constant(0)
        if count:
            self._add_padding(8)
        self._parts.append(b'(.{%d})' % (8 * count))
        self._offset += 8 * count

    def compiled(self) -> re.Pattern[bytes]:
        """Return the pattern of whole messages: their ends may have other bytes."""
        rest = max(0, len(self._data) - self._offset)
        return re.compile(b'%s.{%d}' % (b''.join(self._parts), rest), re.DOTALL)


def _joint_state_pattern(message: JointState, data: bytes) -> re.Pattern[bytes] | None:
    """
    Return a pattern of `message` with any stamp, numbers and padding; None if it does not match.

    Its groups are stamp, positions, velocities and efforts in the serialized message, of which
    `data` is an example. It does not match bytes that are not laid out as expected.
    """
    layout = _LayoutPattern(data)
    layout.add_constant(_text_size(message.header.frame_id))
    layout.add_constant(0)  # the count of names
    for name in message.name:
        layout.add_constant(_text_size(name))
    rows = (message.position, message.velocity, message.effort)
    for values in rows:
        layout.add_numbers(len(values))
    if not data.startswith(LITTLE_ENDIAN_HEADER):
        return None
    pattern = layout.compiled()
    match = pattern.fullmatch(data)
    if match is None or list(match.groups()[1:]) != [values.tobytes() for values in rows]:
        return None
    return pattern


def _text_size(text: str) -> int:
    """Return how many bytes a text has in a message, with the zero at its end."""
    return len(text.encode()) + 1


class JointStateReader:
    """
    A reader of an arm's positions, velocities and efforts in serialized joint states.

    With `derive_velocity` a joint state without velocities, or with NaN alone, gets the mean
    velocities since the state before, and the first one zeros. A joint state that differs from the
    one before in stamp and numbers alone is read without rclpy.
    """

    _order: NDArray[np.intp]

    def __init__(self, joint_names: Sequence[str], *, derive_velocity: bool = False) -> None:
        """Store the names of the joints to read, in the order of the arrays."""
        self._joint_names = tuple(joint_names)
        self._derive_velocity = derive_velocity
        # Of the state before, from which velocities are derived.
        self._last_stamp = math.inf
        self._last_position = _EMPTY_ARRAY
        self._last_velocity = _EMPTY_ARRAY
        self._pattern: re.Pattern[bytes] | None = None  # of messages like the one before

    def read(self, data: bytes) -> JointReading:
        """
        Return the JointReading of the arm in a serialized JointState, or raise JointStateError.

        Values other than those below are not checked.

        Raises
        ------
        NoArmJointsError
            If the joint state has none of the arm's joints.
        JointStateError
            If the bytes are no joint state, the stamp has 10^9 nanoseconds or more, one of the
            arm's joints is missing or named twice, there are not as many positions, velocities
            and, if any, efforts as names, or no velocity is measured.

        """
        match = None if self._pattern is None else self._pattern.fullmatch(data)
        if match is not None:
            stamp_bytes, *fields = match.groups()
            sec, nanosec = STAMP_STRUCT.unpack(stamp_bytes)
            rows = [np.frombuffer(field, '<f8') for field in fields]
        else:
            message = self._parse_message(data)
            sec = message.header.stamp.sec
            nanosec = message.header.stamp.nanosec
            fields = [message.position, message.velocity, message.effort]
            rows = [np.asarray(field) for field in fields]
        if nanosec > _MAX_STAMP_NANOSECONDS:
            raise JointStateError(f'The joint state has a stamp of {nanosec} nanoseconds.')
        position, velocity, effort = (self._arm_values(values) for values in rows)
        stamp = sec + 1e-9 * nanosec
        if not self._is_velocity_measured(velocity):
            velocity = self._mean_velocity(stamp, position)
        # Efforts become Python numbers, because numpy warns about some NaN patterns that a message
        # may hold.
        measured_effort = effort if is_effort_measured(effort.tolist()) else None
        stamp_message = Time(sec=sec, nanosec=nanosec)
        return JointReading(stamp, stamp_message, position, velocity, measured_effort)

    def _arm_values(self, values: Array) -> Array:
        """Return the arm's values, in its order, of those in a message; none if it has none."""
        return values[self._order] if len(values) else _EMPTY_ARRAY

    def _is_velocity_measured(self, velocity: Array) -> bool:
        """Return whether velocities are there; raise JointStateError if all are NaN and needed."""
        if not len(velocity):
            return False
        # The first one is looked at alone, because that is faster.
        if not (math.isnan(velocity[0]) and np.isnan(velocity).all()):
            return True
        if not self._derive_velocity:
            raise JointStateError(f'The velocities of all joints are NaN{_VELOCITY_ADVICE}.')
        return False

    def _parse_message(self, data: bytes) -> JointState:
        """Return the joint state in bytes, or raise JointStateError; keep its bytes' pattern."""
        message = parse_message(JointState, data, 'joint state', JointStateError)
        order = self._joint_order(message.name)
        n = len(message.name)
        position_count = len(message.position)
        velocity_count = len(message.velocity)
        effort_count = len(message.effort)
        is_derived = self._derive_velocity and velocity_count == 0
        is_complete = (
            position_count == n and (velocity_count == n or is_derived) and effort_count in (0, n)
        )
        if not is_complete:
            advice = '' if velocity_count or is_derived else _VELOCITY_ADVICE
            raise JointStateError(
                f'The joint state has {n} names but {position_count} values of position, '
                f'{velocity_count} of velocity and {effort_count} of effort; give one for every '
                f'joint, or no effort{advice}.'
            )
        self._order = np.array(order)
        self._pattern = _joint_state_pattern(message, data)
        return message

    def _mean_velocity(self, stamp: float, position: Array) -> Array:
        """
        Return mean velocities since the state before, (n,) [rad/s, m/s].

        They are zero for the first state and where the stamp has fallen, and those of the state
        before where the stamp is the same.
        """
        if stamp == self._last_stamp:
            return self._last_velocity
        velocity = np.zeros(len(position))
        if stamp > self._last_stamp:
            velocity = (position - self._last_position) / (stamp - self._last_stamp)
        self._last_stamp = stamp
        self._last_position = position
        self._last_velocity = velocity
        return velocity

    def _joint_order(self, message_names: Sequence[str]) -> list[int]:
        """Return the joints' indices in a message; raise JointStateError unless each is once."""
        missing = [name for name in self._joint_names if name not in message_names]
        if missing:
            sentence = (
                f'The joint state lacks {", ".join(missing)}; it has '
                f'{list_text(message_names) or "no joints"}. Set robot_type, arm_prefix or '
                "joint_names to match, or use the arm's topic."
            )
            if len(missing) == len(self._joint_names):
                raise NoArmJointsError(sentence, message_names)
            raise JointStateError(sentence)
        doubled = [name for name in self._joint_names if message_names.count(name) > 1]
        if doubled:
            raise JointStateError(f'The joint state repeats {", ".join(doubled)}; give each once.')
        return [message_names.index(name) for name in self._joint_names]
