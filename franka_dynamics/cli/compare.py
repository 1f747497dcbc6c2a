# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`franka-dynamics arm compare`: another description of an arm, or its URDF, number by number."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, TYPE_CHECKING

from ._arm_options import add_arm_options, load_arm
from ._options import add_gravity_option, add_json_option, refuse
from ._say import say, terminal, write_json
from ..arm import load
from ..arm.arm_file import AS_LISTED
from ..arm.payload import read_payload

if TYPE_CHECKING:
    from rich.console import Console

    from ..validation.torque_effect import Difference

SUMMARY = 'Name every number in which another description, or a URDF, departs from an arm.'
DEFAULT_ARM = 'fer'
GRAVITY = (0.0, 0.0, -9.81)
URDF_SUFFIXES = ('.urdf', '.xml', '.xacro')
_SHOWN = 10


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's options."""
    parser.add_argument(
        'other',
        metavar='OTHER',
        help='a shipped arm or an arm file, to which --hand and --payload are given as well; or a '
        'URDF (.urdf, .xml; .xacro is expanded)',
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
    group = parser.add_argument_group(
        'a URDF',
        'without --arm its arm is found by joint names; its inertials are compared '
        'with every published set, and --hand names the hand that it must carry (default: '
        'any). The verdict is the one by which a node takes or refuses it.',
    )
    group.add_argument(
        '--arm-prefix',
        metavar='PREFIX',
        help="in front of the joints' names in it, verbatim (default: found)",
    )
    group.add_argument(
        '--accept-unknown-inertials',
        action='store_true',
        help='pass inertials that are physical, but no published set',
    )


def run(arguments: argparse.Namespace) -> int:
    """Print every difference; 1 if torques depend on any, or a URDF is not the arm."""
    console = terminal()
    if arguments.other.endswith(URDF_SUFFIXES):
        return compare_with_urdf(arguments, console)
    return compare_with_arm(arguments, console)


def compare_with_arm(arguments: argparse.Namespace, console: Console) -> int:
    """Compare with a shipped arm or an arm file."""
    from ..validation.comparison import compare_descriptions
    from ..validation.torque_effect import effect_together

    refuse(
        arguments,
        'an arm file: it says how a URDF is read',
        arm_prefix='--arm-prefix',
        accept_unknown_inertials='--accept-unknown-inertials',
    )
    del arguments.arm_prefix
    arguments.arm = arguments.arm or DEFAULT_ARM
    arguments.hand = arguments.hand or AS_LISTED
    options = _options(arguments)
    first = load_arm(arguments)
    second = load(arguments.other, arguments.other_set, hand=arguments.hand)
    if arguments.payload is not None:
        second = second.with_payload(read_payload(arguments.payload))
    found = compare_descriptions(first, second, **options)
    acting = [one for one in found if one.has_effect]
    together = effect_together(first, acting, gravity=options['gravity'])
    largest = effect_together(first, acting[:_SHOWN], gravity=options['gravity'])
    _print_differences(console, found, arguments)
    _print_count(
        console, f'{first.name} ({first.inertial_set}, hand {first.hand})', arguments, found
    )
    if acting:
        console.print(
            f'Together they change the torque by {together}'
            + (f'; the {_SHOWN} largest alone by {largest}.' if len(acting) > _SHOWN else '.'),
        )
    _write(
        arguments,
        {
            'first': first.file,
            'inertial_set': first.inertial_set,
            'second': arguments.other,
            'together': asdict(together),
            'ten_largest': asdict(largest),
            'differences': [one.as_data() for one in found],
        },
    )
    return 1 if acting else 0


def compare_with_urdf(arguments: argparse.Namespace, console: Console) -> int:
    """Print the verdict on a URDF and every number in which it departs from the nearest arm."""
    from ..urdf.document import read_urdf
    from ..validation.urdf_comparison import compare_urdf

    refuse(
        arguments,
        'a URDF, which is compared with every set and hand as published',
        inertial_set='--set',
        repair='--repair',
        other_set='--other-set',
        payload='--payload',
    )
    path = Path(arguments.other)
    found = compare_urdf(
        read_urdf(path),
        str(path),
        arm=arguments.arm,
        prefix=arguments.arm_prefix,
        expected_hand=None if arguments.hand == AS_LISTED else arguments.hand,
        accept_unknown_inertials=arguments.accept_unknown_inertials,
        **_options(arguments),
    )
    say(console, found.verdict.summary(), 'pass' if found.passed else 'MISMATCH')
    for finding in found.findings:
        console.print(f'- {finding}', style='red', soft_wrap=True)
    _print_differences(console, found.differences, arguments)
    for note in found.verdict.notes:
        say(console, note, 'note')
    if found.differences:
        _print_count(console, found.nearest, arguments, found.differences)
        console.print(f'Together they change the torque by {found.together}.')
    _write(arguments, found.as_data())
    return 0 if found.passed else 1


def _print_differences(
    console: Console, found: Sequence[Difference], arguments: argparse.Namespace
) -> None:
    shown = found if arguments.all_differences else found[:_SHOWN]
    for one in shown:
        style = 'red' if one.has_effect else 'dim'
        console.print(f'- {one}', style=style)
    if len(shown) < len(found):
        console.print(
            f'- and {len(found) - len(shown)} more with less effect; '
            '--all-differences prints them, --json FILE writes them',
            style='dim',
        )


def _print_count(
    console: Console, name: str, arguments: argparse.Namespace, found: Sequence[Difference]
) -> None:
    acting = sum(one.has_effect for one in found)
    console.print(
        f'{name} against {arguments.other}: {len(found)} '
        f'{"difference" if len(found) == 1 else "differences"}, {acting} of them with '
        'an effect on torque.',
    )


def _options(arguments: argparse.Namespace) -> dict[str, Any]:
    options: dict[str, Any] = {
        'gravity': arguments.gravity or GRAVITY,
        'second_gravity': arguments.other_gravity,
    }
    if arguments.tolerance is not None:
        options['tolerance'] = arguments.tolerance
    return options


def _write(arguments: argparse.Namespace, data: dict[str, Any]) -> None:

    if arguments.json:
        write_json(arguments.json, data)
