# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`franka-dynamics arm show`: an arm's Denavit-Hartenberg and inertia tables, and its picture."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
import sys
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ._arm_options import add_arm_options, load_arm
from ._options import add_plot_option, add_printed_json_option, PRINTED
from ._say import say, terminal, write_json
from ..arm import ArmDescription
from ..errors import DescriptionError

if TYPE_CHECKING:
    from rich.table import Table

    from ..report.arm import InertiaRow

SUMMARY = "Print an arm's Denavit-Hartenberg and inertia tables; draw its frames."
_HEADING = {
    'frame_origin': "about the frame's origin",
    'center_of_mass': 'about the centre of mass',
    'space_origin': 'about the origin of {S}',
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's options."""
    add_arm_options(parser)
    parser.add_argument(
        '--frame',
        choices=('body', 'space'),
        default='body',
        help="centres of mass and inertia in the links' own frames, or in the "
        'space frame {S} at a pose (default: %(default)s)',
    )
    parser.add_argument(
        '--q',
        nargs='+',
        default=['zero'],
        metavar='Q',
        help='the pose: zero, home, or one position per joint [rad, m] (default: zero)',
    )
    parser.add_argument(
        '--about',
        choices=tuple(_HEADING),
        default='frame_origin',
        help='reference point of the inertia; space_origin needs --frame space '
        '(default: %(default)s)',
    )
    add_plot_option(parser, '{S}, the frames and the centres of mass at the pose')
    add_printed_json_option(parser, 'the tables')


def run(arguments: argparse.Namespace) -> int:
    """Print the tables and draw the picture."""
    from ..report.arm import as_json, body_rows, space_rows

    description = load_arm(arguments)
    q = pose(description, arguments.q)
    in_space = arguments.frame == 'space'
    if arguments.about == 'space_origin' and not in_space:
        raise DescriptionError(
            '--about space_origin needs --frame space: where the origin of {S} '
            "is in a link's own frame depends on the pose."
        )
    rows = (
        space_rows(description, q, arguments.about)
        if in_space
        else body_rows(description, arguments.about)
    )
    if arguments.plot:
        from ..report.arm import draw_arm

        with terminal(stderr=True).status('drawing ...'):
            draw_arm(description, q, arguments.plot)
    if arguments.json:
        data = as_json(
            description,
            rows,
            frame=arguments.frame,
            about=arguments.about,
            q=q if in_space else None,
        )
        write_json(arguments.json, data)
    if arguments.json != PRINTED:
        _print(description, rows, q, arguments)
    return 0


def pose(description: ArmDescription, words: list[str]) -> NDArray[np.float64]:
    """
    Return the joint positions that --q names.

    Raises
    ------
    DescriptionError
        If a word is no number, or the arm has no home pose.
    JointVectorError
        If there is not one number per joint.

    """
    if words == ['zero']:
        return np.zeros(description.n)
    if words == ['home']:
        if description.home is None:
            raise DescriptionError(
                f'{description.name} has no home pose; give --q one position per joint.'
            )
        return np.array(description.home)
    try:
        values = [float(word) for word in words]
    except ValueError:
        raise DescriptionError(
            f'--q takes zero, home or {description.n} numbers; got {" ".join(words)}.'
        ) from None
    return description.joint_vector(values, '--q')


def _print(
    description: ArmDescription,
    rows: list[InertiaRow],
    q: NDArray[np.float64],
    arguments: argparse.Namespace,
) -> None:

    tables = [_dh_table(description)]
    if arguments.frame == 'space':
        tables.append(_origin_table(description, q))
    tables += [_center_table(rows, arguments), _inertia_table(rows, arguments)]
    console = terminal()
    if not sys.stdout.isatty():  # a table that is cut to 80 columns would lose its digits
        console.width = max(80, *(console.measure(table).maximum for table in tables))
    console.print(f'{description.name}, set {description.inertial_set}, hand {description.hand}')
    console.print(f'source: {description.source}')
    for sentence in description.repairs:
        say(console, sentence, 'note')
    for sentence in description.inconsistencies():
        console.print(f'warning: {sentence}', style='yellow')
    for table in tables:
        console.print(table)
    console.print(f'total mass of the moving links {sum(row.mass for row in rows):.6g} kg')
    if arguments.plot:
        console.print(f'picture: {arguments.plot}', soft_wrap=True)


def _dh_table(description: ArmDescription) -> Table:
    from rich.table import Table

    from ..report.arm import dh_rows

    table = Table(title=f'{description.convention.value} Denavit-Hartenberg rows')
    for heading in ('frame', 'joint', 'kind', 'a [m]', 'd [m]', 'alpha [rad]', 'theta [rad]'):
        table.add_column(heading, justify='left' if heading in ('joint', 'kind') else 'right')
    for row in dh_rows(description):
        moving = {'revolute': 'theta', 'prismatic': 'd'}.get(row['kind'])
        cells = {key: f'{row[key]:g}' for key in ('a', 'd')}
        cells |= {key: _angle(row[key]) for key in ('alpha', 'theta')}
        if moving is not None:
            offset = '' if row[moving] == 0.0 else f'{cells[moving]} + '
            cells[moving] = f'{offset}q{row["frame"]}'
        table.add_row(row['frame'], row['joint'], row['kind'], *cells.values())
    return table


def _origin_table(description: ArmDescription, q: NDArray[np.float64]) -> Table:
    from rich.table import Table

    from ..report.arm import origins

    table = Table(title=f'origins in {{S}} at q = ({", ".join(f"{value:.6g}" for value in q)})')
    for heading in ('frame', 'x [m]', 'y [m]', 'z [m]'):
        table.add_column(heading, justify='right')
    names = [*(str(i + 1) for i in range(description.n)), 'flange']
    for name, origin in zip(names, origins(description, q)):
        table.add_row(name, *(f'{value:.6f}' for value in np.round(origin, 12) + 0.0))
    return table


def _inertia_table(rows: list[InertiaRow], arguments: argparse.Namespace) -> Table:
    from rich.table import Table

    from ..arm.inertia import TENSOR_ORDER

    table = Table(
        title=f'inertia [kg m^2] {_place(arguments)}, {_HEADING[arguments.about]}',
        box=None,
        padding=(0, 1, 0, 0),
    )
    for heading in ('link', *(f'I {name}' for name in TENSOR_ORDER)):
        table.add_column(heading, justify='right', no_wrap=True)
    for row in rows:
        table.add_row(row.link, *_numbers(row.inertia))
    return table


def _center_table(rows: list[InertiaRow], arguments: argparse.Namespace) -> Table:
    from rich.table import Table

    table = Table(title=f'mass [kg] and centre of mass [m] {_place(arguments)}')
    for heading in ('link', 'm', 'c x', 'c y', 'c z'):
        table.add_column(heading, justify='right', no_wrap=True)
    for row in rows:
        table.add_row(row.link, f'{row.mass:.6g}', *_numbers(row.center_of_mass))
    return table


def _place(arguments: argparse.Namespace) -> str:
    return "in the links' own frames" if arguments.frame == 'body' else 'in {S}'


def _numbers(values: Iterable[float]) -> list[str]:
    """Return numbers as text; the rounding of rotations would print as 1e-18."""
    return [f'{value:.6g}' for value in np.round([*values], 12) + 0.0]


def _angle(value: float) -> str:
    """Return an angle as a fraction of pi where it is a simple one."""
    quarters = value / (0.25 * np.pi)
    if quarters != round(quarters) or quarters == 0.0:
        return f'{value:g}'
    top, bottom = round(quarters), 4
    while top % 2 == 0 and bottom > 1:
        top, bottom = top // 2, bottom // 2
    sign, size = ('-' if top < 0 else ''), abs(top)
    return f'{sign}{"" if size == 1 else size}pi' + ('' if bottom == 1 else f'/{bottom}')
