# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
The verdict on whether recordings are sound, which fault they have, and what stays unknown.

The recordings judge themselves. Each of the folds (`least_squares`) is predicted by a fit without
it, with the columns of one fault and without (`cross_validation`). One measure decides for every
kind of fault, its effect on the recordings with the fault undone:

    effect = E(arm identified from the recordings) / E(arm identified with the fault undone)

A fault is significant if it predicts left-out folds better, and makes masses more like the
published ones. One with an effect above 1.4, even at the near end of the range of its size, makes
recordings unsound. It is named if it is
significantly better than any other fault, and has about its size beside the starting set's
inertias. If none is named, but one matters, the joints where it shows are suspected. A significant
fault of all joints with a smaller effect is only asked about.

Faults without columns (an axis the other way, a zero off by quarter turns, exchanged columns) are
tried by fits at corrected states (`corrected_states`), and compared with others by log evidence.
Contacts are judged alike: by the arm that is identified without the seconds that they last; what
changes in a recording, by the arm of one side (`changes`).

A common factor of all efforts, or a load, looks like other masses: `published_masses` gives the
ranges that torques and published masses allow.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import add
from pathlib import Path

import numpy as np

from .changes import FoundChange
from .corrected_states import state_fault_fits, StateFaultFit
from .cross_validation import CrossValidation
from .fault_fits import FaultFits, fits_with_each
from .faults import checks as fault_checks
from .faults import (
    CRITICAL_T_VALUE,
    Diagnosis,
    MIN_HARMFUL_ERROR_RATIO,
    possible_faults,
)
from .faults.torques import (
    EffortGain,
    EffortOffset,
    lacks_gravity,
    WrongGravity,
)
from .least_squares import GramStack, TORQUE_COLUMN
from .options import DEFAULT_PRIOR_PRECISION, IdentificationOptions
from .prior import Prior
from .published_masses import FitsNearMasses, MassAmbiguity
from .summary import (
    MIN_MOTION_DURATION_S,
    RecordingNote,
    RecordingSummary,
    summarise_motion,
)
from .torque_model import MAX_OFFSET_STD_COUNT, TorqueModel
from .. import former_names
from ..arm import ArmDescription
from ..arm.friction import grows_with_load
from ..arrays import Array
from ..recordings.options import SignalOptions
from ..recordings.plausibility import (
    fatal_faults,
    minor_faults,
    require_plausible_units,
)
from ..recordings.preprocessing import (
    Motion,
    seconds_at_rest,
    to_motion,
    without_idle_effort,
)
from ..recordings.recording import Recording
from ..recordings.replay import rival_predictions, torque_predictions, TorquePrediction

# Log evidence by which a fault without columns exceeds others, or none, "very strong" (Kass and
# Raftery 1995).
_MIN_CLEAR_LOG_BAYES_FACTOR = 5.0
_MAX_GRAVITY_REFITS = 3  # each at the direction that the last one found


@former_names.of_attributes('0.3', suspected='suspected_joints')
@dataclass(frozen=True, eq=False)
class RecordingVerdict:
    """
    The judgement of recordings, with diagnosed faults, questions to the user and mass ambiguities.

    `suspected_joints` (indices from 0) are those whose residuals some fault explains much better,
    though it is not clear which. `mass_ambiguity` is None without a published set. `value_faults`
    are sentences on values that no arm has (`recordings.plausibility.fatal_faults`).
    """

    causes: tuple[Diagnosis, ...] = ()
    questions: tuple[Diagnosis, ...] = ()
    suspected_joints: tuple[int, ...] = field(default=(), metadata={'former_key': 'suspected'})
    mass_ambiguity: MassAmbiguity | None = None
    value_faults: tuple[str, ...] = ()

    @property
    def sound(self) -> bool:
        """Whether no fault was found that would make the identified arm wrong."""
        return not self.causes and not self.suspected_joints and not self.value_faults

    @property
    def has_questions(self) -> bool:
        """Whether the user must be asked about a fault, an offset, the effort scale or a load."""
        ambiguity = self.mass_ambiguity
        return bool(self.questions) or (ambiguity is not None and ambiguity.has_questions)


