# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Reads trajectory requests from messages and files."""

from __future__ import annotations

from pathlib import Path

from builtin_interfaces.msg import Duration
import numpy as np
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from .messages import POINT_FIELDS, received, seconds, UnreadableMessageError
from ..arm.arm_file import shipped_name
from ..arm.strict_yaml import read_mapping
from ..control.request import require_count, TrajectoryRequest
from ..control.trajectory import Trajectory
from ..errors import DescriptionError, ReferenceRefusedError, SettingsError
from ..resources import share_directory
from ..typing import Array

_FORM = (
    'a trajectory needs joint_names and points, each with positions and time_from_start, as '
    '`franka-dynamics identify plan` writes them'
)


def read_trajectory(data: bytes) -> JointTrajectory:
    """
    Return the trajectory message that serialized bytes hold.

    Raises ReferenceRefusedError if the bytes are no trajectory_msgs/JointTrajectory.
    """
    try:
        message: JointTrajectory = received(JointTrajectory, data)
    except UnreadableMessageError as error:
        raise ReferenceRefusedError(f'The reference cannot be read: {error}.') from error
    return message


def reference_of(message: JointTrajectory) -> TrajectoryRequest:
    """Return the request in a message; a message without points is a request to stop."""
    if message.points:
        return request_of(message)
    names = tuple(message.joint_names)
    return TrajectoryRequest(names, np.zeros(0), np.zeros((0, len(names))))


def request_of(message: JointTrajectory) -> TrajectoryRequest:
    """
    Return the request in a message.

    Raises ReferenceRefusedError if the message has no points or too many, the points have no
    positions, or a field is neither empty in all points nor has one value per joint in each.
    """
    names, points = tuple(message.joint_names), message.points
    require_count(len(points))
    rows: dict[str, Array | None] = {}
    for name in POINT_FIELDS:
        values = [np.asarray(getattr(point, name)) for point in points]
        lengths = sorted({len(row) for row in values})
        if lengths not in ([0], [len(names)]):
            raise ReferenceRefusedError(
                f"The reference's {name} have {str(lengths)[:40]} values in its points for "
                f'{len(names)} joints; give one per joint in every point, or in none.'
            )
        rows[name] = np.array(values) if lengths == [len(names)] and names else None
    positions = rows['positions']
    if positions is None:
        raise ReferenceRefusedError('The reference has no positions; they are needed.')
    return TrajectoryRequest(
        joint_names=names,
        times=np.array([seconds(point.time_from_start) for point in points]),
        positions=positions,
        velocities=rows['velocities'],
        accelerations=rows['accelerations'],
        start=seconds(message.header.stamp) or None,
        effort=rows['effort'],
    )


def ready_excitation(arm: str) -> Path | None:
    """Return the file of the excitation shipped for an arm of this name, or None."""
    path = share_directory() / 'config' / 'excitations' / f'{shipped_name(arm)}.yaml'
    return path if path.is_file() else None


def read_trajectory_file(path: Path, lead_in: float = 0.0) -> JointTrajectory:
    """
    Return the trajectory in a file of `identify plan` as a message.

    If `path` is the name of a Franka arm and no such file exists, the excitation shipped for that
    arm is read.
    `lead_in` [s] is added to all times, as time to move to the first point. Raises SettingsError
    if the file cannot be read or is no trajectory.
    """
    shipped = ready_excitation(str(path))
    if shipped is not None and not path.exists():
        path = shipped
    lead = round(lead_in * 1e9)
    try:
        content = read_mapping(path, expected=_FORM)
        message = JointTrajectory(joint_names=content['joint_names'])
        for point in content['points']:
            since = point['time_from_start']
            total = since.get('sec', 0) * 10**9 + since.get('nanosec', 0) + lead
            message.points.append(
                JointTrajectoryPoint(
                    time_from_start=Duration(sec=total // 10**9, nanosec=total % 10**9),
                    **{name: [float(x) for x in point.get(name, ())] for name in POINT_FIELDS},
                )
            )
        request_of(message)
    except DescriptionError as error:
        raise SettingsError(str(error)) from error
    except ReferenceRefusedError as error:
        raise SettingsError(f'{path}: {error}') from error
    except (KeyError, TypeError, ValueError, AttributeError, AssertionError) as error:
        raise SettingsError(f'{path}: {_FORM} ({" ".join(repr(error).split())[:120]}).') from error
    return message


def trajectory_of(message: JointTrajectory) -> Trajectory:
    """Return the motion of a message whose points hold positions, velocities, accelerations."""
    request = request_of(message)
    assert request.velocities is not None and request.accelerations is not None
    states = np.stack((request.positions, request.velocities, request.accelerations), axis=1)
    return Trajectory(request.times, states, request.start or 0.0)
