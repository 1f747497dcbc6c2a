# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Gravity points elsewhere than declared, or is left out of the efforts."""

from collections.abc import Mapping, Sequence

import numpy as np

from .fault import Diagnosis, Fault, Samples
from .gain import Gain
from ...dynamics.newton_euler import NewtonEulerModel
from ...typing import Array

# Gravity whose size changes by more than so many times its turn is not turned: other times change
# it by 0.36 and more beside a turn of 0.004 to 0.011 rad.
_MOST_SIZE = 10.0
# Gravity of less than this share of its size is left out. One of 0.25 is that of recorded times
# that are twice real ones.
_LEFT_OUT = 0.16


class Gravity(Fault):
    """Another gravity than declared; its values are the vector in the space frame [m/s^2]."""

    kind, is_in_torques, is_asked = 'gravity', True, True
    parts = ('level_1', 'level_2', 'size')  # two turn gravity, one changes its size
    text = (
        'Gravity points elsewhere than given. Check how the arm is mounted; --gravity '
        '{0:.2f},{1:.2f},{2:.2f} gives the direction found.'
    )

    def columns(self, at: Samples) -> list[Array]:
        """Return the gravity torques of three vectors, those of `gravity_axes`."""
        axes = gravity_axes(at.model.base.gravity[0])
        return [NewtonEulerModel(at.arm, one).gravity(at.motion.q) for one in axes]

    def values(self, found: Mapping[str, float], gravity: Array) -> list[float]:
        """
        Return gravity as the recording has it: its direction, or zeros if it is left out.

        A common factor of all efforts, which is fitted beside it, is part of the direction. Where
        nearly its size alone changes, it is `gravity`.
        """
        each, factor = [found[name] for name in self.names], 1.0 + found[Gain().kind]
        turned = gravity + np.array(each) @ gravity_axes(gravity) / factor
        size, real = np.linalg.norm(turned), np.linalg.norm(gravity)
        if size < _LEFT_OUT * real:
            return [0.0, 0.0, 0.0]
        direction = turned * real / size
        alone = abs(size / real - 1.0) > _MOST_SIZE * turn(direction.tolist(), gravity)
        return (gravity if alone else direction).tolist()

    def possible(self, values: Sequence[float], gravity: Array) -> bool:
        """Return whether values, as of `values`, turn gravity, or leave it out."""
        return list(values) != gravity.tolist()

    @classmethod
    def sentence(cls, found: Diagnosis, names: Sequence[str], scale: Array) -> str:
        """Return a sentence: the direction of gravity found, or that efforts lack gravity."""
        if is_left_out(found.values):
            return 'Efforts leave gravity out. Record a topic with measured torques.'
        return super().sentence(found, names, scale)


def is_left_out(values: Sequence[float]) -> bool:
    """Return whether efforts leave gravity out, by a diagnosed vector [m/s^2]."""
    return not any(values)


def gravity_axes(gravity: Array) -> Array:
    """Return two horizontal vectors of gravity's magnitude, and gravity itself, (3, 3) [m/s^2]."""
    level = np.linalg.svd(gravity[None, :])[2][1:] * np.linalg.norm(gravity)
    return np.concatenate([level, gravity[None, :]])


def turn(values: Sequence[float], gravity: Array) -> float:
    """Return by how much gravity turns [rad], pi if it is left out."""
    if is_left_out(values):
        return np.pi
    sizes = np.linalg.norm(values) * np.linalg.norm(gravity)
    return float(np.arccos(np.clip(gravity @ values / sizes, -1.0, 1.0)))
