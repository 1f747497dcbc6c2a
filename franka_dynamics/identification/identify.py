# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
The whole identification: from recorded motions to an arm with identified inertias and friction.

1. Every recording is reduced to a summary (`samples`), in this process or by an executor.
2. The error on unseen data is measured. Either parts of the recordings are left out in turn (bags,
   or stretches of one or two bags), or the caller names test recordings. Every unseen part is
   predicted by a fit without it, which chooses its noise and slip elements anew. The published
   sets, with friction fitted to the same samples, predict the same parts.
3. All recordings are fitted together: base parameters with friction, and the standard parameters
   of a physically consistent arm.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .bags import Bag, gathered, labels_of, motion_of, Summarise
from .checks import (
    about_hands,
    contradictions,
    require_motion,
    slow_joints,
)
from .consistent_fit import fit_consistent
from .effort_scale import doubts, EffortScale, find_effort_scale, relative_scale
from .explanations import contacts, diagnose, Explanation
from .joint_scale import scales_shown
from .options import IdentificationOptions
from .prior import Prior, prior_misfit, PRIOR_PRECISION, shown_precision
from .results import Fit, Identification, PublishedFit, Recorded
from .samples import (
    filter_inflation,
    Part,
    parts,
    QRFactors,
    residual_inflation,
    Summary,
    total,
)
from .solve import (
    Estimate,
    estimate,
    find_noise,
    friction_alone,
    left_out_error,
    Noise,
    without_prior,
)
from .torque_model import TorqueModel
from .verdict import judge, PartScore, Score
from ..arm import ArmDescription
from ..errors import IdentificationError, RecordingError
from ..recordings.preprocessing import Motion
from ..recordings.recording import Recording
from ..recordings.replay import ResidualRms, Unit
from ..typing import Array

# The motion does not show a base parameter whose standard deviation stays above this fraction of
# the prior's, both under a prior of precision one.
NOT_SHOWN = 0.5
# Other slip elements replace the usual ones only if they lower the error on left-out parts by more
# than this fraction.
_CLEARLY = 0.01
_MOST_READ_AGAIN = 5  # number of recordings that are read a second time to search for contacts
Progress = Callable[[int, int], None]


@dataclass(frozen=True, eq=False)
class _Trial:
    """
    The result of trying one choice of slip elements.

    `parts` are the samples with the friction columns of this choice, `noise` is the joints' noise
    that a fit finds in them, and `error` the root mean square of left-out torque vectors [N m].
    """

    prior: Prior
    noise: Noise
    parts: list[QRFactors]
    error: float


