# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The gain of a joint's effort changes with time, or with the direction of motion."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np

from .fault import Fault, Samples
from .gain import divided, Gain
from ...typing import Array


class VaryingGain(Fault, ABC):
    """A gain with a second column; its values are the ratios at two `ends` of `along`."""

    of_all, of_each = False, True
    ends: ClassVar[tuple[float, float]]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of a constant gain and of its change."""
        return (*self.simpler.names, *super().names)

    @property
    def simpler(self) -> Fault:
        """A constant gain."""
        return Gain(self.joints)

    @abstractmethod
    def along(self, at: Samples) -> Array:
        """Return what the gain changes with, between the `ends`, (N, n) or (N, 1)."""

    def columns(self, at: Samples) -> list[Array]:
        """Return the torque, and that torque times what the gain changes with."""
        return [at.of(one, self.joints) for one in (at.rigid, at.rigid * self.along(at))]

    def values(self, found: Mapping[str, float], gravity: Array) -> list[float]:
        """Return the ratios of recorded to real effort at both ends."""
        constant, change = (found[name] for name in self.names)
        return [1.0 + constant + end * change for end in self.ends]

    def undone_friction(self, fitted: Array, values: Sequence[float]) -> Array:
        """Return friction divided by the mean ratio, which it has as well."""
        return divided(fitted, self.joints, 0.5 * (values[0] + values[1]))


class Drift(VaryingGain):
    """A drift of the effort gain; its values are recorded / real effort at begin and end."""

    kind, ends = 'drift', (-0.5, 0.5)
    text = (
        '{effort} drifts: {0:.2f} times its torque at the beginning, {1:.2f} at the end. Let the '
        'arm warm up, or record in shorter pieces.'
    )

    def along(self, at: Samples) -> Array:
        """Return the normalised time over the recording, -0.5 to 0.5, (N, 1)."""
        return np.asarray((at.elapsed - 0.5)[:, None])


class OneWay(VaryingGain):
    """A gain that depends on direction; values: recorded / real effort if dq > 0 and if dq < 0."""

    kind, ends = 'one_way', (1.0, -1.0)
    text = (
        '{effort} is {0:.2f} times its torque where the joint moves positively, {1:.2f} times '
        'where negatively. Check its drive or sensor, and what is done to its efforts.'
    )

    def along(self, at: Samples) -> Array:
        """Return the sign of the velocity."""
        return np.asarray(np.sign(at.motion.dq))
