# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`franka-dynamics arm show`: an arm's Denavit-Hartenberg and inertia tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from ._base_parameters import print_base_parameters, print_symbolic
from ._choices import ArmChoice
from ._command import forbid_with
from ._console import say, say_each, show, write_json
from ..arm import ArmDescription
from ..arm.inertia import TENSOR_ORDER
from ..errors import DescriptionError
from ..names import parse_float
from ..report.arm import arm_tables, dh_rows, inertia_rows, origins
from ..spatial import JointKind
from ..typing import Array

_FULL_TURN_RAD = 2.0 * np.pi  # [rad]; beyond it a position is taken for degrees


def run(
    arm: ArmChoice,
    positional: str | None,
    q: Sequence[str] | None,
    base_parameters: str | None,
    symbolic: str | None,
    json: Path | None,
) -> int:
    """Print the arm's tables, or JSON in their place; write the JSON file."""
    if positional is not None:
        forbid_with(f'{positional}, the same as --arm {positional}', 'arm')
        arm = replace(arm, arm=positional)
    if symbolic or base_parameters:
        forbid_with('base parameters, which hold at every pose', 'q')
        direction = base_parameters or 'vertical'
        if symbolic:
            return print_symbolic(arm, direction, symbolic)
        return print_base_parameters(arm, direction, json)
    description = arm.load()
    pose = _pose(description, q) if q else None
    rows = inertia_rows(description, pose)
    if json:
        write_json(
            json,
            {
                'arm': description,
                'convention': description.convention,
                'base': description.base,
                'denavit_hartenberg': dh_rows(description),
                'q': pose,
                'origins': None if pose is None else origins(description, pose),
                'inertia_order': TENSOR_ORDER,
                'links': rows,
            },
        )
    say(arm.title(description))
    show(f'source: {description.source}')
    warned = description.torque_notes  # on standard error, when the arm was loaded
    notes = [note for note in description.notes if note not in warned]
    say_each((*notes, *description.repairs), 'note')
    say_each(description.inconsistencies(), 'warning')
    show(*arm_tables(description, rows, pose))
    say(f'total mass of the moving links {sum(row.mass for row in rows):.6g} kg')
    return 0


def _pose(description: ArmDescription, words: Sequence[str]) -> Array:
    """Return the joint positions (n,) [rad, m] given by --q: zero, home or numbers."""
    if words == ('zero',):
        return np.zeros(description.n)
    if words == ('home',) and description.home is not None:
        return np.array(description.home)
    try:
        values = [parse_float(word) for word in words]
    except ValueError:
        known = 'zero' if description.home is None else 'zero, home'
        raise DescriptionError(
            f'--q takes {known} or {description.n} numbers; got {",".join(words)}.'
        ) from None
    q = description.joint_vector(values, '--q')
    turns = np.array([joint.kind is JointKind.REVOLUTE for joint in description.joints])
    beyond = np.flatnonzero(turns & (np.abs(q) > _FULL_TURN_RAD))
    if beyond.size:
        radians = ','.join(f'{one:.5g}' for one in np.where(turns, np.radians(q), q))
        raise DescriptionError(
            f'--q has {q[beyond[0]]:g} rad at {description.joint_names[beyond[0]]}, more than a '
            f'turn; is the pose in degrees? In radians it is --q {radians}.'
        )
    return q
