# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Metrics of a demonstration: drift, tracking errors and rates."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..errors import RecordingError
from ..motion.trajectory import Trajectory
from ..recordings.recording import Recording
from ..typing import Array

# Times since a motion's start (k,) [s], and desired minus measured positions (k, n) [rad].
TrackingError = tuple[Array, Array]


@dataclass(frozen=True, eq=False)
class DemoMetrics:
    """
    Metrics of a demonstration: drift and tracking errors [rad].

    `hold_duration` is how long the arm was held, `drift` the largest deviation of any joint from
    its position at the start of that. `errors` has the tracking errors of each run by the name of
    its commanded terms; the run with feedforward is the last. `desired`, (k, n), are the desired
    positions of the run with feedforward.
    """

    hold_duration: float
    drift: float
    errors: dict[str, TrackingError]
    desired: Array


def demo_metrics(
    steps: Recording, hold: tuple[float, float], motions: tuple[Trajectory, Trajectory]
) -> DemoMetrics:
    """
    Return drift and tracking errors, computed from the steps of a demonstration.

    `steps` are all steps of the simulated arm. `hold` is the start and the end of the time in
    which the arm was held by feedforward alone [s since the first step]. `motions` are the desired
    motions, followed with the same PD: the first with gravity, Coriolis and inertia torques, the
    second with gravity torque alone. Raises RecordingError if no step lies within the hold or
    within a motion.
    """
    during = _interval_mask(steps.time, *hold)
    stamps = np.asarray(1e-9 * steps.stamp_ns, dtype=float)
    positions, errors = steps.q[during], {}
    for name, motion in zip(('g + PD', 'M ddq + C dq + g + PD'), motions[::-1]):
        followed = _interval_mask(stamps, motion.begin, motion.end)
        desired = motion.at_times(stamps[followed] - motion.zero)[:, 0]
        errors[name] = stamps[followed] - motion.begin, desired - steps.q[followed]
    duration, drift = np.ptp(steps.time[during]), np.abs(positions - positions[0]).max()
    return DemoMetrics(float(duration), float(drift), errors, desired)


def _interval_mask(time: Array, begin: float, end: float) -> NDArray[np.bool_]:
    """Return the mask of the times between two times [s]; raise RecordingError if none is."""
    during = (time >= begin) & (time <= end)
    if not during.any():
        raise RecordingError(f'No step of the arm is from {begin:.3f} to {end:.3f} s.')
    return during


@dataclass(frozen=True)
class DemoRates:
    """
    Rates and delays of a demonstration on this machine.

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


@dataclass(frozen=True, eq=False)
class DemoResult:
    """
    The results of one run of the demonstration.

    `steps` are the recorded steps of the simulated arm. `hold` is the interval in which
    feedforward alone held the arm [s of simulated time]. `motions` are the desired motions, first
    with all torque terms, then with gravity torque alone. `residual` is the largest difference
    that the node's cross-checks found: absolute between values below 1, relative above.
    `errors` are the diagnostic messages of level ERROR before the nodes were told to end, and a
    sentence for each node whose exit status was not 0. `failed` says whether the simulated arm
    published an error or a node's exit status was not 0.
    """

    steps: Recording
    hold: tuple[float, float]
    motions: tuple[Trajectory, Trajectory]
    rates: DemoRates
    residual: float
    errors: tuple[str, ...]
    failed: bool
