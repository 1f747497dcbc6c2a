# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Errors of parameters on left-out recordings, and the decision which set is better.

An identified arm is better if it predicts better than the best published set with friction fitted
alike by more than the spread over the parts, and its inertias alone no worse than the starting
set's. The latter is judged beside the best friction of the unseen part, without an offset: joints
whose gears rub by more than gravity pulls would otherwise decide by their friction, and an offset
would hide what inertias get wrong of gravity.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from .samples import Part, STRETCH
from .torque_model import TorqueModel
from ..recordings.replay import ResidualRms, Unit
from ..typing import Array

# Number of standard errors of the mean difference of two sets in the spread.
SPREAD_DEVIATIONS = 2.0
# Smallest useful gain, relative to the published set's error.
LEAST_GAIN = 0.05


@dataclass(frozen=True, eq=False)
class PartScore:
    """
    Sums of squared residuals of one part that was left out, joint by joint, (n,) [N^2 m^2].

    `rigid` leaves friction and offset out of the prediction, `inertias` takes the part's own best
    friction in their place.
    """

    name: str
    samples: int
    filtered: Array
    rigid: Array
    inertias: Array
    unfiltered: Array
    unit: Unit

    @property
    def error(self) -> float:
        """E."""
        return ResidualRms.of_squares(self.filtered, self.samples, self.unit).whole

    @property
    def rigid_error(self) -> float:
        """The same without friction and offset."""
        return ResidualRms.of_squares(self.rigid, self.samples, self.unit).whole

    @classmethod
    def of(
        cls, part: Part, model: TorqueModel, theta: Array, base_scale: Array, unit: Unit
    ) -> PartScore:
        """Return the score of parameters on a part whose efforts are torques."""
        factors, base = part.factors, theta[: len(model.base)]
        return cls(
            part.name,
            factors.samples,
            factors.squares(theta, base_scale=base_scale),
            factors.squares(base, base_scale=base_scale),
            factors.squares_beside_friction(model, base, base_scale),
            factors.squares(theta, unfiltered=True, base_scale=base_scale),
            unit,
        )


def pooled(scores: Sequence[PartScore], of: Callable[[PartScore], Array]) -> ResidualRms:
    """Return the errors over all parts together."""
    squares = np.sum([of(one) for one in scores], axis=0)
    samples = sum(one.samples for one in scores)
    return ResidualRms.of_squares(squares, samples, scores[0].unit)


@dataclass(frozen=True, eq=False)
class Score:
    """
    Errors of one set of parameters.

    Attributes
    ----------
    name : str
        Of the set.
    theta : ndarray, shape (p,)
        Fitted to all recordings.
    train : ResidualRms
        Of these on the recordings they are fitted to.
    parts : tuple of PartScore
        Errors on the left-out parts, by fits without the part.

    """

    name: str
    theta: Array
    train: ResidualRms
    parts: tuple[PartScore, ...]

    @property
    def test(self) -> ResidualRms:
        """Errors on the left-out parts, friction and offset included."""
        return pooled(self.parts, lambda one: one.filtered)

    @property
    def test_rigid(self) -> ResidualRms:
        """The same without friction and offset: what a node commands by default."""
        return pooled(self.parts, lambda one: one.rigid)

    @property
    def test_inertias(self) -> ResidualRms:
        """The same with the best friction of each left-out part."""
        return pooled(self.parts, lambda one: one.inertias)

    @property
    def test_unfiltered(self) -> ResidualRms:
        """The same as `test` on unfiltered effort."""
        return pooled(self.parts, lambda one: one.unfiltered)


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
        standard error; not a number with a single part.
    inertias, start_inertias : float
        Errors of the inertias of the identified arm and of the starting set, each beside the
        best friction of the unseen part.
    least : float
        The gain must be more than this as well.
    lost : tuple of str
        Whole bags on which the published set predicts better.

    """

    best: str
    gain: float
    spread: float
    inertias: float
    start_inertias: float
    least: float = 0.0
    lost: tuple[str, ...] = ()

    @property
    def inertias_hold(self) -> bool:
        """Whether the inertias predict no worse than the starting set's."""
        return self.inertias <= self.start_inertias

    @property
    def better(self) -> bool:
        """Whether the identified arm is to be preferred."""
        gains = not self.best or self.gain > max(self.spread, self.least)
        return gains and not self.lost and self.inertias_hold


def judge(arm: Score, published: Sequence[Score], start: Score) -> Verdict:
    """
    Return the verdict on an identified arm.

    Parameters
    ----------
    arm : Score
        Score of the identified arm.
    published : sequence of Score
        Of the sets to compare with; may be empty.
    start : Score
        Of the starting set.

    """
    inertias = arm.test_inertias.whole, start.test_inertias.whole
    if not published:
        return Verdict('', np.nan, np.nan, *inertias)
    best = min(published, key=lambda one: one.test.whole)
    gains = np.array([theirs.error - own.error for theirs, own in zip(best.parts, arm.parts)])
    deviation = float(gains.std(ddof=1)) if len(gains) > 1 else np.nan
    return Verdict(
        best.name,
        float(gains.mean()),
        SPREAD_DEVIATIONS * deviation / float(np.sqrt(len(gains))),
        *inertias,
        LEAST_GAIN * float(np.mean([one.error for one in best.parts])),
        _lost(arm.parts, best.parts),
    )


def _lost(arm: Sequence[PartScore], published: Sequence[PartScore]) -> tuple[str, ...]:
    """Return the bags of which, all stretches together, the published set predicts more."""
    squares: dict[str, float] = {}
    for own, theirs in zip(arm, published):
        bag = own.name.partition(STRETCH)[0]
        less = own.samples * (theirs.error**2 - own.error**2)
        squares[bag] = squares.get(bag, 0.0) + less
    return tuple(bag for bag, less in squares.items() if not less > 0.0)
