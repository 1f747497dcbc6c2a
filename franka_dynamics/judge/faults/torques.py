# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Faults of measured efforts, undeclared loads and forces, and a wrong direction of gravity."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from .fault import Diagnosis, Fault, TorqueSamples
from ...arrays import Array, NDArray
from ...dynamics.newton_euler import NewtonEulerModel
from ...fit.torque_model import MASS_AND_MOMENT_INDICES, OFFSET_SYMBOL

_WRONG_SIGN_GAIN_TOLERANCE = 0.25  # a gain that is as near to -1 is a wrong sign
# Gravity whose size changes by more than so many times its turn is not turned: other times change
# it by 0.36 and more beside a turn of 0.004 to 0.011 rad.
_MAX_GRAVITY_SIZE_CHANGE_TO_ANGLE = 10.0
# Gravity of less than this share of its size is left out. One of 0.25 is that of recorded times
# that are twice real ones.
_MIN_FOUND_TO_DECLARED_GRAVITY = 0.16
_MIN_CONSTANT_FORCE_N = 1.0  # The largest that a sound log's efforts show, a FER's, is 0.7 N.


class EffortGain(Fault):
    """A wrong gain of the effort; its value is the ratio of recorded to real effort."""

    kind = 'gain'
    joint_counts = (0, 1)
    message = '{effort}'  # `sentence` goes on

    def regressor_columns(self, samples: TorqueSamples) -> list[Array]:
        """Return the column of the rigid-body torque of the fault's joints (of all if none)."""
        return [samples.only_at_joints(samples.rigid_torque, self.joints)]

    def reported_values(self, coefficients: Mapping[str, float], gravity: Array) -> list[float]:
        """Return the ratio of the recorded effort to the real one."""
        return [1.0 + coefficients[self.column_names[0]]]

    def undoing(self, coefficients: Array, n: int) -> tuple[Array, Array]:
        """Return the inverse of the gain at the fault's joints, 1 at others, and no columns."""
        inverse_gain = 1.0 / (1.0 + coefficients[0])
        return 1.0 + _at_joints(self.joints, n) * (inverse_gain - 1.0), np.zeros(1)

    @classmethod
    def sentence(cls, diagnosis: Diagnosis, joints: Sequence[str], effort_scales: Array) -> str:
        """Return a sentence on the ratio or wrong sign, and the scale that corrects it."""
        ratio = diagnosis.values[0]
        if abs(ratio + 1.0) < _WRONG_SIGN_GAIN_TOLERANCE:
            problem = (
                'has the wrong sign: the torque that moves the joint is positive where it turns '
                'the joint positively'
            )
            divisor = -1.0
        else:
            problem = (
                f'is {ratio:.3g} times its torque. Check its column, sign, unit (currents: '
                '--torque-constant) and gear'
            )
            divisor = ratio
        at_fault = _at_joints(diagnosis.joints, len(joints))
        right_scales = np.where(at_fault, effort_scales / divisor, effort_scales)
        if not np.ptp(right_scales):
            right_scales = right_scales[:1]  # one number for all joints
        option_value = ','.join(f'{scale:.3g}' for scale in right_scales)
        effort = super().sentence(diagnosis, joints, effort_scales)
        return f'{effort} {problem}; --effort-scale {option_value} corrects it.'


def _at_joints(joints: tuple[int, ...], n: int) -> NDArray[np.bool_]:
    """Return a mask (n,) of `joints`, of all n joints if these are none."""
    return np.isin(np.arange(n), joints or range(n))


class DirectionalGain(Fault):
    """An effort gain by direction of motion; values: recorded / real effort at dq > 0, dq < 0."""

    kind = 'one_way'
    joint_counts = (1,)
    message = (
        '{effort} is {0:.2f} times its torque where the joint moves positively, {1:.2f} times '
        'where negatively. Check its drive or sensor, and what is done to its efforts.'
    )

    @property
    def column_names(self) -> tuple[str, ...]:
        """Names of the regressor columns of a constant gain and of its change by direction."""
        return (*self.simpler_fault.column_names, *super().column_names)

    @property
    def simpler_fault(self) -> Fault:
        """The constant gain of the same joint."""
        return EffortGain(self.joints)

    def regressor_columns(self, samples: TorqueSamples) -> list[Array]:
        """Return the joint's rigid-body torque, and that times the signs of velocities."""
        torque = samples.only_at_joints(samples.rigid_torque, self.joints)
        return [torque, torque * np.sign(samples.motion.dq)]

    def reported_values(self, coefficients: Mapping[str, float], gravity: Array) -> list[float]:
        """Return the ratios of recorded to real effort in both directions."""
        constant, change = (coefficients[name] for name in self.column_names)
        return [1.0 + constant + change, 1.0 + constant - change]

    def undoing(self, coefficients: Array, n: int) -> tuple[Array, Array]:
        """Return the inverse of the mean gain at the joint, and the column of what varies."""
        factors, _ = self.simpler_fault.undoing(coefficients, n)
        return factors, np.array([0.0, -coefficients[1] * factors[self.joints[0]]])


