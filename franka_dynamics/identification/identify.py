# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Identification of an arm's inertias and friction from recorded motions, in all its steps.

It has six stages; each takes what the one before returns:

1. read: a bag -> a recording (`sources.as_recording`);
2. prepare: a recording -> a motion (`recordings.preprocessing.to_motion`), with its checks;
3. sum: a motion -> a summary, of a size that does not grow (`summary.summarise_motion`);
4. fit: sums -> base parameters, a physically consistent arm, friction of published sets
   (`fit.fit_parameter_sets`). Widths of the prior are chosen by the sums (`choice`). Where
   friction grows with the load, recordings are summed and fitted once more, with the load of the
   identified arm in place of the starting set's;
5. test: fits -> errors on the parts left out of them (`fit.all_torque_errors`): test recordings,
   or else five folds of the recordings, by phase where the motion repeats, by recording where
   there are four or more;
6. judge: recordings -> a verdict (`judge.recordings.judge_recordings`): are they sound, and what
   do published sets ask?
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np

from .read_again import read_again
from .results import Identification
from .torque_deviation import with_torque_deviations
from ..arm import ArmDescription
from ..arm_io import ArmLike, as_description
from ..arrays import Array
from ..errors import BaseParameterError, IdentificationError, RecordingError
from ..fit import fit
from ..fit.consistent_fit import arm_from_fit, masses_in, PhysicalConstraints
from ..fit.least_squares import fit_theta, GramStack, rms_residuals
from ..fit.options import IdentificationOptions
from ..fit.prior import Prior
from ..fit.result_parts import Estimate, Improvement, UsedRecordings
from ..fit.sources import as_recordings, labels_of, RecordingLike
from ..fit.summary import (
    RecordingSummary,
    require_distinct_recordings,
    require_enough_motion,
    summarise_recording,
)
from ..fit.torque_model import TorqueModel
from ..judge.recordings import examine_motion, judge_recordings
from ..recordings.recording import ProgressCallback
from ..recordings.replay import TorqueErrorUnit
from ..workers import map_on

T = TypeVar('T')
# A recording contradicts the others if its residual under the fit to all is above this ratio
# times that under a fit to it alone: up to 1.14 for parts of recordings of two FER, 1.54 to 3.5
# with 0.2 kg added to one part, 1.0 to 1.47 for simulated arms with drifting torque sensors.
_MAX_COMMON_TO_OWN_RESIDUAL = 1.5


