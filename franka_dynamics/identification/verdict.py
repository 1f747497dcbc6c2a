# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
The decision whether the identified arm is better than the published sets.

E is the norm of the joints' root mean square torque errors. An identified arm is better than the
published sets if it meets three conditions:

1. Averaged over the unseen parts, the identified arm's E is lower than that of the best published
   set, with friction fitted to the same samples, by more than two standard errors of the average
   difference and by more than 5 %.
2. The identified arm's E is lower than the best published set's on every bag or group of bags.
3. The identified inertias predict torques no worse than the starting set's. For this comparison
   friction is fitted to the unseen part itself: in joints with more friction than gravity, errors
   of friction would outweigh errors of the inertias. No offset is fitted, because an offset would
   absorb errors of gravity.

Without a published set the third condition alone decides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .samples import STRETCH
from .scoring import PartScore, Score

# `Verdict.spread` is SPREAD_DEVIATIONS standard errors of `Verdict.gain`.
SPREAD_DEVIATIONS = 2.0
# Smallest useful reduction of E, relative to the published set's E.
LEAST_GAIN = 0.05


@dataclass(frozen=True)
class Verdict:
    """
    Whether an identified arm is better than the best published set, and by how much.

    `best` is the best published set's name; empty if there is no published set. `gain` is the mean
    over the parts of the best published set's E minus the identified arm's, `spread` twice this
    mean's standard error (NaN with a single part), and `least` the smallest useful gain. Without a
    published set `gain` and `spread` are NaN. `inertias` and `start_inertias` are E of the
    identified arm and of the starting set on all unseen parts, with friction fitted to each part
    itself. `lost` names the bags, or groups of bags, on which the identified arm's E is not below
    the best published set's.
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
        """Whether the identified inertias predict torques no worse than the starting set's."""
        return self.inertias <= self.start_inertias

    @property
    def better(self) -> bool:
        """Whether the arm beats the best published set, if there is one, and `inertias_hold`."""
        gains = not self.best or self.gain > max(self.spread, self.least)
        return gains and not self.lost and self.inertias_hold


def judge(arm: Score, published: Sequence[Score], start: Score) -> Verdict:
    """Return the verdict on an arm from scores of arm, published sets and starting set."""
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
    """Return the bags or groups of bags on which the arm's E is not below the published set's."""
    squares: dict[str, float] = {}
    for own, theirs in zip(arm, published):
        bag = own.name.partition(STRETCH)[0]
        less = own.samples * (theirs.error**2 - own.error**2)
        squares[bag] = squares.get(bag, 0.0) + less
    return tuple(bag for bag, less in squares.items() if not less > 0.0)
