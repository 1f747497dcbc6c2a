# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The work of `franka-dynamics identify plan`, which computes a motion for identification."""

from dataclasses import replace
import shlex

import numpy as np

from .choices import ArmChoice, BagReader, forbid_without
from .console import echo, print_rich, ProgressBar
from .requests import PlanRequest
from .trajectory_text import trajectory_yaml
from ..errors import IdentificationError
from ..excitation import excitation_problem as planning
from ..excitation.excitation import choose_repetitions, Excitation, optimise_excitation
from ..excitation.excitation_problem import ExcitationProblem, MAX_STD_TO_PRIOR_RATIO
from ..excitation.limits import ExcitationLimits, MAX_REPETITIONS, MIN_REPETITIONS
from ..files import write_text
from ..recordings.preprocessing import to_motion
from ..report.elements import Header, Table, value_and_deviation_texts

_TRAJECTORY_RATE_HZ = 25.0


def plan_motion(
    choice: ArmChoice, reader: BagReader, limits: ExcitationLimits, request: PlanRequest
) -> int:
    """Write an excitation trajectory; return 1 if it leaves essential parameters unidentified."""
    if not request.given:
        forbid_without('--given', 'joint_names', 'topic')
    arm = choice.load()
    start = request.start or arm.home
    repetitions = request.repetitions or MIN_REPETITIONS
    if start is None:
        raise IdentificationError(f'{arm.name} has no home pose; give one with --start.')
    period = request.period
    problem = ExcitationProblem(arm, limits, request.gravity, duration=repetitions * period)
    with ProgressBar() as bar:
        motions = [to_motion(reader.read_recording(bag, arm, bar)) for bag in request.given]
        planned = problem
        if motions:
            matrices = [planning.information_matrix(problem, motion) for motion in motions]
            planned = replace(problem, known_information=np.sum(matrices, axis=0))
        excitation = optimise_excitation(
            planned,
            start,
            draws=request.draws,
            iterations=request.iterations,
            period=period,
            progress=bar.new_task('planning'),
        )
    if request.repetitions is None:
        excitation, repetitions = choose_repetitions(
            planned, excitation, MIN_REPETITIONS, MAX_REPETITIONS
        )
    time = np.linspace(0.0, period, round(period * _TRAJECTORY_RATE_HZ) + 1)
    states = np.array(excitation.trajectory.states_at(time))
    write_text(request.output, trajectory_yaml(arm.joint_names, time, states))
    ratios = excitation.std_to_prior_ratios
    given_bags = f', and the {len(motions)} given bags' if motions else ''
    minutes = repetitions * period / 60.0
    identifiable_count = np.count_nonzero(ratios <= MAX_STD_TO_PRIOR_RATIO)
    echo(
        f'After {repetitions} repetitions of {period:g} s ({minutes:.1f} minutes){given_bags} '
        f'{identifiable_count} of {len(ratios)} base parameters are identifiable. Of its standard '
        f'deviation by the prior, the worst known one keeps {ratios.max():.0%}; the prior knows '
        'masses to 100 %, and all else in proportion.'
    )
    missing_count = _print_unidentified_parameters(problem, excitation)
    echo(
        f'trajectory: {request.output}; play it with `franka-dynamics node play`, or with\n'
        '  ros2 topic pub --once /feedforward/reference '
        f'trajectory_msgs/msg/JointTrajectory "$(cat {shlex.quote(str(request.output))})"'
    )
    return 1 if missing_count else 0


def _print_unidentified_parameters(problem: ExcitationProblem, excitation: Excitation) -> int:
    """Print the parameters left unidentified; return how many of them matter for torques."""
    is_missing = problem.unidentified_mask(excitation.parameter_std)
    base = problem.model.base
    values = base.values(problem.arm)
    torque_ratios = problem.torque_to_noise_ratio(excitation.parameter_std)
    rows = []
    for k in np.flatnonzero(excitation.std_to_prior_ratios > MAX_STD_TO_PRIOR_RATIO):
        value, deviation = value_and_deviation_texts(values[k], excitation.parameter_std[k])
        rows.append(
            (
                base.names[k],
                value,
                deviation,
                excitation.std_to_prior_ratios[k],
                torque_ratios[k],
                'NOT identifiable' if is_missing[k] else 'not needed',
            )
        )
    heads = (
        'parameter',
        'start',
        'deviation',
        Header("of the prior's", format='.0%'),
        Header('torque, of the noise', format='.2g'),
        '',
    )
    title = (
        'base parameters that stay unknown: the part of the prior deviation that is left, and the '
        "torque that one deviation makes, relative to a joint's noise (not needed: below 0.1)"
    )
    if rows:
        print_rich(Table(title, heads, rows))
    missing_count = int(np.count_nonzero(is_missing))
    if missing_count:
        echo(
            f'{missing_count} that matter are NOT identifiable: move more (--fraction, --period), '
            'repeat more often (--repetitions), or plan a second motion with this bag (--given).'
        )
    return missing_count
