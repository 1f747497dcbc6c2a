# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The work of `franka-dynamics identify plan`, which computes a motion for identification."""

from collections.abc import Sequence
from dataclasses import replace
import shlex

import numpy as np
import yaml

from ._choices import ArmChoice, BagReader, Options
from ._console import print_rich, ProgressBar, say
from ..errors import IdentificationError
from ..files import write_text
from ..identification import excitation_problem as planning
from ..identification.excitation import choose_repetitions, Excitation, optimise_excitation
from ..identification.excitation_problem import ExcitationProblem, MAX_STD_TO_PRIOR_RATIO
from ..identification.options import ExcitationLimits, MAX_REPETITIONS, MIN_REPETITIONS
from ..recordings.preprocessing import prepare
from ..report.elements import Header, rounded_to_deviation, Table

_POINT_RATE_HZ = 25.0


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
            known = np.sum([planning.information_matrix(problem, one) for one in motions], axis=0)
            planned = replace(problem, known_information=known)
        search = {'draws': options.draws, 'iterations': options.iterations}
        search |= {'period': period, 'progress': bar.new_task('planning')}
        excitation = optimise_excitation(planned, first, **search)
    if options.repetitions is None:
        bounds = MIN_REPETITIONS, MAX_REPETITIONS
        excitation, times = choose_repetitions(planned, excitation, *bounds)
    left = excitation.std_to_prior_ratios
    given = f', and the {len(motions)} given bags' if motions else ''
    say(
        f'After {times} repetitions of {period:g} s ({times * period / 60.0:.1f} minutes){given} '
        f'{np.count_nonzero(left <= MAX_STD_TO_PRIOR_RATIO)} of {len(left)} base parameters are '
        f"identifiable; a standard deviation is at most {left.max():.0%} of the prior's (masses "
        '100 %, others in proportion).'
    )
    missing = _print_unidentified_parameters(problem, excitation)
    write_text(output, _trajectory_yaml(description.joint_names, excitation, period))
    say(
        f'trajectory: {output}; play it with `franka-dynamics node play`, or with\n'
        '  ros2 topic pub --once /feedforward/reference '
        f'trajectory_msgs/msg/JointTrajectory "$(cat {shlex.quote(str(output))})"'
    )
    return 1 if missing else 0


def _print_unidentified_parameters(problem: ExcitationProblem, excitation: Excitation) -> int:
    """Print the parameters left unidentified; return how many of them matter for torques."""
    missing = problem.unidentified_mask(excitation.parameter_std)
    base, values = problem.model.base, problem.model.base.values(problem.arm)
    torques = problem.torque_to_noise_ratio(excitation.parameter_std)
    rows = [
        (
            *(base.names[k], *rounded_to_deviation(values[k], excitation.parameter_std[k])),
            *(excitation.std_to_prior_ratios[k], torques[k]),
            'NOT identifiable' if missing[k] else 'not needed',
        )
        for k in np.flatnonzero(excitation.std_to_prior_ratios > MAX_STD_TO_PRIOR_RATIO)
    ]
    heads = (
        *('parameter', 'start', 'deviation', Header("of the prior's", format='.0%')),
        *(Header('torque, of the noise', format='.2g'), ''),
    )
    title = (
        'base parameters that stay unknown: the part of the prior deviation that is left, and the '
        "torque that one deviation makes, relative to a joint's noise (not needed: below 0.1)"
    )
    if rows:
        print_rich(Table(title, heads, rows))
    if count := np.count_nonzero(missing):
        say(
            f'{count} that matter are NOT identifiable: move more (--fraction, --period), repeat '
            'more often (--repetitions), or plan a second motion with this bag (--given).'
        )
    return int(count)


def _trajectory_yaml(joint_names: Sequence[str], excitation: Excitation, period: float) -> str:
    """Return one period [s] of an excitation as the YAML text of a JointTrajectory message."""
    time = np.linspace(0.0, period, round(period * _POINT_RATE_HZ) + 1)
    fields = ('positions', 'velocities', 'accelerations')
    stamps = np.round(time * 1e9).astype(np.int64).tolist()
    states = (np.round(excitation.trajectory.at(time), 6) + 0.0).tolist()
    points = [
        dict(zip(fields, rows))
        | {'time_from_start': dict(zip(('sec', 'nanosec'), divmod(stamp, 10**9)))}
        for stamp, *rows in zip(stamps, *states, strict=True)
    ]
    message = {'joint_names': list(joint_names), 'points': points}
    return yaml.safe_dump(message, sort_keys=False, default_flow_style=None, width=1000)
