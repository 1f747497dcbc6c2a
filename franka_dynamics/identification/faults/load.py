# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Something else hangs on the flange than declared; it looks like another last link."""

import numpy as np

from .fault import Fault, Samples
from ...typing import Array


class Load(Fault):
    """An undeclared load; values: mass [kg], first moment in the flange frame [kg m]."""

    kind = 'load'
    parts = ('m', 'x', 'y', 'z')
    text = 'The flange carries {0:.1f} kg more than declared. Name the load with --payload.'

    def columns(self, at: Samples) -> list[Array]:
        """Return the torques of mass and first moments."""
        return [*np.moveaxis(at.regressor @ at.load, -1, 0)]
