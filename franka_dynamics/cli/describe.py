# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`franka-dynamics arm show`: an arm's Denavit-Hartenberg and inertia tables, and its picture."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ._arm_options import add_arm_options, load_arm
from ._options import add_plot_option, add_printed_json_option, PRINTED
from ._say import say, terminal, write_json
from ..arm import ArmDescription
from ..errors import DescriptionError

if TYPE_CHECKING:
    from ..report.arm import InertiaRow

SUMMARY = "Print an arm's Denavit-Hartenberg and inertia tables; draw its frames."


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
        choices=('frame_origin', 'center_of_mass', 'space_origin'),
        default='frame_origin',
        help='reference point of the inertia; space_origin needs --frame space '
        '(default: %(default)s)',
    )
    add_plot_option(parser, '{S}, the frames and the centres of mass at the pose')
    add_printed_json_option(parser, 'the tables')


def run(arguments: argparse.Namespace) -> int:
    """Print the tables and draw the picture."""
    from ..report.arm import as_json, inertia_rows

    description = load_arm(arguments)
    q = pose(description, arguments.q)
    in_space = arguments.frame == 'space'
    if arguments.about == 'space_origin' and not in_space:
        raise DescriptionError(
            '--about space_origin needs --frame space: where the origin of {S} '
            "is in a link's own frame depends on the pose."
        )
    pose_of_rows = q if in_space else None
    rows = inertia_rows(description, pose_of_rows, arguments.about)
    if arguments.plot:
        from ..report.arm import draw_arm

        with terminal(stderr=True).status('drawing ...'):
            draw_arm(description, q, arguments.plot)
    if arguments.json:
        data = as_json(description, rows, pose_of_rows, arguments.about)
        write_json(arguments.json, data)
    if arguments.json != PRINTED:
        _print(description, rows, pose_of_rows, arguments)
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
    q: NDArray[np.float64] | None,
    arguments: argparse.Namespace,
) -> None:
    from ..report.arm import arm_tables

    console = terminal()
    console.print(f'{description.name}, set {description.inertial_set}, hand {description.hand}')
    console.print(f'source: {description.source}')
    for sentence in description.repairs:
        say(console, sentence, 'note')
    for sentence in description.inconsistencies():
        say(console, sentence, 'warning')
    console.print(*arm_tables(description, rows, q, arguments.about))
    console.print(f'total mass of the moving links {sum(row.mass for row in rows):.6g} kg')
    if arguments.plot:
        console.print(f'picture: {arguments.plot}', soft_wrap=True)
