# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The efforts of two joints are exchanged."""

from collections.abc import Sequence

import numpy as np

from .fault import Fault, is_whole, Samples
from ...typing import Array


class Exchanged(Fault):
    """Exchanged efforts of two joints; its value is the share that is exchanged (1: all)."""

    kind, of_all, of_pairs = 'exchanged', False, True
    text = 'The efforts of {joints} are exchanged. Exchange their columns.'

    def columns(self, at: Samples) -> list[Array]:
        """Return the difference of the two joints' torques, with opposite signs at the two."""
        (i, j), each = self.joints, np.eye(at.model.n)
        return [(at.rigid[:, [j]] - at.rigid[:, [i]]) * (each[i] - each[j])]

    def undone_friction(self, fitted: Array, values: Sequence[float]) -> Array:
        """Return friction with that of the two joints exchanged back."""
        found = fitted.copy()
        found[[*self.joints]] = fitted[[*self.joints[::-1]]]
        return found

    def possible(self, values: Sequence[float], gravity: Array) -> bool:
        """Return whether the efforts are exchanged as a whole."""
        return is_whole(values[0])
