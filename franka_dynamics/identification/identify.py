# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Identification of an arm's inertias and friction from recorded motions, in all its steps.

It has six stages; each takes what the one before returns:

1. read: a bag -> a recording (`sources.as_recording`);
2. prepare: a recording -> a motion (`recordings.preprocessing.to_motion`), with its checks;
3. sum: a motion -> a summary, of a size that does not grow (`summary.summarise_motion`);
4. fit: sums -> base parameters, a physically consistent arm, friction of published sets
   (`fit.fit_parameter_sets`), again with friction that grows with the load if the sums ask for
   that (`load_friction`);
5. test: fits -> errors on the parts left out of them (`fit.all_torque_errors`): test recordings,
   or else five folds of the recordings, by phase where the motion repeats, by recording where
   there are four or more;
6. judge: sums -> a verdict (`verdict.judge_recordings`): are the recordings sound, and what do
   published sets ask?
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from . import fit, summary
from .least_squares import fit_theta, GramStack, rms_residuals
from .load_friction import losses_are_possible, predicts_left_out_parts
from .options import IdentificationOptions
from .prior import Prior
from .receiver_offset import recorded_positions
from .results import Estimate, Identification, Improvement, UsedRecordings
from .sources import as_recordings, labels_of, RecordingLike
from .summary import RecordingSummary
from .torque_deviation import with_torque_deviations
from .torque_model import TorqueModel
from .verdict import (
    judge_recordings,
    RecordingVerdict,
    with_gravity_refitted,
    with_identified_error,
)
from ..arm import ArmDescription
from ..arm_io import ArmLike, as_description
from ..arrays import Array
from ..errors import BaseParameterError, ClusterError, IdentificationError, RecordingError
from ..recordings.recording import ProgressCallback
from ..recordings.replay import TorqueErrorUnit

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
        motion in all, or a fault that makes all results meaningless; if no bag, or no test bag,
        can be used.
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
    map_all = partial(_map_on, executor)

    def summaries(model: TorqueModel) -> Iterable[RecordingSummary]:
        """Return all recordings' summaries, with regressors of a torque model."""
        summarise = partial(summary.summarise_recording, model, options)
        return map_all(summarise, sources, labels_of(sources))

    def identified_with(model: TorqueModel) -> tuple[Identification, bool]:
        """Return all results by a torque model, and whether friction seems to grow with load."""
        # Stages 1 to 3: read, prepare, sum.
        read = _with_progress(summaries(model), len(sources), progress)
        used, test_count, failures = _usable_summaries(read, len(fitted_sources), skip_failures)
        grams = [recording.grams for recording in used if recording.grams is not None]
        split = fit.DataSplit.from_grams(grams, test_count)
        total_grams = split.total_grams

        # Stage 4: fit, without each left-out part and last to everything.
        priors = [
            Prior.centered_at(arm, model, total_grams.max_torque)
            for arm in (start, *published_sets)
        ]
        start_prior, *published_priors = priors
        constraints = fit.PhysicalConstraints.from_prior(start_prior, start)
        fit_to = partial(fit.fit_parameter_sets, priors, constraints, options.regularization)
        to_fit = [*split.fitted_grams, total_grams]
        fits = _with_progress(map_all(fit_to, to_fit), len(to_fit), progress)
        *part_fits, total_fit = fits
        estimate = fit.final_estimate(start_prior, options.regularization, total_grams, total_fit)
        arm = fit.arm_from_fit(start, start_prior, total_fit.consistent_fit, estimate.covariance)

        # Stage 5: test.
        errors = fit.all_torque_errors(priors, split, total_fit, part_fits)
        unconstrained_errors, arm_errors, *published_errors = errors

        # Stage 6: judge.
        verdict = judge_recordings(
            total_grams, start_prior, published_priors if published else (), used
        )
        verdict = with_gravity_refitted(
            verdict, lambda gravity: _verdict_by(model.with_gravity(gravity), summaries)
        )
        used_recordings = _used_recordings(
            used, test_count, failures, estimate, total_grams, options
        )
        identified_error, unconstrained_error = (
            one.test.E / used_recordings.effort_rms.E for one in (arm_errors, unconstrained_errors)
        )
        verdict = with_identified_error(verdict, identified_error, unconstrained_error)
        value_faults = tuple(sentence for recording in used for sentence in recording.value_faults)
        fitted = used[: len(used) - test_count]
        asks_for_load = predicts_left_out_parts(fitted, start_prior, options.regularization)
        result = Identification(
            start=start,
            options=options,
            arm=arm,
            estimate=estimate,
            torque_errors=errors,
            published_fit=fit.published_fit(
                priors, published_sets, total_grams, total_fit, published_errors
            ),
            improvement=Improvement.from_errors(arm_errors, published_errors),
            verdict=replace(verdict, value_faults=value_faults),
            recordings=used_recordings,
        )
        return result, asks_for_load

    result, asks_for_load = identified_with(model)
    if asks_for_load:
        # All stages again, with the torque of the identified arm's bodies as the load.
        base_parameters = result.estimate.theta[: len(model.base)]
        with_load, _ = identified_with(model.with_load_friction(base_parameters))
        without_load_errors = result.arm_errors
        improved = Improvement.from_errors(with_load.arm_errors, [without_load_errors]).better
        if improved and with_load.verdict.sound and losses_are_possible(with_load):
            result = replace(with_load, load_independent_errors=without_load_errors)
    used_names = result.recordings.names
    used_sources = [
        source for source, name in zip(sources, labels_of(sources)) if name in used_names
    ]
    message_count = sum(note.message_count for note in result.recordings.notes)
    positions = recorded_positions(used_sources, start, message_count)
    result = result.with_receiver_offsets(positions)
    return with_torque_deviations(result, used_sources)


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