class EffortOffset(Fault):
    """An offset of the effort, only a question; its value is recorded minus real effort [N m]."""

    kind = 'offset'
    joint_counts = (1,)
    message = '{effort} is off by {0:.2f} N m. Zero its sensor, or subtract this from its column.'

    @property
    def column_names(self) -> tuple[str, ...]:
        """The name of the joint's offset column, which is the torque model's own, in a tuple."""
        return (f'{OFFSET_SYMBOL}_{self.joints[0] + 1}',)

    def counts_as_fault(self, reported_values: Sequence[float], gravity: Array) -> bool:
        """Return False, because an offset is part of all fits and is only put as a question."""
        return False


class ExchangedEfforts(Fault):
    """Exchanged efforts of two joints; the value is the exchanged share, 1 for whole efforts."""

    kind = 'exchanged'
    joint_counts = (2,)
    message = 'The efforts of {joints} are exchanged. Exchange their columns.'

    def regressor_columns(self, samples: TorqueSamples) -> list[Array]:
        """Return a column: at each of the two joints the other's rigid torque less its own."""
        i, j = self.joints
        unit_vectors = np.eye(samples.model.n)
        difference = np.diff(samples.rigid_torque[:, [i, j]])  # of j less i, (N, 1)
        return [difference * (unit_vectors[i] - unit_vectors[j])]

    def counts_as_fault(self, reported_values: Sequence[float], gravity: Array) -> bool:
        """Return whether the efforts are exchanged as a whole, not in part."""
        return 0.5 < reported_values[0] < 2.0


class WrongGravity(Fault):
    """A gravity unlike the declared one, with its vector in the space frame [m/s^2] as values."""

    kind = 'gravity'
    value_is_from_torques = True
    asks_if_harmless = True
    column_suffixes = ('level_1', 'level_2', 'size')  # two turn gravity, one changes its size
    message = (
        'Gravity points elsewhere than given. Check how the arm is mounted; --gravity '
        '{0:.2f},{1:.2f},{2:.2f} gives the direction found.'
    )

    def regressor_columns(self, samples: TorqueSamples) -> list[Array]:
        """Return torques of two gravities normal to the model's, and of it, (N, n) [N m] each."""
        arm = samples.model.arm
        return [
            NewtonEulerModel(arm, vector).gravity(samples.motion.q)
            for vector in gravity_axes(samples.model.gravity)
        ]

    def reported_values(self, coefficients: Mapping[str, float], gravity: Array) -> list[float]:
        """
        Return the gravity found [m/s^2], as `_recognised_gravity` says.

        A common factor of all efforts, which is fitted beside it, is part of the coefficients.
        """
        common_gain = 1.0 + coefficients[EffortGain.kind]
        axis_coefficients = np.array(super().reported_values(coefficients, gravity)) / common_gain
        return _recognised_gravity(axis_coefficients, gravity).tolist()

    def possible_coefficients(self, coefficients: Array, gravity: Array) -> Array:
        """Return the coefficients of the gravity found, which has the declared size or is zero."""
        change = _recognised_gravity(coefficients, gravity) - gravity
        return gravity_axes(gravity) @ change / (gravity @ gravity)

    def counts_as_fault(self, reported_values: Sequence[float], gravity: Array) -> bool:
        """Return whether the gravity found, `reported_values`, differs from the declared one."""
        return list(reported_values) != gravity.tolist()

    @classmethod
    def sentence(cls, diagnosis: Diagnosis, joints: Sequence[str], effort_scales: Array) -> str:
        """Return a sentence with the direction of gravity found, or that efforts lack gravity."""
        if lacks_gravity(diagnosis.values):
            return (
                'Efforts leave gravity out. Add the torque of the starting set by add_gravity '
                '(--add-gravity), or record a topic with measured torques.'
            )
        return super().sentence(diagnosis, joints, effort_scales)


