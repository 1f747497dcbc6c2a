# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
From recorded motions to an arm that predicts its own torques: the whole procedure.

Parts of the recordings are left out in turn (bags, or stretches of one or two bags), or other
recordings are named as unseen; each is predicted by a fit that repeats every choice without it
(`held_out`), and so are the published sets with friction fitted alike. Then everything is fitted
once more to all recordings: base parameters with friction, and the standard parameters of an arm
that can be.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from operator import add

import numpy as np

from .bag_job import contradictions, hand_contradictions, held_loads, residual_of_bags
from .friction import TorqueModel
from .held_out import errors_of, FittedSets, judge, leave_out, PartScore, Problem, PublishedFit
from .least_squares import errors_in_variables_bias, Estimate, estimate
from .link_room import CENTER_MARGIN_M, link_rooms
from .noise import filter_inflation, residual_inflation
from .options import IdentificationOptions, SIGMOID
from .qr_factors import BagSummary, Part, residual_lag_sums, Summary, total
from .result import Identification, Score, with_sigmoid
from ..arm import ArmDescription
from ..errors import IdentificationError
from ..recordings.preprocessing import Motion, prepare, SignalOptions
from ..recordings.recording import Recording
from ..typing import Array

# A parameter of which the motion leaves this part of a weak prior's deviation is not shown.
NOT_SHOWN = 0.5
_STILL = 0.01  # [rad/s]
_NAMED = 3  # parameters in a sentence
_SLOW_PART = 0.05  # of the velocity limit: below, viscous friction is as good as not there
Progress = Callable[[int, int], None]


def identify(
    recordings: Sequence[Recording | Motion],
    start: ArmDescription,
    published: Sequence[ArmDescription] = (),
    options: IdentificationOptions | None = None,
    *,
    tests: Sequence[Recording | Motion] = (),
    hands: Sequence[ArmDescription] = (),
    names: Sequence[str] = (),
    other_cutoffs: Mapping[float, Sequence[Motion]] | None = None,
    progress: Progress | None = None,
) -> Identification:
    """
    Identify an arm from its recorded motions.

    Parameters
    ----------
    recordings : sequence of Recording or Motion
        All of the same arm with the same load; as recorded, or prepared alike with
        `columns=options.torque_model(start).friction.columns`.
    start : ArmDescription
        The starting set: geometry, the prior's middle, the middle of the mass bounds.
    published : sequence of ArmDescription
        Sets to be compared with, friction fitted alike.
    options : IdentificationOptions, optional
        See there.
    tests : sequence of Recording or Motion
        Unseen recordings that decide the verdict; without them parts are left out in turn.
    hands : sequence of ArmDescription
        Published sets bare and with each hand: where they tell that a hand is mounted that the
        starting set has not, or the other way round, the recording is refused.
    names : sequence of str
        Of the recordings, tests last.
    other_cutoffs : mapping of float to sequence of Motion, optional
        The same recordings, tests last, prepared at other cut-offs [Hz], for the scores alone.
    progress : callable, optional
        Called with fits done and fits to come.

    Raises
    ------
    IdentificationError
        If the arm stands still, the recordings are too short, or show another hand.

    """
    chosen = IdentificationOptions() if options is None else options
    model = chosen.torque_model(start)
    every = [
        prepare(one, columns=model.friction.columns) if isinstance(one, Recording) else one
        for one in (*recordings, *tests)
    ]
    motions = every[: len(recordings)]
    _require_alike(every)
    labels = list(names) or [f'recording {k + 1}' for k in range(len(every))]
    summaries = [
        Summary.of(
            model,
            motion,
            chosen.folds,
            {cutoff: list(others)[i] for cutoff, others in (other_cutoffs or {}).items()},
            labels[i],
        )
        for i, motion in enumerate(every)
    ]

    def sums(theta: Array, scale: Array) -> Array:
        return np.sum(
            [residual_lag_sums(model, motion, theta, scale) for motion in motions], axis=0
        )

    found = identify_summary(
        reduce(add, summaries[: len(motions)]),
        sums,
        model,
        start,
        published,
        chosen,
        motions[0].options,
        tests=reduce(add, summaries[len(motions) :]) if tests else None,
        hands=hands,
        progress=progress,
    )
    result = found.result
    said = tuple(remark for motion in every for remark in motion.remarks)
    result = replace(result, remarks=(*said, *result.remarks))
    if chosen.encoder_noise is not None:
        position, velocity = chosen.encoder_noise
        result = replace(
            result,
            bias=errors_in_variables_bias(
                every,
                result.base.theta,
                result.noise,
                result.prior,
                result.base.regularization,
                position=position,
                velocity=velocity,
            ),
        )
    if chosen.friction == SIGMOID:
        result = with_sigmoid(result, found.fits, every, len(tests), other_cutoffs or {})
    return result


