# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`franka-dynamics five-bar`: the spherical five-bar's point-to-point motion."""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from ._options import output_folder
from ._say import terminal

SUMMARY = 'Move a spherical five-bar (two motors, one loop) from point to point and draw it.'


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's options."""
    parser.add_argument(
        '--start',
        type=float,
        nargs=2,
        default=(0.0, 0.0),
        metavar='DEG',
        help="motors' first position [degrees] (default: 0 0)",
    )
    parser.add_argument(
        '--end',
        type=float,
        nargs=2,
        default=(35.0, -45.0),
        metavar='DEG',
        help="motors' last position [degrees] (default: 35 -45)",
    )
    parser.add_argument(
        '--duration',
        type=_positive,
        default=1.0,
        metavar='S',
        help='of the minimum-jerk motion [s] (default: %(default)s)',
    )
    parser.add_argument(
        '--samples',
        type=_two_or_more,
        default=201,
        metavar='N',
        help='instants, and steps of the integration (default: %(default)s)',
    )
    parser.add_argument(
        '--output',
        type=output_folder,
        default='five_bar_output',
        metavar='FOLDER',
        help='of the picture and the table (default: %(default)s)',
    )


def run(arguments: argparse.Namespace) -> int:
    """Print torques and drift, write picture and table."""
    from rich.table import Table

    from ..dynamics.mechanisms import five_bar_meshes, reach, spherical_five_bar
    from ..files import write_text
    from ..report.bodies import draw_five_bar

    chain, meshes = spherical_five_bar(), five_bar_meshes()
    point_to_point = reach(
        chain,
        np.radians(arguments.start),
        np.radians(arguments.end),
        arguments.duration,
        arguments.samples,
        np.zeros(chain.tree.n),
    )
    table = Table(
        title=f'Spherical five-bar, {arguments.start[0]:g} {arguments.start[1]:g} to '
        f'{arguments.end[0]:g} {arguments.end[1]:g} degrees in '
        f'{arguments.duration:g} s'
    )
    for heading in ('', 'motor 1 (joint 1)', 'motor 2 (joint 4)'):
        table.add_column(heading, justify='right' if heading else 'left')
    rms = np.sqrt((point_to_point.torques**2).mean(axis=0))
    largest = np.abs(point_to_point.torques).max(axis=0)
    table.add_row('largest torque [N m]', *(f'{value:.4f}' for value in largest))
    table.add_row('root mean square [N m]', *(f'{value:.4f}' for value in rms))
    console = terminal()
    console.print(table)
    console.print(
        f'loop open by at most {point_to_point.closure.max():.1e} rad where it is solved at '
        f'every instant, {point_to_point.drift.max():.1e} rad where the passive joints are '
        f'integrated in {arguments.samples - 1} steps',
    )
    folder = Path(arguments.output)
    write_text(
        folder / 'five_bar.csv',
        _table(point_to_point.times, point_to_point.motion.q, point_to_point.torques),
    )
    draw_five_bar(chain, meshes, point_to_point, folder / 'five_bar.png')
    console.print(f'written: {folder}/five_bar.png, {folder}/five_bar.csv')
    return 0


def _positive(text: str) -> float:
    value = float(text)
    if not (np.isfinite(value) and value > 0.0):
        raise argparse.ArgumentTypeError(f'{text} is not a positive time [s]')
    return value


def _two_or_more(text: str) -> int:
    value = int(text)
    if value < 2:
        raise argparse.ArgumentTypeError(f'{text} instants are no motion; at least 2 are needed')
    return value


def _table(times: np.ndarray, q: np.ndarray, torques: np.ndarray) -> str:
    head = 'time_s,' + ','.join(f'q{j}_rad' for j in range(1, 6)) + ',tau1_Nm,tau4_Nm'
    rows = np.column_stack((times, q, torques))
    return '\n'.join([head, *(','.join(f'{value:.9g}' for value in row) for row in rows)]) + '\n'
