# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`franka-dynamics demo`: the main job on a simulated arm, without a screen."""

from __future__ import annotations

import argparse
from datetime import datetime

from ._options import add_option, output_folder
from ..errors import MissingDependencyError, OutputError, SettingsError

SUMMARY = 'Run the main job: simulated arm, node and player over ROS 2; print and draw figures.'
GROUP = 'see it work'

# As the reference player's own parameters allow.
_MOST = {'hold': 600.0, 'motion': 600.0, 'amplitude': 3.0}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's options."""
    parser.add_argument('--arm', default='fer', choices=('fer', 'fr3', 'fr3v2', 'fr3v2_1'),
                        help='(default: %(default)s)')
    parser.add_argument('--hold', type=float, default=10.0, metavar='S',
                        help='how long to hold by feedforward alone [s] (default: %(default)s)')
    parser.add_argument('--motion', type=float, default=10.0, metavar='S',
                        help='length of the motion to follow [s] (default: %(default)s)')
    parser.add_argument('--amplitude', type=float, default=0.5, metavar='RAD',
                        help='largest deflection of a joint [rad] (default: %(default)s)')
    add_option(parser, '--output', type=output_folder, default='demo_output', metavar='FOLDER',
               help='figures, pictures, bag and logs go into a new folder in here '
               '(default: %(default)s)')


def run(arguments: argparse.Namespace) -> int:
    """Run, print the table; exit 1 where a bound is missed."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
    from rich.table import Table

    from ..arm import load
    from ..report.demo import demo_figures, demo_report, draw, write_json
    try:
        from ..ros.demo import DemoPlan, run_session
    except ImportError as error:
        raise MissingDependencyError(
            f'The demonstration needs ROS 2 ({error}): source it, or install its wheels with pip '
            'install -r requirements/ros-jazzy.txt.') from error

    for name in ('hold', 'motion', 'amplitude'):
        if not 0.0 < getattr(arguments, name) <= _MOST[name]:
            raise SettingsError(f'--{name} is {getattr(arguments, name)}; it must be above 0 and '
                                f'at most {_MOST[name]:g}.')
    description = load(arguments.arm)
    plan = DemoPlan(arguments.arm, arguments.hold, arguments.motion, arguments.amplitude)
    folder = arguments.output / datetime.now().strftime('%Y%m%d-%H%M%S')
    try:
        folder.mkdir(parents=True)
    except OSError as error:
        raise OutputError(f'{folder} cannot be made: {error.strerror}. Choose another place with '
                          '--output.') from error
    console = Console()
    with Progress(TextColumn('{task.description}'), BarColumn(), TimeElapsedColumn(),
                  console=console) as bar:
        task = bar.add_task('starting', total=1.0)

        def show(text: str, share: float) -> None:
            bar.update(task, description=text, completed=share)

        session = run_session(plan, folder, show)
        hold = next(phase for phase in session.phases if phase.name == 'hold')
        show('reading the recording', 0.0)
        figures = demo_figures(session.bag, description, (hold.start, hold.end))
        report = demo_report(figures, session.diagnostics)
        show('drawing', 0.8)
        draw(figures, description.joint_names, folder / 'demo.png')
        write_json(report, folder / 'demo.json')
        show('done', 1.0)
    table = Table(title=f'{description.name} ({description.inertial_set}) in MuJoCo, target '
                  'mujoco, torques over DDS')
    table.add_column('figure')
    table.add_column('value', justify='right')
    table.add_column('at most', justify='right')
    table.add_column('')
    for row in report.rows:
        verdict = {True: '[green]good', False: '[red]MISSED', None: ''}[row.good]
        table.add_row(row.name, row.text, row.bound, verdict)
    console.print(table)
    console.print(f'figures, picture, bag and logs: {folder}', highlight=False)
    return 0 if report.passed else 1
