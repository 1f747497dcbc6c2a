# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Reads trajectory requests from messages and files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from trajectory_msgs.msg import JointTrajectory

from .messages import POINT_FIELDS, received, request_message, seconds, UnreadableMessageError
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
_Rows = dict[str, list[Array]]  # one array per point for each field


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
    points = message.points
    require_count(len(points))
    times = np.array([seconds(point.time_from_start) for point in points])
    rows = {name: [np.asarray(getattr(point, name)) for point in points] for name in POINT_FIELDS}
    return _request(message.joint_names, times, rows, seconds(message.header.stamp))


def ready_excitation(arm: str) -> Path | None:
    """Return the file of the excitation shipped for an arm of this name, or None."""
    folder = share_directory() / 'config' / 'excitations'
    name = shipped_name(arm)
    return next((path for path in folder.glob('*.yaml') if path.stem == name), None)


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
    try:
        content = read_mapping(path, expected=_FORM)
        points = content['points']
        require_count(len(points))
        since = [point['time_from_start'] for point in points]
        times = np.array([time.get('sec', 0) + 1e-9 * time.get('nanosec', 0) for time in since])
        rows = {
            name: [np.array(point.get(name, ()), float) for point in points]
            for name in POINT_FIELDS
        }
        return request_message(_request(content['joint_names'], times, rows, 0.0), lead_in)
    except DescriptionError as error:
        raise SettingsError(str(error)) from error
    except ReferenceRefusedError as error:
        raise SettingsError(f'{path}: {error}') from error
    except (KeyError, TypeError, ValueError, AttributeError, AssertionError) as error:
        raise SettingsError(f'{path}: {_FORM} ({" ".join(repr(error).split())[:120]}).') from error


def trajectory_of(message: JointTrajectory) -> Trajectory:
    """Return the motion of a message whose points hold positions, velocities, accelerations."""
    request = request_of(message)
    assert request.velocities is not None and request.accelerations is not None
    states = np.stack((request.positions, request.velocities, request.accelerations), axis=1)
    return Trajectory(request.times, states, request.start or 0.0)


def _request(names: Sequence[str], times: Array, rows: _Rows, start: float) -> TrajectoryRequest:
    fields = {name: _rows(name, values, len(names)) for name, values in rows.items()}
    if fields['positions'] is None:
        raise ReferenceRefusedError('The reference has no positions; they are needed.')
    return TrajectoryRequest(
        joint_names=tuple(names),
        times=times,
        positions=fields['positions'],
        velocities=fields['velocities'],
        accelerations=fields['accelerations'],
        start=start or None,
        effort=fields['effort'],
    )


def _rows(name: str, rows: list[Array], joints: int) -> Array | None:
    lengths = sorted({len(row) for row in rows})
    if lengths in ([], [0]):
        return None
    if lengths != [joints]:
        shown = f'{lengths[:3]}'[:-1] + (', ...]' if len(lengths) > 3 else ']')
        raise ReferenceRefusedError(
            f"The reference's {name} have {shown} values in its points for {joints} joints; give "
            'one per joint in every point, or in none.'
        )
    return np.array(rows)
