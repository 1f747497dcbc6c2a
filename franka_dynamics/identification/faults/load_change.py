# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A load comes to the flange, or leaves it, within the recording."""

from .fault import Fault, Samples
from .load import Load
from ...typing import Array


class LoadChange(Fault):
    """A load that only the second half has; values: mass [kg] and first moment [kg m]."""

    kind, is_in_part = 'load_change', True
    text = (
        'About {size:.1f} kg come to the flange, or leave it, in the recording. Cut it there, and '
        'identify with one of its parts; say what hangs on the flange with --payload or --hand.'
    )

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(f'late_{name}' for name in Load().names)

    def columns(self, at: Samples) -> list[Array]:
        """Return the torques of mass and first moments, in the second half."""
        return [one * (at.late >= 0.5)[:, None] for one in Load().columns(at)]
