# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Compares a recording with an arm's published inertial sets, and judges the recording."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from .options import IdentificationOptions
from .summary import MIN_MOTION_S
from .verdict import judge_motion, RecordingVerdict
from ..arm import ArmDescription
from ..recordings.options import SignalOptions
from ..recordings.plausibility import plausibility_warnings, require_units
from ..recordings.preprocessing import Motion, prepare, seconds_at_rest
from ..recordings.recording import Recording
from ..recordings.replay import equally_good_fits, replay_fits, ReplayFit


@dataclass(frozen=True, eq=False)
class ReplayEvaluation:
    """
    Torque errors of inertial sets on a recording, and the verdict on it.

    `motion` is the prepared `recording`, `fits` the arms' errors, the best first; `equally_good`
    are those as good as it. `verdict` is None after too little motion. `warnings` are sentences.
    """

    recording: Recording
    motion: Motion
    fits: Sequence[ReplayFit]
    equally_good: Sequence[ReplayFit]
    verdict: RecordingVerdict | None
    warnings: Sequence[str]


def evaluate_replay(
    recording: Recording,
    arms: Sequence[ArmDescription],
    signal: SignalOptions,
    options: IdentificationOptions,
) -> ReplayEvaluation:
    """
    Compare the torques recorded in a motion with the torques that each arm predicts for it.

    Raises RecordingError if the recording has other units, or too few samples.
    """
    recording = recording.with_scaled_effort(options.effort_scale)
    require_units(recording, arms[0])
    model = options.torque_model(arms[0])
    motion = prepare(recording, signal)
    fits = replay_fits(arms, motion, gravity=options.gravity)
    verdict = None
    if recording.duration - seconds_at_rest(motion) >= MIN_MOTION_S:
        # Starts from the hand that fits best; `identify arm` starts from the hand of its options.
        alike = [one for one in arms if one.hand == fits[0].arm.hand]
        verdict = judge_motion(motion, model, alike[0], alike, Path(recording.source).name)
    others, doubts = equally_good_fits(fits, motion), plausibility_warnings(recording, arms[0])
    return ReplayEvaluation(recording, motion, fits, others, verdict, doubts)
