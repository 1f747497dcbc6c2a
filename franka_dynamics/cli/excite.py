# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`franka-dynamics excite`: a trajectory that shows an arm's parameters, and a rehearsal of it."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ._arm_options import add_arm_options, load_arm
from ._options import add_option, add_output_option, add_plot_option, output_folder, refuse
from ..arm import ArmDescription, load
from ..errors import IdentificationError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

    from ..identification.excitation import Excitation
    from ..identification.excitation_problem import ExcitationProblem
    from ..typing import Array

SUMMARY = 'Compute a trajectory for identification, within limits and above the table.'
GROUP = 'from recordings'
_POINTS_PER_S = 25.0
# What the simulated arm's sensors scatter: effort [N m], velocity [rad/s], position [rad].
_EFFORT_NOISE, _VELOCITY_NOISE, _POSITION_NOISE = 0.2, 1e-3, 1e-5
_NOISE_FACTOR = 3.0
_PERIODS = 2  # the first trains, the second tests


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's options."""
    add_arm_options(parser)
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
        default=10,
        metavar='N',
        help='how often the motion will be recorded, for the predicted '
        'deviations (default: %(default)s)',
    )
    parser.add_argument(
        '--given',
        nargs='+',
        action='extend',
        default=[],
        metavar='BAG',
        help='bags that there are already: the motion complements what they show',
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
        default=500,
        metavar='N',
        help='of the optimisation at most; where it has converged, it ends (default: %(default)s)',
    )
    parser.add_argument('--seed', type=int, default=0, help='(default: %(default)s)')
    add_plot_option(parser, 'the motion within its limits')
    add_option(
        parser,
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
    """Write the trajectory; exit 1 if a rehearsal did not find the simulated arm."""
    from rich.console import Console

    from ..files import write_text
    from ..report.excitation import joint_trajectory_yaml, LONGEST_ARGUMENT

    if not arguments.rehearse:
        refuse(arguments, 'no rehearsal: add --rehearse FOLDER', rehearse_hand='--rehearse-hand')
    console = Console()
    arm = load_arm(arguments)
    found = _optimise(console, arm, arguments)
    _print(console, arm, found, arguments)
    time = np.linspace(0.0, arguments.period, round(arguments.period * _POINTS_PER_S) + 1)
    text = joint_trajectory_yaml(arm.joint_names, time, *found.trajectory.at(time))
    write_text(arguments.output, text)
    console.print(
        f'trajectory: {arguments.output}; play it with\n  ros2 topic pub --once '
        '/feedforward/reference trajectory_msgs/msg/JointTrajectory '
        f'"$(cat {arguments.output})"',
        highlight=False,
        markup=False,
        soft_wrap=True,
    )
    if len(text) > LONGEST_ARGUMENT:
        console.print(
            '[yellow]warning:[/] that is longer than a shell hands over; shorten the period'
        )
    if arguments.plot:
        from ..report.excitation import plot_excitation

        plot_excitation(_problem(arm, arguments), found.trajectory, arguments.plot)
        console.print(f'picture: {arguments.plot}', highlight=False)
    if arguments.rehearse:
        return _rehearse(console, arm, found, arguments)
    return 0


def _optimise(console: Console, arm: ArmDescription, arguments: argparse.Namespace) -> Excitation:
    from ._recording_options import progress_bar
    from ..identification.excitation import optimise

    start = arguments.start if arguments.start is not None else arm.home
    if start is None:
        raise IdentificationError(f'{arm.name} has no home pose; give one with --start.')
    if arguments.draws < 1 or arguments.iterations < 1:
        raise IdentificationError('--draws and --iterations must be at least 1.')
    with progress_bar(console) as bar:
        problem = replace(_problem(arm, arguments), known=_known(arm, arguments, bar))
        task = bar.add_task('optimising', total=None)
        return optimise(
            problem,
            start,
            period=arguments.period,
            harmonics=arguments.harmonics,
            draws=arguments.draws,
            iterations=arguments.iterations,
            seed=arguments.seed,
            progress=lambda done, total: bar.update(task, completed=done, total=total),
        )


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
        duration=arguments.repetitions * arguments.period,
    )


def _known(arm: ArmDescription, arguments: argparse.Namespace, bar: Progress) -> Array | None:
    """Return what the given bags show, as information on every parameter; None without any."""
    from ._recording_options import reading
    from ..identification.excitation_problem import bag_information
    from ..recordings.preprocessing import prepare
    from ..recordings.recording import read_recording

    if arguments.repetitions < 1:
        raise IdentificationError('--repetitions must be at least 1.')
    problem, known = _problem(arm, arguments), None
    for bag in arguments.given:
        motion = prepare(read_recording(bag, arm.joint_names, progress=reading(bar, bag)))
        shown = bag_information(problem, motion)
        known = shown if known is None else known + shown
    return known


def _print(
    console: Console, arm: ArmDescription, found: Excitation, arguments: argparse.Namespace
) -> None:
    """Say what each parameter would be known to, before anything moves."""
    from rich.table import Table

    from ..identification.excitation_problem import IDENTIFIABLE
    from ..report.elements import rounded

    problem = _problem(arm, arguments)
    names, values = problem.model.base.names, problem.model.base.values(arm)
    table = Table(
        title=f'predicted standard deviations after {arguments.repetitions} times '
        f'{arguments.period:g} s'
        + (f' and {len(arguments.given)} given bags' if arguments.given else ''),
        title_justify='left',
    )
    for heading in ('parameter', 'start', 'deviation', 'left open', ''):
        table.add_column(heading, justify='left' if heading in ('parameter', '') else 'right')
    for name, value, deviation, left in zip(names, values, found.deviations, found.left_open):
        table.add_row(
            name,
            *rounded(value, deviation),
            f'{left:.0%}',
            '' if left <= IDENTIFIABLE else 'not identifiable',
        )
    console.print(table)
    open_ones = [name for name, left in zip(names, found.left_open) if left > IDENTIFIABLE]
    said = (
        f'every one of {len(names)} base parameters is identifiable'
        if not open_ones
        else f'{len(open_ones)} of {len(names)} base parameters are NOT identifiable: '
        f'{", ".join(open_ones)}; repeat it more often (--repetitions), or move more '
        '(--fraction, --period, --harmonics)'
    )
    console.print(
        f'Of what is not known before (masses to 100 %, all else in proportion) at most '
        f'{found.left_open.max():.0%} is left open: {said}. The worst of each of '
        f'{len(found.random_worst)} random trajectories within the same limits is '
        f'{found.random_worst.min():.0%} to {found.random_worst.max():.0%}; the condition number '
        f'in units of the starting set is {found.condition_number:.2g}.',
        highlight=False,
    )


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
        highlight=False,
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
    console.print(f'bag: {folder / "bag"}', highlight=False)
    # White torque noise sampled at 200 Hz, of which the low-pass keeps 3 of 100 Hz.
    noise = _EFFORT_NOISE * np.sqrt(arm.n * 3.0 / 100.0)
    bound = _NOISE_FACTOR * noise
    console.print(
        f'the answer is no unless E of what was left out is at most {bound:.3f} N m: '
        f"{_NOISE_FACTOR:g} times the {noise:.3f} N m that the sensors' noise leaves, "
        "which is room for the shape of friction and the filter's ends",
        highlight=False,
    )
    return command_line.main(
        [
            'identify',
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
        ]
    )
