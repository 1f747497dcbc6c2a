# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Something else hangs on the flange than declared; it looks like another last link."""

import numpy as np

from .fault import Fault, Samples
from ...typing import Array


class Load(Fault):
    """
    Its values are mass [kg] and first moment in the flange frame [kg m].

    `joints` is the quarter of the recording at whose beginning the load comes or goes.
    """

    kind = 'load'
    text = (
        'About {size:.1f} kg come to the flange, or leave it, within the recording. Cut it there, '
        'and identify with one of its parts; say what hangs on the flange with --payload or '
        '--hand.'
    )

    @classmethod
    def every(cls, n: int) -> list[Fault]:
        """Return a load from the beginning, and from each other quarter on."""
        return [cls(), *(cls((quarter,)) for quarter in (1, 2, 3))]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(f'{name}_{unit}' for name in super().names for unit in ('m', 'x', 'y', 'z'))

    @property
    def simpler(self) -> Fault:
        """A load from the beginning."""
        return Load()

    def columns(self, at: Samples) -> list[Array]:
        """Return the torques of mass and first moments."""
        there = at.late >= (self.joints[0] / 4 if self.joints else 0.0)
        return [one * there[:, None] for one in np.moveaxis(at.regressor @ at.load, -1, 0)]
