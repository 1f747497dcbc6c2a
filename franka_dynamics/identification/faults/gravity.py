# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Gravity points elsewhere than declared, or is left out of the efforts."""

from collections.abc import Mapping, Sequence

import numpy as np

from .fault import Diagnosis, Fault, Samples
from ...dynamics.newton_euler import NewtonEulerModel
from ...typing import Array

# A base that is turned by more than TURNED [rad] is a fault, from TILTED on it is asked about:
# that of the sound Med7 is turned by 0.03.
TILTED, TURNED = 0.01, 0.05
_LEFT_OUT = 0.5  # gravity of less than this share of its size is left out
_SHARE = 0.05  # gravity has its size within this share, or is left out


class Gravity(Fault):
    """Its values are the components of gravity in the space frame [m/s^2]."""

    kind = 'gravity'
    text = (
        'Gravity points elsewhere than given. Check how the arm is mounted; --gravity '
        '{0:.2f},{1:.2f},{2:.2f} gives the direction found.'
    )

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return 'gravity_level_1', 'gravity_level_2', 'gravity_size'

    def columns(self, at: Samples) -> list[Array]:
        """Return the torques of three accelerations of the base."""
        axes = gravity_axes(at.model.base.gravity[0])
        return [NewtonEulerModel(at.arm, one).gravity(at.motion.q) for one in axes]

    def values(self, found: Mapping[str, float], gravity: Array) -> list[float]:
        """Return gravity as the recording has it."""
        each = np.array([found[name] for name in self.names])
        return (gravity + each @ gravity_axes(gravity)).tolist()

    def possible(self, values: Sequence[float], gravity: Array) -> bool:
        """Return whether gravity turns, or is left out."""
        return turn(values, gravity) > TURNED

    @classmethod
    def sentence(cls, found: Diagnosis, names: Sequence[str], scale: Array) -> str:
        """Return the direction found, or that gravity is left out."""
        if np.linalg.norm(found.values) < 5.0:
            return 'Efforts leave gravity out. Record a topic with measured torques.'
        return super().sentence(found, names, scale)


def gravity_axes(gravity: Array) -> Array:
    """Return two horizontal vectors of gravity's magnitude, and gravity itself, (3, 3) [m/s^2]."""
    level = np.linalg.svd(gravity[None, :])[2][1:] * np.linalg.norm(gravity)
    return np.concatenate([level, gravity[None, :]])


def turn(values: Sequence[float], gravity: Array) -> float:
    """Return by how much gravity turns [rad], pi if it is left out, 0 if its size is wrong."""
    found = np.array(values)
    declared, size = float(np.linalg.norm(gravity)), float(np.linalg.norm(found))
    if size < _LEFT_OUT * declared:
        return np.pi
    if abs(size / declared - 1.0) > _SHARE:
        return 0.0  # a common factor
    return float(np.arccos(np.clip(gravity @ found / (declared * size), -1.0, 1.0)))
