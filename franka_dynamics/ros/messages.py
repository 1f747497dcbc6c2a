# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Conversion between messages and arrays."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
import inspect
from typing import Any, NamedTuple, TYPE_CHECKING

from builtin_interfaces.msg import Duration, Time
import numpy as np
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from ..typing import Array

if TYPE_CHECKING:
    from ..control.request import TrajectoryRequest
    from ..control.trajectory import Trajectory


POINT_FIELDS = 'positions', 'velocities', 'accelerations', 'effort'
_NO_NUMBER = 2**64 - 1  # rmw's value if the middleware does not count messages


class JointReading(NamedTuple):
    """
    The state of the arm's joints from one message; arrays of shape (n,), SI units.

    `effort` is None if the message has none, or only zeros, or only NaN.
    """

    sec: int
    nanosec: int
    position: Array
    velocity: Array
    effort: Array | None

    @property
    def stamp(self) -> float:
        """The message's stamp [s]."""
        return self.sec + 1e-9 * self.nanosec

    @property
    def stamp_message(self) -> Time:
        """The joint state's stamp as a ROS message, for messages computed from the joint state."""
        return Time(sec=self.sec, nanosec=self.nanosec)


def seconds(stamp: Time | Duration) -> float:
    """Return a stamp or a duration as a number [s]."""
    return stamp.sec + 1e-9 * stamp.nanosec


def stamp_from_seconds(time: float) -> Time:
    """Return a time [s] as a stamp."""
    nanoseconds = round(time * 1e9)
    return Time(sec=nanoseconds // 10**9, nanosec=nanoseconds % 10**9)


def with_number(callback: Callable[[Any, int | None], None]) -> Callable[..., None]:
    """
    Return a subscription callback that passes `callback` each message and its sequence number.

    A publisher numbers its messages from 1; the number is None if the middleware gives none.
    rclpy's EventsExecutor passes message and information as one tuple, other executors as two
    arguments. rclpy passes the information only if the callback's signature has two parameters.
    """

    def on_message(*arguments: Any) -> None:
        message, info = arguments[0] if len(arguments) == 1 else arguments
        number = info['publication_sequence_number']
        callback(message, None if number == _NO_NUMBER else number)

    on_message.__signature__ = inspect.signature(  # type: ignore[attr-defined]
        lambda message, info: None
    )
    return on_message


def taken(subscription: Any) -> tuple[Any, dict[str, int]] | None:
    """Take a waiting message without an executor; return message and information, or None."""
    # rclpy.wait_for_message takes messages in the same way.
    with subscription.handle:
        waiting = subscription.handle.take_message(subscription.msg_type, subscription.raw)
    return None if waiting is None else (waiting[0], waiting[1])


def publisher_names(node: Any, topic: str) -> list[str]:
    """
    Return the full names of the nodes that publish on a topic, without one publisher of `node`.

    Another node of the same name stays listed; a dead node stays listed for up to 20 s.
    """
    found = node.get_publishers_info_by_topic(topic)
    names = sorted(f'{one.node_namespace.rstrip("/")}/{one.node_name}' for one in found)
    own = node.get_fully_qualified_name()
    if own in names:
        names.remove(own)
    return names


def doubles(values: Array) -> array:
    """Return values as the array.array that a message's float64[] field holds."""
    return array('d', np.ascontiguousarray(values, dtype=float).tobytes())


def state_message(
    stamp: Time, names: list[str], position: Array, velocity: Array, effort: Array
) -> JointState:
    """Return a joint state; `names` is kept, not copied."""
    message = JointState(
        name=names, position=doubles(position), velocity=doubles(velocity), effort=doubles(effort)
    )
    message.header.stamp = stamp
    return message


def effort_message(stamp: Time, names: list[str], effort: Array, frame_id: str = '') -> JointState:
    """
    Return a stamped JointState that carries torques alone; `names` is kept, not copied.

    RViz's Effort display ignores messages with an empty `frame_id`.
    """
    message = JointState()
    message.header.stamp = stamp
    message.header.frame_id = frame_id
    message.name = names
    message.effort = doubles(effort)
    return message


def trajectory_message(
    joint_names: Sequence[str],
    times: Array,
    positions: Array,
    velocities: Array | None = None,
    accelerations: Array | None = None,
    effort: Array | None = None,
    start: float = 0.0,
) -> JointTrajectory:
    """
    Return a trajectory message that begins at the stamp `start` [s]; 0 means on arrival.

    `times`, shape (k,), are seconds after the start. Positions, velocities, accelerations and
    effort have shape (k, n); a field given as None is left out.
    """
    message = JointTrajectory(joint_names=joint_names)
    message.header.stamp = stamp_from_seconds(start)
    rows = zip(POINT_FIELDS, (positions, velocities, accelerations, effort))
    given = {name: values for name, values in rows if values is not None}
    for i, time in enumerate(times):
        since = stamp_from_seconds(float(time))
        message.points.append(
            JointTrajectoryPoint(
                time_from_start=Duration(sec=since.sec, nanosec=since.nanosec),
                **{name: doubles(values[i]) for name, values in given.items()},
            )
        )
    return message


def motion_message(
    joint_names: Sequence[str], motion: Trajectory, effort: Array, start: float
) -> JointTrajectory:
    """Return `motion` with torques `effort` (k, n) [N m] as a message stamped `start` [s]."""
    rows = motion.positions, motion.velocities, motion.accelerations, effort
    return trajectory_message(joint_names, motion.times - motion.times[0], *rows, start)


def request_message(request: TrajectoryRequest, lead_in: float = 0.0) -> JointTrajectory:
    """Return the message of a request that begins on arrival; add `lead_in` [s] to all times."""
    rows = request.positions, request.velocities, request.accelerations
    return trajectory_message(request.joint_names, lead_in + request.times, *rows)
