# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Which wrong parameter would explain the torques of a black box, and which could not be told apart.

One parameter at a time is changed in the description until its torques come nearest to the
black box's; what is left of the difference ranks the candidates. Parameters whose torques change
in proportion are one candidate: no motion separates them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
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

# A torque that changes less than this with a unit change of a parameter (N m per m, rad, kg ...)
# is rounding; two changes this near to proportional are one.
_UNIDENTIFIABLE, _ALIKE = 1e-9, 1e-7
_ALIKE_LEFT = 1e-5  # and what they leave of the difference is the same to this
_STEP = 1e-4  # of the central differences, in the parameter's unit
_MOST_STEPS = 15
_CONVERGED = 1e-6  # of max(1, |value|); the step that is this short is still taken
# An angle may be far off: the fit starts from the best of these offsets as well.
_ANGLE_STARTS = (0.5 * math.pi, -0.5 * math.pi, math.pi)
_EXPLAINED = 1e-8  # a fit that leaves less of the difference needs no second start


@dataclass(frozen=True)
class FaultCandidate:
    """
    One parameter, what it would have to be, and how much of the difference that leaves.

    `left` is the root mean square torque difference that remains, of what there was: 0 explains
    everything, 1 nothing. `alike` names the parameters that torque cannot tell from this one.
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
        others = f'; torque cannot tell it from {", ".join(self.alike)}' if self.alike else ''
        return (
            f'{self.name} {self.fitted:.6g}{unit} instead of {self.value:.6g}{unit} leaves '
            f'{self.left:.2%} of the difference{others}.'
        )


@dataclass(frozen=True)
class FaultSearch:
    """
    The verdict on a black box's torques.

    `difference` is the root mean square torque difference [N m]; `candidates` are in order, best
    first; `unidentifiable` parameters no torque of these states shows; each of the `groups` holds
    parameters whose small changes change torque in proportion; `rank` of `parameters` are
    independent, so only so many could be corrected at once.
    """

    difference: float
    candidates: tuple[FaultCandidate, ...]
    unidentifiable: tuple[str, ...]
    groups: tuple[tuple[str, ...], ...]
    parameters: int
    rank: int


class _Candidate:
    """A parameter with its value here, and the torques of the arm that has another one."""

    def __init__(self, parameter: Parameter, here: Situation, states: JointStates) -> None:
        self.parameter, self.value = parameter, float(parameter.read(here))
        self._here, self._states = here, states

    def torque(self, value: float) -> Array:
        """Return all torques with another value."""
        return _torque(self.parameter.write(self._here, value), self._states).ravel()


def _torque(of: Situation, states: JointStates) -> Array:
    return NewtonEulerModel(of.arm, of.gravity).inverse_dynamics(*states)


def search_faults(
    description: ArmDescription,
    states: JointStates,
    torque: ArrayLike,
    *,
    gravity: ArrayLike = GRAVITY,
    progress: Callable[[], None] = lambda: None,
) -> FaultSearch:
    """
    Rank the single parameters that would explain the torques of a black box.

    Parameters
    ----------
    description : ArmDescription
        What the black box should be.
    states : JointStates
        Where it was asked, arrays of shape (count, n).
    torque : array_like, shape (count, n)
        What it answered [N m]: rigid-body torque without friction.
    gravity : array_like, shape (3,)
        Gravity that it should have used [m/s^2].
    progress : callable
        Called once after every parameter.

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
    here = Situation(description, gravity_vector(gravity))
    expected = _torque(here, states)
    size = _rms(answered - expected)
    candidates = [_Candidate(one, here, states) for one in _parameters(description)]
    slopes = np.array([_slope(candidate, candidate.value) for candidate in candidates])
    identifiable = np.linalg.norm(slopes, axis=1) / math.sqrt(answered.size) > _UNIDENTIFIABLE
    unidentifiable = tuple(
        one.parameter.label for one, shows in zip(candidates, identifiable) if not shows
    )
    candidates, slopes = (
        [one for one, shows in zip(candidates, identifiable) if shows],
        slopes[identifiable],
    )
    directions = slopes / np.linalg.norm(slopes, axis=1)[:, None]
    parallel = np.abs(directions @ directions.T) > 1.0 - _ALIKE
    groups = _groups([one.parameter.label for one in candidates], parallel)
    rank = int(np.linalg.matrix_rank(directions, tol=_ALIKE))
    if size <= _UNIDENTIFIABLE:
        return FaultSearch(size, (), unidentifiable, groups, len(identifiable), rank)
    fits = []
    rest = (answered - expected).ravel()
    for candidate, slope in zip(candidates, slopes):
        fits.append(_fit(candidate, answered.ravel(), rest, slope))
        progress()
    ranked = [
        *_ranked(candidates, parallel, fits, size),
        *(_reversal(here, states, i, answered, size) for i in range(description.n)),
    ]
    ranked.sort(key=lambda candidate: candidate.left)
    return FaultSearch(size, tuple(ranked), unidentifiable, groups, len(identifiable), rank)


