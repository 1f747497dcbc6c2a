# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The recording of a demonstration -> its figures."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arm import ArmDescription
from ..control.reference import Trajectory
from ..errors import MissingDependencyError, RecordingError
from ..identification.recording import read_recording, Recording

Array = NDArray[np.float64]
_TRAJECTORY_TOPIC = '/feedforward/feedforward_trajectory'
_COMMAND_TOPIC = '/effort_controller/commands'
_COMMANDS_PER_POINT = 10  # of the picture, which shows a hundred points per second well enough


@dataclass(frozen=True, eq=False)
class Tracking:
    """One followed motion: times from its start (t,), wanted and measured positions (t, n)."""

    time: Array
    wanted: Array
    measured: Array

    @property
    def error(self) -> Array:
        """Wanted minus measured, shape (t, n) [rad]."""
        return self.wanted - self.measured

    @property
    def rms(self) -> float:
        """Root mean square of the error over time and joints [rad]."""
        return float(np.sqrt(np.mean(self.error ** 2)))


@dataclass(frozen=True, eq=False)
class DemoFigures:
    """What the recording of a demonstration says; torques [N m], times [s], angles [rad]."""

    hold_time: Array
    hold_drift: Array
    with_feedforward: Tracking
    gravity_only: Tracking
    command_time: Array
    command: Array

    @property
    def drift(self) -> float:
        """Largest deviation of any joint from where it was when the hold began [rad]."""
        return float(np.abs(self.hold_drift).max())


def demo_figures(bag: Path, description: ArmDescription, hold: tuple[float, float],
                 ) -> DemoFigures:
    """
    Return the figures of a recorded demonstration.

    Parameters
    ----------
    bag : Path
        The rosbag2 of the run.
    description : ArmDescription
        Whose joints moved.
    hold : tuple of float
        Stamps between which the arm was held by feedforward alone [s].

    Raises
    ------
    RecordingError
        If the bag does not hold both motions.

    """
    recording = read_recording(bag, description.joint_names)
    stamps = np.asarray(recording.stamp_ns * 1e-9, dtype=float)
    trajectories, command_time, command = _read_commands(bag)
    if len(trajectories) != 2:
        raise RecordingError(f'{bag} holds {len(trajectories)} followed trajectories; a '
                             'demonstration follows two.')
    held = (stamps >= hold[0]) & (stamps <= hold[1])
    if not held.any():
        raise RecordingError(f'{bag} holds no joint states while the arm was held.')
    positions = recording.q[held]
    followed = [_tracking(recording, stamps, trajectory) for trajectory in trajectories]
    return DemoFigures(stamps[held] - stamps[held][0], positions - positions[0], followed[0],
                       followed[1], command_time, command)


def _tracking(recording: Recording, stamps: Array, trajectory: Trajectory) -> Tracking:
    during = (stamps >= trajectory.times[0]) & (stamps <= trajectory.end)
    wanted = np.array([trajectory.sample(time).q for time in stamps[during]])
    return Tracking(stamps[during] - trajectory.times[0], wanted, recording.q[during])


def _read_commands(bag: Path) -> tuple[list[Trajectory], Array, Array]:
    try:
        from rosbags.rosbag2 import Reader
        from rosbags.typesys import get_typestore, Stores
    except ImportError as error:
        raise MissingDependencyError(
            "Reading bags needs rosbags: pip install 'franka_dynamics[replay]'.") from error
    types = get_typestore(Stores.ROS2_JAZZY)
    trajectories: list[Trajectory] = []
    times, commands = [], []
    with Reader(bag) as reader:
        wanted = [connection for connection in reader.connections
                  if connection.topic in (_TRAJECTORY_TOPIC, _COMMAND_TOPIC)]
        for count, (connection, time, data) in enumerate(reader.messages(wanted)):
            if connection.topic == _TRAJECTORY_TOPIC:
                trajectories.append(_trajectory(types.deserialize_cdr(data, connection.msgtype)))
            elif count % _COMMANDS_PER_POINT == 0:
                message: Any = types.deserialize_cdr(data, connection.msgtype)
                times.append(time * 1e-9)
                commands.append(message.data)
    return trajectories, np.array(times), np.array(commands)


def _trajectory(message: Any) -> Trajectory:
    start = message.header.stamp.sec + 1e-9 * message.header.stamp.nanosec
    points = message.points

    def rows(field: str) -> Array:
        return np.array([getattr(point, field) for point in points])

    times = np.array([point.time_from_start.sec + 1e-9 * point.time_from_start.nanosec
                      for point in points])
    return Trajectory(start + times, rows('positions'), rows('velocities'),
                      rows('accelerations'))
