# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The efforts of a joint, or of all, are a multiple of the torques."""

from collections.abc import Mapping, Sequence

import numpy as np

from .fault import Diagnosis, Fault, Samples
from ...typing import Array

_NEAR_MINUS_ONE = 0.25  # a gain that is as near to -1 is a wrong sign
_SIGN = (
    ' has the wrong sign: the torque that moves the joint is positive where it turns the joint '
    'positively'
)


def divided(friction: Array, joints: tuple[int, ...], ratio: float) -> Array:
    """Return friction parameters (n, k) with those of some joints divided by a ratio."""
    there = np.isin(np.arange(len(friction)), joints)[:, None]
    return np.asarray(friction / np.where(there, ratio or 1.0, 1.0))


class Gain(Fault):
    """A wrong gain of the effort; its value is the ratio of recorded to real effort."""

    kind, of_each = 'gain', True
    text = '{effort}'

    def columns(self, at: Samples) -> list[Array]:
        """Return the rigid-body torque."""
        return [at.of(at.rigid, self.joints)]

    def values(self, found: Mapping[str, float], gravity: Array) -> list[float]:
        """Return the ratio of the recorded effort to the real one."""
        return [1.0 + found[self.names[0]]]

    def undone_friction(self, fitted: Array, values: Sequence[float]) -> Array:
        """Return friction divided by the ratio, which it has as well."""
        return divided(fitted, self.joints, values[0])

    @classmethod
    def sentence(cls, found: Diagnosis, names: Sequence[str], scale: Array) -> str:
        """Return the ratio, or that the sign is wrong, and the scale that corrects it."""
        ratio = found.values[0]
        unit = 'unit (currents: --torque-constant)'
        what = f' is {ratio:.3g} times its torque. Check its column, sign, {unit} and gear'
        if abs(ratio + 1.0) < _NEAR_MINUS_ONE:
            what, ratio = _SIGN, -1.0
        there = np.isin(np.arange(len(names)), found.joints) if found.joints else True
        scales = np.where(there, scale / ratio, scale)
        shown = ','.join(f'{one:.3g}' for one in (scales if np.ptp(scales) else scales[:1]))
        effort = super().sentence(found, names, scale)
        return f'{effort}{what}; --effort-scale {shown} corrects it.'
