# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What runs of the demonstration return."""

from collections.abc import Callable
from typing import NamedTuple

from ..arrays import Array
from ..motion.trajectory import Trajectory
from ..recordings.recording import Recording

# Times since a motion's start (k,) [s], and desired minus measured positions (k, n) [rad].
TrackingErrorSeries = tuple[Array, Array]
# A function that gets the name of the present step and the progress, 0 to 1.
OnProgress = Callable[[str, float], None]


class DemoTiming(NamedTuple):
    """
    Rates and delays of the simulated arm's steps and torques in a demonstration.

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


class DemoResult(NamedTuple):
    """
    The results of one run of the demonstration.

    `recording` has the steps of the simulated arm. `hold_interval` is the interval in which
    feedforward alone held the arm, begin and end [s of simulated time, which begins with the first
    step]. `motions` are the desired motions, first with all torque terms, then with gravity torque
    alone. `model_difference` is the largest relative difference that the node's cross-checks
    found. `errors` are the diagnostic messages of level ERROR before the nodes were told to end,
    and a sentence for each node whose exit status was not 0. `has_failed` says whether the
    simulated arm published an error or a node's exit status was not 0.
    """

    recording: Recording
    hold_interval: tuple[float, float]
    motions: tuple[Trajectory, Trajectory]
    timing: DemoTiming
    model_difference: float
    errors: tuple[str, ...]
    has_failed: bool
