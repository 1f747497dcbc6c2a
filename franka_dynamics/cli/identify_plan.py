# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The work of `franka-dynamics identify plan`, which computes a motion for identification."""

from dataclasses import replace
import shlex

import numpy as np

from ._choices import ArmChoice, BagReader, Options
from ._console import print_rich, ProgressBar, say
from ..errors import IdentificationError
from ..files import write_text
from ..identification.excitation import choose_repetitions, Excitation, optimise_excitation
from ..identification.excitation_problem import ExcitationProblem, information_matrix
from ..identification.options import ExcitationLimits, MAX_REPETITIONS, MIN_REPETITIONS
from ..recordings.preprocessing import prepare
from ..report import excitation as report


def run(arm: ArmChoice, reader: BagReader, limits: ExcitationLimits, options: Options) -> int:
    """Write an excitation trajectory; return 1 if it leaves essential parameters unidentified."""
    description = arm.load()
    first, times = options.start or description.home, options.repetitions or MIN_REPETITIONS
    if first is None:
        raise IdentificationError(f'{description.name} has no home pose; give one with --start.')
    period, output = options.period, options.output
    problem = ExcitationProblem(description, limits, options.gravity, duration=times * period)
    with ProgressBar() as bar:
        motions = [prepare(reader.read_recording(bag, description, bar)) for bag in options.given]
        planned = problem
        if motions:
            known = np.sum([information_matrix(problem, one) for one in motions], axis=0)
            planned = replace(problem, known_information=known)
        search = {'draws': options.draws, 'iterations': options.iterations}
        search |= {'period': period, 'progress': bar.new_task('planning')}
        excitation = optimise_excitation(planned, first, **search)
    if options.repetitions is None:
        bounds = MIN_REPETITIONS, MAX_REPETITIONS
        excitation, times = choose_repetitions(planned, excitation, *bounds)
    say(report.identifiable_sentence(excitation, times, period, len(options.given)))
    missing = _print_unidentified_parameters(problem, excitation)
    write_text(output, report.trajectory_yaml(description.joint_names, excitation, period))
    say(
        f'trajectory: {output}; play it with `franka-dynamics node play`, or with\n'
        '  ros2 topic pub --once /feedforward/reference '
        f'trajectory_msgs/msg/JointTrajectory "$(cat {shlex.quote(str(output))})"'
    )
    return 1 if missing else 0


def _print_unidentified_parameters(problem: ExcitationProblem, excitation: Excitation) -> int:
    """Print the parameters left unidentified; return how many of them matter for torques."""
    missing = problem.unidentified_mask(excitation.parameter_std)
    print_rich(*report.unidentified_parameter_tables(problem, excitation, missing))
    if count := np.count_nonzero(missing):
        say(
            f'{count} that matter are NOT identifiable: move more (--fraction, --period), repeat '
            'more often (--repetitions), or plan a second motion with this bag (--given).'
        )
    return int(count)
