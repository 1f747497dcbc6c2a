# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Every step of a simulated arm in a file, written by the process that simulates.

A recorder behind DDS takes as much of a processor as the arm itself; the arm knows all of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from .arm_simulation import SensorReading
from ..errors import RecordingError
from ..recordings.recording import Recording
from ..typing import Array

_COLUMNS = 2  # before those of the joints: the stamp, and whether a new torque came


class StepLog:
    """
    Writes rows of 8-byte floats until closed.

    Parameters
    ----------
    path : Path
        The file to be made.

    """

    def __init__(self, path: Path) -> None:
        self._file = path.open('wb')

    def write(self, stamp: float, reading: SensorReading, fresh: bool) -> None:
        """Add a step: its stamp [s], what was read at its begin, whether its torque is new."""
        row = ((stamp, fresh), reading.position, reading.velocity, reading.effort)
        self._file.write(np.concatenate(row).tobytes())

    def close(self) -> None:
        """Write what is still in memory."""
        self._file.close()


@dataclass(frozen=True, eq=False)
class Steps:
    """
    k steps: stamps [s] and whether each had a new torque, (k,), and (k, n) of the joints.

    `position` [rad], `velocity` [rad/s] and `effort` [N m] are what the sensors said.
    """

    stamp: Array
    fresh: NDArray[np.bool_]
    position: Array
    velocity: Array
    effort: Array

    def recording(self, source: str, joint_names: tuple[str, ...]) -> Recording:
        """Return the joint states as a recording."""
        stamps = np.round(self.stamp * 1e9).astype(np.int64)
        states = (self.position, self.velocity, self.effort)
        return Recording(source, '/joint_states', joint_names, stamps, *states)


def read_steps(path: Path, joints: int) -> Steps:
    """
    Return the steps that a StepLog wrote.

    Raises
    ------
    RecordingError
        If there are none.

    """
    width = _COLUMNS + 3 * joints
    values = np.fromfile(path)
    rows = values[: len(values) // width * width].reshape(-1, width)
    if not len(rows):
        raise RecordingError(f'{path} holds no step of the simulated arm.')
    position, velocity, effort = np.split(rows[:, _COLUMNS:], 3, axis=1)
    return Steps(rows[:, 0], rows[:, 1] > 0.0, position, velocity, effort)
