# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""trajectory_msgs/JointTrajectory <-> requested motions."""

from __future__ import annotations

from builtin_interfaces.msg import Duration
import numpy as np
from numpy.typing import NDArray
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from .joint_state import doubles, seconds, stamp_from_seconds
from ..control.reference_request import TrajectoryRequest
from ..errors import ReferenceRefusedError


def request_from_message(message: JointTrajectory) -> TrajectoryRequest:
    """
    Return what a trajectory message asks for.

    Raises
    ------
    ReferenceRefusedError
        If it has no points, or points that are not alike.

    """
    if not message.points:
        raise ReferenceRefusedError('The reference has no points; send at least one.')
    start = seconds(message.header.stamp)
    positions = _rows(message, 'positions')
    if positions is None:
        raise ReferenceRefusedError('The reference has no positions; they are needed.')
    return TrajectoryRequest(
        joint_names=tuple(message.joint_names),
        times=np.array([point.time_from_start.sec + 1e-9 * point.time_from_start.nanosec
                        for point in message.points]),
        positions=positions, velocities=_rows(message, 'velocities'),
        accelerations=_rows(message, 'accelerations'), start=start or None)


def _rows(message: JointTrajectory, field: str) -> NDArray[np.float64] | None:
    """Return one field of all points, shape (points, joints), or None if none has it."""
    rows = [getattr(point, field) for point in message.points]
    lengths = {len(row) for row in rows}
    if lengths == {0}:
        return None
    if lengths != {len(message.joint_names)}:
        raise ReferenceRefusedError(
            f"The reference's {field} have {sorted(lengths)} values in its points for "
            f'{len(message.joint_names)} joints; give one per joint in every point, or in none.')
    return np.array(rows, dtype=float)


def trajectory_message(joint_names: list[str], times: NDArray[np.float64],
                       positions: NDArray[np.float64],
                       velocities: NDArray[np.float64] | None = None,
                       accelerations: NDArray[np.float64] | None = None,
                       efforts: NDArray[np.float64] | None = None,
                       start: float = 0.0) -> JointTrajectory:
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
    fields = {'positions': positions, 'velocities': velocities, 'accelerations': accelerations,
              'effort': efforts}
    given = {name: rows for name, rows in fields.items() if rows is not None}
    for i, time in enumerate(times):
        since = stamp_from_seconds(float(time))
        message.points.append(JointTrajectoryPoint(
            time_from_start=Duration(sec=since.sec, nanosec=since.nanosec),
            **{name: doubles(rows[i]) for name, rows in given.items()}))
    return message
