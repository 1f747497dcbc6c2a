# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Search for the single wrong parameter that explains the torques of another program.

One parameter at a time is fitted so that the description's torques come nearest to the black box's
torques; the remaining difference ranks the candidates. A candidate names the parameters whose
changes of torque are proportional to its own, because these states do not distinguish them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .parameters import (
    geometry_parameters,
    gravity_parameters,
    INERTIA_FORMS,
    inertia_parameters,
    Parameter,
    Situation,
)
from ..arm import ArmDescription
from ..arm.dh_conversion import with_joint_reversed
from ..arm.sampling import JointStates
from ..dynamics.model import GRAVITY, gravity_vector, joint_stack
from ..dynamics.newton_euler import NewtonEulerModel
from ..errors import JointVectorError
from ..typing import Array

# A smaller change of torque per unit of a parameter (N m per m, rad, kg ...) is a rounding error.
# Two torque changes that are proportional within this tolerance count as the same.
_UNIDENTIFIABLE, _ALIKE = 1e-9, 1e-7
_ALIKE_LEFT = 1e-5  # and the differences that remain are equal within this tolerance
_STEP = 1e-4  # step of the central differences, in the parameter's unit
_MOST_STEPS = 15
_CONVERGED = 1e-6  # the fit ends after a step shorter than this, relative to max(1, |value|)
# An angle may be far off: the fit starts from the best of these offsets.
_ANGLE_STARTS = (0.0, 0.5 * math.pi, -0.5 * math.pi, math.pi)
# Torques of the arm as a function of one parameter's value.
_Answer = Callable[[float], Array]


@dataclass(frozen=True)
class FaultCandidate:
    """
    One parameter, the value with which it explains the torques best, and the remaining difference.

    `left` is the remaining root mean square torque difference relative to the original one: 0 if
    the parameter explains everything, 1 if nothing. `alike` names the parameters that torques
    cannot distinguish from this one.
    """

    place: str
    parameter: str
    unit: str
    value: float
    fitted: float
    left: float
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
            f'{self.left:.2%} of the difference{others}.'
        )


@dataclass(frozen=True)
class FaultSearch:
    """
    The verdict on a black box's torques.

    `difference` is the root mean square torque difference [N m]; `candidates` are in order, best
    first; `unidentifiable` lists parameters without effect on the torques at these states; each of
    the `groups` holds parameters whose small changes have proportional effects. Of the number of
    `parameters`, `rank` have independent effects: at most that many could be corrected at once.
    """

    difference: float
    candidates: tuple[FaultCandidate, ...]
    unidentifiable: tuple[str, ...]
    groups: tuple[tuple[str, ...], ...]
    parameters: int
    rank: int


