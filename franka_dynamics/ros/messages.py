# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""sensor_msgs/JointState <-> arrays in joint order."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import NamedTuple, TYPE_CHECKING

from builtin_interfaces.msg import Duration, Time
import numpy as np
from numpy.typing import NDArray
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from ..errors import JointStateError, listed

if TYPE_CHECKING:
    from ..control.planning import TrajectoryRequest


class JointReading(NamedTuple):
    """
    What one message says of the arm's own joints; arrays of shape (n,), SI units.

    `effort` is None where the message has none, or only zeros.
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
        """The message's stamp, to be put on what is computed from it."""
        return Time(sec=self.sec, nanosec=self.nanosec)


class JointStateReader:
    """
    Maps joint states by name, in any order and among other joints.

    Parameters
    ----------
    joint_names : sequence of str
        The arm's joints, in joint order.

    """

    def __init__(self, joint_names: Sequence[str]) -> None:
        self._expected = tuple(joint_names)
        self._names: list[str] | None = None
        self.order: list[int] = []  # of the arm's joints among the names read last

    def read(self, message: JointState) -> JointReading:
        """
        Return the arm's part of a message.

        Raises
        ------
        JointStateError
            If one of the arm's joints is missing or doubled, or an array has another length
            than the names. Values are not judged here.

        """
        stamp = message.header.stamp
        return self.arrange(
            (stamp.sec, stamp.nanosec),
            message.name,
            *(
                np.asarray(values)
                for values in (message.position, message.velocity, message.effort)
            ),
        )

    def arrange(
        self,
        stamp: tuple[int, int],
        names: Sequence[str],
        position: NDArray[np.float64],
        velocity: NDArray[np.float64],
        effort: NDArray[np.float64],
    ) -> JointReading:
        """
        Return the arm's part of a message's fields; `stamp` is seconds and nanoseconds.

        Raises
        ------
        JointStateError
            As `read`.

        """
        if names != self._names:
            self.order = self._find(names)
            self._names = list(names)
        count = len(names)
        for field, values in (('position', position), ('velocity', velocity)):
            if len(values) != count:
                raise JointStateError(
                    f'The joint state has {count} names but {len(values)} values of {field}; '
                    'both must be given for every joint.'
                )
        if len(effort) not in (0, count):
            raise JointStateError(
                f'The joint state has {count} names but {len(effort)} values of effort; '
                'give one for every joint, or none.'
            )
        return JointReading(
            *stamp,
            position[self.order],
            velocity[self.order],
            measured(effort[self.order]) if len(effort) else None,
        )

    def _find(self, names: Sequence[str]) -> list[int]:
        given = list(names)
        missing = [name for name in self._expected if name not in given]
        if missing:
            raise JointStateError(
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


def measured(effort: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """
    Return efforts, or None if all are exactly zero: then nobody measures them.

    Drivers without torque sensors, Gazebo's among them, fill the field with zeros. An arm that
    is at rest under gravity never measures nothing at every joint.
    """
    # Of plain numbers, because numpy warns of some patterns of NaN, which a message may hold.
    return effort if any(effort.tolist()) else None


def seconds(stamp: Time | Duration) -> float:
    """Return a stamp or a duration in seconds."""
    return stamp.sec + 1e-9 * stamp.nanosec


def stamp_from_seconds(time: float) -> Time:
    """Return a time as a stamp."""
    nanoseconds = round(time * 1e9)
    return Time(sec=nanoseconds // 10**9, nanosec=nanoseconds % 10**9)


def doubles(values: NDArray[np.float64]) -> array:
    """Return values as the array type that rclpy's messages take without checking each one."""
    return array('d', np.ascontiguousarray(values, dtype=float).tobytes())


def effort_message(
    stamp: Time, names: list[str], effort: NDArray[np.float64], frame_id: str = ''
) -> JointState:
    """
    Return a stamped JointState that carries torques alone; `names` is kept, not copied.

    RViz's Effort display drops messages without a frame, though torques are of none.
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
        What is None is left out.
    start : float
        The message's stamp [s]; zero asks for a start on arrival.

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
    """Return the message that asks for a trajectory `lead_in` seconds after its arrival."""
    return trajectory_message(
        list(request.joint_names),
        lead_in + request.times,
        request.positions,
        request.velocities,
        request.accelerations,
    )
