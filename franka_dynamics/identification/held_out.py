# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
What a fit is worth on recordings it has not seen, and whether that makes it better.

Every part of the recordings is predicted by a fit to others, which repeats all choices: noise,
reaches, regularization, which friction is held. The published sets get friction of the same
terms, prior and bounds, fitted to the same samples. An identified arm is better if it predicts
better than the best of them by more than the spread over the parts, and its rigid part alone no
worse than the starting set's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from .consistent_fit import ConsistentFit, fit_consistent
from .cross_validation import cross_validate, CrossValidation
from .effort_scale import EffortScale, find_effort_scale, relative_scale
from .friction import TorqueModel
from .least_squares import (
    Estimate,
    find_noise,
    fit_friction_alone,
    Noise,
    solve,
    without_undetermined_friction,
)
from .options import IdentificationOptions
from .prior import Prior
from .prior_misfit import prior_misfit, shown_precision, ShownPrecision
from .qr_factors import Part, QRFactors, STRETCH, total
from ..arm import ArmDescription
from ..recordings.replay import ResidualRms
from ..typing import Array

# The spread is this many standard errors of the mean difference between two sets.
SPREAD_DEVIATIONS = 2.0
# A gain of less than this part of the published set's error is not worth another file.
LEAST_GAIN = 0.05


@dataclass(frozen=True, eq=False)
class PublishedFit:
    """A published set with its friction; its rigid torques count `base_scale` times, (n,)."""

    name: str
    theta: Array
    base_scale: Array


@dataclass(frozen=True, eq=False)
class FittedSets:
    """
    Everything that one set of samples yields.

    Attributes
    ----------
    prior : Prior
        The prior with the friction terms that were fitted.
    noise : Noise
        Of the joints.
    validation : CrossValidation or None
        How regularization and reaches were chosen; None if both were given.
    base : Estimate
        Base parameters and friction under the prior.
    consistent : ConsistentFit
        The arm that can be.
    published : tuple of PublishedFit
        Sets with friction fitted alike.
    start : PublishedFit
        The starting set alike.
    found_scale : EffortScale
        By which recorded efforts become torques [N m per unit].
    reaches : tuple of float
        Of the slip elements [rad].
    precision : ShownPrecision
        How good the samples show the starting set to be, at least.

    """

    prior: Prior
    noise: Noise
    validation: CrossValidation | None
    base: Estimate
    consistent: ConsistentFit
    published: tuple[PublishedFit, ...]
    start: PublishedFit
    found_scale: EffortScale
    reaches: tuple[float, ...]
    precision: ShownPrecision

    @property
    def effort_scale(self) -> Array:
        """By which recorded efforts become torques, shape (n,) [N m per unit]."""
        return self.found_scale.scale


