# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""All columns of two joints are exchanged."""

import numpy as np

from .restated import Restated
from ...typing import Array


class ExchangedColumns(Restated):
    """Exchanged positions, velocities and efforts of two joints."""

    kind, of_all, of_pairs = 'columns', False, True
    text = 'All columns of {joints} are exchanged. Check the order of the joints.'

    def states(self, q: Array, dq: Array, ddq: Array) -> tuple[Array, Array, Array]:
        """Return the states with the columns exchanged back."""
        return self.recorded(q), self.recorded(dq), self.recorded(ddq)

    def recorded(self, torques: Array) -> Array:
        """Return torques (N, n, ...) as the recording has them."""
        order = np.arange(torques.shape[1])
        order[[*self.joints]] = self.joints[::-1]
        return torques[:, order]
