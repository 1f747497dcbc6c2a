# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`franka-dynamics arm base-parameters`: which inertial parameters an arm's torques depend on."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Any, TYPE_CHECKING

from ._arm_options import add_arm_options, add_tree_option, load_arm, load_tree, MASS_OPTIONS
from ._options import add_json_option, add_output_option, refuse
from ._say import say, terminal, write_json

if TYPE_CHECKING:
    from rich.console import Console

    from ..arm import ArmDescription
    from ..dynamics.body_tree import BodyTree
    from ..identification.base_parameters import BaseParameters

SUMMARY = 'List the minimum inertial parameters of an arm, regrouped, with their values.'
_UNITS = {'m': 'kg', 'mX': 'kg m', 'mY': 'kg m', 'mZ': 'kg m'}
# Between the singular values of real arms (0.05 and more) and rounding (1e-15) there should be
# none; one in this range is a twist or a length that nearly vanishes.
_DOUBTFUL = (1e-12, 1e-5)
# What regrouping changes of a regressor with columns of unit length by rounding is less.
_SAME_TORQUE = 1e-9


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's options."""
    add_arm_options(parser)
    add_tree_option(parser)
    parser.add_argument(
        '--gravity',
        choices=('vertical', 'tilted', 'none'),
        default='vertical',
        help='vertical: along -z of the space frame; tilted: what suffices for '
        'every direction; none (default: %(default)s)',
    )
    parser.add_argument(
        '--rotors',
        action='store_true',
        help='count the rotor inertia of each joint as a parameter, even where '
        'the arm file gives none',
    )
    parser.add_argument(
        '--letters',
        choices=('text', 'latex', 'python'),
        nargs='?',
        const='text',
        help='write the relations in letters, D3 and RL4 for the lengths, '
        'instead of the table (modified rows; default format: %(const)s)',
    )
    add_output_option(parser, 'write the letters there instead of to the terminal')
    add_json_option(parser, 'write values, relations and the map from the standard parameters')


def run(arguments: argparse.Namespace) -> int:
    """Print the table; exit 1 if other states do not confirm it."""
    import numpy as np

    from ..dynamics import GRAVITY
    from ..errors import SettingsError
    from ..identification.base_parameters import ANY_GRAVITY, base_parameters, NO_GRAVITY

    if arguments.output and not arguments.letters:
        raise SettingsError('--output is for --letters; the table has --json FILE.')
    if arguments.letters and arguments.tree is None:
        refuse(arguments, '--letters: the relations hold for any masses', **MASS_OPTIONS)
    if arguments.letters:
        refuse(arguments, '--letters, which writes the relations alone', json='--json')
    gravity = np.array(
        {'vertical': [GRAVITY], 'tilted': ANY_GRAVITY, 'none': [NO_GRAVITY]}[arguments.gravity]
    )
    description: ArmDescription | BodyTree
    if arguments.tree is not None:
        description = load_tree(arguments)
        name = arguments.tree.stem
    else:
        description = load_arm(arguments)
        name = f'{description.name}, set {description.inertial_set}, hand {description.hand}'
        if arguments.letters:
            description = _in_modified_rows(description)
    found = base_parameters(description, gravity, rotor_inertia=True if arguments.rotors else None)
    if arguments.letters:
        _write_letters(arguments, found)
        return 0
    rank, lost = found.confirmed()
    agree = rank == len(found) and lost < _SAME_TORQUE
    console = terminal()
    _print_table(console, found, f'{name}: base parameters, gravity {arguments.gravity}')
    _print_summary(console, found, rank, lost)
    if arguments.json:
        what = _content(found, arguments.tree)
        write_json(arguments.json, {'gravity': arguments.gravity, 'rank': rank, **what})
    return 0 if agree else 1


def _in_modified_rows(description: ArmDescription) -> ArmDescription:
    """Return the arm in the frames that the paper's relations are for."""
    import sys

    from ..arm import Convention, DHRow
    from ..arm.dh_conversion import in_modified_convention

    if description.convention is Convention.MODIFIED:
        return description
    print(
        f'{description.name} has standard rows: parameters are in the frames of its modified '
        'ones, whose z is the joint.',
        file=sys.stderr,
    )
    return in_modified_convention(replace(description, flange=DHRow()))


def _write_letters(arguments: argparse.Namespace, found: BaseParameters) -> None:
    import sys

    from ..files import write_text
    from ..identification.regrouping_letters import regrouping_in_letters

    letters = regrouping_in_letters(
        found.description,
        found.gravity,
        rotor_inertia=found.rotor_inertia,
    )
    text = {'text': letters.as_text, 'latex': letters.as_latex, 'python': letters.as_python}[
        arguments.letters
    ]()
    if arguments.output:
        write_text(arguments.output, text)
    else:
        sys.stdout.write(text)


def _print_table(console: Console, found: BaseParameters, title: str) -> None:
    from ..report.table import Head, Table

    rows = []
    for relation, value, column in zip(found.relations, found.values(), found.columns):
        symbol, _ = found.standard_names[column].rsplit('_', 1)
        text = str(relation)
        meaning = '' if text == relation.name else text
        rows.append((relation.name, value, _UNITS.get(symbol, 'kg m²'), meaning))
    heads = ('parameter', Head('value', form='.6f'), 'unit', 'regrouped from')
    console.print(Table(title, heads, rows))


def _print_summary(console: Console, found: BaseParameters, rank: int, lost: float) -> None:
    from ..arm import ArmDescription
    from ..identification.base_parameters import upper_bound

    names = found.standard_names
    console.print(f'no effect: {", ".join(names[k] for k in found.no_effect) or "none"}')
    console.print(
        f'only as a part of others: {", ".join(names[k] for k in found.regrouped) or "none"}'
    )
    bound = ''
    if isinstance(found.description, ArmDescription):
        bound = f'; at most {upper_bound(found.description)} by Gautier and Khalil, eq. 23'
    console.print(
        f'{len(found)} base parameters of {len(names)} standard ones'
        + ('' if found.rotor_inertia else bound)
        + f'; rank of the regressor over random states: {rank}'
        + ('' if rank == len(found) else '  MISMATCH')
    )
    console.print(
        f'regrouping changes torques at other states by {lost:.1e}'
        + ('' if lost < _SAME_TORQUE else '  MISMATCH')
    )
    gap = found.rank_gap
    if gap.smallest_kept < _DOUBTFUL[1] or gap.largest_dropped > _DOUBTFUL[0]:
        say(
            console,
            f'the geometry is close to one with fewer base parameters '
            f'(a rank decision rests on {gap.smallest_kept:.1e}, the next lower is '
            f'{gap.largest_dropped:.1e}). If a twist is meant to be a quarter turn, '
            'write it as pi/2 in the arm file.',
            'note',
        )


def _content(found: BaseParameters, tree: Path | None) -> dict[str, Any]:
    """Return what the table shows and the map behind it, SI units."""
    from ..arm import ArmDescription

    names, arm = found.standard_names, found.description
    what: dict[str, Any]
    if isinstance(arm, ArmDescription):
        what = {'arm': arm.name, 'inertial_set': arm.inertial_set, 'hand': arm.hand}
    else:
        what = {'tree': str(tree), 'joints': list(arm.names)}
    return {
        **what,
        'base_parameters': [
            {'name': relation.name, 'value': float(value), 'relation': str(relation)}
            for relation, value in zip(found.relations, found.values())
        ],
        'no_effect': [names[k] for k in found.no_effect],
        'regrouped': [names[k] for k in found.regrouped],
        'standard_parameters': list(names),
        'matrix': found.matrix.tolist(),
    }
