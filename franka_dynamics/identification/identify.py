# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
The whole identification: from recorded motions to an arm with identified inertias and friction.

1. Every recording is reduced to a summary (`samples`), in this process or by an executor.
2. The error on unseen parts is measured: test recordings, or else parts of the recordings (bags,
   groups if there are more than ten bags, stretches of one or two bags), each left out in turn. A
   fit without the unseen part, with noise and slip elements of its own, predicts this part. The
   published sets, with friction fitted to the samples of this fit, predict the unseen part too.
3. All recordings are fitted together: base parameters with friction, and the standard parameters
   of a physically consistent arm.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from typing import Any

import numpy as np

from .bags import Bag, gathered, labels_of, motion_of, Summarise
from .checks import about_hands, contradictions, require_motion, slow_joints
from .effort_scale import doubts
from .explanations import contacts, diagnose, Explanation
from .options import IdentificationOptions
from .problem import Problem
from .results import Fit, Identification, Recorded
from .samples import filter_inflation, Part, parts, Summary, total
from .solve import estimate, without_prior
from .torque_model import TorqueModel
from .verdict import judge
from ..arm import ArmDescription
from ..errors import IdentificationError, RecordingError
from ..recordings.preprocessing import Motion
from ..recordings.recording import Recording
from ..recordings.replay import Unit

# The motion does not show a base parameter if its standard deviation in a fit with a prior of
# precision one is above NOT_SHOWN times its prior standard deviation.
NOT_SHOWN = 0.5
_MOST_READ_AGAIN = 5  # number of recordings that are read again to search for contacts
Progress = Callable[[int, int], None]


