# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A constant force acts on the flange all along."""

from collections.abc import Sequence

import numpy as np

from .fault import Fault, Samples
from ...typing import Array

_LEAST = 1.0  # [N] The largest of a sound log, a FER's, that its efforts show is 0.7 N.


class Force(Fault):
    """A constant force that the surroundings exert on the flange, in the space frame [N]."""

    kind = 'force'
    parts = ('x', 'y', 'z')
    text = (
        'A constant force of {0:.1f}, {1:.1f}, {2:.1f} N (space frame) acts on the flange: '
        'a cable, a spring, or a contact. Remove it, and record again.'
    )

    def possible(self, values: Sequence[float], gravity: Array) -> bool:
        """Return whether the force is larger than what a sound log may show."""
        return float(np.linalg.norm(values)) > _LEAST

    def columns(self, at: Samples) -> list[Array]:
        """Return minus the Jacobian's rows: the efforts that hold against a unit force."""
        return [*-at.dynamics.jacobian(at.motion.q)[:, :3].swapaxes(0, 1)]
