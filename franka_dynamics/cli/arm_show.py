# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`franka-dynamics arm show`: an arm's Denavit-Hartenberg and inertia tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ._arm_options import ArmOptions
from ._options import picture_option, PRINTED, printed_json_option
from ._say import say, say_each, show, write_json
from ..arm import ArmDescription
from ..errors import DescriptionError
from ..options import decimal, option
from ..report.arm import arm_tables, as_json, inertia_rows
from ..typing import Array


@dataclass(frozen=True, kw_only=True)
class Show(ArmOptions):
    """Print an arm's Denavit-Hartenberg and inertia tables."""

    q: tuple[str, ...] = option(
        'centres of mass and inertia in the space frame {S} at a pose: zero, home, or one '
        "position per joint [rad, m] (default: in the links' own frames)",
        'Q',
        default=(),
    )
    json: Path | None = printed_json_option('the tables')
    plot: Path | None = picture_option(
        'draw the frames and centres of mass at --q (default: zero)'
    )

    def run(self) -> int:
        """Print the tables, or JSON instead; write the picture and the JSON file if asked for."""
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
        if self.json != PRINTED:
            say(self.title(description))
            say(f'source: {description.source}')
            say_each((*description.notes, *description.repairs), 'note')
            say_each(description.inconsistencies(), 'warning')
            show(*arm_tables(description, rows, q))
            say(f'total mass of the moving links {sum(row.mass for row in rows):.6g} kg')
        return 0


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
    return description.joint_vector(values, '--q')
