# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A force begins to act on the flange, or ceases, within the recording."""

from .fault import Fault, Samples
from .force import Force
from ...typing import Array


class ForceChange(Fault):
    """A constant force that acts in the second half only, in the space frame [N]."""

    kind, is_in_part = 'force_change', True
    text = (
        'A force of about {0:.1f}, {1:.1f}, {2:.1f} N (space frame) begins to act on the flange, '
        'or ceases, in the recording. Cut it there, and identify with the part without it.'
    )

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(f'late_{name}' for name in Force().names)

    def columns(self, at: Samples) -> list[Array]:
        """Return the efforts against a unit force, in the second half."""
        return [one * (at.late >= 0.5)[:, None] for one in Force().columns(at)]