def identify(
    recordings: Sequence[Bag | Recording | Motion],
    start: ArmDescription,
    published: Sequence[ArmDescription] = (),
    options: IdentificationOptions | None = None,
    *,
    tests: Sequence[Bag | Recording | Motion] = (),
    hands: Sequence[ArmDescription] = (),
    skip_failures: bool = False,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> Identification:
    """
    Identify an arm's inertias and friction from its recorded motions, without writing a file.

    Parameters
    ----------
    recordings : sequence of Bag, Recording or Motion
        Recordings of the same arm with the same load, all with the same signal options. A `Bag` is
        read and prepared here, and its samples are not kept in memory. A `Recording` is prepared
        with default options. A `Motion` must be prepared with
        `columns=options.torque_model(start).friction.columns`.
    start : ArmDescription
        The starting set: geometry, centre of the prior, and masses, from which identified masses
        differ by a factor of three at most.
    published : sequence of ArmDescription
        Sets to compare with; their friction is fitted to the same samples.
    options : IdentificationOptions, optional
        The options; their defaults if not given.
    tests : sequence of Bag, Recording or Motion
        Unseen recordings that decide the verdict; the final fit includes them. Without test
        recordings, parts of `recordings` are left out in turn.
    hands : sequence of ArmDescription
        Published sets without and with each hand, by which the mass on the flange is estimated,
        unless effort scales are identified. If that mass contradicts the starting set's hand,
        IdentificationError is raised, unless `options.anyway`.
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
        `arm` has the identified inertias and friction; `verdict` says whether this arm predicts
        unseen parts better than the published sets.

    Raises
    ------
    IdentificationError
        If there is no recording, the arm stands still, or the recordings are too short, prepared
        with different options, given twice, or contradict the starting set's hand.
    RecordingError
        If a bag cannot be used, unless `skip_failures`; if no bag, or no test bag, can be used.

    """
    asked = IdentificationOptions() if options is None else options
    if not recordings:
        raise IdentificationError('There is no recording to identify from.')
    mapped: Callable[..., Iterable[Any]] = map if executor is None else executor.map
    model = asked.torque_model(start)
    asked.known_scale(model.n)  # raises for wrong scales before anything is read
    sources = [*recordings, *tests]
    labels = labels_of(sources)
    results, unseen, failures = gathered(
        iter(mapped(Summarise(model, start, asked), sources, labels)),
        sources,
        len(tests),
        progress,
        skip_failures=skip_failures,
    )
    signal = results[0].signal
    if any(one.signal != signal for one in results):
        raise IdentificationError(
            'The recordings were not prepared alike; prepare all with the same signal options.'
        )
    summaries = [one.summary for one in results if one.summary is not None]
    fastest = np.max([one.fastest for one in summaries], axis=0)
    require_motion(fastest, model)
    said = _about_hands(summaries, model, start, hands, asked)
    learnt, tested = summaries[: len(summaries) - unseen], summaries[len(summaries) - unseen :]
    problem = Problem(
        model,
        start,
        tuple(published),
        asked,
        np.full(model.n, filter_inflation(signal)),
        np.max([one.strongest for one in learnt], axis=0),
        Unit.of(start),
    )
    # Which effort scales are shown follows from the motion, so the torques of the test recordings
    # stay unseen.
    problem = problem.with_measured_inflation(learnt).with_shown_scales(summaries)
    own, unseen_parts = parts(learnt), parts(tested)
    # For each part a fit to all other parts (or, with test recordings, one fit to all other
    # recordings), and a last fit to all parts, tests included.
    given = [own] if tested else [own[:k] + own[k + 1 :] for k in range(len(own))]
    fits: list[Fit] = []
    for fit in mapped(problem, [*given, own + unseen_parts]):
        fits.append(fit)
        if progress is not None:
            progress(len(fits), len(given) + 1)
    final = fits.pop()
    left_out = unseen_parts if tested else own
    scores = problem.scores(final, fits, left_out, own + unseen_parts)
    arm, start_score = scores[1], scores.pop(2)
    verdict = judge(arm, scores[2:], start_score)
    diagnosis = diagnose(
        arm.test.joints,
        [problem.seen_by(final, part) for one in summaries for part in one.stretches],
        final.prior,
        asked.regularization,
        final.noise,
        final.base.theta,
        scales_known=not asked.scale_unknown,
    )
    if asked.scale_unknown:
        doubted = doubts(final.scale, start, problem.strongest)
        diagnosis = replace(diagnosis, scale_doubts=doubted)
    touched = _contact(sources, labels, model, final)
    found = [one for one in (diagnosis.fault, touched) if one is not None]
    likeliest = max(found, key=lambda one: one.likely, default=None)
    diagnosis = replace(diagnosis, fault=likeliest)
    wholes = [problem.seen_by(final, one.whole) for one in summaries]
    equations = total(one.factors for one in wholes).weighted(final.noise.weights)
    unshown = estimate(equations, final.prior, 1.0).deviations / final.prior.deviations
    return Identification(
        final.prior.model,
        start,
        asked,
        final,
        without_prior(equations),
        tuple(name for name, one in zip(model.base.names, unshown) if one > NOT_SHOWN),
        tuple(scores),
        start_score,
        verdict,
        diagnosis,
        Recorded(
            tuple((one.name, one.error(arm.theta, problem.unit)) for one in wholes),
            unseen,
            signal,
            tuple(one.note for one in results if one.note is not None),
            tuple(failures),
        ),
        contradictions(wholes, final.noise, final.prior, arm.theta),
        (*said, *slow_joints(fastest, start)),
    )


def _contact(
    sources: Sequence[Bag | Recording | Motion],
    labels: Sequence[str],
    model: TorqueModel,
    final: Fit,
) -> Explanation | None:
    """
    Return the arm's contacts in the first recording that has any, or None.

    At most the first five recordings (of a long bag the first piece) are read again and searched,
    because contacts are found sample by sample.
    """
    prior = final.prior
    every = model.friction.symbols
    kept = [every.index(symbol) for symbol in prior.model.friction.symbols]
    for source, label in zip(sources[:_MOST_READ_AGAIN], labels):
        try:
            motion = motion_of(source, model)
        except RecordingError:
            continue  # the bag's failure is reported already
        columns = None if motion.columns is None else motion.columns[:, :, kept]
        scaled = replace(motion, effort=motion.effort * final.scale.scale, columns=columns)
        found = contacts(scaled, label, prior, final.consistent.regularization, final.noise)
        if found is not None:
            return found
    return None


def _about_hands(
    summaries: Sequence[Summary],
    model: TorqueModel,
    start: ArmDescription,
    hands: Sequence[ArmDescription],
    options: IdentificationOptions,
) -> tuple[str, ...]:
    """
    Return the sentences of `about_hands`; none without `hands` or if effort scales are identified.

    Raises IdentificationError if bags contradict the starting set's hand, unless `options.anyway`.
    """
    if options.scale_unknown or not hands:
        return ()
    scale, wholes = options.known_scale(model.n), [one.whole for one in summaries]
    torques = [Part(one.name, one.factors.scaled(scale)) for one in wholes]
    said, held = about_hands(torques, model, start, hands)
    if said and not options.anyway:
        raise IdentificationError(
            f'{said[0]}. Say with --hand what is mounted (none if nothing is), or use --anyway to '
            'identify it as part of the last link.'
        )
    return (*said, *held)
