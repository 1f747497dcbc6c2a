# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Compares a recording with arms' models: the torque error of each, and a verdict."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from .recordings import judge_motion
from .sentences import diagnosis_sentence
from .verdict import RecordingVerdict
from ..arm import ArmDescription
from ..arm.friction import grows_with_load
from ..fit.options import IdentificationOptions
from ..fit.summary import MIN_MOTION_DURATION_S
from ..recordings.options import SignalOptions
from ..recordings.plausibility import fatal_faults, minor_faults, require_plausible_units
from ..recordings.preprocessing import Motion, seconds_at_rest, to_motion, without_idle_effort
from ..recordings.recording import Recording
from ..recordings.replay import rival_predictions, torque_predictions, TorquePrediction


@dataclass(frozen=True, eq=False)
class ReplayEvaluation:
    """
    Torque errors of inertial sets on a recording, and the verdict on that recording.

    `motion` is the prepared `recording`, `predictions` the arms' errors, the best first;
    `rival_predictions` are those as good as it. `verdict` is None after too little motion.
    `warnings` are sentences.
    """

    recording: Recording
    motion: Motion
    predictions: Sequence[TorquePrediction]
    rival_predictions: Sequence[TorquePrediction]
    verdict: RecordingVerdict | None
    warnings: Sequence[str]


def evaluate_replay(
    recording: Recording,
    arms: Sequence[ArmDescription],
    signal: SignalOptions,
    options: IdentificationOptions,
) -> ReplayEvaluation:
    """
    Return arms' torque errors on a recording, and the verdict on it, None if it moves < 9.5 s.

    As before an identification, nothing is judged by fits where values have faults of their own.
    Raises RecordingError if the recording has other units, or too few samples.
    """
    recording = options.with_whole_effort(recording, arms[0])
    require_plausible_units(recording, arms[0])
    motion = to_motion(recording, signal)
    predictions = torque_predictions(arms, motion, gravity=options.gravity)
    measured = without_idle_effort(recording)
    value_faults = fatal_faults(measured, arms[0])
    verdict = None
    rotors = list[str]()
    if value_faults:
        verdict = RecordingVerdict(value_faults=value_faults)
    elif recording.duration - seconds_at_rest(motion) >= MIN_MOTION_DURATION_S:
        # Starts from the hand that fits best; `identify arm` starts from the hand of its options.
        best_hand = predictions[0].arm.hand
        sets = [arm for arm in arms if arm.hand == best_hand]
        name = Path(recording.source).name
        verdict = _verdict_on(motion, sets, name, options)
        told = (*verdict.causes, *verdict.questions)
        lacking = [one for one in told if one.kind == 'rotors']
        if lacking:
            # The arm lacks them: the recording is judged as where an arm with them is identified.
            verdict = _verdict_on(motion, sets, name, replace(options, rotor_inertia=True))
        names = arms[0].joint_names
        scales = options.effort_scales(len(names))
        rotors = [diagnosis_sentence(one, names, scales) for one in lacking]
    return ReplayEvaluation(
        recording,
        motion,
        predictions,
        rival_predictions=rival_predictions(predictions, motion),
        verdict=verdict,
        warnings=(*value_faults, *minor_faults(measured, arms[0]), *rotors),
    )


def _verdict_on(
    motion: Motion,
    sets: Sequence[ArmDescription],
    recording_name: str,
    options: IdentificationOptions,
) -> RecordingVerdict:
    """Return the verdict on a motion that starts from the first of the published `sets`."""
    start = sets[0]
    model = options.torque_model(start)
    if grows_with_load(start.friction):
        model = model.with_load_friction(model.base.values())
    return judge_motion(motion, model, sets, recording_name)