def _groups(labels: list[str], parallel: NDArray[np.bool_]) -> tuple[tuple[str, ...], ...]:
    """Return the classes of two or more parameters that are parallel to one another."""
    classes = dict.fromkeys(tuple(np.flatnonzero(row).tolist()) for row in parallel)
    return tuple(tuple(labels[i] for i in members) for members in classes if len(members) > 1)


def _ranked(
    candidates: list[_Candidate],
    parallel: NDArray[np.bool_],
    fits: list[tuple[float, float]],
    size: float,
) -> Iterator[FaultCandidate]:
    """Yield every parameter as a fault candidate, with those that torque cannot tell from it."""
    left = np.array([fit[1] for fit in fits]) / size
    for row, (one, (fitted, _)) in enumerate(zip(candidates, fits)):
        alike = parallel[row] & (np.abs(left - left[row]) < _ALIKE_LEFT)
        alike[row] = False
        yield FaultCandidate(
            one.parameter.place,
            one.parameter.name,
            one.parameter.unit,
            one.value,
            fitted,
            float(left[row]),
            tuple(candidates[other].parameter.label for other in np.flatnonzero(alike)),
        )


def _rms(values: Array) -> float:
    return float(np.sqrt(np.mean(values**2)))


def _parameters(description: ArmDescription) -> list[Parameter]:
    """Return gravity, geometry, rotors, and every link's numbers as either kind of table."""
    parameters = [
        *gravity_parameters(),
        *(one for one in geometry_parameters(description) if one.identifiable),
    ]
    about_center, about_origin = INERTIA_FORMS[:2]
    for link in range(description.n):
        parameters += inertia_parameters(description, link, about_center)
        # A tensor's entries change torque alike in both; mass and centre of mass do not.
        parameters += [
            replace(parameter, name=f'{parameter.name} of a table about the frame origin')
            for parameter in inertia_parameters(description, link, about_origin)[:4]
        ]
    return parameters


def _slope(candidate: _Candidate, at: float) -> Array:
    step = 1.0 if candidate.parameter.linear else _STEP
    return (candidate.torque(at + step) - candidate.torque(at - step)) / (2.0 * step)


def _fit(candidate: _Candidate, answered: Array, rest: Array, slope: Array) -> tuple[float, float]:
    """Return the value whose torques come nearest, and the root mean square that it leaves."""
    if candidate.parameter.linear:
        step = float(slope @ rest) / float(slope @ slope)
        return candidate.value + step, _rms(rest - step * slope)
    value, left = _descend(candidate, candidate.value, answered)
    unexplained = left > _EXPLAINED * _rms(answered)
    if candidate.parameter.angle and unexplained:
        start = min(
            (candidate.value + offset for offset in _ANGLE_STARTS),
            key=lambda at: float(np.sum((answered - candidate.torque(at)) ** 2)),
        )
        value, left = min(
            (value, left), _descend(candidate, start, answered), key=lambda fit: fit[1]
        )
    if candidate.parameter.angle:
        value = candidate.value + math.remainder(value - candidate.value, math.tau)
    return value, left


def _descend(candidate: _Candidate, value: float, answered: Array) -> tuple[float, float]:
    """Gauss-Newton steps in one parameter, each halved until it helps."""
    rest = answered - candidate.torque(value)
    for _ in range(_MOST_STEPS):
        slope = _slope(candidate, value)
        curvature = float(slope @ slope)
        if curvature == 0.0:
            break
        step = float(slope @ rest) / curvature
        short = _CONVERGED * max(1.0, abs(value))
        left = answered - candidate.torque(value + step)
        while not left @ left < rest @ rest and abs(step) > short:
            step *= 0.5
            left = answered - candidate.torque(value + step)
        if not left @ left < rest @ rest:
            break
        value, rest = value + step, left
        if abs(step) <= short:
            break
    return value, _rms(rest)


def _reversal(
    here: Situation, states: JointStates, joint: int, answered: Array, size: float
) -> FaultCandidate:
    turned = replace(here, arm=with_joint_reversed(here.arm, joint))
    left = _rms(answered - _torque(turned, states)) / size
    return FaultCandidate(here.arm.joint_names[joint], 'joint sign', '', 1.0, -1.0, left)
