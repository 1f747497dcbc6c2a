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


class Told(NamedTuple):
    """
    A fault that a judge names or asks about: its kind, in the words of the cases, and its joints.

    Joints are counted from 0. `effect` is the factor by which it makes the arm worse, NaN if the
    judge states none.
    """

    kind: str
    joints: tuple[int, ...]
    effect: float


class Judgement(NamedTuple):
    """
    What a judge says of a recording.

    `refused` is whether an arm must not be identified from it, `asked` whether the user must
    answer first. `named` are the faults for which it is refused, `questions` those that are asked
    about; a judge that names nothing leaves both empty.
    """

    refused: bool
    asked: bool = False
    named: tuple[Told, ...] = ()
    questions: tuple[Told, ...] = ()


def this_judge(asked: Question) -> Judgement:
    """Judge by the values and the table of this package."""
    if fatal_faults(asked.recording, asked.arm):
        return Judgement(refused=True)
    found = judge_motion(asked.motion, asked.model, [asked.arm], 'log')
    named, questions = (
        tuple(Told(one.kind, one.joints, one.effect) for one in some)
        for some in (found.causes, found.questions)
    )
    return Judgement(not found.sound, bool(found.open_questions()), named, questions)


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
