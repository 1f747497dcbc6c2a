# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`franka-dynamics identify payload`: recordings with and without a load -> the node's payload."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from ._arm_options import add_hand_option, load_arm
from ._options import (
    add_desk_option,
    add_gravity_option,
    add_json_option,
    add_output_option,
    refuse,
)
from ._recording_options import (
    add_recording_options,
    progress_bar,
    read_from_options,
    signal_options,
)
from ._say import say, terminal, write_json
from ..arm import ArmDescription
from ..arm.friction import COULOMB_WIDTH
from ..control.settings import PAYLOAD_ORDER

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

    from ..identification.payload import PayloadEstimate
    from ..recordings.preprocessing import Motion

SUMMARY = 'Identify what hangs on the flange from recordings with and without it.'
_UNITS = ('kg', *('m',) * 3, *('kg m^2',) * 6)


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
        default=COULOMB_WIDTH,
        metavar='RAD_PER_S',
        help='where Coulomb friction has turned over (default: %(default)s)',
    )
    add_output_option(parser, 'write a ROS parameter file for the feedforward node')
    add_desk_option(parser)
    add_json_option(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print the payload with standard deviations and write what was asked for."""
    from ..arm.payload import desk_json, payload_parameter_file
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
    console = terminal()
    arm = load_arm(arguments)
    with progress_bar(console) as bar:
        without = _motions(arguments, arm, bar, arguments.without)
        loaded = _motions(arguments, arm, bar, arguments.loaded)
        found = identify_payload(
            without, loaded, arm, gravity=arguments.gravity, width=arguments.friction_width
        )
    _print(console, found, arm)
    if arguments.json:
        write_json(arguments.json, _as_data(found))
    if arguments.output:
        comment = f'Identified by franka-dynamics from {", ".join(arguments.loaded)}'
        write_text(arguments.output, payload_parameter_file(found.payload, comment))
        console.print(f'parameter file: {arguments.output}')
    if arguments.desk:
        write_text(arguments.desk, desk_json(found.payload, 'identified'))
        console.print(f'for Desk: {arguments.desk}')
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
            say(bar.console, f'{bag}: {sentence}', 'warning')
        motions.append(
            static_samples(recording)
            if arguments.static
            else prepare(recording, signal_options(arguments))
        )
    for motion in motions:
        for remark in motion.remarks:
            say(bar.console, remark, 'note')
    return motions


def _print(console: Console, found: PayloadEstimate, arm: ArmDescription) -> None:
    from ..report.elements import rounded
    from ..report.table import Table

    rows = [
        (name, *rounded(value, spread), rounded(used, spread)[0], unit)
        for name, value, spread, used, unit in zip(
            PAYLOAD_ORDER, found.values, found.deviations, found.payload, _UNITS
        )
    ]
    console.print(
        Table(
            'payload in the flange frame, inertia about its centre of mass',
            ('', 'estimate', 'standard deviation', 'payload', ''),
            rows,
        )
    )
    if not found.inertia_shown:
        console.print(
            'The motion does not show the inertia; the payload is given as a point '
            'mass. Move the wrist faster to see it.',
        )
    elif abs(found.payload - found.values).max() > 1e-9:
        console.print(
            'The estimate belongs to no real body; the payload is the likeliest one that does.',
        )
    if arm.rated_load is not None and found.payload[0] > arm.rated_load:
        say(
            console,
            f'{found.payload[0]:.2f} kg is above the {arm.rated_load:g} kg that {arm.name} is '
            'rated for',
            'warning',
        )
    console.print(
        'payload: [' + ', '.join(f'{value:.9g}' for value in found.payload) + ']',
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
