# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A load or a force begins, or ceases, within the recording."""

from .fault import Fault, Samples
from .force import Force
from .load import Load
from ...typing import Array


class Late(Fault):
    """A fault that only the second half of a recording has, with the columns of another kind."""

    is_in_part = True

    def columns(self, at: Samples) -> list[Array]:
        """Return the other kind's columns in the second half."""
        return [one * (at.elapsed >= 0.5)[:, None] for one in super().columns(at)]


class LoadChange(Late, Load):
    """A load that only the second half has; values: mass [kg] and first moment [kg m]."""

    kind = 'load_change'
    text = (
        'About {size:.1f} kg come to the flange, or leave it, in the recording. Cut it there, and '
        'identify with one of its parts; say what hangs on the flange with --payload or --hand.'
    )


class ForceChange(Late, Force):
    """A constant force that acts in the second half only, in the space frame [N]."""

    kind = 'force_change'
    text = (
        'A force of about {0:.1f}, {1:.1f}, {2:.1f} N (space frame) begins to act on the flange, '
        'or ceases, in the recording. Cut it there, and identify with the part without it.'
    )
