# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A motion as trajectory_msgs/JointTrajectory in the YAML that `ros2 topic pub` takes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

# Linux hands no single argument longer than this to a program, and a trajectory is one.
LONGEST_ARGUMENT = 128 * 1024


def joint_trajectory_yaml(joint_names: Sequence[str], time: ArrayLike, q: ArrayLike,
                          dq: ArrayLike, ddq: ArrayLike) -> str:
    """
    Return the message's text.

    Parameters
    ----------
    joint_names : sequence of str
        In the order of the columns.
    time : array_like, shape (N,)
        From the start [s].
    q, dq, ddq : array_like, shape (N, n)
        Positions [rad], velocities [rad/s] and accelerations [rad/s^2].

    """
    nanoseconds = np.round(np.asarray(time, dtype=float) * 1e9).astype(np.int64)
    points = [
        f'- {{positions: {_row(position)}, velocities: {_row(velocity)}, '
        f'accelerations: {_row(acceleration)}, '
        f'time_from_start: {{sec: {stamp // 10**9}, nanosec: {stamp % 10**9}}}}}'
        for stamp, position, velocity, acceleration in zip(
            nanoseconds.tolist(), np.asarray(q), np.asarray(dq), np.asarray(ddq))]
    return '\n'.join([f'joint_names: [{", ".join(joint_names)}]', 'points:', *points]) + '\n'


def _row(values: ArrayLike) -> str:
    # Fixed point: other YAML readers take 1e-05 for a text; a micron and its rates are enough.
    return '[' + ', '.join(f'{value + 0.0:.6f}' for value in np.asarray(values)) + ']'
