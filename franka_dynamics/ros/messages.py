# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Conversion between messages and arrays."""

from __future__ import annotations

from array import array
from collections.abc import Callable
import inspect
from typing import Any, NamedTuple, TYPE_CHECKING

from builtin_interfaces.msg import Duration, Time
import numpy as np
from numpy.typing import NDArray
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

if TYPE_CHECKING:
    from ..control.planning import TrajectoryRequest


_NO_NUMBER = 2**64 - 1  # rmw's value if the middleware does not count messages


class JointReading(NamedTuple):
    """
    The arm's joints in one joint state message; arrays of shape (n,), SI units.

    `effort` is None if the message has none, or only zeros.
    """

    sec: int
    nanosec: int
    position: NDArray[np.float64]
    velocity: NDArray[np.float64]
    effort: NDArray[np.float64] | None

    @property
    def stamp(self) -> float:
        """The message's stamp [s]."""
        return self.sec + 1e-9 * self.nanosec

    @property
    def stamp_message(self) -> Time:
        """The message's stamp as a ROS message, for results computed from it."""
        return Time(sec=self.sec, nanosec=self.nanosec)


def seconds(stamp: Time | Duration) -> float:
    """Return a stamp or a duration in seconds."""
    return stamp.sec + 1e-9 * stamp.nanosec


def stamp_from_seconds(time: float) -> Time:
    """Return a time as a stamp."""
    nanoseconds = round(time * 1e9)
    return Time(sec=nanoseconds // 10**9, nanosec=nanoseconds % 10**9)


def with_number(
    callback: Callable[[Any, int | None], None],
) -> Callable[..., None]:
    """
    Return a subscription callback that calls `callback` with each message and its number.

    Publishers number their messages from 1; the number is None if the middleware has none. rclpy's
    EventsExecutor passes message and information as one tuple, other executors as two arguments.
    rclpy decides from the callback's signature whether to pass the information at all.
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
    """Take a waiting message without an executor; return it and its information, or None."""
    with subscription.handle:
        waiting = subscription.handle.take_message(subscription.msg_type, subscription.raw)
    return None if waiting is None else (waiting[0], waiting[1])


def doubles(values: NDArray[np.float64]) -> array:
    """Return values as the array type that rclpy's messages accept without checking each value."""
    return array('d', np.ascontiguousarray(values, dtype=float).tobytes())


def state_message(
    stamp: Time,
    names: list[str],
    position: NDArray[np.float64],
    velocity: NDArray[np.float64],
    effort: NDArray[np.float64],
) -> JointState:
    """Return a joint state; `names` is kept, not copied."""
    message = JointState(
        name=names, position=doubles(position), velocity=doubles(velocity), effort=doubles(effort)
    )
    message.header.stamp = stamp
    return message


def effort_message(
    stamp: Time, names: list[str], effort: NDArray[np.float64], frame_id: str = ''
) -> JointState:
    """
    Return a stamped JointState that carries torques alone; `names` is kept, not copied.

    RViz's Effort display ignores messages without a frame, so one is given.
    """
    message = JointState()
    message.header.stamp = stamp
    message.header.frame_id = frame_id
    message.name = names
    message.effort = doubles(effort)
    return message


def trajectory_message(
    joint_names: list[str],
    times: NDArray[np.float64],
    positions: NDArray[np.float64],
    velocities: NDArray[np.float64] | None = None,
    accelerations: NDArray[np.float64] | None = None,
    efforts: NDArray[np.float64] | None = None,
    start: float = 0.0,
) -> JointTrajectory:
    """
    Return a trajectory message.

    Parameters
    ----------
    joint_names : list of str
        n names.
    times : ndarray, shape (k,)
        Seconds after `start`.
    positions, velocities, accelerations, efforts : ndarray, shape (k, n)
        Arrays that are None are left out.
    start : float
        The message's stamp [s]; zero means a start on arrival.

    """
    message = JointTrajectory()
    message.header.stamp = stamp_from_seconds(start)
    message.joint_names = joint_names
    fields = {
        'positions': positions,
        'velocities': velocities,
        'accelerations': accelerations,
        'effort': efforts,
    }
    given = {name: rows for name, rows in fields.items() if rows is not None}
    for i, time in enumerate(times):
        since = stamp_from_seconds(float(time))
        message.points.append(
            JointTrajectoryPoint(
                time_from_start=Duration(sec=since.sec, nanosec=since.nanosec),
                **{name: doubles(rows[i]) for name, rows in given.items()},
            )
        )
    return message


def request_message(request: TrajectoryRequest, lead_in: float = 0.0) -> JointTrajectory:
    """Return a trajectory message that begins `lead_in` seconds after its arrival."""
    return trajectory_message(
        list(request.joint_names),
        lead_in + request.times,
        request.positions,
        request.velocities,
        request.accelerations,
    )
