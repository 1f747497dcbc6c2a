# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Search for the single wrong parameter that explains the torques of another program.

Each candidate changes one quantity: one parameter of the arm or one component of gravity is fitted
to the other program's torques, or one joint is reversed. The candidates are ranked by the torque
difference that remains.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
import math

import numpy as np
from numpy.typing import ArrayLike

from .parameters import (
    geometry_parameters,
    INERTIA_FORMS,
    inertia_parameters,
    Parameter,
)
from ..arm import ArmDescription
from ..arm.dh_conversion import with_joint_reversed
from ..arm.sampling import JointStates
from ..dynamics.model import GRAVITY, gravity_vector, joint_stack
from ..dynamics.newton_euler import NewtonEulerModel
from ..errors import JointVectorError
from ..typing import Array

_ROUNDING = 1e-9  # [N m]; a torque difference with a smaller rms is a rounding error
# A candidate must explain at least the share _NOTICEABLE of the rms torque difference before the
# fits. Two candidates are alike if the torques of their fits differ (rms) by less than this share.
_NOTICEABLE = 1e-5
_STEP = 1e-4  # step of the central differences, in the parameter's unit
_MOST_STEPS = 15
_CONVERGED = 1e-6  # the fit ends after a step shorter than this, relative to max(1, |value|)
# An angle may be far off: the fit starts from the best offset of _ANGLE_STARTS.
_ANGLE_STARTS = (0.0, 0.5 * math.pi, -0.5 * math.pi, math.pi)
# Torques of the arm as a function of one parameter's value.
_Torques = Callable[[float], Array]


@dataclass(frozen=True)
class FaultCandidate:
    """
    One parameter, its value, and the `fitted` value that explains the torques best.

    `remaining` is the root mean square torque difference after the fit, relative to that before
    the fit: 0 if the parameter explains everything, 1 if nothing. `alike` names the other
    parameters whose fits give nearly the same torques.
    """

    place: str
    parameter: str
    unit: str
    value: float
    fitted: float
    remaining: float
    alike: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Place and parameter."""
        return f'{self.place}: {self.parameter}'

    def __str__(self) -> str:
        """Return the candidate as one sentence."""
        unit = f' {self.unit}' if self.unit else ''
        others = f'; torques cannot tell it from {", ".join(self.alike)}' if self.alike else ''
        return (
            f'{self.name} {self.fitted:.6g}{unit} instead of {self.value:.6g}{unit} leaves '
            f'{self.remaining:.2%} of the difference{others}.'
        )


def search_faults(
    description: ArmDescription,
    states: JointStates,
    torque: ArrayLike,
    *,
    gravity: ArrayLike = GRAVITY,
) -> tuple[float, list[FaultCandidate]]:
    """
    Rank the single parameters that would explain the torques of another program.

    Parameters
    ----------
    description : ArmDescription
        The arm whose torques the program should compute.
    states : JointStates
        The joint states at which the program computed `torque`, arrays of shape (count, n).
    torque : array_like, shape (count, n)
        The program's torques [N m], rigid body without friction.
    gravity : array_like, shape (3,)
        Gravity in the space frame that the program should have used [m/s^2].

    Returns
    -------
    float
        The root mean square torque difference [N m].
    list of FaultCandidate
        Best first, without parameters that explain nothing; empty if the torques agree.

    Raises
    ------
    JointVectorError
        If the torques have another shape than the positions, or a value is not finite.

    """
    answered = joint_stack(description, torque, 'tau')
    if answered.shape != np.shape(states.q):
        raise JointVectorError(
            f'tau has shape {answered.shape}, expected {np.shape(states.q)}: '
            'one torque per joint of every state.'
        )
    field, wanted = gravity_vector(gravity), answered.ravel()
    difference = _rms(wanted - _torque(description, field, states))
    if difference <= _ROUNDING:
        return difference, []
    found: list[tuple[FaultCandidate, Array]] = []

    def add(place: str, name: str, unit: str, value: float, fitted: float, torque: Array) -> None:
        share = _rms(wanted - torque) / difference
        if share < 1.0 - _NOTICEABLE:
            found.append((FaultCandidate(place, name, unit, value, fitted, share), torque))

    def fit(place: str, name: str, unit: str, value: float, torques: _Torques) -> None:
        fitted = _fit(unit == 'rad', torques, value, wanted)
        add(place, name, unit, value, fitted, torques(fitted))

    for i, axis in enumerate('xyz'):

        def by_gravity(value: float, i: int = i) -> Array:
            changed = np.where(np.arange(3) == i, value, field)
            return _torque(description, changed, states)

        fit('arm', f'gravity {axis}', 'm/s^2', float(field[i]), by_gravity)
    for one, write in _parameters(description):

        def by_parameter(value: float, write: Callable[[float], ArmDescription] = write) -> Array:
            return _torque(write(value), field, states)

        fit(one.place, one.name, one.unit, float(one.value), by_parameter)
    for i, name in enumerate(description.joint_names):
        flipped = _torque(with_joint_reversed(description, i), field, states)
        add(name, 'joint sign', '', 1.0, -1.0, flipped)
    found.sort(key=lambda pair: pair[0].remaining)
    return difference, [
        replace(
            one,
            alike=tuple(
                other.name
                for other, others in found
                if other is not one and _rms(others - torque) < _NOTICEABLE * difference
            ),
        )
        for one, torque in found
    ]


def _torque(arm: ArmDescription, gravity: Array, states: JointStates) -> Array:
    return NewtonEulerModel(arm, gravity).inverse_dynamics(*states).ravel()


def _rms(values: Array) -> float:
    return float(np.sqrt(np.mean(values**2)))


def _parameters(
    arm: ArmDescription,
) -> list[tuple[Parameter, Callable[[float], ArmDescription]]]:
    """Return the arm's fitted parameters, each with a function from its value to the arm."""
    parameters = [one for one in geometry_parameters(arm) if one.unit]
    about_center, about_origin = INERTIA_FORMS
    for link in range(arm.n):
        parameters += inertia_parameters(arm, link, about_center)
        # Tensor entries have the same effect in both INERTIA_FORMS; mass and centre of mass or
        # first moment do not.
        parameters += [
            replace(parameter, name=f'{parameter.name} of a table about the frame origin')
            for parameter in inertia_parameters(arm, link, about_origin)[:4]
        ]
    return [(one, one.write) for one in parameters if one.write is not None]


def _fit(angle: bool, torques: _Torques, start: float, wanted: Array) -> float:
    """Return the parameter value whose torques are nearest to `wanted`, by Gauss-Newton."""
    value = start
    if angle:
        starts = (start + offset for offset in _ANGLE_STARTS)
        value = min(starts, key=lambda at: _rms(wanted - torques(at)))
    difference = wanted - torques(value)
    for _ in range(_MOST_STEPS):
        slope = (torques(value + _STEP) - torques(value - _STEP)) / (2.0 * _STEP)
        # A slope up to _ROUNDING is a rounding error: no torque depends on the parameter.
        if _rms(slope) <= _ROUNDING:
            break
        step = float(slope @ difference) / float(slope @ slope)
        short = _CONVERGED * max(1.0, abs(value))
        remaining = wanted - torques(value + step)
        while not remaining @ remaining < difference @ difference and abs(step) > short:
            step *= 0.5
            remaining = wanted - torques(value + step)
        if remaining @ remaining < difference @ difference:
            value, difference = value + step, remaining
        if abs(step) <= short:
            break
    return start + math.remainder(value - start, math.tau) if angle else value
