# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`franka-dynamics arm show`: an arm's Denavit-Hartenberg and inertia tables."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ._say import say, say_each, show, write_json
from .actions import ArmShow, DIRECTIONS
from ..arm import ArmDescription
from ..errors import DescriptionError
from ..options import decimal
from ..report.arm import arm_tables, as_json, inertia_rows
from ..report.elements import save
from ..report.frames import frames_figure
from ..spatial import JointKind
from ..typing import Array

_TURN = 2.0 * np.pi  # [rad]; beyond it a position is taken for degrees


def run(given: ArmShow) -> int:
    """Print the tables, or JSON instead; write the picture and the JSON file if asked for."""
    if given.symbolic or given.base_parameters:
        from ._base_parameters import print_base_parameters

        return print_base_parameters(given, given.base_parameters or DIRECTIONS[0])
    description = given.load_arm()
    q = _pose(description, given.q) if given.q else None
    rows = inertia_rows(description, q)
    if given.plot:
        save(frames_figure(description, np.zeros(description.n) if q is None else q), given.plot)
    if given.json:
        write_json(given.json, as_json(description, rows, q))
    say(given.title(description))
    say(f'source: {description.source}')
    say_each((*description.notes, *description.repairs), 'note')
    say_each(description.inconsistencies(), 'warning')
    show(*arm_tables(description, rows, q))
    say(f'total mass of the moving links {sum(row.mass for row in rows):.6g} kg')
    return 0


def _pose(description: ArmDescription, words: Sequence[str]) -> Array:
    """Return the joint positions (n,) [rad, m] given by --q: zero, home or numbers."""
    words = ' '.join(words).replace(',', ' ').split()
    if words == ['zero']:
        return np.zeros(description.n)
    if words == ['home']:
        if description.home is None:
            raise DescriptionError(
                f'{description.name} has no home pose; give --q one position per joint.'
            )
        return np.array(description.home)
    try:
        values = [decimal(word) for word in words]
    except ValueError:
        raise DescriptionError(
            f'--q takes zero, home or {description.n} numbers; got {" ".join(words)}.'
        ) from None
    q = description.joint_vector(values, '--q')
    turns = np.array([joint.kind is JointKind.REVOLUTE for joint in description.joints])
    beyond = np.flatnonzero(turns & (np.abs(q) > _TURN))
    if beyond.size:
        radians = ' '.join(f'{one:.5g}' for one in np.where(turns, np.radians(q), q))
        raise DescriptionError(
            f'--q has {q[beyond[0]]:g} rad at {description.joint_names[beyond[0]]}, more than a '
            f'turn; is the pose in degrees? In radians it is --q {radians}.'
        )
    return q
