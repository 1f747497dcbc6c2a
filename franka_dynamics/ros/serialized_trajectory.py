# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Trajectories read from their bytes: as Python objects, 10,000 points cost a hundred cycles."""

from __future__ import annotations

import numpy as np

from .serialized import CdrError, CdrReader
from ..control.planning import MOST_POINTS, TrajectoryRequest
from ..errors import ReferenceRefusedError
from ..typing import Array

# MOST_POINTS of nine joints with positions, velocities, accelerations and efforts.
MOST_TRAJECTORY_BYTES = 1 << 22
# Of a trajectory's frame id; it goes into reports.
MOST_MARK = 64


def trajectory_mark(data: bytes) -> str:
    """
    Return the frame id of a serialized trajectory, at most MOST_MARK characters.

    Torques and joint positions are of no frame: it is free for the sender to mark a trajectory
    with, and to know by it what is reported of it. Empty where it cannot be read.
    """
    try:
        reader = CdrReader(data, MOST_TRAJECTORY_BYTES)
        reader.time()
        return reader.text()[:MOST_MARK]
    except CdrError:
        return ''


_FIELDS = ('positions', 'velocities', 'accelerations', 'effort')


def read_trajectory(data: bytes) -> TrajectoryRequest:
    """
    Return what a serialized trajectory_msgs/JointTrajectory asks for.

    Raises
    ------
    ReferenceRefusedError
        If the bytes are no such message, it has no points, or points that are not alike.

    """
    try:
        reader = CdrReader(data, MOST_TRAJECTORY_BYTES)
        sec, nanosec = reader.time()
        reader.text()
        names = reader.texts()
        count = reader.count()
        if count > MOST_POINTS:
            raise ReferenceRefusedError(
                f'The reference has {count} points; send between one and {MOST_POINTS}.'
            )
        times, fields = _points(reader, count, len(names))
    except CdrError as error:
        raise ReferenceRefusedError(f'The reference cannot be read: {error}.') from error
    if not count:
        raise ReferenceRefusedError('The reference has no points; send at least one.')
    if fields['positions'] is None:
        raise ReferenceRefusedError('The reference has no positions; they are needed.')
    return TrajectoryRequest(
        joint_names=tuple(names),
        times=times,
        positions=fields['positions'],
        velocities=fields['velocities'],
        accelerations=fields['accelerations'],
        start=sec + 1e-9 * nanosec or None,
    )


def _points(
    reader: CdrReader,
    count: int,
    joints: int,
) -> tuple[Array, dict[str, Array | None]]:
    """Return times, shape (count,), and each field, shape (count, joints) or None."""
    times = np.empty(count)
    rows: dict[str, list[Array]] = {name: [] for name in _FIELDS}
    for k in range(count):
        for values in rows.values():
            values.append(reader.doubles())
        sec, nanosec = reader.time()
        times[k] = sec + 1e-9 * nanosec
    return times, {name: _rows(name, values, joints) for name, values in rows.items()}


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
