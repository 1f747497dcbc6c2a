# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The gain of a joint's effort changes with time."""

from collections.abc import Mapping

from .fault import Samples
from .gain import VaryingGain
from ...typing import Array


class Drift(VaryingGain):
    """A drift of the effort gain; its values are recorded / real effort at begin and end."""

    kind = 'drift'
    text = (
        '{effort} drifts: {0:.2f} times its torque at the beginning, {1:.2f} at the end. Let the '
        'arm warm up, or record in shorter pieces.'
    )

    def columns(self, at: Samples) -> list[Array]:
        """Return the torque, and that torque times the time in the recording."""
        drifting = at.rigid * (at.late - 0.5)[:, None]
        return [at.of(one, self.joints) for one in (at.rigid, drifting)]

    def values(self, found: Mapping[str, float], gravity: Array) -> list[float]:
        """Return the ratios at the beginning and the end."""
        constant, change = (found[name] for name in self.names)
        return [1.0 + constant + half * change for half in (-0.5, 0.5)]
