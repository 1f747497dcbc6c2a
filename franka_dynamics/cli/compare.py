# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`franka-dynamics arm compare`: another description of an arm, or its URDF, number by number."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ._arm_options import add_arm_options, load_arm, MASS_OPTIONS
from ._options import add_gravity_option, add_json_option, refuse
from ._say import say, terminal, write_json
from ..arm import ArmDescription, load
from ..arm.arm_file import AS_LISTED
from ..arm.payload import read_payload
from ..errors import UrdfError, UrdfMismatchError

if TYPE_CHECKING:
    from rich.console import Console

    from ..urdf.serial_chain import SerialChain
    from ..validation.torque_effect import Difference

SUMMARY = 'Name every number in which another description, or a URDF, departs from an arm.'
DEFAULT_ARM = 'fer'
GRAVITY = (0.0, 0.0, -9.81)
_SHOWN = 10


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's options."""
    parser.add_argument(
        'other',
        metavar='OTHER',
        help='a shipped arm or an arm file, to which --hand and --payload are given as well; or a '
        'URDF (.urdf, .xml; .xacro is expanded), whose arm is found by joint names and published '
        'set if --arm names none',
    )
    add_arm_options(parser, default=None, hand=None)
    parser.add_argument(
        '--other-set', metavar='SET', help="the other's inertial set (default: its own)"
    )
    add_gravity_option(parser, 'space')
    parser.add_argument(
        '--other-gravity',
        type=float,
        nargs=3,
        metavar=('X', 'Y', 'Z'),
        help='gravity that the other is used with, if not the same [m/s^2]',
    )
    parser.add_argument(
        '--tolerance',
        type=float,
        metavar='X',
        help='numbers no further apart than this are the same (m, rad, kg, kg m, kg m^2; '
        'default: 1e-9, for a URDF 1e-6)',
    )
    parser.add_argument(
        '--all-differences',
        action='store_true',
        help=f'print all of them, not the {_SHOWN} with the largest effect',
    )
    add_json_option(parser)
    parser.add_argument(
        '--arm-prefix',
        metavar='PREFIX',
        help="in front of the joints' names in a URDF, verbatim (default: found)",
    )


def run(arguments: argparse.Namespace) -> int:
    """Print every difference; 1 if torques depend on any."""
    from ..validation.comparison import compare

    console = terminal()
    first, second = _pair(arguments)
    found = compare(
        first,
        second,
        gravity=arguments.gravity or GRAVITY,
        second_gravity=arguments.other_gravity,
        tolerance=arguments.tolerance,
    )
    count = len(found.differences)
    say(
        console,
        f'{first.name} ({first.inertial_set}, hand {first.hand}) against {arguments.other}: '
        f'{count} {"difference" if count == 1 else "differences"}, {len(found.acting)} of them '
        'with an effect on torque.',
        'pass' if found.passed else 'MISMATCH',
    )
    _print_differences(console, found.differences, arguments)
    if found.acting:
        more = f'; the {_SHOWN} largest alone by {found.together(_SHOWN)}'
        say(
            console,
            f'Together they change the torque by {found.together()}'
            f'{more if len(found.acting) > _SHOWN else ""}.',
        )
    data = found.as_data()
    if not isinstance(second, ArmDescription):
        data['node'] = _what_a_node_says(first, second, arguments)
        for sentence in data['node']:
            say(console, sentence, 'note')
    if arguments.json:
        write_json(arguments.json, data)
    return 0 if found.passed else 1


def _pair(arguments: argparse.Namespace) -> tuple[ArmDescription, ArmDescription | SerialChain]:
    """Return the two arms; hand, payload and set are the first's, and an arm file's as well."""
    from ..validation.source import is_urdf, read_pair

    prefix = arguments.arm_prefix
    del arguments.arm_prefix  # of the other's joints, not of the first's
    if arguments.arm is not None and is_urdf(arguments.arm):
        refuse(arguments, 'a URDF, which is compared as it is written', **MASS_OPTIONS)
    if is_urdf(arguments.other):
        refuse(arguments, 'a URDF, which has one set', other_set='--other-set')
        if arguments.arm is None:
            refuse(arguments, 'no --arm', repair='--repair', payload='--payload')
            chosen = {'inertial_set': arguments.inertial_set, 'hand': arguments.hand}
            return read_pair(None, arguments.other, prefix=prefix, **chosen)
        first = arguments.arm if is_urdf(arguments.arm) else load_arm(arguments)
        return read_pair(first, arguments.other, prefix=prefix)
    refuse(arguments, 'an arm file: it says how a URDF is read', arm_prefix='--arm-prefix')
    arguments.arm = arguments.arm or DEFAULT_ARM
    second = load(arguments.other, arguments.other_set, hand=arguments.hand or AS_LISTED)
    if arguments.payload is not None:
        second = second.with_payload(read_payload(arguments.payload))
    return read_pair(arguments.arm if is_urdf(arguments.arm) else load_arm(arguments), second)


def _what_a_node_says(
    first: ArmDescription, chain: SerialChain, arguments: argparse.Namespace
) -> list[str]:
    """Return whether a node that takes its model from the URDF would take it, and why not."""
    from ..urdf.document import read_urdf
    from ..validation.urdf_check import model_from_urdf

    try:
        model = model_from_urdf(
            read_urdf(Path(arguments.other)),
            first,
            source=arguments.other,
            joint_names=chain.joint_names,
        )
    except (UrdfError, UrdfMismatchError) as error:
        return [f'a node refuses it as its model (model_source: urdf): {error}', *chain.notes]
    return [model.verdict.summary(), *model.verdict.notes]


def _print_differences(
    console: Console, found: Sequence[Difference], arguments: argparse.Namespace
) -> None:
    shown = found if arguments.all_differences else found[:_SHOWN]
    for one in shown:
        style = 'red' if one.has_effect else 'dim'
        say(console, f'- {one}', style=style)
    if len(shown) < len(found):
        console.print(
            f'- and {len(found) - len(shown)} more with less effect; '
            '--all-differences prints them, --json FILE writes them',
            style='dim',
        )
