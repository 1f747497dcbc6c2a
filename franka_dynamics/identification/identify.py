# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Identification of an arm's inertias and friction from recorded motions, in all its steps.

It has six stages; each takes what the one before returns:

1. read: a bag -> a recording (`summary.as_recording`);
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
from typing import Any, TypeVar

import numpy as np

from . import fit, summary
from .least_squares import fit_theta, GramStack, rms_residuals
from .load_friction import predicts_left_out_parts
from .options import IdentificationOptions
from .prior import Prior
from .results import Identification, Improvement, mass_ratios, UsedRecordings
from .summary import as_recordings, labels_of, RecordingLike, RecordingSummary
from .torque_deviation import with_torque_deviations
from .torque_model import TorqueModel
from .verdict import judge_recordings, RecordingVerdict, with_gravity_refitted
from ..arm_io import ArmLike, as_description
from ..errors import ClusterError, IdentificationError, RecordingError
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
    published: Sequence[ArmLike] = (),
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
    published : sequence of ArmDescription, str or Path
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
        If no recording is given, or one twice, with other signal options, or something else.
    RecordingError
        If a recording cannot be used (of bags unless `skip_failures`): values that are not finite,
        less than 9.5 s of motion in all, or a fault that makes all results meaningless; if
        no bag, or no test bag, can be used.
    MissingDependencyError
        If scipy or clarabel is not installed, or nothing that reads bags.

    """
    start = as_description(start)
    asked = IdentificationOptions() if options is None else options
    fitted = as_recordings(recordings, start)
    tested = as_recordings(tests, start)
    if not fitted:
        raise IdentificationError('There is no recording to identify from.')
    asked.effort_scales(start.n)  # raises errors before any recording is read
    sets = [as_description(one) for one in published] or [start]
    unit = TorqueErrorUnit.for_arm(start)
    precision = asked.regularization
    map_all = partial(_map_on, executor)
    sources = [*fitted, *tested]

    def summaries(torque_model: TorqueModel) -> Iterable[RecordingSummary]:
        """Return all recordings' summaries, with regressors of a torque model."""
        summarise = partial(summary.summarise_recording, torque_model, asked)
        return map_all(summarise, sources, labels_of(sources))

    def identified_with(torque_model: TorqueModel) -> tuple[Identification, bool]:
        """Return all results by a torque model, and whether friction seems to grow with load."""
        read = _with_progress(summaries(torque_model), len(sources), progress)
        used, unseen, failures = _usable_summaries(read, len(fitted), skip_failures)
        grams = [one.grams for one in used if one.grams is not None]
        split = fit.DataSplit.from_grams(grams, unseen)
        most = split.total_grams.max_torque
        priors = [Prior.centered_at(one, torque_model, most) for one in (start, *sets)]
        prior, *others = priors
        links = fit.PhysicalConstraints.from_prior(prior, start)
        to_fit = [*split.fitted_grams, split.total_grams]
        fitting = map_all(partial(fit.fit_parameter_sets, priors, links, precision), to_fit)
        *fits, whole = _with_progress(fitting, len(to_fit), progress)
        errors = fit.all_torque_errors(priors, split, whole, fits)
        estimated = fit.final_estimate(prior, precision, split.total_grams, whole)
        arm = fit.arm_from_fit(start, prior, whole.consistent_fit, estimated.covariance)
        ratios = mass_ratios(arm, start)
        theta = estimated.theta
        compared = others if published else ()
        verdict = judge_recordings(split.total_grams, prior, compared, used, ratios)
        wrong = tuple(sentence for one in used for sentence in one.value_faults)
        asks_for_load = predicts_left_out_parts(used[: len(used) - unseen], prior, precision)
        return Identification(
            start=start,
            options=asked,
            arm=arm,
            estimate=estimated,
            torque_errors=errors,
            published_fit=fit.published_fit(priors, sets, split.total_grams, whole, errors[2:]),
            improvement=Improvement.from_errors(errors[1], errors[2:]),
            verdict=replace(
                with_gravity_refitted(
                    verdict,
                    lambda gravity: _verdict_by(torque_model.with_gravity(gravity), summaries),
                ),
                value_faults=wrong,
            ),
            recordings=UsedRecordings(
                notes=tuple(one.note for one in used),
                errors=tuple(one.grams.torque_errors(theta, unit).E for one in used if one.grams),
                effort_rms=split.total_grams.torque_errors(np.zeros(0), unit),
                test_count=unseen,
                signal=used[0].signal,
                failures=tuple(failures),
                remarks=tuple(_contradiction_remarks(used, prior, asked, split.total_grams)),
            ),
        ), asks_for_load

    model = asked.torque_model(start)
    result, asks_for_load = identified_with(model)
    if asks_for_load:
        loaded_model = model.with_load_friction(result.estimate.theta[: len(model.base)])
        loaded, _ = identified_with(loaded_model)
        plain = result.arm_errors
        if Improvement.from_errors(loaded.arm_errors, [plain]).better:
            result = replace(loaded, load_independent_errors=plain)
    return with_torque_deviations(result, sources)


def _verdict_by(
    model: TorqueModel, summarise: Callable[[TorqueModel], Iterable[RecordingSummary]]
) -> RecordingVerdict:
    """Return the verdict by a model on the usable of `summarise(model)`, no set published."""
    used = [one for one in summarise(model) if one.failure is None]
    grams = fit.DataSplit.from_grams([one.grams for one in used if one.grams], 0).total_grams
    return judge_recordings(grams, Prior.centered_at(model.arm, model, grams.max_torque), (), used)


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
    for k, one in enumerate(items, 1):
        yield one
        if progress is not None:
            progress(k, n)


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
    unseen = 0
    tests = 0
    for k, one in enumerate(results):
        tests += k >= non_test_count
        if one.failure is not None:
            if not skip_failures:
                raise one.failure
            failures.append(str(one.failure))
        else:
            used.append(one)
            unseen += k >= non_test_count
    if len(used) == unseen:
        raise RecordingError(f'No bag can be used: {failures[0]}')
    if tests and not unseen:
        raise RecordingError(f'No bag of --test can be used to test the result: {failures[-1]}')
    summary.require_distinct_recordings([one.note for one in used])
    summary.require_enough_motion(sum(one.moving_time for one in used[: len(used) - unseen]))
    if any(one.signal != used[0].signal for one in used):
        raise IdentificationError(
            'The recordings were not prepared alike; prepare all with the same signal options.'
        )
    return used, unseen, failures


def _contradiction_remarks(
    used: Sequence[RecordingSummary],
    prior: Prior,
    options: IdentificationOptions,
    gram: GramStack,
) -> Iterator[str]:
    """Yield a sentence for each recording that one fit to all recordings explains badly."""
    if len(used) < 2:
        return
    precision = options.regularization
    together = fit_theta(gram, prior, precision)
    for one in used:
        assert one.grams is not None
        alone = fit_theta(one.grams, prior, precision)
        both, own = (
            np.linalg.norm(rms_residuals(one.grams, theta) / prior.expected_residual)
            for theta in (together, alone)
        )
        if both > _MAX_COMMON_TO_OWN_RESIDUAL * own:
            yield (
                f'{one.note.name} contradicts the other recordings: fitted with them its residual '
                f'is {both / own:.1f} times that of a fit to it alone. Is it of another arm or '
                'load, or were its sensors zeroed in between? Leave it out, or identify it alone'
            )