def _with_harmless_faults(
    fits: CrossValidation,
) -> tuple[CrossValidation, list[FaultFits], list[FaultFits], FaultFits | None]:
    """
    Return `fits` with dominant harmless faults, and fits of others: all, harmful, best harmless.

    While a harmless fault explains more than the harmful ones, its columns are added to all fits,
    and the other faults are tried again. Also returned are the fits with each of these, the
    harmful ones, and the best harmless one or None.
    """
    every = possible_faults(fits.prior.model.n)
    while True:
        tried = fits_with_each(fits, every)
        doubtful = [fit for fit in tried if fit.is_harmful()]
        harmless = next((fit for fit in tried if fit.is_significant() and fit.is_harmless()), None)
        if not doubtful or harmless is None or not harmless.is_better(doubtful[0]):
            return fits, tried, doubtful, harmless
        fits = fits.with_given_fault(harmless.fault, harmless.question())


def diagnose_fits(
    fits: CrossValidation,
    state_fits: Sequence[StateFaultFit] = (),
    changes: Sequence[FoundChange] = (),
) -> tuple[RecordingVerdict, CrossValidation]:
    """
    Return a verdict, with any fault or suspected joints, and `fits` with dominant harmless faults.

    The first of these that holds decides: a change in a recording explains much more than any
    other fault; a fault of the states is much likelier than one with columns; a fault with columns
    is harmful; a change is likely, which a fault of the whole recording may be, too; there is none
    of all this. Also returned are the fits, with harmless faults' columns in all of them.
    `state_fits` are fits at corrected states, the likeliest first, `changes` those in single
    recordings.
    """
    fits, tried, harmful, harmless = _with_harmless_faults(fits)
    state_fit = state_fits[0] if state_fits else None
    harmful_changes = [one for one in changes if one.is_harmful]
    constant = harmful[0] if harmful else None
    if constant is None and harmful_changes:
        constant = _likely_constant_fault(tried)
    rivals = [fit.diagnosis() for fit in (constant, state_fit) if fit is not None]
    # A fault of all of a recording also looks like a change in it: that is named only if it
    # explains much more.
    best_rival = max(map(_improvement, rivals), default=None)
    min_improvement = 1.0 if best_rival is None else MIN_HARMFUL_ERROR_RATIO * best_rival
    named_changes = tuple(one.diagnosis for one in harmful_changes)
    if any(_improvement(change) > min_improvement for change in named_changes):
        return RecordingVerdict(named_changes), fits
    if state_fit is not None and state_fit.error_growth > MIN_HARMFUL_ERROR_RATIO:
        rival_evidence = _rival_evidence(fits, state_fit, harmful, harmless)
        if state_fit.log_bayes_factor > max(rival_evidence, _MIN_CLEAR_LOG_BAYES_FACTOR):
            ambiguous = _is_ambiguous(state_fit, harmful)
            return _state_fault_verdict(state_fits, rival_evidence, ambiguous), fits
    if harmful:
        verdict = _fault_verdict(fits, tried, harmful)
        not_constant = tuple(one.diagnosis for one in changes if _is_likelier(one, verdict.causes))
        return (RecordingVerdict(not_constant) if not_constant else verdict), fits
    if harmful_changes and constant is not None:
        return RecordingVerdict(suspected_joints=_joints_where_it_shows(fits, constant)), fits
    return RecordingVerdict(named_changes), fits


def _is_likelier(change: FoundChange, causes: Sequence[Diagnosis]) -> bool:
    """
    Return whether a change is likelier than the only one of `causes`, of which it is a change.

    A constant gain stands beside changes of it: what still changes is not constant.
    """
    kinds = [(one.kind, one.joints) for one in causes]
    of_the_same = kinds == [(change.fault.kind, change.fault.joints)]
    return of_the_same and change.is_likelier_alone


def _likely_constant_fault(tried: Sequence[FaultFits]) -> FaultFits | None:
    """
    Return the fit of the likeliest fault of a whole recording, or None.

    It predicts left-out folds better, and likely has an effect. Of several such faults it is the
    one that lowers E on left-out folds most.
    """
    likely = (fit for fit in tried if fit.is_likely_harmful())
    return max(likely, key=FaultFits.improvement, default=None)