@dataclass(frozen=True, eq=False)
class Problem:
    """What all fits of one identification have in common."""

    model: TorqueModel
    start: ArmDescription
    published: tuple[ArmDescription, ...]
    options: IdentificationOptions
    inflation: Array
    strongest: Array

    def prior(self, effort_scale: Array) -> Prior:
        """Return the prior with every friction term."""
        if self._prior_by_limits is not None:
            return self._prior_by_limits
        return Prior.towards(self.start, self.model, self.strongest * np.abs(effort_scale))

    @cached_property
    def _prior_by_limits(self) -> Prior | None:
        """The prior if every torque limit is known: then it is the same for all efforts."""
        effort = self.start.limit('effort')
        known = np.isfinite(effort).all() and (effort > 0.0).all()
        return Prior.towards(self.start, self.model) if known else None

    def usual(self, prior: Prior) -> Prior:
        """Return the prior with the usual reaches alone, under which noise is found."""
        return prior.fitting(self.model.friction.chosen(self.options.usual_reaches))

    def noise(self, parts: Sequence[Part], prior: Prior) -> Noise:
        """Return the joints' noise in some parts."""
        return find_noise(total(part.factors for part in parts), self.usual(prior), self.inflation)

    def fit(self, parts: Sequence[Part]) -> FittedSets:
        """Fit everything to some parts."""
        found = self.effort_scale(parts)
        scale = found.scale
        scaled = [part.scaled(scale) for part in parts]
        prior = self.prior(scale)
        noise = self.noise(scaled, prior)
        validation, regularization = None, self.options.regularization
        if regularization is None or len(self.options.reach_choices) > 1:
            regularizations = () if regularization is not None else self.options.regularizations
            validation = cross_validate(
                [part.factors for part in scaled],
                noise,
                prior,
                regularizations,
                self.options.reach_choices,
            )
            regularization = validation.chosen if regularization is None else regularization
        reaches = (
            validation.reaches
            if validation is not None
            else next(iter(self.options.reach_choices), ())
        )
        offered = prior.fitting(self.model.friction.chosen(reaches))
        samples = total(part.factors for part in scaled)
        equations = samples.weighted(noise.weights)
        precision = shown_precision(equations, offered)
        misfit = prior_misfit(offered, regularization, precision)
        kept = without_undetermined_friction(equations, offered, regularization, misfit)
        base = solve(equations, kept, regularization).with_misfit(misfit)
        consistent = fit_consistent(
            samples,
            noise,
            kept,
            regularization,
            start=self.start,
            mass_factor=self.options.mass_factor,
            friction_deviations=base.deviations[len(self.model.base) :],
        )
        alike = [
            self._with_friction(arm, samples, noise, offered)
            for arm in (self.start, *self.published)
        ]
        return FittedSets(
            kept,
            noise,
            validation,
            base,
            consistent,
            tuple(alike[1:]),
            alike[0],
            found,
            reaches,
            precision,
        )

    def _with_friction(
        self, arm: ArmDescription, samples: QRFactors, noise: Noise, prior: Prior
    ) -> PublishedFit:
        """Return a set with friction of the same terms, prior and bounds, and scale if unknown."""
        scale = (
            relative_scale(samples, prior, arm)
            if self.options.scale_unknown
            else np.ones(self.model.n)
        )
        theta = fit_friction_alone(samples, noise, prior, self.model.base.values(arm), scale)
        return PublishedFit(f'{arm.inertial_set}, {arm.hand}', theta, scale)

    def effort_scale(self, parts: Sequence[Part]) -> EffortScale:
        """Return what one unit of effort is in N m, found from the parts if it is not known."""
        if not self.options.scale_unknown:
            return EffortScale.given(self.options.known_scale(self.model.n))
        return find_effort_scale(
            total(part.factors for part in parts),
            self.prior(np.ones(self.model.n)),
            self.start,
            self.inflation,
        )


@dataclass(frozen=True, eq=False)
class PartScore:
    """
    Sums of squared residuals of one part that was left out, joint by joint, (n,) [N^2 m^2].

    `rigid` leaves friction and offset out of the prediction; `others` holds samples and squares
    at other cut-offs.
    """

    name: str
    samples: int
    filtered: Array
    rigid: Array
    unfiltered: Array
    others: Mapping[float, tuple[int, Array]] = field(default_factory=dict)

    @property
    def error(self) -> float:
        """Root mean square of the torque vector [N m]."""
        return float(np.sqrt(self.filtered.sum() / self.samples))

    @property
    def rigid_error(self) -> float:
        """The same without friction and offset."""
        return float(np.sqrt(self.rigid.sum() / self.samples))

    @classmethod
    def of(cls, part: Part, model: TorqueModel, theta: Array, base_scale: Array) -> PartScore:
        """Return the score of parameters on a part whose efforts are torques."""
        rigid = model.without_friction(theta)

        def squares(values: Array, *, unfiltered: bool = False) -> Array:
            return part.factors.squares(values, unfiltered=unfiltered, base_scale=base_scale)

        return cls(
            part.name,
            part.factors.samples,
            squares(theta),
            squares(rigid),
            squares(theta, unfiltered=True),
            {
                cutoff: (factors.samples, factors.squares(theta, base_scale=base_scale))
                for cutoff, factors in part.others.items()
            },
        )

    def at(self, cutoff: float) -> PartScore:
        """Return the score on the same part prepared at another cut-off, `filtered` alone."""
        samples, squares = self.others[cutoff]
        return replace(self, samples=samples, filtered=squares, others={})


