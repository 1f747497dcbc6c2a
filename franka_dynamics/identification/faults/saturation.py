# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The effort of a joint falls short of large torques."""

from collections.abc import Sequence

import numpy as np

from .fault import Fault, Samples
from ...typing import Array


class Saturation(Fault):
    """A gain that changes with the torque; its value is the change of the gain at the largest."""

    kind, of_all, of_each = 'saturation', False, True
    text = (
        '{effort} has another gain at large torques than at small ones ({0:+.2f} of it): its '
        'sensor or drive saturates. Record slower motions or with less load.'
    )

    def possible(self, values: Sequence[float], gravity: Array) -> bool:
        """Return whether the gain falls; of sound UR10es it rises by 0.07, as friction does."""
        return values[0] < 0.0

    def columns(self, at: Samples) -> list[Array]:
        """Return the torque times its square relative to the largest."""
        most = np.abs(at.total).max(axis=0)
        return [at.of(at.total * (at.total / np.maximum(most, 1e-9)) ** 2, self.joints)]