def search_faults(
    description: ArmDescription,
    states: JointStates,
    torque: ArrayLike,
    *,
    gravity: ArrayLike = GRAVITY,
) -> FaultSearch:
    """
    Rank the single parameters that would explain the torques of a black box.

    Parameters
    ----------
    description : ArmDescription
        The arm that the black box should compute.
    states : JointStates
        The states of the torques, arrays of shape (count, n).
    torque : array_like, shape (count, n)
        The black box's torques [N m], rigid body without friction.
    gravity : array_like, shape (3,)
        Gravity in the space frame that the black box should have used [m/s^2].

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
    here, wanted = Situation(description, gravity_vector(gravity)), answered.ravel()
    size = _rms(wanted - _torque(here, states))

    def answer(of: Parameter) -> _Answer:
        return lambda value: _torque(of.write(here, value), states)

    parameters = _parameters(description)
    slopes = np.array([_slope(answer(one), float(one.read(here))) for one in parameters])
    shown = np.linalg.norm(slopes, axis=1) / math.sqrt(answered.size) > _UNIDENTIFIABLE
    hidden = tuple(one.label for one, shows in zip(parameters, shown) if not shows)
    tried = [one for one, shows in zip(parameters, shown) if shows]
    directions = slopes[shown] / np.linalg.norm(slopes[shown], axis=1)[:, None]
    parallel = np.abs(directions @ directions.T) > 1.0 - _ALIKE
    groups = _groups([one.label for one in tried], parallel)
    rank = int(np.linalg.matrix_rank(directions, tol=_ALIKE))
    if size <= _UNIDENTIFIABLE:
        return FaultSearch(size, (), hidden, groups, len(parameters), rank)
    values = [float(one.read(here)) for one in tried]
    fits = [_fit(one, answer(one), value, wanted) for one, value in zip(tried, values)]
    left = np.array([_rms(wanted - answer(one)(fit)) / size for one, fit in zip(tried, fits)])
    # They are proportional to first order; for large changes one may explain the torques better.
    alike = (
        parallel & (np.abs(left[:, None] - left) < _ALIKE_LEFT) & ~np.eye(len(left), dtype=bool)
    )
    candidates = [
        FaultCandidate(
            one.place,
            one.name,
            one.unit,
            value,
            fit,
            float(rest),
            tuple(tried[k].label for k in np.flatnonzero(others)),
        )
        for one, value, fit, rest, others in zip(tried, values, fits, left, alike)
    ]
    for i, name in enumerate(description.joint_names):
        turned = replace(here, arm=with_joint_reversed(description, i))
        rest = _rms(wanted - _torque(turned, states)) / size
        candidates.append(FaultCandidate(name, 'joint sign', '', 1.0, -1.0, rest))
    candidates.sort(key=lambda candidate: candidate.left)
    return FaultSearch(size, tuple(candidates), hidden, groups, len(parameters), rank)


def _torque(of: Situation, states: JointStates) -> Array:
    return NewtonEulerModel(of.arm, of.gravity).inverse_dynamics(*states).ravel()


def _rms(values: Array) -> float:
    return float(np.sqrt(np.mean(values**2)))


def _groups(labels: list[str], parallel: NDArray[np.bool_]) -> tuple[tuple[str, ...], ...]:
    """Return the classes of two or more parameters that are parallel to one another."""
    classes = dict.fromkeys(tuple(np.flatnonzero(row).tolist()) for row in parallel)
    return tuple(tuple(labels[i] for i in members) for members in classes if len(members) > 1)


def _parameters(description: ArmDescription) -> list[Parameter]:
    """Return gravity, geometry, rotors, and every link's numbers in both forms of tables."""
    parameters = [
        *gravity_parameters(),
        *(one for one in geometry_parameters(description) if one.identifiable and one.unit),
    ]
    about_center, about_origin = INERTIA_FORMS
    for link in range(description.n):
        parameters += inertia_parameters(description, link, about_center)
        # The tensor's entries have the same effect in both forms; mass and centre of mass do not.
        parameters += [
            replace(parameter, name=f'{parameter.name} of a table about the frame origin')
            for parameter in inertia_parameters(description, link, about_origin)[:4]
        ]
    return parameters


def _slope(answer: _Answer, at: float) -> Array:
    return (answer(at + _STEP) - answer(at - _STEP)) / (2.0 * _STEP)


def _fit(parameter: Parameter, answer: _Answer, value: float, wanted: Array) -> float:
    """Return the value whose torques come nearest: Gauss-Newton, steps halved until they help."""
    start = value
    if parameter.angle:
        value = min(
            (start + turn for turn in _ANGLE_STARTS), key=lambda at: _rms(wanted - answer(at))
        )
    rest = wanted - answer(value)
    for _ in range(_MOST_STEPS):
        slope = _slope(answer, value)
        curvature = float(slope @ slope)
        step = float(slope @ rest) / curvature if curvature else 0.0
        short = _CONVERGED * max(1.0, abs(value))
        left = wanted - answer(value + step)
        while not left @ left < rest @ rest and abs(step) > short:
            step *= 0.5
            left = wanted - answer(value + step)
        if left @ left < rest @ rest:
            value, rest = value + step, left
        if abs(step) <= short:
            break
    return start + math.remainder(value - start, math.tau) if parameter.angle else value
