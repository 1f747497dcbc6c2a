# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`franka-dynamics arm show`: an arm's Denavit-Hartenberg and inertia tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ._arm_options import ArmOptions, MASS_OPTIONS
from ._base_parameters import DIRECTIONS, print_base_parameters, print_symbolic
from ._options import json_option, picture_option
from ._say import say, say_each, show, write_json
from ..arm import ArmDescription
from ..errors import DescriptionError
from ..options import decimal, option
from ..report.arm import arm_tables, as_json, inertia_rows
from ..spatial import JointKind
from ..typing import Array

_TURN = 2.0 * np.pi  # [rad]; beyond it a position is taken for degrees


@dataclass(frozen=True, kw_only=True)
class Show(ArmOptions):
    """Print an arm's Denavit-Hartenberg and inertia tables, or its base parameters."""

    q: tuple[str, ...] = option(
        'centres of mass and inertia in the space frame {S} at a pose: zero, home, or one '
        "position per joint [rad, m] (default: in the links' own frames)",
        'Q',
        default=(),
    )
    base_parameters: str | None = option(
        'instead of the tables the base parameters: the smallest set of inertial parameters that '
        'the torques depend on, regrouped, with their values, for gravity along -z of the space '
        'frame (vertical), in any direction (tilted) or none; alone: vertical',
        choices=DIRECTIONS,
        const=DIRECTIONS[0],
        default=None,
    )
    symbolic: str | None = option(
        'the base parameters as sums of standard parameters, with symbols (lengths D3, RL4, ... '
        'of the modified DH rows); alone: text',
        choices=('text', 'latex', 'python'),
        const='text',
        default=None,
    )
    json: Path | None = json_option('the tables')
    plot: Path | None = picture_option(
        'draw the frames and centres of mass at --q (default: zero)'
    )

    def run(self) -> int:
        """Print the tables, or JSON instead; write the picture and the JSON file if asked for."""
        if self.symbolic or self.base_parameters:
            return self._base_parameters(self.base_parameters or DIRECTIONS[0])
        description = self.load_arm()
        q = _pose(description, self.q) if self.q else None
        rows = inertia_rows(description, q)
        if self.plot:
            from ..report.elements import save
            from ..report.frames import frames_figure

            save(
                frames_figure(description, np.zeros(description.n) if q is None else q), self.plot
            )
        if self.json:
            write_json(self.json, as_json(description, rows, q))
        say(self.title(description))
        say(f'source: {description.source}')
        say_each((*description.notes, *description.repairs), 'note')
        say_each(description.inconsistencies(), 'warning')
        show(*arm_tables(description, rows, q))
        say(f'total mass of the moving links {sum(row.mass for row in rows):.6g} kg')
        return 0

    def _base_parameters(self, gravity: str) -> int:
        """Print the base parameters, or the relations in symbols; return the exit status."""
        self.refuse('base parameters, which hold at every pose', 'q', 'plot')
        if self.symbolic:
            self.refuse('--symbolic: the relations hold for any masses', *MASS_OPTIONS)
            self.refuse('--symbolic, which writes the relations alone', 'json')
            print_symbolic(self.load_arm(), gravity, self.symbolic)
            return 0
        arm = self.load_arm()
        return print_base_parameters(arm, self.title(arm), gravity, self.json)


def _pose(description: ArmDescription, words: Sequence[str]) -> Array:
    """Return the joint positions (n,) [rad, m] given by --q: zero, home or numbers."""
    if tuple(words) == ('zero',):
        return np.zeros(description.n)
    if tuple(words) == ('home',):
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
