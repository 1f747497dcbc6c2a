# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The work of `franka-dynamics arm show`, which prints tables of an arm or its base parameters."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
import sys

import numpy as np

from ._choices import ArmChoice, forbid_options, Options
from ._console import print_rich, say, say_each, write_json
from ._options import MASS_OPTION_NAMES
from ..arm import ArmDescription
from ..arm.frames import to_modified_convention
from ..arm.inertia import TENSOR_ORDER
from ..arrays import Array
from ..errors import DescriptionError
from ..identification.base_parameters import base_parameters, GRAVITY_BASIS_M_S2, NO_GRAVITY
from ..names import GRAVITY, GRAVITY_DIRECTIONS, parse_float
from ..report import arm as report
from ..spatial import JointKind

_FULL_TURN_RAD = 2.0 * np.pi  # [rad]; beyond it a position is taken for degrees
# Largest rounding error that regrouping may cause in an entry of a regressor whose columns have
# unit length.
_MAX_REGROUPING_ERROR = 1e-9
_GRAVITY_VECTORS = dict(zip(GRAVITY_DIRECTIONS, ([GRAVITY], GRAVITY_BASIS_M_S2, [NO_GRAVITY])))


def run(arm: ArmChoice, options: Options) -> int:
    """Print the arm's tables, or JSON in their place; write the JSON file."""
    if options.positional is not None:
        forbid_options(f'{options.positional}, the same as --arm {options.positional}', 'arm')
        arm = replace(arm, arm=options.positional)
    if options.symbolic or options.base_parameters:
        forbid_options('base parameters, which hold at every pose', 'q')
        direction = options.base_parameters or 'vertical'
        if options.symbolic:
            return _print_expressions(arm, direction, options.symbolic)
        return _print_base_parameters(arm, direction, options.json)
    description = arm.load()
    pose = _pose_from_words(description, options.q) if options.q else None
    rows = report.inertia_rows(description, pose)
    data = {
        'arm': description,
        'convention': description.convention,
        'base': description.base,
        'denavit_hartenberg': report.dh_rows(description),
        'q': pose,
        'origins': None if pose is None else report.frame_origins(description, pose),
        'inertia_order': TENSOR_ORDER,
        'links': rows,
    }
    write_json(options.json, data)
    say(arm.title(description))
    print_rich(f'source: {description.source}')
    warned = description.torque_notes  # on standard error, when the arm was loaded
    notes = [note for note in description.notes if note not in warned]
    say_each((*notes, *description.repairs), 'note')
    say_each(description.inconsistencies(), 'warning')
    print_rich(*report.arm_tables(description, rows, pose))
    say(f'total mass of the moving links {sum(row.mass for row in rows):.6g} kg')
    return 0


def _pose_from_words(arm: ArmDescription, words: Sequence[str]) -> Array:
    """Return joint positions (n,) [rad, m] from the words of --q (zero, home or numbers)."""
    if words == ('zero',):
        return np.zeros(arm.n)
    if words == ('home',) and arm.home is not None:
        return np.array(arm.home)
    try:
        values = [parse_float(word) for word in words]
    except ValueError:
        known = 'zero' if arm.home is None else 'zero, home'
        raise DescriptionError(
            f'--q takes {known} or {arm.n} numbers; got {",".join(words)}.'
        ) from None
    q = arm.joint_vector(values, '--q')
    turns = np.array([joint.kind is JointKind.REVOLUTE for joint in arm.joints])
    beyond = np.flatnonzero(turns & (np.abs(q) > _FULL_TURN_RAD))
    if beyond.size:
        radians = ','.join(f'{one:.5g}' for one in np.where(turns, np.radians(q), q))
        raise DescriptionError(
            f'--q has {q[beyond[0]]:g} rad at {arm.joint_names[beyond[0]]}, more than a '
            f'turn; is the pose in degrees? In radians it is --q {radians}.'
        )
    return q


def _print_expressions(choice: ArmChoice, gravity: str, form: str) -> int:
    """Print each base parameter as an expression, as text or LaTeX (`form`); return 0."""
    forbid_options('--symbolic: the relations hold for any masses', *MASS_OPTION_NAMES)
    forbid_options('--symbolic, which writes the relations alone', 'json')
    from ..identification.symbolic_parameters import symbolic_base_parameters  # needs sympy

    arm = choice.load()
    modified = to_modified_convention(arm)
    if modified is not arm:
        print(
            f'{arm.name} has standard DH rows; the parameters are in the frames of the '
            "equivalent modified rows, whose z axes are the joints' axes.",
            file=sys.stderr,
        )
    symbols = symbolic_base_parameters(modified, np.array(_GRAVITY_VECTORS[gravity]))
    sys.stdout.write(getattr(symbols, f'as_{form}')())
    return 0


def _print_base_parameters(choice: ArmChoice, gravity: str, json: Path | None) -> int:
    """Print an arm's base parameters; return 1 if torques at random states contradict them."""
    arm = choice.load()
    parameters = base_parameters(arm, np.array(_GRAVITY_VECTORS[gravity]))
    rank, lost = parameters.check_at_random_states()
    title = f'{choice.title(arm)}: base parameters, gravity {gravity}'
    print_rich(report.base_parameter_table(parameters, title))
    say_each(report.identifiability_sentences(parameters))
    agree = rank == len(parameters) and lost < _MAX_REGROUPING_ERROR
    say(report.rank_sentence(arm, parameters, rank, lost), '' if agree else 'MISMATCH')
    say_each(report.rank_gap_notes(parameters), 'note')
    write_json(json, {'rank': rank, 'values': parameters.values(), 'parameters': parameters})
    return 0 if agree else 1
