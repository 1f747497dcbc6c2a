# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
The verdict on one or several recordings, by sums of each.

A single recording is judged by all rows of the table. Of several, all together are judged by the
rows that are not changes; then changes and contacts of each alone count.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from .decision import decide
from .fits import Fits
from .published_masses import fits_near_published_set
from .sums import Sums, total_sums
from .verdict import Diagnosis, RecordingVerdict
from ..arm import ArmDescription
from ..arrays import Array
from ..fit.least_squares import GramStack
from ..fit.prior import Prior
from ..fit.summary import MIN_MOTION_DURATION_S, RecordingNote
from ..fit.torque_model import TorqueModel
from ..recordings.preprocessing import Motion, without_rest

# Causes of a single recording, beside which those of all together are looked for.
_OF_ONE_RECORDING = ('changed', 'contact', 'base')
# What contradicts masses that nobody has measured says nothing about efforts.
_UNMEASURED_MASSES = (Diagnosis('masses', (), ()),)
_DUE_TO_MASSES = 'masses', 'unexplained', 'not_measured', 'position', 'gravity', 'rotors', 'base'


@dataclass(frozen=True, eq=False)
class JudgedRecording:
    """
    A recording's sums, and the verdict on it alone, None after too little motion.

    `weights` (n,) are those of the joints' residuals in its fits.
    """

    sums: Sums
    verdict: RecordingVerdict | None
    weights: Array


def examine_motion(
    moving: Motion, grams: GramStack, model: TorqueModel, note: RecordingNote
) -> JudgedRecording:
    """
    Return the verdict on a recording alone, by its motion without rests.

    It is called as `note` says. `grams` are the sums by which an arm is fitted, whose largest
    efforts count.
    """
    return _judged(Sums.from_motion(model, moving), model, moving, note.name)


def _judged(sums: Sums, model: TorqueModel, moving: Motion, name: str) -> JudgedRecording:
    """Return the verdict on a recording with some sums, called `name` in sentences."""
    fits = Fits(sums, Prior.centered_at(model.arm, model, sums.max_torque))
    verdict = None
    if len(moving) >= MIN_MOTION_DURATION_S * moving.options.rate:
        verdict = decide(fits, name)
    return JudgedRecording(replace(sums, within=None), verdict, fits.weights)


def judge_recordings(
    recordings: Sequence[JudgedRecording], prior: Prior, published: Sequence[Prior]
) -> RecordingVerdict:
    """
    Return the verdict on recordings, with a named fault, suspected joints or questions, if any.

    `prior` is about the starting set, `published` are about published sets
    (`fits_near_published_set` says which counts).
    """
    sums = total_sums(one.sums for one in recordings)
    alone = [one.verdict for one in recordings if one.verdict is not None]
    if len(recordings) == 1 and alone:
        (verdict,) = alone
        weights = recordings[0].weights
    else:
        fits = Fits(sums, prior)
        weights = fits.weights
        verdict = decide(fits, '')
        own = [cause for one in alone for cause in one.causes if cause.kind in _OF_ONE_RECORDING]
        if verdict.sound and own:
            verdict = RecordingVerdict(tuple(own))
    if prior.reference.unmeasured:
        return _beside_unmeasured_masses(verdict)
    # What rotors do, masses would have to do otherwise.
    asked = {one.kind for one in verdict.questions}
    given = [fault for fault in sums.faults if fault.kind == 'rotors' and fault.kind in asked]
    near = fits_near_published_set(
        sums, prior, [one for one in published if not one.is_doubtful], weights, given
    )
    if near is None:
        return verdict
    verdict = replace(verdict, mass_ambiguity=near.mass_ambiguity())
    if not verdict.sound:
        return verdict
    asked_joints = {joint for one in verdict.questions for joint in one.joints}
    doubted = [
        Diagnosis('gain', (joint,), (gain,))
        for joint, gain in near.doubted_gains()
        if joint not in asked_joints
    ]
    return replace(verdict, questions=(*verdict.questions, *doubted))


def _beside_unmeasured_masses(verdict: RecordingVerdict) -> RecordingVerdict:
    """Return the verdict, which names or asks about masses that nobody has measured first."""
    if verdict.sound:
        return RecordingVerdict(questions=(*_UNMEASURED_MASSES, *verdict.questions))
    others = [
        one
        for one in verdict.causes
        if one.kind not in _DUE_TO_MASSES and (one.kind != 'gain' or one.joints)
    ]
    causes = (*_UNMEASURED_MASSES, *others)
    return RecordingVerdict(causes, suspected_joints=verdict.suspected_joints)


def judge_motion(
    motion: Motion,
    model: TorqueModel,
    published: Sequence[ArmDescription],
    recording_name: str,
) -> RecordingVerdict:
    """
    Return the verdict on the recording of one motion, called `recording_name` in texts.

    As where an arm is identified, no friction that falls with speed is fitted.
    """
    model = replace(model, friction=replace(model.friction, stribeck=False))
    moving = without_rest(motion)
    judged = _judged(Sums.from_motion(model, moving), model, moving, recording_name)
    prior, *published_priors = (
        Prior.centered_at(arm, model, judged.sums.max_torque) for arm in (model.arm, *published)
    )
    return judge_recordings([judged], prior, published_priors)