def identify(
    recordings: Sequence[RecordingLike] | RecordingLike,
    start: ArmLike,
    published: Sequence[ArmLike] | ArmLike = (),
    options: IdentificationOptions | None = None,
    *,
    tests: Sequence[RecordingLike] | RecordingLike = (),
    skip_failures: bool = False,
    executor: Executor | None = None,
    progress: ProgressCallback | None = None,
) -> Identification:
    """
    Identify an arm's inertias and friction from its recorded motions, without writing a file.

    Parameters
    ----------
    recordings : sequence of str, Path, Bag, Recording or Motion
        Recordings of the same arm with the same load, all with the same signal options, with 9.5 s
        of motion or more in all, and checked alike. A path is that of a bag with the arm's
        joint names, on /joint_states or the only topic of its type. A `Bag` is read and prepared
        here, its samples not kept in memory. A `Recording` is prepared with default options.
    start : ArmDescription, str or Path
        The starting set, or its name or file: geometry, centre of the prior, and masses, from
        which identified masses differ by a factor of three at most.
    published : ArmDescription, str or Path, or a sequence of these
        Sets to compare with, by default `start`; their friction is fitted to the same samples.
    options : IdentificationOptions, optional
        The options; their defaults if not given.
    tests : sequence of str, Path, Bag, Recording or Motion
        Unseen recordings that decide whether the arm is better; the final fit includes them.
        Without them, folds of `recordings` are left out in turn.
    skip_failures : bool
        Whether to go on without unusable bags, instead of raising the first one's error.
    executor : concurrent.futures.Executor, optional
        Runs the summaries and the fits, for example in other processes, or on other machines with
        `distributed.Client(...).get_executor()`. The workers must find the bags under the same
        paths. By default everything runs in this process, with the same result.
    progress : callable, optional
        Called with the number of steps done and the total, first for recordings, then for fits.
        Both come again if friction seems to grow with the load.

    Returns
    -------
    Identification
        `arm` has the identified inertias and friction, `improvement` says whether it predicts
        unseen parts better than the published sets, `verdict` whether the recordings are sound,
        `accepted_arm` what to use.

    Raises
    ------
    ClusterError
        If a worker of `executor` dies.
    IdentificationError
        If no recording is given, or one twice, with other signal options, or something else; if
        a published set has another geometry than `start`.
    RecordingError
        If a recording in memory has another number of joints than `start`; if a recording cannot
        be used (of bags unless `skip_failures`): values that are not finite, less than 9.5 s of
        motion in all unless unsound ones are accepted, or a fault that makes all results
        meaningless; if no bag, or no test bag, can be used.
    MissingDependencyError
        If scipy or clarabel is not installed, or nothing that reads bags.

    """
    start = as_description(start)
    options = IdentificationOptions() if options is None else options
    fitted_sources = as_recordings(recordings, start)
    test_sources = as_recordings(tests, start)
    if not fitted_sources:
        raise IdentificationError('There is no recording to identify from.')
    options.effort_scales(start.n)  # raises errors before any recording is read
    if isinstance(published, (ArmDescription, str, Path)):
        published = [published]
    published_sets = [as_description(arm) for arm in published] or [start]
    model = options.torque_model(start)
    _require_same_geometry(model, published_sets)
    sources = [*fitted_sources, *test_sources]
    names = labels_of(sources)

    def summaries(model: TorqueModel, all_terms: TorqueModel) -> Iterator[RecordingSummary]:
        """Yield the summaries of all recordings, made here or by the executor."""
        summarise = partial(
            summarise_recording,
            model,
            options,
            summed=all_terms,
            examine=examine_motion,
        )
        return map_on(executor, summarise, sources, names)

    def fits(usable: _UsableRecordings, model: TorqueModel) -> _Fits:
        """Return the fits of a model without each left-out part, and that to everything."""
        split = fit.DataSplit.from_grams(usable.grams, usable.test_count)
        priors = [
            Prior.centered_at(arm, model, split.total_grams.max_torque)
            for arm in (start, *published_sets)
        ]
        constraints = PhysicalConstraints.from_prior(priors[0], start)
        fit_to = partial(fit.fit_parameter_sets, priors, constraints, options.fixed_widths)
        to_fit = [*split.fitted_grams, split.total_grams]
        found = _with_progress(map_on(executor, fit_to, to_fit), len(to_fit), progress)
        *part_fits, total_fit = found
        return _Fits(split, priors, part_fits, total_fit)

    # Stages 1 to 3: read, prepare, sum.
    all_terms = model
    if options.fixed_widths.get('stribeck') != 0.0:
        all_terms = all_terms.with_stribeck_friction()
    if options.fixed_widths.get('load') != 0.0:
        all_terms = all_terms.with_load_friction(model.base.values())
    read = _with_progress(summaries(model, all_terms), len(sources), progress)
    usable = _usable_recordings(read, len(fitted_sources), skip_failures)
    if not options.accept_unsound:
        usable.require_enough_motion()

    # Stage 4: fit, and where friction grows with the load, sum and fit with the arm's own.
    fitted = fits(usable, all_terms)
    if fitted.grows_with_load:
        _, consistent_theta, *_ = fitted.total.thetas
        load_parameters = consistent_theta[: len(model.base)]
        model = model.with_load_friction(load_parameters)
        all_terms = all_terms.with_load_friction(load_parameters)
        again = _with_progress(summaries(model, all_terms), len(sources), progress)
        usable = _usable_recordings(again, len(fitted_sources), skip_failures)
        fitted = fits(usable, all_terms)
    split, priors, part_fits, total_fit = fitted
    total_grams = split.total_grams
    estimate = fit.final_estimate(total_grams, total_fit)
    arm = arm_from_fit(start, estimate.prior, total_fit.consistent_fit, estimate.covariance)

    # Stage 5: test.
    errors = fit.all_torque_errors(priors, split, total_fit, part_fits)
    _, arm_errors, *published_errors = errors

    # Stage 6: judge, with the prior before torques choose.
    judged_priors = [
        Prior.centered_at(each, model, total_grams.max_torque) for each in (start, *published_sets)
    ]

    verdict = judge_recordings(
        [each.findings for each in usable.summaries],
        judged_priors[0],
        judged_priors[1:] if published else (),
    )
    constraints = PhysicalConstraints.from_prior(judged_priors[0], start)
    judged_fit = fit.fit_with_widths(
        judged_priors[:1], constraints, judged_priors[0].widths, total_grams
    )
    judged_standard, _ = judged_fit.consistent_fit
    used_recordings = _used_recordings(usable, estimate, total_grams)
    result = Identification(
        start=start,
        options=options,
        arm=arm,
        estimate=estimate,
        torque_errors=errors,
        published_fit=fit.published_fit(published_sets, total_grams, total_fit, published_errors),
        improvement=Improvement.from_errors(arm_errors, published_errors),
        verdict=replace(verdict, value_faults=usable.value_faults),
        recordings=used_recordings,
        judged_masses=masses_in(judged_standard, start.n),
    )
    used_sources = [
        source for source, name in zip(sources, names) if name in used_recordings.names
    ]
    message_count = sum(note.message_count for note in result.recordings.notes)
    seen = read_again(used_sources, start, message_count)
    result = result.with_receiver_offsets(seen.positions)
    return with_torque_deviations(result, seen.observed)


def _require_same_geometry(model: TorqueModel, published: Sequence[ArmDescription]) -> None:
    """Raise IdentificationError unless published sets have the geometry of a model's arm."""
    for arm in published:
        try:
            model.base.values(arm)
        except BaseParameterError as error:
            raise IdentificationError(
                f'{arm.file or arm.name} has another geometry than {model.arm.name}, and cannot '
                'be compared with it: name published sets of the same joints, DH rows and mount.'
            ) from error