def _rival_evidence(
    fits: CrossValidation,
    state_fit: StateFaultFit,
    harmful: Sequence[FaultFits],
    harmless: FaultFits | None,
) -> float:
    """
    Return the log evidence of the likeliest fault with columns, a rival of a state fault.

    A harmless fault of another joint is a rival as well. One of the same joint is how a fault of
    the states looks nearby, as a zero off by a little does beside one off by a quarter turn.
    """
    rivals = [fit.fault for fit in harmful[:1]]
    if harmless is not None and harmless.fault.joints != state_fit.fault.joints:
        rivals.append(harmless.fault)
    evidence = (fits.log_bayes_factor(fault, DEFAULT_PRIOR_PRECISION) for fault in rivals)
    return max(evidence, default=-np.inf)


def _is_ambiguous(state_fit: StateFaultFit, harmful: Sequence[FaultFits]) -> bool:
    """
    Return whether a fault of the states hardly differs from another one of `harmful` fits.

    Half a turn of the second joint hardly differs from a base that hangs, an axis the other way
    from an effort of the other sign.
    """
    hangs = bool(harmful) and harmful[0].fault.kind == WrongGravity.kind
    gains = (fit for fit in harmful if fit.fault == EffortGain(state_fit.fault.joints))
    return hangs or any(fit.reported_values[0] < 0.0 for fit in gains)


def _state_fault_verdict(
    fits: Sequence[StateFaultFit], rival_log_bayes_factor: float, ambiguous: bool
) -> RecordingVerdict:
    """
    Return a verdict that names the likeliest state fault or, if unclear, suspects joints.

    The joints of the second likeliest are suspected as well. `rival_log_bayes_factor` is that
    of faults with columns; an `ambiguous` fault is not clear, whatever it is, nor is one that
    makes masses likelier, but predicts no torque better.
    """
    best = fits[0]
    ambiguous = ambiguous or best.error_after >= best.error_before
    second = fits[1] if len(fits) > 1 else None
    rival = max(rival_log_bayes_factor, second.log_bayes_factor if second else -np.inf)
    if not ambiguous and best.log_bayes_factor > rival + _MIN_CLEAR_LOG_BAYES_FACTOR:
        return RecordingVerdict((best.diagnosis(second),))
    joints = {*best.fault.joints, *(second.fault.joints if second else ())}
    return RecordingVerdict(suspected_joints=tuple(sorted(joints)))


def _fault_verdict(
    fits: CrossValidation,
    all_fits: Sequence[FaultFits],
    harmful_fits: Sequence[FaultFits],
) -> RecordingVerdict:
    """Return a verdict that names the likeliest fault or, if unclear, suspects joints."""
    best = harmful_fits[0]
    kind = harmful_fits[0].fault.simpler_fault
    rivals = (fit for fit in all_fits if fit.fault.simpler_fault != kind and fit.counts_as_fault())
    second = next(rivals, None)
    simpler = (fit for fit in harmful_fits if fit.fault == kind and not best.is_better(fit))
    named = next(simpler, best)
    if named.holds_at_fixed_inertias():
        if second is None or best.is_better(second):
            return RecordingVerdict((named.diagnosis(second),))
        if best.improvement(second) > MIN_HARMFUL_ERROR_RATIO:
            return RecordingVerdict((best.diagnosis(second),))
    return RecordingVerdict(suspected_joints=_joints_where_it_shows(fits, best))


def _joints_where_it_shows(fits: CrossValidation, best: FaultFits) -> tuple[int, ...]:
    """
    Return the joints whose residuals a fault explains much better.

    Inertias are common to joints, so that a fault of one explains some residuals of others. Only
    joints with half of the largest gain in log-likelihood or more count.
    """
    each = np.log(fits.baseline.squared_residuals / best.squared_residuals).mean(axis=0)
    return tuple(np.flatnonzero(each >= 0.5 * each.max()).tolist())


