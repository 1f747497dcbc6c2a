# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
The whole identification: from recorded motions to an arm with identified inertias and friction.

1. Every recording is checked and reduced to sums (`sources`), in this process or by an executor.
2. The error on unseen parts is measured: test recordings, or else five folds of the recordings,
   by phase where the motion repeats, by recording where there are four or more, each left out in
   turn. A fit without the unseen part predicts it, and so do the published sets with friction
   fitted to the same samples.
3. All recordings are fitted together: base parameters with friction, and the standard parameters
   of a physically consistent arm.
4. The verdict: are the recordings sound, and what do published sets ask?
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor
from functools import partial, reduce
from operator import add
from pathlib import Path
from typing import Any

import numpy as np

from .consistent_fit import fit_consistent
from .gram_sums import FOLDS, GramSums
from .options import IdentificationOptions
from .prior import Prior
from .results import Estimate, Identification, Improvement, Recordings, TorqueErrors
from .solve import (
    common_noise,
    equations,
    estimate,
    fit_friction,
    posterior_std,
    rms_residuals,
    std_ratios,
)
from .sources import (
    labels_of,
    require_distinct_recordings,
    require_motion,
    Source,
    summarise,
    Summary,
)
from .verdict import judge
from ..arm import ArmDescription
from ..arm_io import as_description
from ..errors import ClusterError, IdentificationError, RecordingError
from ..recordings.replay import ResidualRms, TorqueErrorUnit
from ..typing import Array

Progress = Callable[[int, int], None]
# A recording contradicts the others if its residual under the fit to all is above _TOGETHER times
# that under a fit to it alone: up to 1.14 for parts of recordings of two FER, 1.54 to 3.5 with
# 0.2 kg added to one part, 1.0 to 1.47 for simulated arms with drifting torque sensors.
_TOGETHER = 1.5
# From so many recordings on each is a fold, or a part of one: three left out in turn are too few
# for a standard error.
_RUNS_AS_FOLDS = 4


# An arm, the noise (n,) of the weights, and parameters (p,) fitted to the same samples: base
# parameters, the arm's, and those of the published sets.
Fit = tuple[ArmDescription, Array, tuple[Array, ...]]


def _fit(
    prior: Prior,
    published: Sequence[Prior],
    start: ArmDescription,
    precision: float,
    unit: TorqueErrorUnit,
    sums: GramSums,
) -> Fit:
    """Return the fit of all sets of parameters to sums; it can run in another process."""
    noise = common_noise(sums, prior, precision, np.array(unit.per_joint))
    base = estimate(sums, prior, precision, noise)
    arm, theta = fit_consistent(equations(sums, prior, noise), prior, precision, start=start)
    held = [fit_friction(sums, one, noise) for one in published]
    return arm, noise, (base, theta, *held)


