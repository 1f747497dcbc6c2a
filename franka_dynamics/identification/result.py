# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
What an identification answers.

Where Gaz's sigmoid friction is asked for, it is fitted to an identified arm and judged likewise.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from .consistent_fit import ConsistentFit
from .cross_validation import CrossValidation
from .effort_scale import EffortScale
from .friction import fit_sigmoid, TorqueModel
from .held_out import FittedSets, judge, PartScore, pooled, Verdict
from .least_squares import Estimate, Noise
from .options import IdentificationOptions
from .prior import Prior
from .prior_misfit import ShownPrecision
from .qr_factors import split
from ..arm import ArmDescription
from ..recordings.preprocessing import Motion
from ..recordings.replay import predicted_torque, ResidualRms
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
    train : ResidualRms
        Of these on the recordings they are fitted to.
    parts : tuple of PartScore
        Of fits that have not seen the part.

    """

    name: str
    theta: Array
    train: ResidualRms
    parts: tuple[PartScore, ...]

    @property
    def test(self) -> ResidualRms:
        """Errors on what was left out, friction and offset included."""
        return pooled(self.parts, lambda one: one.filtered)

    @property
    def test_rigid(self) -> ResidualRms:
        """The same without friction and offset: what a node commands by default."""
        return pooled(self.parts, lambda one: one.rigid)

    @property
    def test_unfiltered(self) -> ResidualRms:
        """The same as `test` on unfiltered effort."""
        return pooled(self.parts, lambda one: one.unfiltered)

    @property
    def other_cutoffs(self) -> dict[float, ResidualRms]:
        """The same as `test`, prepared at other cut-offs [Hz] that every part has."""
        return {
            cutoff: pooled([one.at(cutoff) for one in self.parts], lambda one: one.filtered)
            for cutoff in self.parts[0].others
            if all(cutoff in one.others for one in self.parts)
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
        How regularization and reaches were chosen.
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
    precision : ShownPrecision
        How good the samples show the starting set to be, at least; deviations rest on it.
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
    precision: ShownPrecision
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


def with_sigmoid(
    result: Identification,
    fits: Sequence[FittedSets],
    motions: Sequence[Motion],
    tests: int,
    others: Mapping[float, Sequence[Motion]],
) -> Identification:
    """
    Return the result with sigmoid friction, fitted to what the inertias leave.

    Parameters
    ----------
    result : Identification
        With friction that is linear in its parameters.
    fits : sequence of FittedSets
        One for each part that was left out.
    motions : sequence of Motion
        All recordings, the unseen ones last.
    tests : int
        How many of them are unseen; without any, parts were left out in turn.
    others : mapping of float to sequence of Motion
        The same prepared at other cut-offs [Hz].

    """
    gravity, folds = result.options.gravity, result.options.folds

    def fitted(arm: ArmDescription, samples: Sequence[Motion]) -> ArmDescription:
        left = [
            motion.effort - predicted_torque(arm, motion, gravity=gravity) for motion in samples
        ]
        velocity = np.concatenate([motion.dq for motion in samples])
        return replace(arm, friction=fit_sigmoid(velocity, np.concatenate(left)))

    count = len(motions) - tests
    parts = split(motions[count:] if tests else motions, folds)
    beside = {
        cutoff: split(list(prepared)[count:] if tests else list(prepared), folds)
        for cutoff, prepared in others.items()
    }
    scores = []
    for k, (fit, part) in enumerate(zip(fits, parts)):
        seen = (
            motions[:count]
            if tests
            else [motion for j, samples in enumerate(parts) if j != k for motion in samples]
        )
        arm = fitted(fit.consistent.arm, seen)
        filtered, rigid, unfiltered = _squares(arm, part, gravity)
        scores.append(
            PartScore(
                result.arm_score.parts[k].name,
                sum(map(len, part)),
                filtered,
                rigid,
                unfiltered,
                {
                    cutoff: (sum(map(len, prepared[k])), _squares(arm, prepared[k], gravity)[0])
                    for cutoff, prepared in beside.items()
                },
            )
        )
    arm = fitted(result.arm, motions)
    squares, _, _ = _squares(arm, motions, gravity)
    samples = sum(map(len, motions))
    train = ResidualRms(float(np.sqrt(squares.sum() / samples)), np.sqrt(squares / samples))
    score = Score('consistent, sigmoid friction', result.consistent.theta, train, tuple(scores))
    verdict = judge(
        score.parts,
        {one.name: one.parts for one in result.published},
        result.start_score.parts,
    )
    own = result.scores[: len(result.scores) - len(result.published)]
    return replace(
        result, arm=arm, arm_score=score, verdict=verdict, scores=(*own, score, *result.published)
    )


def _squares(
    arm: ArmDescription,
    motions: Sequence[Motion],
    gravity: object,
) -> tuple[Array, Array, Array]:
    """Return squares of residuals with friction, without, and with it on unfiltered effort."""
    assert arm.friction is not None
    total = np.zeros((3, arm.n))
    for motion in motions:
        rigid = predicted_torque(arm, motion, gravity=gravity)  # type: ignore[arg-type]
        predicted = rigid + arm.friction.torque(motion.dq)
        for row, residual in enumerate(
            (
                motion.effort - predicted,
                motion.effort - rigid,
                motion.effort_unfiltered - predicted,
            )
        ):
            total[row] += np.sum(residual * residual, axis=0)
    return total[0], total[1], total[2]