def judge_motion(
    motion: Motion,
    model: TorqueModel,
    published: Sequence[ArmDescription],
    recording_name: str,
) -> RecordingVerdict:
    """Return the verdict on the recording of one motion, called `recording_name` in texts."""

    def verdict_by(model: TorqueModel) -> RecordingVerdict:
        """Return the verdict on the motion, judged with a torque model."""
        one = summarise_motion(motion, model, RecordingNote(recording_name))
        assert one.grams is not None
        most = one.grams.max_torque
        prior, *others = (Prior.centered_at(each, model, most) for each in (model.arm, *published))
        return judge_recordings(one.grams, prior, others, [one])

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
        if [one.kind for one in verdict.causes] != [WrongGravity.kind]:
            break
        (turned,) = verdict.causes
        if lacks_gravity(turned.values):
            break
        again = verdict_under(turned.values)
        kinds = [one.kind for one in again.causes[:1]]
        if kinds == [fault_checks.UnexplainedEfforts.kind]:
            return again
        if kinds != [WrongGravity.kind]:
            break
        verdict = replace(verdict, causes=(replace(turned, values=again.causes[0].values),))
    return verdict


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


def judge_recordings(
    grams: GramStack,
    prior: Prior,
    published: Sequence[Prior],
    summaries: Sequence[RecordingSummary],
) -> RecordingVerdict:
    """
    Return the verdict on recordings, with a named fault, suspected joints or questions, if any.

    `prior` is about the starting set, `published` are about published sets, of which those with
    its hand count: a set with a hand hides a load of its mass. Of several the one with the
    narrowest range of a factor counts, which agrees best with the torques. `summaries` are
    those of the recordings, `grams` the sum of all their matrices.
    """
    unmeasured = bool(prior.reference.unmeasured)
    corrected: list[StateFaultFit] = []
    if not unmeasured:  # masses alone tell these
        corrected_grams = [
            one.corrected_state_grams for one in summaries if one.corrected_state_grams is not None
        ]
        corrected = state_fault_fits(reduce(add, corrected_grams), prior)
    changes = [one.change for one in summaries if one.change is not None]
    diagnosed, fits = diagnose_fits(CrossValidation(grams, prior), corrected, changes)
    named = diagnosed.causes
    suspected = diagnosed.suspected_joints
    sets = [one for one in published if one.reference.hand == prior.reference.hand]
    near_sets = [FitsNearMasses(grams, one) for one in sets]
    ranges = [(one.mass_ambiguity(), one) for one in near_sets]
    narrowest, near = min(
        ranges, key=lambda one: float(np.ptp(one[0].scale_range)), default=(None, None)
    )

    base = fits.baseline
    driven = fault_checks.negative_friction(
        prior.model, base.fold_thetas, base.squared_residuals, fits.unit_factors
    )

    # What contradicts masses that nobody has measured says nothing about efforts.
    masses = (Diagnosis(fault_checks.UnmeasuredMasses.kind, (), ()),)

    def check_diagnoses() -> Iterator[Sequence[Diagnosis]]:
        """Yield the diagnoses of each check, in the order in which one fault can cause another."""
        # No cause is one that leaves much; what gravity leaves is judged where it points.
        if named and all(one.kind != WrongGravity.kind for one in named):
            yield fault_checks.unexplained_efforts(fits.relative_to_effort(named[0].error_after))
        yield named
        # A fault of the whole recording makes single seconds stand out as well.
        yield [one.contact for one in summaries if one.contact is not None]
        # Ranges by masses hold only where the model fits.
        yield fault_checks.unexplained_efforts(fits.relative_to_effort(fits.baseline.test_error()))
        if narrowest is not None and near is not None:
            wrong = fault_checks.wrong_factor(narrowest.scale_range)
            if wrong and unmeasured:
                yield masses
            # Such a factor is named only if the arm, with it, explains the efforts.
            if wrong:
                error = near.torque_error(EffortGain())
                yield fault_checks.unexplained_efforts(fits.relative_to_effort(error))
            yield wrong
        # Last, because wrong efforts of any cause also make friction look wrong.
        if not suspected:
            yield [one for one in driven if one.effect > MIN_HARMFUL_ERROR_RATIO]
            missing = fault_checks.missing_gravity(_gravity_and_effort_products(grams))
            yield masses if missing and unmeasured else missing

    causes = next((tuple(one) for one in check_diagnoses() if one), ())
    doubtful = [one.diagnosis for one in changes if one.is_likely_harmful]
    questions = () if suspected or causes else (*driven, *doubtful, *_questions_to_user(fits))
    if unmeasured:
        if causes or suspected:
            of_masses = fault_checks.UnmeasuredMasses.kind, fault_checks.UnexplainedEfforts.kind
            others = [one for one in causes if one.kind not in of_masses]
            return RecordingVerdict((*masses, *others), suspected_joints=suspected)
        return RecordingVerdict((), (*masses, *questions))
    if causes:
        return RecordingVerdict(causes, mass_ambiguity=narrowest)
    return RecordingVerdict((), questions, suspected, narrowest)