class Fitted:
    """A result and the fits that were tried on what they have not seen."""

    def __init__(self, result: Identification, fits: Sequence[FittedSets]) -> None:
        self.result, self.fits = result, fits


def identify_summary(
    summary: Summary,
    residual_sums: Callable[[Array, Array], Array],
    model: TorqueModel,
    start: ArmDescription,
    published: Sequence[ArmDescription],
    options: IdentificationOptions,
    signal: SignalOptions,
    *,
    tests: Summary | None = None,
    hands: Sequence[ArmDescription] = (),
    progress: Progress | None = None,
) -> Fitted:
    """
    Identify an arm from a summary, wherever the recordings themselves may be.

    Parameters
    ----------
    summary : Summary
        Of the recordings to learn from.
    residual_sums : callable
        Returns `residual_lag_sums` of all these for parameters (p,) and an effort scale (n,).
    model : TorqueModel
        What is identified, as the options make it of start.
    start, published, options, hands, progress
        As for `identify`; what the options say of sigmoid friction and encoder noise needs the
        samples and is left to it.
    signal : SignalOptions
        How the recordings were prepared.
    tests : Summary, optional
        Of unseen recordings.

    Raises
    ------
    IdentificationError
        If the arm stands still, there are too few samples, or another hand is seen.

    """
    _require_motion(summary, model)
    unseen = () if tests is None else tests.bags
    bags = (*summary.bags, *unseen)
    said: tuple[str, ...] = ()
    held: tuple[str, ...] = ()
    if not options.scale_unknown:
        torques = [_scaled(bag, options.known_scale(model.n)) for bag in bags]
        said = hand_contradictions(torques, model, start, hands)
        held = held_loads(torques, model, start, hands)
    if said and not options.anyway:
        raise IdentificationError(
            f'{said[0]}. Name what is mounted with --hand, or write the file --anyway if the '
            'body behind the last joint is to hold it.'
        )
    problem = Problem(
        model,
        start,
        tuple(published),
        options,
        np.full(model.n, filter_inflation(signal)),
        summary.strongest,
    )
    problem = _with_measured_inflation(problem, summary.parts, residual_sums)
    fits, parts = leave_out(problem, summary.parts, () if tests is None else tests.parts, progress)
    everything = [*summary.parts, *(() if tests is None else tests.parts)]
    final = problem.fit(everything)
    samples = [part.scaled(final.effort_scale) for part in everything]
    scores = _scores(final, fits, parts, samples, model)
    start_score = scores.pop()
    theirs = scores[2:]
    remarks = (*said, *held, *_slow_joints(summary, start), *_rooms_said(start))
    result = Identification(
        model,
        start,
        options,
        final.prior,
        final.noise,
        filter_inflation(signal),
        final.validation,
        _unregularised(samples, final),
        final.base,
        final.consistent,
        final.consistent.arm,
        scores[1],
        tuple(theirs),
        tuple(scores),
        start_score,
        judge(
            scores[1].parts,
            {one.name: one.parts for one in theirs},
            start_score.parts,
        ),
        final.found_scale,
        residual_of_bags(
            [_scaled(bag, final.effort_scale) for bag in bags], final.consistent.theta
        ),
        contradictions(
            [_scaled(bag, final.effort_scale) for bag in bags],
            final.noise,
            problem.usual(problem.prior(final.effort_scale)),
        ),
        _not_shown(samples, final),
        _friction_held(final),
        final.precision,
        remarks=remarks,
        unseen_bags=len(unseen),
        reaches=final.reaches,
    )
    return Fitted(result, fits)


def _scores(
    final: FittedSets,
    fits: Sequence[FittedSets],
    parts: Sequence[Part],
    samples: Sequence[Part],
    model: TorqueModel,
) -> list[Score]:
    """Return the scores of base, consistent, published and starting parameters, in this order."""
    every = total(part.factors for part in samples)
    one = np.ones(model.n)

    def score(name: str, pick: Callable[[FittedSets], tuple[Array, Array]]) -> Score:
        theta, scale = pick(final)
        return Score(
            name,
            theta,
            errors_of(every.squares(theta, base_scale=scale), every.samples),
            tuple(PartScore.of(part, model, *pick(fit)) for part, fit in zip(parts, fits)),
        )

    def alike(published: PublishedFit) -> tuple[Array, Array]:
        return published.theta, published.base_scale

    return [
        score('base parameters', lambda fit: (fit.base.theta, one)),
        score('consistent', lambda fit: (fit.consistent.theta, one)),
        *(
            score(own.name, lambda fit, k=k: alike(fit.published[k]))  # type: ignore[misc]
            for k, own in enumerate(final.published)
        ),
        score(final.start.name, lambda fit: alike(fit.start)),
    ]


