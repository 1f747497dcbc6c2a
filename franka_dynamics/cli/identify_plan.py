# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`franka-dynamics identify plan`: plan an identification motion."""

from dataclasses import replace
from pathlib import Path
import shlex

import numpy as np

from ._choices import ArmChoice, BagReader
from ._console import ProgressBar, say, show
from ..errors import IdentificationError
from ..files import write_text
from ..identification.excitation import choose_repetitions, Excitation, optimise
from ..identification.excitation_problem import ExcitationProblem, information_matrix
from ..identification.options import ExcitationLimits, MAX_REPETITIONS, MIN_REPETITIONS
from ..recordings.preprocessing import prepare
from ..report import excitation as report


def run(
    arm: ArmChoice,
    reader: BagReader,
    limits: ExcitationLimits,
    *,
    gravity: tuple[float, float, float],
    output: Path,
    period: float,
    repetitions: int | None,
    given: tuple[str, ...],
    start: tuple[float, ...],
    **search: int,
) -> int:
    """
    Write an excitation trajectory; return 1 if parameters that matter stay unidentifiable.

    `search` has the options of the optimisation, --draws and --iterations.
    """
    description = arm.load()
    first, times = start or description.home, repetitions or MIN_REPETITIONS
    if first is None:
        raise IdentificationError(f'{description.name} has no home pose; give one with --start.')
    problem = ExcitationProblem(description, limits, gravity, duration=times * period)
    with ProgressBar() as bar:
        motions = [prepare(reader.read(bag, description, bar)) for bag in given]
        planned = problem
        if motions:
            known = np.sum([information_matrix(problem, one) for one in motions], axis=0)
            planned = replace(problem, known=known)
        progress = bar.new_task('planning')
        excitation = optimise(planned, first, period=period, progress=progress, **search)
    if repetitions is None:
        excitation, times = choose_repetitions(
            planned, excitation, MIN_REPETITIONS, MAX_REPETITIONS
        )
    say(report.identifiable_sentence(excitation, times, period, len(given)))
    missing = _say_missing(problem, excitation)
    write_text(output, report.trajectory_yaml(description.joint_names, excitation, period))
    say(
        f'trajectory: {output}; play it with `franka-dynamics node play`, or with\n'
        '  ros2 topic pub --once /feedforward/reference '
        f'trajectory_msgs/msg/JointTrajectory "$(cat {shlex.quote(str(output))})"'
    )
    return 1 if missing else 0


def _say_missing(problem: ExcitationProblem, excitation: Excitation) -> int:
    """Print what the motion leaves unknown; return the number of parameters that matter."""
    missing = problem.unidentified_essential(excitation.std)
    show(*report.unidentified_table(problem, excitation, missing))
    if count := np.count_nonzero(missing):
        say(
            f'{count} that matter are NOT identifiable: move more (--fraction, --period), repeat '
            'it more often (--repetitions), or plan a second motion with the bag of this one '
            '(--given).'
        )
    return int(count)
