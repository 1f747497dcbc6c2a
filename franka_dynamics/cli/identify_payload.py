# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`franka-dynamics identify-payload`: recordings with and without a load -> the node's payload."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING

from ._arm_options import add_hand_option, load_arm
from ._options import add_gravity_option, add_json_option, add_output_option, refuse
from ._recording_options import (
    add_recording_options,
    progress_bar,
    read_from_options,
    signal_options,
)
from ..arm import ArmDescription
from ..control.settings import PAYLOAD_ORDER

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

    from ..identification.payload import PayloadEstimate
    from ..recordings.preprocessing import Motion

SUMMARY = 'Identify what hangs on the flange from recordings with and without it.'
GROUP = 'from recordings'
_UNITS = ('kg', *('m',) * 3, *('kg m^2',) * 6)
_RATED_KG = 3.0  # FER and FR3 alike (Franka's data sheets)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's options."""
    parser.add_argument(
        '--without', nargs='+', required=True, metavar='BAG', help='recordings without the payload'
    )
    parser.add_argument(
        '--with',
        dest='loaded',
        nargs='+',
        required=True,
        metavar='BAG',
        help='recordings with it, best of the same motion or poses',
    )
    parser.add_argument(
        '--static',
        action='store_true',
        help='use only poses in which the arm stands still; shows mass and centre of mass',
    )
    add_recording_options(parser)
    parser.add_argument(
        '--set',
        dest='inertial_set',
        metavar='SET',
        help="the arm's inertial set (default: the arm file's own)",
    )
    add_hand_option(parser)
    add_gravity_option(parser, 'base', default=(0.0, 0.0, -9.81))
    parser.add_argument(
        '--friction-width',
        type=float,
        default=0.02,
        metavar='RAD_PER_S',
        help='where Coulomb friction has turned over (default: %(default)s)',
    )
    add_output_option(parser, 'write a ROS parameter file for the feedforward node')
    add_json_option(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print the payload with standard deviations and write what was asked for."""
    from rich.console import Console

    from ..arm.payload import payload_parameter_file
    from ..files import write_text
    from ..identification.payload import identify_payload

    if arguments.static:
        refuse(
            arguments,
            '--static, which averages poses at rest: nothing is filtered and nothing rubs',
            rate='--rate',
            cutoff='--cutoff',
            trim='--trim',
            friction_width='--friction-width',
        )
    console = Console()
    arm = load_arm(arguments)
    with progress_bar(console) as bar:
        without = _motions(arguments, arm, bar, arguments.without)
        loaded = _motions(arguments, arm, bar, arguments.loaded)
        found = identify_payload(
            without, loaded, arm, gravity=arguments.gravity, width=arguments.friction_width
        )
    _print(console, found)
    if arguments.json:
        write_text(arguments.json, json.dumps(_as_data(found), indent=2) + '\n')
        console.print(f'figures: {arguments.json}', highlight=False)
    if arguments.output:
        comment = f'Identified by franka-dynamics from {", ".join(arguments.loaded)}'
        write_text(arguments.output, payload_parameter_file(found.payload, comment))
        console.print(f'parameter file: {arguments.output}', highlight=False)
    return 0


def _motions(
    arguments: argparse.Namespace, arm: ArmDescription, bar: Progress, bags: list[str]
) -> list[Motion]:
    from ..identification.payload import static_samples
    from ..recordings.plausibility import suspicions
    from ..recordings.preprocessing import prepare

    motions = []
    for bag in bags:
        recording = read_from_options(arguments, arm, bar, bag)
        for sentence in suspicions(recording, arm, gravity=arguments.gravity):
            bar.console.print(f'[yellow]warning:[/] {bag}: {sentence}', highlight=False)
        motions.append(
            static_samples(recording)
            if arguments.static
            else prepare(recording, signal_options(arguments))
        )
    for motion in motions:
        for remark in motion.remarks:
            bar.console.print(f'note: {remark}', highlight=False)
    return motions


def _print(console: Console, found: PayloadEstimate) -> None:
    from rich.table import Table

    from ..report.elements import rounded

    table = Table(
        title='payload in the flange frame, inertia about its centre of mass', title_justify='left'
    )
    for heading in ('', 'estimate', 'standard deviation', 'payload', ''):
        table.add_column(heading, justify='left' if not heading else 'right')
    for name, value, spread, used, unit in zip(
        PAYLOAD_ORDER, found.values, found.deviations, found.payload, _UNITS
    ):
        table.add_row(name, *rounded(value, spread), rounded(used, spread)[0], unit)
    console.print(table)
    if not found.inertia_shown:
        console.print(
            'The motion does not show the inertia; the payload is given as a point '
            'mass. Move the wrist faster to see it.',
            highlight=False,
        )
    elif abs(found.payload - found.values).max() > 1e-9:
        console.print(
            'The estimate belongs to no real body; the payload is the likeliest one that does.',
            highlight=False,
        )
    if found.payload[0] > _RATED_KG:
        console.print(
            f'[yellow]warning:[/] {found.payload[0]:.2f} kg is above the {_RATED_KG:g} '
            'kg the arm is rated for',
            highlight=False,
        )
    console.print(
        'payload: [' + ', '.join(f'{value:.9g}' for value in found.payload) + ']',
        highlight=False,
        markup=False,
        soft_wrap=True,
    )


def _as_data(found: PayloadEstimate) -> dict[str, object]:
    return {
        'order': list(PAYLOAD_ORDER),
        'estimate': found.values.tolist(),
        'deviations': found.deviations.tolist(),
        'inertia_shown': found.inertia_shown,
        'payload': found.payload.tolist(),
        'joint_noise': found.noise.tolist(),
    }