class _UsableRecordings(NamedTuple):
    """
    Summaries of the usable recordings, of which the last `test_count` are tests.

    `failures` has a sentence for each bag that is not usable.
    """

    summaries: list[RecordingSummary]
    test_count: int
    failures: list[str]

    @property
    def grams(self) -> list[GramStack]:
        """The Gram matrices of each."""
        return [each.grams for each in self.summaries if each.grams is not None]

    def require_enough_motion(self) -> None:
        """Raise RecordingError if the recordings that are no tests have too little motion."""
        fitted = self.summaries[: len(self.summaries) - self.test_count]
        require_enough_motion(sum(recording.moving_time for recording in fitted))

    @property
    def value_faults(self) -> tuple[str, ...]:
        """Sentences on values that no arm has."""
        return tuple(sentence for each in self.summaries for sentence in each.value_faults)


class _Fits(NamedTuple):
    """
    The split of recordings, and fits to its parts and to all, under priors of all terms.

    `priors` are about the starting set and, after it, about the published sets.
    """

    split: fit.DataSplit
    priors: list[Prior]
    parts: list[fit.FitResults]
    total: fit.FitResults

    @property
    def grows_with_load(self) -> bool:
        """Whether friction that grows with the load was chosen."""
        return self.total.priors[0].model.friction.load_dependent


def _used_recordings(
    usable: _UsableRecordings, estimate: Estimate, total_grams: GramStack
) -> UsedRecordings:
    """Return notes on the recordings used, and E of the estimate on each."""
    unit = TorqueErrorUnit.for_arm(estimate.model.arm)
    grams_by_name = {
        each.note.name: each.grams.for_model(estimate.model)
        for each in usable.summaries
        if each.grams is not None
    }
    errors = [grams.torque_errors(estimate.theta, unit).E for grams in grams_by_name.values()]
    total_grams = total_grams.for_model(estimate.model)
    remarks = _contradiction_remarks(grams_by_name, estimate.prior, total_grams)
    return UsedRecordings(
        notes=tuple(each.note for each in usable.summaries),
        errors=tuple(errors),
        effort_rms=total_grams.torque_errors(np.zeros(0), unit),
        test_count=usable.test_count,
        signal=usable.summaries[0].signal,
        failures=tuple(usable.failures),
        remarks=tuple(remarks),
    )


def _with_progress(items: Iterable[T], n: int, progress: ProgressCallback | None) -> Iterator[T]:
    """Yield `items`, and call `progress` after each with the number done and their number n."""
    for done_count, item in enumerate(items, 1):
        yield item
        if progress is not None:
            progress(done_count, n)


def _usable_recordings(
    results: Iterator[RecordingSummary], non_test_count: int, skip_failures: bool
) -> _UsableRecordings:
    """
    Return the usable recordings, and bags' errors, which are raised unless `skip_failures`.

    The first `non_test_count` are not tests. Raises the error of the first unusable bag unless
    `skip_failures`; RecordingError if no bag to fit, or no test bag, can be used;
    IdentificationError if two hold the same recording, or were not prepared alike.
    """
    used = []
    failures = []
    given_test_count = 0
    used_test_count = 0
    for k, result in enumerate(results):
        is_test = k >= non_test_count
        given_test_count += is_test
        if result.failure is None:
            used.append(result)
            used_test_count += is_test
        elif skip_failures:
            failures.append(str(result.failure))
        else:
            raise result.failure
    fitted = used[: len(used) - used_test_count]
    if not fitted:
        raise RecordingError(f'No bag can be used: {failures[0]}')
    if given_test_count and not used_test_count:
        raise RecordingError(f'No bag of --test can be used to test the result: {failures[-1]}')
    require_distinct_recordings([recording.note for recording in used])
    if any(recording.signal != used[0].signal for recording in used):
        raise IdentificationError(
            'The recordings were not prepared alike; prepare all with the same signal options.'
        )
    return _UsableRecordings(used, used_test_count, failures)


def _contradiction_remarks(
    grams_by_name: Mapping[str, GramStack], prior: Prior, total_grams: GramStack
) -> Iterator[str]:
    """Yield a sentence for each recording that one fit to all recordings explains badly."""
    if len(grams_by_name) < 2:
        return
    common_theta = fit_theta(total_grams, prior)

    def relative_residual(grams: GramStack, theta: Array) -> float:
        """Return the norm over joints of rms residuals, each divided by the expected one."""
        return float(np.linalg.norm(rms_residuals(grams, theta) / prior.expected_residual))

    for name, grams in grams_by_name.items():
        own_theta = fit_theta(grams, prior)
        common_residual = relative_residual(grams, common_theta)
        own_residual = relative_residual(grams, own_theta)
        if common_residual > _MAX_COMMON_TO_OWN_RESIDUAL * own_residual:
            ratio = common_residual / own_residual
            yield (
                f'{name} contradicts the other recordings: fitted with them its '
                f'residual is {ratio:.1f} times that of a fit to it alone. Is it of another arm '
                'or load, or were its sensors zeroed in between? Leave it out, or identify it '
                'alone'
            )
