# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`franka-dynamics identify plan`: a motion that shows an arm's parameters, and a rehearsal."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
import shlex
from typing import TYPE_CHECKING

import numpy as np

from ._arm_options import add_arm_options, load_arm, this_command
from ._options import (
    add_gravity_option,
    add_joint_name_options,
    add_output_option,
    add_plot_option,
    add_seed_option,
    output_folder,
    refuse,
)
from ._say import say, terminal
from ..arm import ArmDescription, load
from ..errors import IdentificationError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

    from ..identification.excitation import Excitation
    from ..identification.excitation_problem import ExcitationProblem
    from ..typing import Array

SUMMARY = 'Compute a trajectory for identification, within limits and above the table.'
_POINTS_PER_S = 25.0
# What the simulated arm's sensors scatter: effort [N m], velocity [rad/s], position [rad].
_EFFORT_NOISE, _VELOCITY_NOISE, _POSITION_NOISE = 0.2, 1e-3, 1e-5
_NOISE_FACTOR = 3.0
_PERIODS = 2  # the first trains, the second tests
_DRAW_S, _STEP_S = 0.05, 0.14  # of processor, for a random motion and a step
_FEWEST, _MOST = 10, 200  # repetitions, where their number is not given


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's options."""
    add_arm_options(parser)
    add_gravity_option(parser, 'base', default=(0.0, 0.0, -9.81))
    add_output_option(
        parser,
        'trajectory_msgs/JointTrajectory as YAML (default: %(default)s)',
        default='excitation.yaml',
    )
    parser.add_argument(
        '--period',
        type=float,
        default=10.0,
        metavar='S',
        help='length of the motion (default: %(default)s)',
    )
    parser.add_argument(
        '--repetitions',
        type=int,
        metavar='N',
        help='how often the motion will be recorded (default: as often as it takes until '
        f'every base parameter that matters is known, {_FEWEST} to {_MOST} times)',
    )
    parser.add_argument(
        '--given',
        nargs='+',
        action='extend',
        default=[],
        metavar='BAG',
        help='bags that there are already: the motion complements what they show',
    )
    add_joint_name_options(parser, 'how the joints are called in these bags, from base to tip')
    parser.add_argument(
        '--topic',
        help='topic of the joint states in these bags (default: /joint_states, or the only one)',
    )
    parser.add_argument(
        '--harmonics',
        type=int,
        default=5,
        metavar='N',
        help='sines and cosines per joint (default: %(default)s)',
    )
    parser.add_argument(
        '--start',
        type=float,
        nargs='+',
        metavar='RAD',
        help="pose it starts and ends at (default: the arm file's home)",
    )
    parser.add_argument(
        '--fraction',
        type=float,
        default=0.7,
        metavar='F',
        help='of the velocity, acceleration and torque limits (default: %(default)s)',
    )
    parser.add_argument(
        '--position-margin',
        type=float,
        default=0.1,
        metavar='RAD',
        help='kept from the ends of each joint (default: %(default)s)',
    )
    parser.add_argument(
        '--table',
        type=float,
        default=0.0,
        metavar='M',
        help='height of the table in the base frame (default: %(default)s)',
    )
    parser.add_argument(
        '--table-margin',
        type=float,
        default=0.15,
        metavar='M',
        help='kept above it by frames and tool (default: %(default)s)',
    )
    parser.add_argument(
        '--clearance',
        type=float,
        default=0.1,
        metavar='M',
        help="kept between the axes of the arm's own parts (default: %(default)s)",
    )
    parser.add_argument(
        '--tool',
        type=float,
        default=0.15,
        metavar='M',
        help='length of what is mounted (default: %(default)s)',
    )
    parser.add_argument(
        '--draws',
        type=int,
        default=100,
        metavar='N',
        help='random trajectories to start from and compare with (default: %(default)s)',
    )
    parser.add_argument(
        '--iterations',
        type=int,
        default=300,
        metavar='N',
        help='of the optimisation at most; where it has converged, it ends (default: %(default)s)',
    )
    add_seed_option(parser, 'of the random starts')
    parser.add_argument(
        '--all', action='store_true', help='list every parameter, not only those left open'
    )
    add_plot_option(parser, 'the motion within its limits')
    parser.add_argument(
        '--rehearse',
        type=output_folder,
        metavar='FOLDER',
        help='play it on the simulated arm with '
        'a hand that identification is not told of, record a bag into this '
        'folder, identify it and write the arm file beside it',
    )
    parser.add_argument(
        '--rehearse-hand',
        default='franka_hand',
        metavar='HAND',
        help='what the simulated arm carries (default: %(default)s)',
    )