def _gravity_and_effort_products(grams: GramStack) -> Array:
    """Return the sums (2, 2) of products of the starting set's gravity torque and the efforts."""
    columns = [grams.column_indices(WrongGravity().column_names)[-1], TORQUE_COLUMN]
    return np.asarray(grams.total_matrices.sum(axis=0)[np.ix_(columns, columns)])


def _improvement(diagnosis: Diagnosis) -> float:
    """Return E on left-out parts without a fault in the fit, relative to that with it."""
    return diagnosis.error_before / diagnosis.error_after


def _questions_to_user(fits: CrossValidation) -> Iterator[Diagnosis]:
    """Yield questions to the user about harmless faults of all joints and about large offsets."""
    yield from (one for one in fits.questions if not one.joints)
    baseline = fits.baseline
    every = possible_faults(fits.prior.model.n)
    squared_units = fits.unit_factors**2
    yield from fault_checks.unexplained_joints(
        fits.baseline.squared_residuals.mean(axis=0) * squared_units,
        fits.mean_squared_efforts * squared_units,
    )
    yield from _likeliest_question(fits_with_each(fits, every))
    for fault in every:
        if fault.kind == EffortOffset.kind:
            (column,) = fits.grams.column_indices(fault.column_names)
            value = float(baseline.total_theta[column])
            folds = baseline.fold_thetas[:, column]
            error = float(np.sqrt((len(folds) - 1.0) * folds.var()))  # the jackknife's
            clear = MIN_HARMFUL_ERROR_RATIO * baseline.test_error()
            least = max(MAX_OFFSET_STD_COUNT * fits.prior.std[column], clear)
            if abs(value) > max(least, CRITICAL_T_VALUE * error):
                yield Diagnosis(fault.kind, fault.joints, (value,))


def _likeliest_question(tried: Sequence[FaultFits]) -> Iterator[Diagnosis]:
    """
    Yield the question about the likeliest fault that is asked about, if any.

    Where a harmless fault of all joints explains more, that is asked about: a base that is tilted
    a little also looks like a gain of its first joint.
    """
    asked = next((fit for fit in tried if fit.asks()), None)
    if asked is None:
        return
    likelier = (
        fit
        for fit in tried
        if fit.fault.asks_if_harmless and fit.is_significant() and fit.is_better(asked)
    )
    yield next(likelier, asked).question()


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
    fits = torque_predictions(arms, motion, gravity=options.gravity)
    verdict = None
    measured = without_idle_effort(recording)
    wrong = fatal_faults(measured, arms[0])
    if wrong:
        verdict = RecordingVerdict(value_faults=wrong)
    elif recording.duration - seconds_at_rest(motion) >= MIN_MOTION_DURATION_S:
        # Starts from the hand that fits best; `identify arm` starts from the hand of its options.
        alike = [one for one in arms if one.hand == fits[0].arm.hand]
        model = options.torque_model(alike[0])
        if grows_with_load(alike[0].friction):
            model = model.with_load_friction(model.base.values())
        name = Path(recording.source).name
        verdict = judge_motion(motion, model, alike, name)
    doubts = (*wrong, *minor_faults(measured, arms[0]))
    others = rival_predictions(fits, motion)
    return ReplayEvaluation(recording, motion, fits, others, verdict, doubts)