def identify(
    recordings: Sequence[Source],
    start: ArmDescription | str | Path,
    published: Sequence[ArmDescription | str | Path] = (),
    options: IdentificationOptions | None = None,
    *,
    tests: Sequence[Source] = (),
    skip_failures: bool = False,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> Identification:
    """
    Identify an arm's inertias and friction from its recorded motions, without writing a file.

    Parameters
    ----------
    recordings : sequence of Bag, Recording or Motion
        Recordings of the same arm with the same load, all with the same signal options, with ten
        seconds of motion or more in all. A `Bag` is read and prepared here, and its samples are
        not kept in memory. A `Recording` is prepared with default options. A `Motion` must be
        prepared with
        `columns=options.torque_model(start).friction.columns`. All pass the same checks.
    start : ArmDescription, str or Path
        The starting set, or its name or file: geometry, centre of the prior, and masses, from
        which identified masses differ by a factor of three at most.
    published : sequence of ArmDescription, str or Path
        Sets to compare with, by default `start`; their friction is fitted to the same samples.
    options : IdentificationOptions, optional
        The options; their defaults if not given.
    tests : sequence of Bag, Recording or Motion
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
        unseen parts better than the published sets, `verdict` whether the recordings are sound.

    Raises
    ------
    IdentificationError
        If there is no recording, or the recordings are prepared with different options or given
        twice.
    RecordingError
        If a recording cannot be used (of bags unless `skip_failures`): values that are not finite,
        less than ten seconds of motion in all, or a fault that makes all results meaningless; if
        no bag, or no test bag, can be used.

    """
    asked = IdentificationOptions() if options is None else options
    start = as_description(start)
    if not recordings:
        raise IdentificationError('There is no recording to identify from.')
    mapped: Callable[..., Iterable[Any]] = map if executor is None else executor.map
    model, unit = asked.torque_model(start), TorqueErrorUnit.of(start)
    asked.effort_scales(model.n)  # raises for wrong scales before anything is read
    sources = [*recordings, *tests]
    read = iter(mapped(partial(summarise, (model, start, asked)), sources, labels_of(sources)))
    used, unseen, failures = _usable(read, sources, len(tests), progress, skip_failures)
    if any(one.signal != used[0].signal for one in used):
        raise IdentificationError(
            'The recordings were not prepared alike; prepare all with the same signal options.'
        )
    each = [one.sums for one in used if one.sums is not None]
    learnt, tested = each[: len(each) - unseen], each[len(each) - unseen :]
    if len(learnt) >= _RUNS_AS_FOLDS:
        learnt = [one.as_fold(k % FOLDS) for k, one in enumerate(learnt)]
    every = reduce(add, [*learnt, *tested])
    sets = [as_description(one) for one in published] or [start]
    prior, *held = (Prior.centered_at(one, model, every.max_torque) for one in (start, *sets))
    fitting = partial(_fit, prior, held, start, asked.regularization, unit)
    whole = reduce(add, learnt)
    there = np.flatnonzero(whole.samples).tolist()
    left_out = [whole.part([k]) for k in there]
    given = [whole] if tested else [whole.part([j for j in there if j != k]) for k in there]
    fits: list[Fit] = []
    for fit in mapped(fitting, [*given, every]):
        fits.append(fit)
        if progress is not None:
            progress(len(fits), len(given) + 1)
    arm, noise, thetas = fits.pop()
    parts = tested or left_out
    predicted = list(zip(parts, fits * (len(parts) // len(fits))))
    names = ['base parameters', 'consistent', *(f'{one.inertial_set}, {one.hand}' for one in sets)]
    errors = tuple(
        TorqueErrors.from_sums(
            name,
            (every, thetas[k]),
            [(part, fitted[k]) for part, (_, _, fitted) in predicted],
            len(model.base),
            unit,
        )
        for k, name in enumerate(names)
    )
    base, theta = thetas[:2]
    spread, precision = posterior_std(every, prior, asked.regularization, noise, base)
    opened = std_ratios(every, prior, rms_residuals(every, base))
    seconds = [(*one.seconds, one.note.name) for one in used]
    return Identification(
        start,
        asked,
        arm,
        Estimate(model, prior, theta, base, spread, opened, precision),
        errors,
        Improvement.of(errors[1], errors[2:]),
        judge(every, prior, held if published else (), seconds),
        Recordings(
            tuple(one.note for one in used),
            tuple(
                ResidualRms.of_squares(one.squared_residuals(theta), one.count, unit).E
                for one in each
            ),
            unseen,
            used[0].signal,
            tuple(failures),
            tuple(_contradictions(used, prior, asked.regularization, every)),
        ),
    )


def _usable(
    results: Iterator[Summary],
    sources: Sequence[Source],
    tests: int,
    progress: Progress | None,
    skip_failures: bool,
) -> tuple[list[Summary], int, list[str]]:
    """
    Return usable summaries, the number of tests among them, and unusable bags' errors.

    The test recordings come last. Raises the error of the first unusable bag unless
    `skip_failures`; RecordingError if no bag to fit, or no test bag, can be used;
    IdentificationError if two hold the same recording; ClusterError if workers die repeatedly on
    the same bag.
    """
    used, failures, unseen = [], [], 0
    learnt = len(sources) - tests
    try:
        for k, one in enumerate(results):
            if one.failure is not None:
                if not skip_failures:
                    raise one.failure
                failures.append(str(one.failure))
            else:
                used.append(one)
                unseen += k >= learnt
            if progress is not None:
                progress(k + 1, len(sources))
    except Exception as error:
        if type(error).__name__ != 'KilledWorker':  # dask's error; dask may not be installed
            raise
        raise ClusterError(
            f'Workers died repeatedly on one bag ({error}); the usual cause is too little memory, '
            'and their logs say more.'
        ) from error
    if len(used) == unseen:
        raise RecordingError(f'No bag can be used: {failures[0]}')
    if tests and not unseen:
        raise RecordingError(
            f'No bag of --test can be used, so the result cannot be tested: {failures[-1]}'
        )
    require_distinct_recordings([one.note for one in used])
    require_motion(sum(one.moving for one in used[: len(used) - unseen]))
    return used, unseen, failures


def _contradictions(
    used: Sequence[Summary], prior: Prior, precision: float, every: GramSums
) -> Iterator[str]:
    """Yield a sentence for each of several recordings that does not fit the others."""
    if len(used) < 2:
        return
    together = estimate(every, prior, precision, prior.expected_residual)
    for one in used:
        assert one.sums is not None
        alone = estimate(one.sums, prior, precision, prior.expected_residual)
        both, own = (
            np.linalg.norm(rms_residuals(one.sums, theta) / prior.expected_residual)
            for theta in (together, alone)
        )
        if both > _TOGETHER * own:
            yield (
                f'{one.note.name} contradicts the other recordings: fitted with them its residual '
                f'is {both / own:.1f} times that of a fit to it alone. Is it of another arm or '
                'load, or were its sensors zeroed in between? Leave it out, or identify it alone'
            )