def run(arguments: argparse.Namespace) -> int:
    """Write the trajectory; exit 1 if it shows too little, or a rehearsal missed the arm."""
    from ..files import write_text
    from ..report.excitation import joint_trajectory_yaml, LONGEST_ARGUMENT

    if not arguments.rehearse:
        refuse(arguments, 'no rehearsal: add --rehearse FOLDER', rehearse_hand='--rehearse-hand')
    console = terminal()
    arm = load_arm(arguments)
    found, repetitions = _optimise(console, arm, arguments)
    identifiable = _print(console, arm, found, repetitions, arguments)
    time = np.linspace(0.0, arguments.period, round(arguments.period * _POINTS_PER_S) + 1)
    text = joint_trajectory_yaml(arm.joint_names, time, *found.trajectory.at(time))
    write_text(arguments.output, text)
    console.print(
        f'trajectory: {arguments.output}; play it with\n'
        f'  {this_command()} node play {shlex.quote(str(arguments.output))}\n'
        'or, where ROS 2 is installed, with\n  ros2 topic pub --once '
        '/feedforward/reference trajectory_msgs/msg/JointTrajectory '
        f'"$(cat {shlex.quote(str(arguments.output))})"',
        soft_wrap=True,
    )
    if len(text) > LONGEST_ARGUMENT:
        say(
            console,
            'the latter is longer than a shell hands over; use the former, or shorten the period',
            'warning',
        )
    if arguments.plot:
        from ..report.excitation import plot_excitation

        plot_excitation(_problem(arm, arguments), found.trajectory, arguments.plot)
        console.print(f'picture: {arguments.plot}')
    status = 0 if identifiable else 1
    if arguments.rehearse:
        return _rehearse(console, arm, found, arguments) or status
    return status


def _optimise(
    console: Console, arm: ArmDescription, arguments: argparse.Namespace
) -> tuple[Excitation, int]:
    """Return the motion, and how often it is to be recorded."""
    from ._recording_options import progress_bar
    from ..identification.excitation import optimise, repeated, repetitions_needed

    start = arguments.start if arguments.start is not None else arm.home
    if start is None:
        raise IdentificationError(f'{arm.name} has no home pose; give one with --start.')
    if arguments.draws < 1 or arguments.iterations < 1:
        raise IdentificationError('--draws and --iterations must be at least 1.')
    with progress_bar(console) as bar:
        problem = replace(_problem(arm, arguments), known=_known(arm, arguments, bar))
        console.print(
            f'planning: {arguments.draws} random motions, then at most {arguments.iterations} '
            f'steps from the best, about {_seconds(arm, arguments):.0f} s of one processor',
        )
        task = bar.add_task('planning', total=None)
        found = optimise(
            problem,
            start,
            period=arguments.period,
            harmonics=arguments.harmonics,
            draws=arguments.draws,
            iterations=arguments.iterations,
            seed=arguments.seed,
            progress=lambda done, total: bar.update(task, completed=done, total=total),
        )
    if arguments.repetitions is not None:
        return found, arguments.repetitions
    repetitions = repetitions_needed(problem, found.trajectory, _FEWEST, _MOST)
    return repeated(problem, found, repetitions), repetitions


def _seconds(arm: ArmDescription, arguments: argparse.Namespace) -> float:
    """Return about how long planning takes, by what it took an AMD EPYC for seven joints."""
    share = (arm.n / 7.0) ** 3
    return share * (_DRAW_S * arguments.draws + _STEP_S * arguments.iterations)


def _problem(arm: ArmDescription, arguments: argparse.Namespace) -> ExcitationProblem:
    from ..identification.excitation_problem import ExcitationLimits, ExcitationProblem

    return ExcitationProblem(
        arm,
        ExcitationLimits(
            fraction=arguments.fraction,
            position_margin=arguments.position_margin,
            table=arguments.table,
            table_margin=arguments.table_margin,
            clearance=arguments.clearance,
            tool=arguments.tool,
        ),
        arguments.gravity,
        duration=(arguments.repetitions or _FEWEST) * arguments.period,
    )


def _known(arm: ArmDescription, arguments: argparse.Namespace, bar: Progress) -> Array | None:
    """Return what the given bags show, as information on every parameter; None without any."""
    from ._recording_options import joint_names, reading
    from ..identification.excitation_problem import bag_information
    from ..recordings.preprocessing import prepare
    from ..recordings.recording import read_recording

    if arguments.repetitions is not None and arguments.repetitions < 1:
        raise IdentificationError('--repetitions must be at least 1.')
    problem, known = _problem(arm, arguments), None
    for bag in arguments.given:
        recording = read_recording(
            bag,
            joint_names(arguments, arm),
            topic=arguments.topic,
            progress=reading(bar, bag),
        )
        shown = bag_information(problem, prepare(recording))
        known = shown if known is None else known + shown
    return known


