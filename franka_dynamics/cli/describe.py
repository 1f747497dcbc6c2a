# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`franka-dynamics arm show`: an arm's Denavit-Hartenberg and inertia tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ._arm_options import ArmOptions
from ._options import PRINTED, printed_json_option
from ._say import say, terminal, write_json
from ..arm import ArmDescription
from ..errors import DescriptionError
from ..options import option

if TYPE_CHECKING:
    from ..report.arm import InertiaRow


@dataclass(frozen=True, kw_only=True)
class Show(ArmOptions):
    """Print an arm's Denavit-Hartenberg and inertia tables."""

    frame: str = option(
        "centres of mass and inertia in the links' own frames, or in the space frame {S} "
        'at a pose',
        choices=('body', 'space'),
        default='body',
    )
    q: tuple[str, ...] = option(
        'the pose: zero, home, or one position per joint [rad, m] (default: zero)',
        'Q',
        default=('zero',),
    )
    about: Literal['frame_origin', 'center_of_mass', 'space_origin'] = option(
        'reference point of the inertia; space_origin needs --frame space',
        default='frame_origin',
    )
    json: Path | None = printed_json_option('the tables')

    def run(self) -> int:
        """Print the tables."""
        from ..report.arm import as_json, inertia_rows

        description = self.load_arm()
        q = pose(description, self.q)
        in_space = self.frame == 'space'
        if self.about == 'space_origin' and not in_space:
            raise DescriptionError(
                '--about space_origin needs --frame space: where the origin of {S} '
                "is in a link's own frame depends on the pose."
            )
        pose_of_rows = q if in_space else None
        rows = inertia_rows(description, pose_of_rows, self.about)
        if self.json:
            write_json(self.json, as_json(description, rows, pose_of_rows, self.about))
        if self.json != PRINTED:
            _print(description, rows, pose_of_rows, self)
        return 0


def pose(description: ArmDescription, words: Sequence[str]) -> NDArray[np.float64]:
    """
    Return the joint positions that --q names.

    Raises
    ------
    DescriptionError
        If a word is no number, or the arm has no home pose.
    JointVectorError
        If there is not one number per joint.

    """
    if tuple(words) == ('zero',):
        return np.zeros(description.n)
    if tuple(words) == ('home',):
        if description.home is None:
            raise DescriptionError(
                f'{description.name} has no home pose; give --q one position per joint.'
            )
        return np.array(description.home)
    try:
        values = [float(word) for word in words]
    except ValueError:
        raise DescriptionError(
            f'--q takes zero, home or {description.n} numbers; got {" ".join(words)}.'
        ) from None
    return description.joint_vector(values, '--q')


def _print(
    description: ArmDescription,
    rows: list[InertiaRow],
    q: NDArray[np.float64] | None,
    arguments: Show,
) -> None:
    from ..report.arm import arm_tables

    console = terminal()
    say(console, arguments.title(description))
    say(console, f'source: {description.source}')
    for sentence in description.repairs:
        say(console, sentence, 'note')
    for sentence in description.inconsistencies():
        say(console, sentence, 'warning')
    console.print(*arm_tables(description, rows, q, arguments.about))
    say(console, f'total mass of the moving links {sum(row.mass for row in rows):.6g} kg')
