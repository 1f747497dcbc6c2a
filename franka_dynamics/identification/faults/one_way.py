# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The gain of a joint's effort is another in one direction of motion."""

from collections.abc import Mapping

import numpy as np

from .fault import Samples
from .gain import VaryingGain
from ...typing import Array


class OneWay(VaryingGain):
    """A gain that depends on direction; values: recorded / real effort if dq > 0 and if dq < 0."""

    kind = 'one_way'
    text = (
        '{effort} is {0:.2f} times its torque where the joint moves positively, {1:.2f} times '
        'where negatively. Check its drive or sensor, and what is done to its efforts.'
    )

    def columns(self, at: Samples) -> list[Array]:
        """Return the torque, and that torque with the sign of the velocity."""
        signed = at.rigid * np.sign(at.motion.dq)
        return [at.of(one, self.joints) for one in (at.rigid, signed)]

    def values(self, found: Mapping[str, float], gravity: Array) -> list[float]:
        """Return the ratios in positive and in negative motion."""
        constant, change = (found[name] for name in self.names)
        return [1.0 + constant + change, 1.0 + constant - change]
