# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What an identification answers."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from .consistent_fit import ConsistentFit
from .cross_validation import CrossValidation
from .effort_scale import EffortScale
from .friction import TorqueModel
from .held_out import PartScore, pooled, Verdict
from .least_squares import Estimate, Noise
from .options import IdentificationOptions
from .prior import Prior
from ..arm import ArmDescription
from ..recordings.replay import Errors
from ..typing import Array


@dataclass(frozen=True, eq=False)
class Score:
    """
    What one set of parameters predicts.

    Attributes
    ----------
    name : str
        Of the set.
    theta : ndarray, shape (p,)
        Fitted to all recordings.
    train : Errors
        Of these on the recordings they are fitted to.
    parts : tuple of PartScore
        Of fits that have not seen the part.

    """

    name: str
    theta: Array
    train: Errors
    parts: tuple[PartScore, ...]

    @property
    def test(self) -> Errors:
        """Errors on what was left out, friction and offset included."""
        return pooled(self.parts, lambda one: one.filtered)

    @property
    def test_rigid(self) -> Errors:
        """The same without friction and offset: what a node commands by default."""
        return pooled(self.parts, lambda one: one.rigid)

    @property
    def test_unfiltered(self) -> Errors:
        """The same as `test` on unfiltered effort."""
        return pooled(self.parts, lambda one: one.unfiltered)

    @property
    def other_cutoffs(self) -> dict[float, Errors]:
        """The same as `test`, prepared at other cut-offs [Hz]."""
        return {
            cutoff: pooled([one.at(cutoff) for one in self.parts], lambda one: one.filtered)
            for cutoff in self.parts[0].others
        }


@dataclass(frozen=True, eq=False)
class Identification:
    """
    All results of an identification; whatever is not a score is fitted to all recordings.

    Attributes
    ----------
    model : TorqueModel
        What was identified.
    start : ArmDescription
        The starting set.
    options : IdentificationOptions
        As asked for.
    prior : Prior
        The prior, with the friction terms that were fitted.
    noise : Noise
        Of the joints.
    filter_inflation : float
        Samples that the filter alone makes one.
    validation : CrossValidation or None
        How strength and reaches were chosen.
    unregularised : Estimate or None
        Without any prior; None where the motion does not determine every parameter.
    base : Estimate
        Base parameters and friction under the prior.
    consistent : ConsistentFit
        The arm that can be.
    arm : ArmDescription
        The result: the consistent arm with the friction asked for.
    arm_score : Score
        What it predicts.
    published : tuple of Score
        Published sets with friction fitted alike.
    scores : tuple of Score
        All of them: base, consistent, with sigmoid friction if asked for, published.
    start_score : Score
        The starting set's.
    verdict : Verdict
        Whether the arm is better than the best published set.
    found_scale : EffortScale
        What one unit of effort is [N m per unit].
    bags : tuple of (str, float)
        Residual root mean square of each bag under the result [N m].
    contradictions : tuple of str
        Bags that cannot be of one arm in one state, one sentence each.
    not_shown : tuple of str
        Base parameters of which the motion says little or nothing.
    friction_held : tuple of str
        Friction parameters held at zero: smaller than their own standard deviation.
    bias : ndarray, shape (p,), or None
        What encoder noise adds to the base estimate, if it was asked for.
    remarks : tuple of str
        Sentences on what else a reader should know.
    unseen_bags : int
        How many bags at the end of `bags` were the unseen ones; 0 if parts were left out in turn.
    reaches : tuple of float
        Of the slip elements that were fitted [rad].

    """

    model: TorqueModel
    start: ArmDescription
    options: IdentificationOptions
    prior: Prior
    noise: Noise
    filter_inflation: float
    validation: CrossValidation | None
    unregularised: Estimate | None
    base: Estimate
    consistent: ConsistentFit
    arm: ArmDescription
    arm_score: Score
    published: tuple[Score, ...]
    scores: tuple[Score, ...]
    start_score: Score
    verdict: Verdict
    found_scale: EffortScale
    bags: tuple[tuple[str, float], ...]
    contradictions: tuple[str, ...]
    not_shown: tuple[str, ...]
    friction_held: tuple[str, ...]
    bias: Array | None = None
    remarks: tuple[str, ...] = field(default_factory=tuple)
    unseen_bags: int = 0
    reaches: tuple[float, ...] = ()

    @property
    def effort_scale(self) -> Array:
        """What one unit of effort is, shape (n,) [N m per unit]."""
        return self.found_scale.scale

    @property
    def offered(self) -> NDArray[np.bool_]:
        """Which parameters of theta were offered to the fit, shape (p,)."""
        return np.concatenate(
            [np.ones(len(self.model.base), dtype=bool), self.model.friction.chosen(self.reaches)]
        )
