# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A planned motion as the YAML text of a ROS message, for `node play` and `ros2 topic pub`."""

from collections.abc import Sequence

import numpy as np
import yaml

from ..arrays import Array


def trajectory_yaml(joint_names: Sequence[str], time: Array, states: Array) -> str:
    """
    Return a motion as the YAML text of a JointTrajectory message.

    `states` (3, k, n) are positions, velocities and accelerations at `time` (k,) [s].
    """
    fields = ('positions', 'velocities', 'accelerations')
    stamps = np.round(time * 1e9).astype(np.int64).tolist()
    rounded = (np.round(states, 6) + 0.0).tolist()
    points = [
        dict(zip(fields, rows))
        | {'time_from_start': dict(zip(('sec', 'nanosec'), divmod(stamp, 10**9)))}
        for stamp, *rows in zip(stamps, *rounded, strict=True)
    ]
    message = {'joint_names': list(joint_names), 'points': points}
    return yaml.safe_dump(message, sort_keys=False, default_flow_style=None, width=1000)