def pooled(scores: Sequence[PartScore], of: Callable[[PartScore], Array]) -> ResidualRms:
    """Return the errors over all parts together."""
    squares = np.sum([of(one) for one in scores], axis=0)
    return errors_of(squares, sum(one.samples for one in scores))


def errors_of(squares: Array, samples: int) -> ResidualRms:
    """Return the errors that sums of squares over samples amount to."""
    mean = squares / samples
    return ResidualRms(float(np.sqrt(mean.sum())), np.sqrt(mean))


@dataclass(frozen=True)
class Verdict:
    """
    Whether an identified arm is better than the best published set with friction fitted alike.

    Attributes
    ----------
    best : str
        That set; empty if there is none.
    gain, spread : float
        Mean over the parts of its error minus the identified arm's, and twice that mean's
        standard error [N m]; not a number with a single part.
    rigid, start_rigid : float
        Errors of the identified arm and of the starting set without friction and offset [N m].
    least : float
        The gain must be more than this as well [N m].
    lost : tuple of str
        Whole bags on which the published set predicts better.

    """

    best: str
    gain: float
    spread: float
    rigid: float
    start_rigid: float
    least: float = 0.0
    lost: tuple[str, ...] = ()

    @property
    def rigid_holds(self) -> bool:
        """Whether the rigid part alone predicts no worse than the starting set's."""
        return self.rigid <= self.start_rigid

    @property
    def better(self) -> bool:
        """Whether the identified arm is to be preferred."""
        gains = not self.best or self.gain > max(self.spread, self.least)
        return gains and not self.lost and self.rigid_holds


def judge(
    arm: Sequence[PartScore],
    published: Mapping[str, Sequence[PartScore]],
    start: Sequence[PartScore],
) -> Verdict:
    """
    Return the verdict on an identified arm.

    Parameters
    ----------
    arm : sequence of PartScore
        Of the arm that would be written, on each part that was left out.
    published : mapping of str to sequence of PartScore
        Of the sets to compare with; may be empty.
    start : sequence of PartScore
        Of the starting set.

    """
    rigid = (pooled(arm, lambda one: one.rigid).whole, pooled(start, lambda one: one.rigid).whole)
    if not published:
        return Verdict('', np.nan, np.nan, *rigid)
    best = min(published, key=lambda name: pooled(published[name], lambda one: one.filtered).whole)
    gains = np.array([theirs.error - own.error for theirs, own in zip(published[best], arm)])
    spread = (
        SPREAD_DEVIATIONS * float(gains.std(ddof=1)) / np.sqrt(len(gains))
        if len(gains) > 1
        else np.nan
    )
    least = LEAST_GAIN * float(np.mean([one.error for one in published[best]]))
    lost = _lost(arm, published[best])
    return Verdict(best, float(gains.mean()), spread, *rigid, least, lost)


def _lost(arm: Sequence[PartScore], published: Sequence[PartScore]) -> tuple[str, ...]:
    """Return the bags of which, all stretches together, the published set predicts more."""
    squares: dict[str, float] = {}
    for own, theirs in zip(arm, published):
        bag = own.name.partition(STRETCH)[0]
        squares[bag] = squares.get(bag, 0.0) + float(theirs.filtered.sum() - own.filtered.sum())
    return tuple(bag for bag, less in squares.items() if not less > 0.0)


def leave_out(
    problem: Problem,
    parts: Sequence[Part],
    tests: Sequence[Part],
    progress: Callable[[int, int], None] | None = None,
) -> tuple[list[FittedSets], list[Part]]:
    """
    Return fits and the part that each predicts unseen, its efforts as torques.

    Parameters
    ----------
    problem : Problem
        What is fitted.
    parts : sequence of Part
        The recordings, bag by bag or stretch by stretch.
    tests : sequence of Part
        Unseen recordings; without any, the parts themselves are left out in turn.
    progress : callable, optional
        Called with fits done and fits to come.

    """
    if tests:
        only = problem.fit(parts)
        return [only] * len(tests), [part.scaled(only.effort_scale) for part in tests]
    fits = []
    for k in range(len(parts)):
        fits.append(problem.fit([*parts[:k], *parts[k + 1 :]]))
        if progress is not None:
            progress(k + 1, len(parts))
    return fits, [part.scaled(one.effort_scale) for part, one in zip(parts, fits)]
