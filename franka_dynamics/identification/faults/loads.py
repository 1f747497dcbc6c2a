# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Other loads on the arm than declared: gravity, a mass or a force at the flange, rotors."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from .efforts import Gain
from .fault import Diagnosis, Fault, TorqueSamples
from ...arrays import Array
from ...dynamics.newton_euler import NewtonEulerModel

# Gravity whose size changes by more than so many times its turn is not turned: other times change
# it by 0.36 and more beside a turn of 0.004 to 0.011 rad.
_MAX_SIZE_TO_ANGLE = 10.0
# Gravity of less than this share of its size is left out. One of 0.25 is that of recorded times
# that are twice real ones.
_MAX_LEFT_OUT_RATIO = 0.16
_MIN_FORCE_N = 1.0  # [N] The largest of a sound log, a FER's, that its efforts show is 0.7 N.


class Gravity(Fault):
    """A gravity unlike the declared one; values: its vector in the space frame [m/s^2]."""

    kind, value_is_from_torques, is_question = 'gravity', True, True
    column_suffixes = ('level_1', 'level_2', 'size')  # two turn gravity, one changes its size
    text = (
        'Gravity points elsewhere than given. Check how the arm is mounted; --gravity '
        '{0:.2f},{1:.2f},{2:.2f} gives the direction found.'
    )

    def columns(self, at: TorqueSamples) -> list[Array]:
        """Return the gravity torques of the three vectors of `gravity_axes` as columns."""
        axes = gravity_axes(at.model.gravity)
        return [NewtonEulerModel(at.arm, one).gravity(at.motion.q) for one in axes]

    def values(self, found: Mapping[str, float], gravity: Array) -> list[float]:
        """
        Return the gravity vector of the recording [m/s^2], or zeros if efforts lack gravity.

        A common factor of all efforts, which is fitted beside it, is part of the direction. Where
        nearly its size alone changes, it is `gravity`.
        """
        each, factor = [found[name] for name in self.column_names], 1.0 + found[Gain().kind]
        turned = gravity + np.array(each) @ gravity_axes(gravity) / factor
        size, real = np.linalg.norm(turned), np.linalg.norm(gravity)
        if size < _MAX_LEFT_OUT_RATIO * real:
            return [0.0, 0.0, 0.0]
        direction = turned * real / size
        most = _MAX_SIZE_TO_ANGLE * gravity_angle(direction.tolist(), gravity)
        return (gravity if abs(size / real - 1.0) > most else direction).tolist()

    def is_possible(self, values: Sequence[float], gravity: Array) -> bool:
        """Return whether the gravity vector `values` differs from the declared `gravity`."""
        return list(values) != gravity.tolist()

    @classmethod
    def sentence(cls, found: Diagnosis, names: Sequence[str], scale: Array) -> str:
        """Return a sentence with the direction of gravity found, or that efforts lack gravity."""
        if lacks_gravity(found.values):
            return 'Efforts leave gravity out. Record a topic with measured torques.'
        return super().sentence(found, names, scale)


def lacks_gravity(values: Sequence[float]) -> bool:
    """Return whether a diagnosed gravity vector is zero, because efforts lack gravity."""
    return not any(values)


def gravity_axes(gravity: Array) -> Array:
    """Return two horizontal vectors of gravity's magnitude, and gravity itself, (3, 3) [m/s^2]."""
    level = np.linalg.svd(gravity[None, :])[2][1:] * np.linalg.norm(gravity)
    return np.concatenate([level, gravity[None, :]])


def gravity_angle(values: Sequence[float], gravity: Array) -> float:
    """Return the angle [rad] between a diagnosed and the declared gravity, pi for zeros."""
    if lacks_gravity(values):
        return np.pi
    sizes = np.linalg.norm(values) * np.linalg.norm(gravity)
    return float(np.arccos(np.clip(gravity @ values / sizes, -1.0, 1.0)))


class Load(Fault):
    """An undeclared load; values: mass [kg], first moment in the flange frame [kg m]."""

    kind = 'load'
    column_suffixes = ('m', 'x', 'y', 'z')
    text = 'The flange carries {0:.1f} kg more than declared. Name the load with --payload.'

    def columns(self, at: TorqueSamples) -> list[Array]:
        """Return the torques of a unit of mass and of each first moment as columns."""
        return [*np.moveaxis(at.regressor @ at.load, -1, 0)]


class Force(Fault):
    """A constant force that the surroundings exert on the flange, in the space frame [N]."""

    kind = 'force'
    column_suffixes = ('x', 'y', 'z')
    text = (
        'A constant force of {0:.1f}, {1:.1f}, {2:.1f} N (space frame) acts on the flange: '
        'a cable, a spring, or a contact. Remove it, and record again.'
    )

    def is_possible(self, values: Sequence[float], gravity: Array) -> bool:
        """Return whether the force is larger than sound recordings show."""
        return float(np.linalg.norm(values)) > _MIN_FORCE_N

    def columns(self, at: TorqueSamples) -> list[Array]:
        """Return minus the Jacobian's rows: the efforts that hold against a unit force."""
        return [*-at.dynamics.jacobian(at.motion.q)[:, :3].swapaxes(0, 1)]


class SecondHalfFault(Fault):
    """A fault of another kind that acts only in the second half of a recording."""

    is_in_part_of_time = True

    def columns(self, at: TorqueSamples) -> list[Array]:
        """Return the other kind's columns, set to zero in the first half."""
        return [one * (at.time_fraction >= 0.5)[:, None] for one in super().columns(at)]


class LoadChange(SecondHalfFault, Load):
    """An undeclared load in the second half only; values: mass [kg], first moment [kg m]."""

    kind = 'load_change'
    text = (
        'About {size:.1f} kg come to the flange, or leave it, in the recording. Cut it there, and '
        'identify with one of its parts; say what hangs on the flange with --payload or --hand.'
    )


class ForceChange(SecondHalfFault, Force):
    """A constant force that acts in the second half only, in the space frame [N]."""

    kind = 'force_change'
    text = (
        'A force of about {0:.1f}, {1:.1f}, {2:.1f} N (space frame) begins to act on the flange, '
        'or ceases, in the recording. Cut it there, and identify with the part without it.'
    )


@dataclass(frozen=True)
class MissingRotors(Fault):
    """Rotor inertias that the model lacks; values: those of `count` joints [kg m^2]."""

    count: int = 0
    kind = 'rotors'
    text = (
        'Rotors behind the gears take part of the torques of accelerations, and the model has '
        'none. Add --rotor-inertia.'
    )

    @classmethod
    def for_joint_count(cls, n: int) -> list[Fault]:
        """Return one fault, which has a column for each of n joints."""
        return [cls((), n)]

    @property
    def column_names(self) -> tuple[str, ...]:
        """Names of the columns, one for each joint's rotor."""
        return tuple(f'{self.kind}_{joint + 1}' for joint in range(self.count))

    def columns(self, at: TorqueSamples) -> list[Array]:
        """Return each joint's acceleration, or zeros if the model has rotors."""
        missing = at.motion.ddq * (not at.model.base.rotor_inertia)
        return [missing * own for own in np.eye(at.model.n)]
