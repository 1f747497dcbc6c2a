# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Writing and reading of the step log, a file of every step of a simulated arm.

The arm's own process writes it: recording the steps over DDS would take as much processor time as
the simulation.
"""

from pathlib import Path
from typing import BinaryIO

import numpy as np

from .arm_simulation import SensorReading
from ..errors import RecordingError
from ..recordings.recording import Recording


def write_step(file: BinaryIO, stamp: float, reading: SensorReading) -> None:
    """
    Write a step's stamp [s] and the sensor reading before the step to a binary file.

    A step is a row of 8-byte floats: stamp, positions, velocities, efforts.
    """
    row = ((stamp,), reading.position, reading.velocity, reading.effort)
    file.write(np.concatenate(row).tobytes())


def read_steps(path: Path, joint_names: tuple[str, ...]) -> Recording:
    """
    Return the simulation steps in a file of `write_step` as a recording of joint states.

    Raises RecordingError if the file holds no whole step.
    """
    width = 1 + 3 * len(joint_names)
    values = np.fromfile(path)
    rows = values[: len(values) // width * width].reshape(-1, width)
    if not len(rows):
        raise RecordingError(f'{path} holds no step of the simulated arm.')
    stamps = np.round(rows[:, 0] * 1e9).astype(np.int64)
    q, dq, effort = np.split(rows[:, 1:], 3, axis=1)
    return Recording(str(path), '/joint_states', joint_names, stamps, q, dq, effort)