def _recognised_gravity(axis_coefficients: Array, declared: Array) -> Array:
    """
    Return what fitted coefficients (3,) of `gravity_axes` say of gravity, (3,) [m/s^2].

    Zeros if efforts lack gravity; the declared one if nearly its size alone is off, which is not a
    fault of gravity; else one of the declared size in the fitted direction.
    """
    fitted = declared + axis_coefficients @ gravity_axes(declared)
    fitted_size = float(np.linalg.norm(fitted))
    declared_size = np.linalg.norm(declared)
    if fitted_size < _MIN_FOUND_TO_DECLARED_GRAVITY * declared_size:
        return np.zeros(3)
    turned = fitted * declared_size / fitted_size
    angle = gravity_angle(turned.tolist(), declared)
    size_change = abs(fitted_size / declared_size - 1.0)
    if size_change > _MAX_GRAVITY_SIZE_CHANGE_TO_ANGLE * angle:
        return declared
    return np.asarray(turned)


def lacks_gravity(diagnosed: Sequence[float]) -> bool:
    """Return whether a diagnosed gravity vector is zero, because efforts lack gravity."""
    return not any(diagnosed)


def gravity_axes(gravity: Array) -> Array:
    """Return two vectors normal to gravity and as large, and gravity itself, (3, 3) [m/s^2]."""
    _, _, orthonormal_rows = np.linalg.svd(gravity[None, :])  # the first along gravity
    level_axes = orthonormal_rows[1:] * np.linalg.norm(gravity)
    return np.concatenate([level_axes, gravity[None, :]])


def gravity_angle(diagnosed: Sequence[float], declared: Array) -> float:
    """Return the angle [rad] between a diagnosed and the declared gravity, pi for no gravity."""
    if lacks_gravity(diagnosed):
        return np.pi
    sizes = np.linalg.norm(diagnosed) * np.linalg.norm(declared)
    return float(np.arccos(np.clip(declared @ diagnosed / sizes, -1.0, 1.0)))


class UndeclaredLoad(Fault):
    """An undeclared load, with mass [kg] and first moment in the flange frame [kg m] as values."""

    kind = 'load'
    column_suffixes = ('m', 'x', 'y', 'z')
    message = 'The flange carries {0:.1f} kg more than declared. Name the load with --payload.'

    def regressor_columns(self, samples: TorqueSamples) -> list[Array]:
        """Return the torques of a unit of mass and of first moments in the flange frame."""
        load_to_base = samples.model.payload_to_base_matrix[:, MASS_AND_MOMENT_INDICES]  # (b, 4)
        return [*np.moveaxis(samples.regressor @ load_to_base, -1, 0)]


class ConstantForce(Fault):
    """A constant force that the surroundings exert on the flange, in the space frame [N]."""

    kind = 'force'
    column_suffixes = ('x', 'y', 'z')
    message = (
        'A constant force of {0:.1f}, {1:.1f}, {2:.1f} N (space frame) acts on the flange: '
        'a cable, a spring, or a contact. Remove it, and record again.'
    )

    def counts_as_fault(self, reported_values: Sequence[float], gravity: Array) -> bool:
        """Return whether the force is above 1 N, more than a sound recording shows."""
        return float(np.linalg.norm(reported_values)) > _MIN_CONSTANT_FORCE_N

    def regressor_columns(self, samples: TorqueSamples) -> list[Array]:
        """Return the efforts that balance unit forces on the flange along x, y, z of {S}."""
        jacobian = samples.dynamics.jacobian(samples.motion.q)[:, :3]  # of translations, (N, 3, n)
        return [*-jacobian.swapaxes(0, 1)]


@dataclass(frozen=True)
class MissingRotors(Fault):
    """Rotor inertias that the model lacks; the values are the fitted ones by joint [kg m^2]."""

    joint_count: int = 0
    kind = 'rotors'
    message = (
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
        return tuple(f'{self.kind}_{joint + 1}' for joint in range(self.joint_count))

    def regressor_columns(self, samples: TorqueSamples) -> list[Array]:
        """Return each joint's acceleration as a column, or zeros if the model has rotors."""
        acceleration = samples.motion.ddq
        if samples.model.base.rotor_inertia:
            acceleration = np.zeros_like(acceleration)
        return [acceleration * unit_vector for unit_vector in np.eye(samples.model.n)]
