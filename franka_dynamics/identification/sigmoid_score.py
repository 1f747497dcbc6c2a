# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Gaz's sigmoid friction for an identified arm, and what it is worth on unseen recordings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from .friction import fit_sigmoid
from .held_out import FittedSets, judge, PartScore
from .qr_factors import split
from .result import Identification, Score
from ..arm import ArmDescription
from ..recordings.preprocessing import Motion
from ..recordings.replay import Errors, predicted_torque
from ..typing import Array


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
    train = Errors(float(np.sqrt(squares.sum() / samples)), np.sqrt(squares / samples))
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