@dataclass(frozen=True, eq=False)
class Problem:
    """
    What all fits of one identification have in common; calling it with parts returns their fit.

    Attributes
    ----------
    model : TorqueModel
        The model with every slip element that any choice uses.
    start : ArmDescription
        The starting set.
    published : tuple of ArmDescription
        Sets to compare with.
    options : IdentificationOptions
        The user's options.
    inflation : ndarray, shape (n,)
        Number of filtered samples per independent sample.
    strongest : ndarray, shape (n,)
        Largest recorded effort of each joint, as recorded.
    unit : Unit
        Unit of the errors over all joints.
    shown : ndarray, shape (n,) of bool, optional
        Joints whose torques count for the base parameters; all where it is None.

    """

    model: TorqueModel
    start: ArmDescription
    published: tuple[ArmDescription, ...]
    options: IdentificationOptions
    inflation: Array
    strongest: Array
    unit: Unit
    shown: Array | None = None

    @property
    def choices(self) -> list[TorqueModel]:
        """One model for each choice of slip elements' reaches, the usual choice first."""
        return [self.model.with_reaches(one) for one in self.options.slip_reaches]

    def of(self, model: TorqueModel, factors: QRFactors, scale: ArrayLike = 1.0) -> QRFactors:
        """Return factors with one model's friction columns, their torques times a scale (n,)."""
        every = self.model.friction.symbols
        kept = [every.index(symbol) for symbol in model.friction.symbols]
        used = factors.with_terms(kept).scaled(np.broadcast_to(scale, model.n))
        return replace(used, shown=self.shown)

    def seen_by(self, fit: Fit, part: Part) -> Part:
        """Return a part with the friction columns that a fit chose, and efforts in N m."""
        return Part(part.name, self.of(fit.prior.model, part.factors, fit.scale.scale))

    def prior(self, model: TorqueModel, effort_scale: Array) -> Prior:
        """Return a model's prior; the scale, (n,) [N m per unit], turns efforts into torques."""
        return Prior.towards(self.start, model, self.strongest * np.abs(effort_scale))

    def effort_scale(self, samples: Sequence[Part]) -> EffortScale:
        """Return the scale of each joint's effort [N m per unit], estimated if it is unknown."""
        if not self.options.scale_unknown:
            return EffortScale.given(self.options.known_scale(self.model.n))
        usual = self.choices[0]
        factors = self.of(usual, total(part.factors for part in samples))
        prior = self.prior(usual, np.ones(self.model.n))
        return find_effort_scale(factors, prior, self.start, self.inflation)

    def _trial(self, model: TorqueModel, given: Sequence[Part], scale: Array) -> _Trial:
        """Return a model's error on the given parts, each left out of the fit in turn."""
        split = [self.of(model, part.factors, scale) for part in given]
        prior = self.prior(model, scale)
        noise = find_noise(total(split), prior, self.inflation)
        error = left_out_error(split, noise, prior, self.options.regularization)
        return _Trial(prior, noise, split, error)

    def _chosen(self, given: Sequence[Part], scale: Array) -> _Trial:
        """Return the trial of the usual slip elements, or one that predicts clearly better."""
        usual, *others = (self._trial(model, given, scale) for model in self.choices)
        best = min((usual, *others), key=lambda one: one.error)
        return best if best.error < (1.0 - _CLEARLY) * usual.error else usual

    def __call__(self, given: Sequence[Part]) -> Fit:
        """Return base parameters, a consistent arm and published sets' friction for the parts."""
        options = self.options
        scale = self.effort_scale(given)
        chosen = self._chosen(given, scale.scale)
        prior, noise, model = chosen.prior, chosen.noise, chosen.prior.model
        samples = total(chosen.parts)
        regularization = options.regularization
        equations = samples.weighted(noise.weights)
        precision = shown_precision(equations, prior)
        misfit = prior_misfit(prior, regularization, precision)
        base = replace(estimate(equations, prior, regularization), misfit=misfit)
        consistent = fit_consistent(
            equations,
            prior,
            regularization,
            start=self.start,
            friction_deviations=base.deviations[len(model.base) :],
        )
        published = []
        for arm in (self.start, *self.published):
            own = (
                relative_scale(samples, prior, arm) if options.scale_unknown else np.ones(model.n)
            )
            theta = friction_alone(samples, noise, prior, model.base.values(arm), own)
            published.append(PublishedFit(f'{arm.inertial_set}, {arm.hand}', theta, own))
        return Fit(
            prior,
            noise,
            base,
            consistent,
            tuple(published),
            scale,
            precision,
        )


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
    Identify an arm's inertias and friction from its recorded motions; no file is written.

    Parameters
    ----------
    recordings : sequence of Bag, Recording or Motion
        Recordings of the same arm with the same load. A `Bag` is read and prepared here, and its
        samples are not kept in memory. A `Recording` is prepared with default options. A `Motion`
        must be prepared with `columns=options.torque_model(start).friction.columns`, all with
        the same signal options.
    start : ArmDescription
        The starting set. It gives the geometry, the centre of the prior, and the masses that the
        identified ones may differ from by a factor of three.
    published : sequence of ArmDescription
        Sets to compare with; their friction is fitted to the same samples.
    options : IdentificationOptions, optional
        The options; their defaults if not given.
    tests : sequence of Bag, Recording or Motion
        Unseen recordings that decide the verdict. The final fit then includes them. Without test
        recordings, parts of `recordings` are left out in turn.
    hands : sequence of ArmDescription
        Published sets without and with each hand, by which the mass on the flange is estimated.
        If that mass contradicts the starting set's hand, IdentificationError is raised, unless
        `options.anyway`.
    skip_failures : bool
        Whether to go on without bags that cannot be used; otherwise the first one raises.
    executor : concurrent.futures.Executor, optional
        Runs the summaries and the fits, for example in other processes, or on other machines with
        `distributed.Client(...).get_executor()`. Its workers must find the bags under the same
        paths. Without an executor everything runs in this process. The result is the same.
    progress : callable, optional
        Called with the number of steps done and the total, first for recordings, then for fits.

    Returns
    -------
    Identification
        Its `arm` has the identified inertias and friction; its `verdict` says whether that arm
        predicts unseen parts better than the published sets.

    Raises
    ------
    IdentificationError
        If there is no recording, the arm stands still, the recordings are too short, were prepared
        differently, or show another hand than the starting set has.
    RecordingError
        If a bag cannot be used and `skip_failures` is false, or if no bag can be used.

    """
    asked = IdentificationOptions() if options is None else options
    if not recordings:
        raise IdentificationError('There is no recording to identify from.')
    mapped: Callable[..., Iterable[Any]] = map if executor is None else executor.map
    model = asked.torque_model(start)
    asked.known_scale(model.n)  # refused before anything is read
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
        raise IdentificationError('The recordings were not prepared alike.')
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
    problem = _with_shown_scales(_with_measured_inflation(problem, learnt), summaries)
    own, unseen_parts = parts(learnt), parts(tested)
    # One fit for each unseen part (or one for all test recordings), and a last one to all parts.
    given = [own] if tested else [own[:k] + own[k + 1 :] for k in range(len(own))]
    fits: list[Fit] = []
    for fit in mapped(problem, [*given, own + unseen_parts]):
        fits.append(fit)
        if progress is not None:
            progress(len(fits), len(given) + 1)
    final = fits.pop()
    left_out = unseen_parts if tested else own
    scores = _scores(problem, final, fits, left_out, own + unseen_parts)
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
    return Identification(
        final.prior.model,
        start,
        asked,
        final,
        without_prior(equations),
        _not_shown(estimate(equations, final.prior, 1.0), final.prior),
        tuple(scores),
        start_score,
        verdict,
        diagnosis,
        Recorded(
            tuple((one.name, _error(one, arm.theta, problem.unit)) for one in wholes),
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
    Return the contacts in the first recording whose residual they explain; None if there is none.

    It reads the bags again, because contacts are found sample by sample, and only the first five.
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


def _not_shown(weakly: Estimate, prior: Prior) -> tuple[str, ...]:
    """Return the base parameters that the motion does not show, by a fit with precision one."""
    names = prior.model.base.names
    part = weakly.deviations / prior.deviations
    return tuple(name for name, left in zip(names, part) if left > NOT_SHOWN)


def _error(part: Part, theta: Array, unit: Unit) -> float:
    """Return the root mean square torque error over all joints of a part."""
    squares, samples = part.factors.squares(theta), part.factors.samples
    return ResidualRms.of_squares(squares, samples, unit).whole


def _about_hands(
    summaries: Sequence[Summary],
    model: TorqueModel,
    start: ArmDescription,
    hands: Sequence[ArmDescription],
    options: IdentificationOptions,
) -> tuple[str, ...]:
    """Return warnings about hands and loads; raise if another hand is mounted than declared."""
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


def _with_measured_inflation(problem: Problem, summaries: Sequence[Summary]) -> Problem:
    """
    Return the problem with the correlation of the residuals, where the filter's is smaller.

    `inflation`, the number of samples per independent sample, is raised to the value that the
    residuals of a first fit show.
    """
    scale, model = problem.effort_scale(parts(summaries)).scale, problem.choices[0]
    factors = problem.of(model, total(one.whole.factors for one in summaries), scale)
    windows = problem.of(model, total(one.windows for one in summaries), scale)
    prior = problem.prior(model, scale)
    noise = find_noise(factors, prior, problem.inflation)
    theta = estimate(factors.weighted(noise.weights), prior, PRIOR_PRECISION).theta
    measured = residual_inflation(factors.squares(theta), windows.squares(theta))
    return replace(problem, inflation=np.maximum(problem.inflation, measured))


def _with_shown_scales(problem: Problem, summaries: Sequence[Summary]) -> Problem:
    """Return the problem without the torques of joints whose effort scale the motion hides."""
    # With rotor inertias no joint may be left out: only a joint's own torque shows its rotor.
    if problem.options.scale_unknown or problem.model.base.rotor_inertia:
        return problem
    scale, model = problem.options.known_scale(problem.model.n), problem.choices[0]
    factors = problem.of(model, total(one.whole.factors for one in summaries), scale)
    shown = scales_shown(
        factors, problem.prior(model, scale), problem.options.regularization, problem.inflation
    )
    return replace(problem, shown=shown)


def _scores(
    problem: Problem,
    final: Fit,
    fits: Sequence[Fit],
    left_out: Sequence[Part],
    everything: Sequence[Part],
) -> list[Score]:
    """Return scores: base parameters, consistent arm, starting set, then the published sets."""
    samples = total(problem.seen_by(final, part).factors for part in everything)
    every = list(fits) * (len(left_out) // len(fits))  # one fit for all tests, or one for each
    unseen = [problem.seen_by(fit, part) for part, fit in zip(left_out, every)]

    def tried(fit: Fit) -> list[PublishedFit]:
        one = np.ones(problem.model.n)
        return [
            PublishedFit('base parameters', fit.base.theta, one),
            PublishedFit('consistent', fit.consistent.theta, one),
            *fit.published,
        ]

    scores = []
    for k, whole in enumerate(tried(final)):
        each = [tried(fit)[k] for fit in every]
        scores.append(
            Score(
                whole.name,
                whole.theta,
                ResidualRms.of_squares(
                    samples.squares(whole.theta, base_scale=whole.base_scale),
                    samples.samples,
                    problem.unit,
                ),
                tuple(
                    PartScore.of(part, fit.prior.model, one.theta, one.base_scale, problem.unit)
                    for part, fit, one in zip(unseen, every, each)
                ),
            )
        )
    return scores
