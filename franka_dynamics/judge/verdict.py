# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
The verdict on whether recordings are sound, which fault they have, and what stays unknown.

The recordings judge themselves, in these steps:

1. Each of the folds (`least_squares`) is predicted by a fit without it, with the columns of one
   fault and without (`cross_validation`, `fault_fits`). Faults without columns are tried by fits
   at corrected states (`corrected_states`). What begins or ends within a recording (`changes`) and
   contacts (`contacts`) are found beforehand, in each recording.
2. What these faults explain decides whether one is named, or joints are suspected
   (`fault_verdict`, `state_verdict`).
3. Checks in the order in which one fault can cause another find the causes (`causes`). A common
   factor of all efforts, or a load, looks like other masses: `published_masses` gives the ranges
   that torques and published masses allow.
4. Where there is no cause, harmless and likely faults are asked about (`questions`).

One measure decides for every kind of fault, its effect on the arm that is identified
(`fault_effect`): the factor by which the fault raises its error E. Recordings are unsound if it is
above 1.4, even at the near end of the range of the fault's size.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import reduce
from operator import add

from .causes import Evidence, PublishedRange, UNMEASURED_MASSES
from .corrected_states import state_fault_fits, StateFaultFit
from .cross_validation import CrossValidation
from .fault_verdict import diagnose_fits
from .faults import checks as fault_checks
from .faults import Diagnosis, fault_columns, MIN_HARMFUL_ERROR_RATIO
from .faults.torques import lacks_gravity, WrongGravity
from .findings import examine_motion, Findings
from .questions import questions_about_faults
from .recording_verdict import RecordingVerdict as RecordingVerdict
from ..arm import ArmDescription
from ..fit.least_squares import GramStack
from ..fit.prior import Prior
from ..fit.summary import RecordingNote, RecordingSummary, summarise_motion
from ..fit.torque_model import TorqueModel
from ..recordings.preprocessing import Motion

_MAX_GRAVITY_REFITS = 3  # each at the direction that the last one found


def judge_recordings(
    grams: GramStack,
    prior: Prior,
    published: Sequence[Prior],
    summaries: Sequence[RecordingSummary],
) -> RecordingVerdict:
    """
    Return the verdict on recordings, with a named fault, suspected joints or questions, if any.

    `prior` is about the starting set, `published` are about published sets
    (`PublishedRange.of_best_set` says which counts). `summaries` are those of the recordings,
    `grams` the sum of all their matrices.
    """
    findings = [each.findings for each in summaries if each.findings is not None]
    changes = [each.change for each in findings if each.change is not None]
    by_fits, system = diagnose_fits(
        CrossValidation(grams, prior), _state_fits(findings, prior), changes
    )
    evidence = Evidence(
        system,
        by_fits,
        contacts=[each.contact for each in findings if each.contact is not None],
        published=PublishedRange.of_best_set(grams, prior, published),
    )
    verdict = RecordingVerdict(evidence.causes(), suspected_joints=by_fits.suspected_joints)
    if verdict.sound:
        likely_changes = [change.diagnosis for change in changes if change.is_likely_harmful]
        questions = (
            *evidence.negative_friction,
            *likely_changes,
            *questions_about_faults(system),
        )
        verdict = replace(verdict, questions=questions)
    if prior.reference.unmeasured:
        return _beside_unmeasured_masses(verdict)
    if verdict.causes:  # which say more than suspected joints
        verdict = replace(verdict, suspected_joints=())
    if evidence.published is None:
        return verdict
    return replace(verdict, mass_ambiguity=evidence.published.ambiguity)


def _state_fits(findings: Sequence[Findings], prior: Prior) -> list[StateFaultFit]:
    """Return fits at corrected states, none where masses that tell them are not measured."""
    if prior.reference.unmeasured:
        return []
    grams = reduce(add, (each.corrected_state_grams for each in findings))
    return state_fault_fits(grams, prior)


def _beside_unmeasured_masses(verdict: RecordingVerdict) -> RecordingVerdict:
    """Return the verdict, which names or asks about masses that nobody has measured first."""
    if verdict.sound:
        return RecordingVerdict(questions=(*UNMEASURED_MASSES, *verdict.questions))
    due_to_masses = fault_checks.UnmeasuredMasses.kind, fault_checks.UnexplainedEfforts.kind
    others = [cause for cause in verdict.causes if cause.kind not in due_to_masses]
    causes = (*UNMEASURED_MASSES, *others)
    return RecordingVerdict(causes, suspected_joints=verdict.suspected_joints)


def judge_motion(
    motion: Motion,
    model: TorqueModel,
    published: Sequence[ArmDescription],
    recording_name: str,
) -> RecordingVerdict:
    """Return the verdict on the recording of one motion, called `recording_name` in texts."""

    def verdict_by(model: TorqueModel) -> RecordingVerdict:
        """Return the verdict on the motion, judged with a torque model."""
        summary = summarise_motion(
            motion,
            model,
            RecordingNote(recording_name),
            extra_columns=fault_columns,
            examine=examine_motion,
        )
        assert summary.grams is not None
        max_torque = summary.grams.max_torque
        prior, *published_priors = (
            Prior.centered_at(arm, model, max_torque) for arm in (model.arm, *published)
        )
        return judge_recordings(summary.grams, prior, published_priors, [summary])

    return with_gravity_refitted(
        verdict_by(model), lambda gravity: verdict_by(model.with_gravity(gravity))
    )


def with_gravity_refitted(
    verdict: RecordingVerdict,
    verdict_under: Callable[[Sequence[float]], RecordingVerdict],
) -> RecordingVerdict:
    """
    Return the verdict; if a turned gravity is the only fault, with it refitted or as unexplained.

    `verdict_under` returns the verdict on the same recordings under a gravity [m/s^2]. Where that
    explains too little, its verdict is returned.
    """
    for _ in range(_MAX_GRAVITY_REFITS):
        if not _is_of_turned_gravity(verdict.causes):
            return verdict
        (turned,) = verdict.causes
        refitted = verdict_under(turned.values)
        first_kind = refitted.causes[0].kind if refitted.causes else None
        if first_kind == fault_checks.UnexplainedEfforts.kind:
            return refitted
        if first_kind != WrongGravity.kind:
            return verdict
        refitted_cause = replace(turned, values=refitted.causes[0].values)
        verdict = replace(verdict, causes=(refitted_cause,))
    return verdict


def _is_of_turned_gravity(causes: Sequence[Diagnosis]) -> bool:
    """Return whether the only cause is a gravity that is turned, not left out of the efforts."""
    kinds = [cause.kind for cause in causes]
    return kinds == [WrongGravity.kind] and not lacks_gravity(causes[0].values)


def with_identified_error(
    verdict: RecordingVerdict, identified_error: float, unconstrained_error: float
) -> RecordingVerdict:
    """
    Return the verdict; if it is sound, but no arm explains what fits do, with that.

    The errors are E on left-out parts, divided by the rms effort, of the identified arm and of the
    fit without physical constraints, which may explain efforts of the wrong sign; no arm does.
    """
    unexplained = tuple(fault_checks.unexplained_efforts(identified_error))
    is_of_constraints = identified_error > MIN_HARMFUL_ERROR_RATIO * unconstrained_error
    if not (verdict.sound and unexplained and is_of_constraints):
        return verdict
    return replace(verdict, causes=unexplained, questions=())
