# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`arm show --base-parameters`: which inertial parameters an arm's torques depend on."""

from __future__ import annotations

from pathlib import Path
import sys

import numpy as np

from ._choices import ArmChoice
from ._command import forbid_with
from ._console import say, say_each, show, write_json
from ._options import MASS_OPTIONS
from ..arm.dh_conversion import in_modified_convention
from ..identification.base_parameters import base_parameters, GRAVITY_BASIS_M_S2, NO_GRAVITY
from ..names import GRAVITY, GRAVITY_DIRECTIONS
from ..report import base_parameters as report

# Largest rounding error that regrouping may cause in an entry of a regressor whose columns have
# unit length.
_MAX_REGROUPING_ERROR = 1e-9
_GRAVITY = dict(zip(GRAVITY_DIRECTIONS, ([GRAVITY], GRAVITY_BASIS_M_S2, [NO_GRAVITY])))


def print_symbolic(choice: ArmChoice, gravity: str, form: str) -> int:
    """Print each base parameter as an expression, as text or LaTeX (`form`); return 0."""
    forbid_with('--symbolic: the relations hold for any masses', *MASS_OPTIONS)
    forbid_with('--symbolic, which writes the relations alone', 'json')
    from ..identification.symbolic_parameters import symbolic_base_parameters  # needs sympy

    arm = choice.load()
    modified = in_modified_convention(arm)
    if modified is not arm:
        print(
            f'{arm.name} has standard DH rows; the parameters are in the frames of the '
            "equivalent modified rows, whose z axes are the joints' axes.",
            file=sys.stderr,
        )
    symbols = symbolic_base_parameters(modified, np.array(_GRAVITY[gravity]))
    sys.stdout.write(getattr(symbols, f'as_{form}')())
    return 0


def print_base_parameters(choice: ArmChoice, gravity: str, json: Path | None) -> int:
    """Print an arm's base parameters; return 1 if torques at random states contradict them."""
    arm = choice.load()
    parameters = base_parameters(arm, np.array(_GRAVITY[gravity]))
    rank, lost = parameters.check_at_random_states()
    title = f'{choice.title(arm)}: base parameters, gravity {gravity}'
    show(report.base_parameter_table(parameters, title))
    say_each(report.identifiability_sentences(parameters))
    agree = rank == len(parameters) and lost < _MAX_REGROUPING_ERROR
    say(report.rank_sentence(arm, parameters, rank, lost), '' if agree else 'MISMATCH')
    say_each(report.close_rank_notes(parameters), 'note')
    if json:
        write_json(json, {'rank': rank, 'values': parameters.values(), 'parameters': parameters})
    return 0 if agree else 1
