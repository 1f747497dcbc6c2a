# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`franka-dynamics identify plan`: plan an identification motion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
import shlex

import numpy as np
import yaml

from ._next import next_command
from ._options import ArmChoice, BagReader
from ._say import ProgressBar, say, show, this_command
from ..errors import IdentificationError
from ..files import write_text
from ..identification.excitation import Excitation, optimise, repeated
from ..identification.excitation_problem import bag_information, ExcitationProblem, IDENTIFIABLE
from ..identification.options import ExcitationLimits, MAX_REPETITIONS, MIN_REPETITIONS
from ..recordings.preprocessing import prepare
from ..report.elements import rounded
from ..report.table import Head, Table
from ..typing import Array

_POINTS_PER_S = 25.0


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
    draws: int,
    iterations: int,
) -> int:
    """Write the trajectory; exit 1 if needed parameters stay unknown."""
    description = arm.load()
    first, times = start or description.home, repetitions or MIN_REPETITIONS
    if first is None:
        raise IdentificationError(f'{description.name} has no home pose; give one with --start.')
    problem = ExcitationProblem(description, limits, gravity, duration=times * period)
    with ProgressBar() as bar:
        motions = [prepare(reader.read(bag, description, bar)) for bag in given]
        planned = problem
        if motions:
            known = np.sum([bag_information(problem, one) for one in motions], axis=0)
            planned = replace(problem, known=known)
        say(f'planning: {draws} random motions, then at most {iterations} steps from the best')
        found = optimise(
            planned,
            first,
            period=period,
            draws=draws,
            iterations=iterations,
            progress=bar.follow('planning'),
        )
    if repetitions is None:
        found, times = repeated(planned, found, MIN_REPETITIONS, MAX_REPETITIONS)
    identifiable = _print(problem, found, period, times, len(given))
    time = np.linspace(0.0, period, round(period * _POINTS_PER_S) + 1)
    write_text(output, _trajectory_yaml(description.joint_names, time, *found.trajectory.at(time)))
    file = shlex.quote(str(output))
    say(
        f'trajectory: {output}; play it with\n'
        f'  {this_command()} {next_command("node play", output, topic=None)}\n'
        'or, where ROS 2 is installed, with\n  ros2 topic pub --once /feedforward/reference '
        f'trajectory_msgs/msg/JointTrajectory "$(cat {file})"'
    )
    return 0 if identifiable else 1


def _print(
    problem: ExcitationProblem, found: Excitation, period: float, repetitions: int, bag_count: int
) -> bool:
    """Print which base parameters stay unknown; return False if one of them matters."""
    base, values = problem.model.base, problem.model.base.values(problem.arm)
    unknown = found.left_open > IDENTIFIABLE
    missing = problem.not_known(found.deviations)
    left = problem.torques_left(found.deviations)
    times = f'{repetitions} repetitions of {period:g} s'
    bags = f', and the {bag_count} given bags' if bag_count else ''
    say(
        f'After {times} ({repetitions * period / 60.0:.1f} minutes){bags} '
        f'{np.count_nonzero(~unknown)} of {len(values)} base parameters are identifiable; a '
        f"standard deviation is at most {found.left_open.max():.0%} of the prior's (masses "
        '100 %, others in proportion).'
    )
    if unknown.any():
        rows = [
            (
                *(base.names[k], *rounded(values[k], found.deviations[k])),
                *(found.left_open[k], left[k]),
                'NOT identifiable' if missing[k] else 'not needed',
            )
            for k in np.flatnonzero(unknown)
        ]
        heads = (
            *('parameter', 'start', 'deviation', Head("of the prior's", form='.0%')),
            *(Head('torque, of the noise', form='.2g'), ''),
        )
        show(Table(f'predicted standard deviations after {times}{bags}', heads, rows))
    if missing.any():
        say(
            f'{np.count_nonzero(missing)} that matter are NOT identifiable: move more '
            '(--fraction, --period), repeat it more often (--repetitions), or plan a second '
            'motion with the bag of this one (--given).'
        )
    return not missing.any()


def _trajectory_yaml(joint_names: Sequence[str], time: Array, *states: Array) -> str:
    """
    Return a trajectory message as YAML, from times (N,) [s] and `states` (N, n).

    `states` are positions [rad], velocities [rad/s] and accelerations [rad/s^2].
    """
    fields = ('positions', 'velocities', 'accelerations')
    stamps = np.round(time * 1e9).astype(np.int64).tolist()
    points = [
        dict(zip(fields, rows))
        | {'time_from_start': dict(zip(('sec', 'nanosec'), divmod(stamp, 10**9)))}
        for stamp, *rows in zip(stamps, *(np.round(states, 6) + 0.0).tolist())
    ]
    message = {'joint_names': list(joint_names), 'points': points}
    return yaml.safe_dump(message, sort_keys=False, default_flow_style=None, width=1000)