def _print(
    console: Console,
    arm: ArmDescription,
    found: Excitation,
    repetitions: int,
    arguments: argparse.Namespace,
) -> bool:
    """Say what each parameter would be known to; return whether each is identifiable."""
    from ..identification.excitation_problem import IDENTIFIABLE
    from ..report.elements import rounded
    from ..report.table import Head, Table

    problem = _problem(arm, arguments)
    names, values = problem.model.base.names, problem.model.base.values(arm)
    open_ones = problem.not_known(found.deviations)
    small = (found.left_open > IDENTIFIABLE) & ~open_ones
    count = np.count_nonzero(found.left_open <= IDENTIFIABLE)
    said = (
        f'{f"every one of {count}" if count == len(names) else f"{count} of {len(names)}"} '
        f'base parameters {"is" if count == len(names) else "are"} identifiable'
    )
    if small.any():
        most = problem.torques_left(found.deviations)[small].max()
        said += (
            f'; {_listed(names, small)} are not needed, since what is not known of one makes no '
            f'more than {most:.2g} of the torque noise of any joint'
        )
    if open_ones.any():
        said += (
            f'; {np.count_nonzero(open_ones)} that matter are NOT identifiable: '
            f'{_listed(names, open_ones)}: move more (--fraction, --period, --harmonics), repeat '
            'it more often (--repetitions), or plan a second motion with the bag of this one '
            '(--given)'
        )
    seconds = repetitions * arguments.period
    beside = f', and the {len(arguments.given)} given bags' if arguments.given else ''
    console.print(
        f'Of what is not known before (masses to 100 %, all else in proportion) at most '
        f'{found.left_open.max():.0%} is left open by {repetitions} repetitions '
        f'of {arguments.period:g} s ({seconds / 60.0:.1f} minutes){beside}: {said}. The '
        f'worst of each of {len(found.random_worst)} random ones within the same limits is '
        f'{found.random_worst.min():.0%} to {found.random_worst.max():.0%} after '
        f'{arguments.repetitions or _FEWEST} repetitions; the condition number '
        f'in units of the starting set is {found.condition_number:.2g}.',
    )
    rows = [
        (
            name,
            *rounded(values[k], found.deviations[k]),
            found.left_open[k],
            'not identifiable' if open_ones[k] else 'too small to matter' if small[k] else '',
        )
        for k, name in enumerate(names)
        if arguments.all or found.left_open[k] > IDENTIFIABLE
    ]
    if rows:
        given = f' and {len(arguments.given)} given bags' if arguments.given else ''
        console.print(
            Table(
                f'predicted standard deviations after {repetitions} times {arguments.period:g} s'
                f'{given}{"" if arguments.all else "; the others with --all"}',
                ('parameter', 'start', 'deviation', Head('left open', form='.0%'), ''),
                rows,
            )
        )
    return not open_ones.any()


def _listed(names: Sequence[str], chosen: Sequence[bool] | np.ndarray) -> str:
    return ', '.join(name for name, one in zip(names, chosen) if one)


def _rehearse(
    console: Console, arm: ArmDescription, found: Excitation, arguments: argparse.Namespace
) -> int:
    """Play, record and identify; the answer is no unless the simulated arm is predicted."""
    from . import main as command_line
    from ..recordings.recording import write_recording
    from ..simulation.arm_simulation import SimulationSettings
    from ..simulation.play import play

    folder = Path(arguments.rehearse)
    truth = load(arguments.arm, arguments.inertial_set, hand=arguments.rehearse_hand)
    console.print(
        f'rehearsal: {_PERIODS} periods on the simulated arm with {arguments.rehearse_hand} ...',
    )
    settings = SimulationSettings(
        friction=truth.friction is not None,
        effort_noise=_EFFORT_NOISE,
        velocity_noise=_VELOCITY_NOISE,
        position_noise=_POSITION_NOISE,
        seed=arguments.seed,
    )
    recording = play(truth, found.trajectory.at, _PERIODS * arguments.period, settings)
    write_recording(recording, folder / 'bag')
    console.print(f'bag: {folder / "bag"}')
    # White torque noise sampled at 200 Hz, of which the low-pass keeps 3 of 100 Hz.
    noise = _EFFORT_NOISE * np.sqrt(arm.n * 3.0 / 100.0)
    bound = _NOISE_FACTOR * noise
    console.print(
        f'the answer is no unless E of what was left out is at most {bound:.3f} N m: '
        f"{_NOISE_FACTOR:g} times the {noise:.3f} N m that the sensors' noise leaves, "
        "which is room for the shape of friction and the filter's ends",
    )
    return command_line.main(
        [
            'identify',
            'arm',
            str(folder / 'bag'),
            '--arm',
            arguments.arm,
            *(['--set', arguments.inertial_set] if arguments.inertial_set else []),
            '--hand',
            arguments.hand,
            '--output',
            str(folder / 'arm.yaml'),
            '--report',
            str(folder / 'report.html'),
            '--require',
            f'{bound:.3f}',
            # The hand that it was not told of is what it is to find.
            '--anyway',
            '--write-anyway',
        ]
    )
