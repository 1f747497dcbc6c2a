# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The effort of a joint is recorded with a constant error."""

from collections.abc import Sequence

from .fault import Fault
from ..torque_model import OFFSET_SYMBOL
from ...typing import Array


class Offset(Fault):
    """An offset of the effort; its value is the error [N m]. It is only a question."""

    kind, of_all, of_each = 'offset', False, True
    text = (
        '{effort} is off by {0:.2f} N m. Zero its torque sensor, or subtract this from its column.'
    )

    @property
    def names(self) -> tuple[str, ...]:
        """Name of the torque model's offset column, which such a fit frees from its prior."""
        return (f'{OFFSET_SYMBOL}_{self.joints[0] + 1}',)

    def possible(self, values: Sequence[float], gravity: Array) -> bool:
        """Return False: all fits have offsets, and a large one is only asked about."""
        return False
