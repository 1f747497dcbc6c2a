# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Judges of recordings: each says whether an arm may be identified from a recording."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from franka_dynamics.arm import ArmDescription
from franka_dynamics.fit.least_squares import GramStack
from franka_dynamics.fit.torque_model import TorqueModel
from franka_dynamics.judge.recordings import judge_motion
from franka_dynamics.recordings.plausibility import fatal_faults
from franka_dynamics.recordings.preprocessing import Motion, without_rest
from franka_dynamics.recordings.recording import Recording

MAX_RESIDUAL = 0.1  # of the rms effort, which texts on identification call a good fit
PART_COUNT = 5


class Question(NamedTuple):
    """
    What a judge is asked about: a recording and its prepared motion, the torque model and arm.

    The model has the declared gravity. The arm is that of the maker's file, or the shipped one.
    """

    recording: Recording
    motion: Motion
    model: TorqueModel
    arm: ArmDescription


class Judgement(NamedTuple):
    """
    What a judge says of a recording.

    `refused` is whether an arm must not be identified from it, `asked` whether the user must
    answer first. `named` are kinds of faults and their joints (from 0), in the words of the cases;
    a judge that names nothing leaves it empty. `effect` is the factor by which the arm is worse,
    1 if nothing is said.
    """

    refused: bool
    asked: bool = False
    named: tuple[tuple[str, tuple[int, ...]], ...] = ()
    effect: float = 1.0


def this_judge(asked: Question) -> Judgement:
    """Judge by the values and the table of this package."""
    if fatal_faults(asked.recording, asked.arm):
        return Judgement(refused=True)
    found = judge_motion(asked.motion, asked.model, [asked.arm], 'log')
    told = (*found.causes, *found.questions)
    effects = [1.0, *(one.effect for one in told if np.isfinite(one.effect))]
    return Judgement(
        not found.sound,
        bool(found.open_questions()),
        tuple((one.kind, one.joints) for one in found.causes),
        max(effects),
    )


def residual_test(asked: Question) -> Judgement:
    """Refuse if plain least squares leaves more than a tenth of the efforts of left-out fifths."""
    model, moving = asked.model, without_rest(asked.motion)
    sums = GramStack.from_motion(model, moving, fold_count=PART_COUNT)
    p = len(model.parameter_names)
    left = total = 0.0
    for part in range(PART_COUNT):
        fitted = sums.with_folds([k for k in range(PART_COUNT) if k != part])
        gram = fitted.total_matrices.sum(axis=0)
        theta = np.linalg.lstsq(gram[:p, :p], gram[:p, -1], rcond=1e-10)[0]
        own = sums.with_folds([part])
        left += float(own.squared_residuals(theta).sum())
        total += float(own.squared_residuals(np.zeros(p)).sum())
    return Judgement(left > MAX_RESIDUAL**2 * total)


JUDGES: dict[str, Callable[[Question], Judgement]] = {
    'this package': this_judge,
    'residual of plain least squares': residual_test,
}