def _scaled(bag: BagSummary, scale: Array) -> BagSummary:
    return replace(bag, stretches=tuple(part.scaled(scale) for part in bag.stretches))


def _require_alike(motions: Sequence[Motion]) -> None:
    if not motions:
        raise IdentificationError('There is no recording to identify from.')
    if any(motion.options != motions[0].options for motion in motions):
        raise IdentificationError('The recordings were not prepared alike.')


def _require_motion(summary: Summary, model: TorqueModel) -> None:
    fastest = float(summary.fastest.max())
    if fastest < _STILL:
        moments = [name for name in model.base.names if name.startswith('m')]
        inertias = [name for name in model.base.names if not name.startswith('m')]
        raise IdentificationError(
            f'The arm stands still (no joint is faster than {fastest:.2g} rad/s), where torque '
            f'depends on {", ".join(moments[:_NAMED])} ... alone. The other {len(inertias)} base '
            f'parameters ({", ".join(inertias[:_NAMED])} ...) take acceleration to show, and '
            'friction takes velocity of both signs: record a motion that turns every joint to '
            'and fro, such as franka-dynamics identify plan makes.'
        )


def _with_measured_inflation(
    problem: Problem, parts: Sequence[Part], residual_sums: Callable[[Array, Array], Array]
) -> Problem:
    """Return the problem whose samples repeat each other as the residuals do, not the filter."""
    scale = problem.effort_scale(parts).scale
    scaled = [part.scaled(scale) for part in parts]
    prior = problem.usual(problem.prior(scale))
    noise = problem.noise(scaled, prior)
    theta = estimate(total(part.factors for part in scaled), noise, prior, 10.0).theta
    measured = residual_inflation(residual_sums(theta, scale))
    return replace(problem, inflation=np.maximum(problem.inflation, measured))


def _unregularised(samples: Sequence[Part], final: FittedSets) -> Estimate | None:
    try:
        return estimate(total(part.factors for part in samples), final.noise, final.prior, 0.0)
    except IdentificationError:
        return None


def _not_shown(samples: Sequence[Part], final: FittedSets) -> tuple[str, ...]:
    """Return the base parameters about which the motion says next to nothing."""
    prior = final.prior
    left = estimate(total(part.factors for part in samples), final.noise, prior, 1.0).deviations
    return tuple(
        name
        for name, ratio in zip(
            prior.model.base.names, left[: len(prior.deviations)] / prior.deviations
        )
        if ratio > NOT_SHOWN
    )


def _friction_held(final: FittedSets) -> tuple[str, ...]:
    """Return the friction parameters that were offered but are held at zero."""
    offered = final.prior.model.friction.chosen(final.reaches)
    return tuple(
        name
        for name, there, fitted in zip(
            final.prior.model.friction.names, offered, final.prior.fitted
        )
        if there and not fitted
    )


def _slow_joints(summary: Summary, arm: ArmDescription) -> tuple[str, ...]:
    """Return a sentence on joints that hardly moved, if any."""
    limit = np.where(np.isfinite(arm.limit('velocity')), arm.limit('velocity'), 1.0)
    slow = [
        f'{name} (at most {fastest:.2g} rad/s)'
        for name, fastest, bound in zip(arm.joint_names, summary.fastest, limit)
        if fastest < _SLOW_PART * bound
    ]
    if not slow:
        return ()
    return (
        f'{", ".join(slow)} hardly moved: friction there and inertias about those axes are '
        'not shown and stay at the prior; turn every joint, to and fro',
    )


def _rooms_said(start: ArmDescription) -> tuple[str, ...]:
    """Return a sentence on links whose centre of mass is bounded by less than their shapes."""
    rooms = link_rooms(start)
    around = [
        name
        for name, room in zip(start.joint_names, rooms)
        if room is not None and room.around_start
    ]
    if not around:
        return ()
    return (
        f'the starting set has the centre of mass behind {", ".join(around)} more than '
        f'{1e3 * CENTER_MARGIN_M:.0f} mm outside the shapes there; the bounds reach to it',
    )
