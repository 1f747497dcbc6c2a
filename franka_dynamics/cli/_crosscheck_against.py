# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`crosscheck --against`: another description of the arm, parameter by parameter."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import asdict
import json
from typing import TYPE_CHECKING

from ._arm_options import load_arm
from ..arm import ArmDescription, load
from ..arm.payload import read_payload

if TYPE_CHECKING:
    from rich.console import Console

    from ..validation.comparison import Difference

_URDF_SUFFIXES = ('.urdf', '.xml')
_SHOWN = 10
_COLUMNS = ('place', 'parameter', 'first', 'second', 'unit', 'torque_effect')


def add_against_options(parser: argparse.ArgumentParser) -> None:
    """Add --against and what goes with it."""
    group = parser.add_argument_group(
        'another description', 'compare the arm with another description of it, parameter by '
        'parameter in DH frames, with the effect of each difference on torque')
    group.add_argument('--against', metavar='ARM',
                       help='a shipped arm, an arm file, or a URDF (.urdf, .xml)')
    group.add_argument('--against-set', metavar='SET', help='its inertial set (default: its own)')
    group.add_argument('--tolerance', type=float, metavar='X',
                       help='numbers no further apart than this are the same (m, rad, kg, kg m, '
                       'kg m^2; default: 1e-9, for a URDF 1e-6)')
    group.add_argument('--all-differences', action='store_true',
                       help=f'print all of them, not the {_SHOWN} with the largest effect')
    group.add_argument('--against-gravity', type=float, nargs=3, metavar=('X', 'Y', 'Z'),
                       help='gravity that it is used with, if not the same [m/s^2]')


def check_against(arguments: argparse.Namespace, console: Console) -> int:
    """Print every difference; 1 if torques depend on any."""
    from pathlib import Path

    from ..files import write_text
    from ..urdf.document import read_urdf
    from ..validation.comparison import compare_descriptions, compare_urdf, effect_together

    options = {'gravity': arguments.gravity, 'second_gravity': arguments.against_gravity}
    if arguments.tolerance is not None:
        options['tolerance'] = arguments.tolerance
    if arguments.against.endswith(_URDF_SUFFIXES):
        path = Path(arguments.against)
        first, found = compare_urdf(read_urdf(path), str(path), arm=arguments.arm,
                                    prefix=arguments.prefix, **options)
    else:
        first = load_arm(arguments)
        found = compare_descriptions(first, _second(arguments), **options)
    acting = [one for one in found if one.has_effect]
    together = effect_together(first, acting, gravity=arguments.gravity)
    largest = effect_together(first, acting[:_SHOWN], gravity=arguments.gravity)
    _print(console, first, found, arguments)
    if acting:
        console.print(f'Together they change the torque by {together}'
                      + (f'; the {_SHOWN} largest alone by {largest}.' if len(acting) > _SHOWN
                         else '.'), highlight=False, markup=False)
    if arguments.json:
        data = {'first': first.file, 'inertial_set': first.inertial_set,
                'second': arguments.against, 'together': asdict(together),
                'ten_largest': asdict(largest),
                'differences': [{name: getattr(one, name) for name in _COLUMNS}
                                for one in found]}
        write_text(arguments.json, json.dumps(data, indent=2) + '\n')
    return 1 if any(one.has_effect for one in found) else 0


def _second(arguments: argparse.Namespace) -> ArmDescription:
    """Return the other description, with the same hand and the same payload."""
    second = load(arguments.against, arguments.against_set, hand=arguments.hand)
    if arguments.payload is None:
        return second
    return second.with_payload(read_payload(arguments.payload))


def _print(console: Console, first: ArmDescription, found: Sequence[Difference],
           arguments: argparse.Namespace) -> None:
    shown = found if arguments.all_differences else found[:_SHOWN]
    for one in shown:
        style = 'red' if one.has_effect else 'dim'
        console.print(f'- {one}', style=style, highlight=False, markup=False)
    if len(shown) < len(found):
        console.print(f'- and {len(found) - len(shown)} more with less effect; '
                      '--all-differences prints them, --json FILE writes them', style='dim',
                      highlight=False, markup=False)
    felt = sum(one.has_effect for one in found)
    console.print(f'{first.name} ({first.inertial_set}, hand {first.hand}) against '
                  f'{arguments.against}: '
                  f'{len(found)} {"difference" if len(found) == 1 else "differences"}, '
                  f'{felt} of them with an effect on torque.', highlight=False, markup=False)