def _used_recordings(
    used: Sequence[RecordingSummary],
    test_count: int,
    failures: Sequence[str],
    estimate: Estimate,
    total_grams: GramStack,
    options: IdentificationOptions,
) -> UsedRecordings:
    """Return notes on the recordings used, and E of the estimate on each."""
    unit = TorqueErrorUnit.for_arm(estimate.model.arm)
    errors = [
        recording.grams.torque_errors(estimate.theta, unit).E
        for recording in used
        if recording.grams
    ]
    remarks = _contradiction_remarks(used, estimate.prior, options, total_grams)
    return UsedRecordings(
        notes=tuple(recording.note for recording in used),
        errors=tuple(errors),
        effort_rms=total_grams.torque_errors(np.zeros(0), unit),
        test_count=test_count,
        signal=used[0].signal,
        failures=tuple(failures),
        remarks=tuple(remarks),
    )


def _verdict_by(
    model: TorqueModel, summarise: Callable[[TorqueModel], Iterable[RecordingSummary]]
) -> RecordingVerdict:
    """Return the verdict by a model on the usable of `summarise(model)`, no set published."""
    used = [recording for recording in summarise(model) if recording.failure is None]
    all_grams = [recording.grams for recording in used if recording.grams]
    total_grams = fit.DataSplit.from_grams(all_grams, test_count=0).total_grams
    prior = Prior.centered_at(model.arm, model, total_grams.max_torque)
    return judge_recordings(total_grams, prior, (), used)


def _map_on(executor: Executor | None, function: Callable[..., T], *items: Any) -> Iterator[T]:
    """Yield results of `function`, run here or by an executor; ClusterError if a worker dies."""
    try:
        yield from (map if executor is None else executor.map)(function, *items)
    except Exception as error:
        # Of processes, and of dask, which may not be installed.
        if type(error).__name__ not in ('BrokenProcessPool', 'KilledWorker'):
            raise
        raise ClusterError(
            f'A worker died ({error}), usually of too little memory: take fewer --workers. Logs '
            'of a cluster say more.'
        ) from error


def _with_progress(items: Iterable[T], n: int, progress: ProgressCallback | None) -> Iterator[T]:
    """Yield `items`, and call `progress` after each with the number done and their number n."""
    for done_count, item in enumerate(items, 1):
        yield item
        if progress is not None:
            progress(done_count, n)


def _usable_summaries(
    results: Iterator[RecordingSummary], non_test_count: int, skip_failures: bool
) -> tuple[list[RecordingSummary], int, list[str]]:
    """
    Return usable summaries, how many are tests, and bags' errors, raised unless `skip_failures`.

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
    summary.require_distinct_recordings([recording.note for recording in used])
    summary.require_enough_motion(sum(recording.moving_time for recording in fitted))
    if any(recording.signal != used[0].signal for recording in used):
        raise IdentificationError(
            'The recordings were not prepared alike; prepare all with the same signal options.'
        )
    return used, used_test_count, failures


def _contradiction_remarks(
    used: Sequence[RecordingSummary],
    prior: Prior,
    options: IdentificationOptions,
    total_grams: GramStack,
) -> Iterator[str]:
    """Yield a sentence for each recording that one fit to all recordings explains badly."""
    if len(used) < 2:
        return
    precision = options.regularization
    common_theta = fit_theta(total_grams, prior, precision)

    def relative_residual(grams: GramStack, theta: Array) -> float:
        """Return the norm over joints of rms residuals, each divided by the expected one."""
        return float(np.linalg.norm(rms_residuals(grams, theta) / prior.expected_residual))

    for recording in used:
        assert recording.grams is not None
        own_theta = fit_theta(recording.grams, prior, precision)
        common_residual = relative_residual(recording.grams, common_theta)
        own_residual = relative_residual(recording.grams, own_theta)
        if common_residual > _MAX_COMMON_TO_OWN_RESIDUAL * own_residual:
            ratio = common_residual / own_residual
            yield (
                f'{recording.note.name} contradicts the other recordings: fitted with them its '
                f'residual is {ratio:.1f} times that of a fit to it alone. Is it of another arm '
                'or load, or were its sensors zeroed in between? Leave it out, or identify it '
                'alone'
            )
