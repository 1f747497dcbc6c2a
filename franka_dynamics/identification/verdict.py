# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Errors of parameters on unseen parts, and the decision whether the identified arm is better.

E is the root mean square torque error over all joints. An identified arm is better if three
conditions hold:

1. Its E is lower than that of the best published set, with friction fitted to the same samples, by
   more than the spread over the parts and by more than 5 %.
2. Its E is lower than that of the published set on every whole bag too.
3. Its inertias alone predict no worse than those of the starting set. Friction without an offset
   is here fitted to the unseen part itself. Otherwise joints whose friction is larger than gravity
   would decide by their friction, and an offset would hide errors of gravity.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from .samples import Part, STRETCH
from .torque_model import TorqueModel
from ..recordings.replay import ResidualRms, Unit
from ..typing import Array

# The spread is this many standard errors of the mean difference of two sets' errors.
SPREAD_DEVIATIONS = 2.0
# Smallest useful reduction of E, relative to the published set's E.
LEAST_GAIN = 0.05


@dataclass(frozen=True, eq=False)
class PartScore:
    """
    Sums of squared residuals of one unseen part, joint by joint, (n,) [N^2 m^2].

    `filtered` and `unfiltered` compare the whole prediction with the filtered and the unfiltered
    torque. `rigid` is without friction and offset in the prediction; `inertias` is with friction
    fitted to the part itself in their place.
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
        """E, the root mean square torque error over all joints, in `unit`."""
        return ResidualRms.of_squares(self.filtered, self.samples, self.unit).whole

    @property
    def rigid_error(self) -> float:
        """E of the prediction without friction and offset."""
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
        Name of the set.
    theta : ndarray, shape (p,)
        The parameters, fitted to all recordings.
    train : ResidualRms
        Errors of `theta` on all recordings.
    parts : tuple of PartScore
        Errors on the unseen parts, each by a fit without that part.

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
        """Errors of the prediction without friction and offset, the node's default command."""
        return pooled(self.parts, lambda one: one.rigid)

    @property
    def test_inertias(self) -> ResidualRms:
        """Errors with friction fitted to each left-out part itself."""
        return pooled(self.parts, lambda one: one.inertias)

    @property
    def test_unfiltered(self) -> ResidualRms:
        """Errors as `test`, compared with the unfiltered effort."""
        return pooled(self.parts, lambda one: one.unfiltered)


@dataclass(frozen=True)
class Verdict:
    """
    Whether an identified arm is better than the best published set with friction fitted alike.

    Attributes
    ----------
    best : str
        Name of the best published set; empty if there is none.
    gain, spread : float
        Mean over the parts of the best published set's E minus the identified arm's, and twice
        that mean's standard error, which is NaN with a single part.
    inertias, start_inertias : float
        Errors of the inertias of the identified arm and of the starting set, each beside the
        best friction of the unseen part.
    least : float
        Smallest useful gain; a smaller one does not count as better.
    lost : tuple of str
        Whole bags on which the published set's E is lower than the identified arm's, or equal.

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
        """Whether the identified arm is better than the best published set."""
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
        Scores of the sets to compare with; may be empty.
    start : Score
        Score of the starting set.

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
    """Return the bags on all of whose stretches together the published set's E is <= the arm's."""
    squares: dict[str, float] = {}
    for own, theirs in zip(arm, published):
        bag = own.name.partition(STRETCH)[0]
        less = own.samples * (theirs.error**2 - own.error**2)
        squares[bag] = squares.get(bag, 0.0) + less
    return tuple(bag for bag, less in squares.items() if not less > 0.0)
