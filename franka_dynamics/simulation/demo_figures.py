# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Computes drift, tracking errors and torques from the steps of a demonstration."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..control.trajectory import Trajectory
from ..errors import RecordingError
from ..recordings.recording import Recording
from ..typing import Array

_STEPS_PER_POINT = 10  # simulation steps per point of the picture: a hundred points per second


@dataclass(frozen=True, eq=False)
class Tracking:
    """A followed motion: times since its start (t,) [s], desired and measured positions (t, n)."""

    time: Array
    desired: Array
    measured: Array

    @property
    def error(self) -> Array:
        """Desired minus measured position, shape (t, n) [rad]."""
        return self.desired - self.measured

    @property
    def rms(self) -> float:
        """Root mean square of the error over time and joints [rad]."""
        return float(np.sqrt(np.mean(self.error**2)))


@dataclass(frozen=True, eq=False)
class DemoFigures:
    """Results of a demonstration: times [s], angles [rad] and the whole run's effort [N m]."""

    hold_time: Array
    hold_drift: Array
    with_feedforward: Tracking
    gravity_only: Tracking
    effort_time: Array
    effort: Array

    @property
    def drift(self) -> float:
        """Largest deviation of any joint from its position at the start of the hold [rad]."""
        return float(np.abs(self.hold_drift).max())


def demo_figures(
    steps: Recording, hold: tuple[float, float], motions: tuple[Trajectory, Trajectory]
) -> DemoFigures:
    """
    Compute drift, tracking errors and torques from the steps of a demonstration.

    `steps` are all steps of the simulated arm. `hold` is the start and the end of the time in
    which the arm was held by feedforward alone [s since the first step]. `motions` are the desired
    motions, followed with the same PD: the first with gravity, Coriolis and inertia torques, the
    second with gravity torque alone. Raises RecordingError if no step lies within the hold or
    within a motion.
    """
    time = steps.time
    held = (time >= hold[0]) & (time <= hold[1])
    if not held.any():
        raise RecordingError(f'No step of the arm is from {hold[0]:g} to {hold[1]:g} s.')
    positions = steps.q[held]
    first, second = (_tracking(steps, motion) for motion in motions)
    every = slice(None, None, _STEPS_PER_POINT)
    return DemoFigures(
        time[held] - time[held][0],
        positions - positions[0],
        first,
        second,
        time[every],
        steps.effort[every],
    )


def _tracking(steps: Recording, motion: Trajectory) -> Tracking:
    stamps = np.asarray(1e-9 * steps.stamp_ns, dtype=float)
    during = (stamps >= motion.begin) & (stamps <= motion.end)
    if not during.any():
        raise RecordingError(
            f'No step of the arm is from {motion.begin:.3f} to {motion.end:.3f} s.'
        )
    desired = motion.at_times(stamps[during] - motion.zero)[:, 0]
    return Tracking(stamps[during] - motion.begin, desired, steps.q[during])


@dataclass(frozen=True)
class DemoRates:
    """
    How fast the demonstration ran on this machine.

    `rate` is the number of the arm's steps per second of real time, `steps` the number of steps
    after the first torque, `missed` the number of these steps without a new torque. `stops` counts
    how often the node stopped the arm. `round_trip` holds the 50th and 99th percentiles of the
    time from a state to its torque [s]. `machine` describes the computer. `lockstep` says whether
    the arm waited for each torque; `too_busy` says why an attempt in real time failed before, or
    is empty.
    """

    rate: float
    missed: int
    steps: int
    stops: int
    round_trip: tuple[float, float]
    machine: str
    lockstep: bool
    too_busy: str = ''
