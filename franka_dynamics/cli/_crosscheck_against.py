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

if TYPE_CHECKING:
    from rich.console import Console

    from ..validation.comparison import Difference

_URDF_SUFFIXES = ('.urdf', '.xml')


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
    group.add_argument('--against-gravity', type=float, nargs=3, metavar=('X', 'Y', 'Z'),
                       help='gravity that it is used with, if not the same [m/s^2]')


def check_against(arguments: argparse.Namespace, console: Console) -> int:
    """Print every difference; 1 if torques depend on any."""
    from pathlib import Path

    from ..arm import load
    from ..report.files import write_text
    from ..urdf.document import read_urdf
    from ..validation.comparison import compare_descriptions, compare_urdf

    options = {'gravity': arguments.gravity, 'second_gravity': arguments.against_gravity}
    if arguments.tolerance is not None:
        options['tolerance'] = arguments.tolerance
    if arguments.against.endswith(_URDF_SUFFIXES):
        path = Path(arguments.against)
        first, found = compare_urdf(read_urdf(path), str(path), arm=arguments.arm,
                                    prefix=arguments.prefix, **options)
    else:
        first = load_arm(arguments)
        found = compare_descriptions(first, load(arguments.against, arguments.against_set,
                                                 hand=arguments.hand), **options)
    _print(console, f'{first.name} ({first.inertial_set}, hand {first.hand})', found, arguments)
    if arguments.json:
        data = {'first': first.file, 'inertial_set': first.inertial_set,
                'second': arguments.against, 'differences': [asdict(one) for one in found]}
        write_text(arguments.json, json.dumps(data, indent=2) + '\n')
    return 1 if any(one.has_effect for one in found) else 0


def _print(console: Console, name: str, found: Sequence[Difference],
           arguments: argparse.Namespace) -> None:
    for one in found:
        style = 'red' if one.has_effect else 'dim'
        console.print(f'- {one}', style=style, highlight=False, markup=False)
    felt = sum(one.has_effect for one in found)
    console.print(f'{name} against {arguments.against}: '
                  f'{len(found)} {"difference" if len(found) == 1 else "differences"}, '
                  f'{felt} of them with an effect on torque.', highlight=False, markup=False)
