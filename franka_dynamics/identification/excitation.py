# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A motion within an arm's limits that shows its parameters as evenly as possible."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .clearance import Skeleton
from .fourier_trajectory import basis, FourierTrajectory
from .starting_set import Pull
from .torque_model import TorqueModel
from ..arm import ArmDescription
from ..dynamics.model import GRAVITY
from ..dynamics.newton_euler import NewtonEulerModel
from ..errors import IdentificationError, MissingDependencyError

Array = NDArray[np.float64]
_SAMPLES = 100  # of one period, for regressor and limits while optimising
_CHECK_SAMPLES = 2000  # of one period, for the last word on limits
_STEP = 1e-5  # [rad], of the differences behind the gradient
_SHRINK = 0.98  # of the amplitude, as often as a limit is still broken
_TYPICAL_FRICTION = 0.3  # [N m, N m s/rad]: what a friction parameter is measured by
_RESTING = 1e-9  # [rad/s]; what may be divided by where a limit is zero
_TRIES = 400  # draws for a feasible trajectory


@dataclass(frozen=True)
class ExcitationLimits:
    """
    What a trajectory keeps away from.

    Attributes
    ----------
    fraction : float
        Part of the arm's velocity, acceleration and torque limits that is used.
    position_margin : float
        Kept from each end of every joint [rad].
    table : float
        Height of a table in the space frame [m].
    table_margin : float
        Kept above it by every frame from the elbow on, and by the tool's tip [m].
    clearance : float
        Kept between bars through the links that are not neighbours [m].
    tool : float
        Length of what is mounted, along the flange's z [m].

    """

    fraction: float = 0.7
    position_margin: float = 0.1
    table: float = 0.0
    table_margin: float = 0.15
    clearance: float = 0.1
    tool: float = 0.15

    def __post_init__(self) -> None:
        """Refuse a fraction that is none."""
        if not 0.0 < self.fraction <= 1.0:
            raise IdentificationError(f'The fraction of the limits is {self.fraction}; it must '
                                      'lie between 0 and 1.')


@dataclass(frozen=True, eq=False)
class Excitation:
    """
    An optimised trajectory and what it is held against.

    Attributes
    ----------
    trajectory : FourierTrajectory
        Within all limits.
    condition_number : float
        Of its regressor, in units of the starting set.
    random_condition_numbers : ndarray
        Those of random trajectories of the same family and limits.

    """

    trajectory: FourierTrajectory
    condition_number: float
    random_condition_numbers: Array

    @property
    def gain(self) -> float:
        """How many times better than the median random trajectory."""
        return float(np.median(self.random_condition_numbers) / self.condition_number)


@dataclass(frozen=True, eq=False)
class ExcitationProblem:
    """
    What an arm's excitation is judged by.

    Attributes
    ----------
    arm : ArmDescription
        Geometry, limits, and inertias for the torque limit.
    limits : ExcitationLimits
        What to keep away from.
    gravity : array_like, shape (3,)
        In the space frame [m/s^2].

    """

    arm: ArmDescription
    limits: ExcitationLimits
    gravity: ArrayLike = GRAVITY

    def __post_init__(self) -> None:
        """Prepare what every evaluation needs."""
        model = TorqueModel.of(self.arm, gravity=self.gravity)
        friction = np.full(len(model.friction.names), _TYPICAL_FRICTION)
        units = np.concatenate([Pull.towards(self.arm, model).deviations, friction])
        object.__setattr__(self, '_model', model)
        object.__setattr__(self, '_units', units)

    def condition_number(self, q: Array, dq: Array, ddq: Array) -> Array:
        """
        Return the condition number of stacked regressors, shape (...).

        Every column is in units of its parameter (the deviation of a prior that knows masses to
        100 %; 0.3 N m of friction), every row in units of its joint's torque limit to the power
        of one half, because small joints have finer sensors.

        Parameters
        ----------
        q, dq, ddq : ndarray, shape (..., samples, n)
            States [rad, rad/s, rad/s^2].

        """
        model: TorqueModel = self._model  # type: ignore[attr-defined]
        units: Array = self._units  # type: ignore[attr-defined]
        rigid = model.base.regressor(q, dq, ddq)
        rubbing = model.friction.regressor(dq.reshape(-1, self.arm.n)).reshape(
            *dq.shape, -1)
        rows = np.concatenate([rigid, rubbing], axis=-1) * units / self._row_units()[:, None]
        stacked = rows.reshape(*q.shape[:-2], -1, rows.shape[-1])
        values = np.linalg.svd(np.swapaxes(stacked, -1, -2) @ stacked, compute_uv=False)
        return np.asarray(np.sqrt(values[..., 0] / values[..., -1]))

    def _row_units(self) -> Array:
        effort = self.arm.limit('effort')
        return np.sqrt(np.where(np.isfinite(effort), effort, 1.0))

    def margins(self, q: Array, dq: Array, ddq: Array) -> Array:
        """
        Return how far stacked motions are within each limit, negative where beyond, (..., m).

        Per joint: position below and above, velocity, acceleration, torque (each a part of its
        limit); then height and clearance [m].

        Parameters
        ----------
        q, dq, ddq : ndarray, shape (..., samples, n)
            States.

        """
        limits, arm = self.limits, self.arm
        skeleton = Skeleton(arm, limits.tool)
        parts = [(q - arm.limit('lower') - limits.position_margin).min(axis=-2),
                 (arm.limit('upper') - q - limits.position_margin).min(axis=-2),
                 self._velocity_margin(q, dq),
                 _part(ddq, arm.limit('acceleration'), limits.fraction)]
        torque = NewtonEulerModel(arm, self.gravity).inverse_dynamics(q, dq, ddq)
        parts.append(_part(torque, arm.limit('effort'), limits.fraction))
        parts.append((skeleton.height(q, limits.table) - limits.table_margin)
                     .min(axis=-1)[..., None])
        parts.append((skeleton.clearance(q) - limits.clearance).min(axis=-1)[..., None])
        return np.concatenate(parts, axis=-1)

    def _velocity_margin(self, q: Array, dq: Array) -> Array:
        """Return the least part of the velocity limit left, which may depend on the position."""
        arm = self.arm
        ahead = np.where(dq < 0.0, q - arm.limit('lower'), arm.limit('upper') - q)
        # As ArmDescription.velocity_bounds, for stacks; not a number where it is constant.
        braking = np.sqrt(np.maximum(0.0, 2.0 * arm.limit('velocity_deceleration') * ahead))
        reach = np.maximum(0.0, braking - arm.limit('velocity_offset'))
        allowed = np.fmin(arm.limit('velocity'), reach)
        left = self.limits.fraction - np.abs(dq) / np.maximum(allowed, _RESTING)
        return np.asarray(left.min(axis=-2))


def _part(values: Array, limit: Array, fraction: float) -> Array:
    """Return the least part of a symmetric limit that is left below the fraction used."""
    return np.asarray((fraction - np.abs(values) / limit).min(axis=-2))


def random_trajectory(problem: ExcitationProblem, start: Array, period: float, harmonics: int,
                      rng: np.random.Generator) -> FourierTrajectory:
    """
    Return a random trajectory, as large as all limits allow.

    Raises
    ------
    IdentificationError
        If the start pose itself breaks a limit.

    """
    rest = np.zeros((2, problem.arm.n))
    if problem.margins(np.array([start, start]), rest, rest).min() < 0.0:
        raise IdentificationError(
            'The start pose is beyond a limit or too near to the table or to the arm itself; '
            'choose another with --start, or smaller margins.')
    coefficients = rng.standard_normal((problem.arm.n, 2 * harmonics - 2))
    trajectory = FourierTrajectory(start, period, coefficients)
    return within_limits(problem, trajectory, _SAMPLES)


def within_limits(problem: ExcitationProblem, trajectory: FourierTrajectory, samples: int,
                  ) -> FourierTrajectory:
    """Return the trajectory with its amplitude shrunk until every limit holds."""
    time = np.arange(samples) / samples * trajectory.period
    for _ in range(_TRIES):
        if problem.margins(*trajectory.at(time)).min() >= 0.0:
            return trajectory
        trajectory = replace(trajectory, coefficients=_SHRINK * trajectory.coefficients)
    raise IdentificationError('No motion about the start pose keeps the limits; choose another '
                              'start, or smaller margins.')


def optimise(problem: ExcitationProblem, start: ArrayLike, *, period: float = 10.0,
             harmonics: int = 5, draws: int = 100, iterations: int = 30, seed: int = 0,
             progress: Callable[[int, int], None] | None = None) -> Excitation:
    """
    Return a trajectory that minimises the condition number within all limits.

    The best of some random trajectories is improved by sequential quadratic programming, then
    checked on a dense grid.

    Parameters
    ----------
    problem : ExcitationProblem
        Arm, limits and gravity.
    start : array_like, shape (n,)
        Pose at the beginning and the end [rad].
    period : float
        Length of the motion [s].
    harmonics : int
        Sines and cosines per joint.
    draws : int
        Random trajectories to start from and to be held against.
    iterations : int
        Most steps of the optimisation.
    seed : int
        Of the random trajectories.
    progress : callable, optional
        Called with steps done and steps to come.

    Raises
    ------
    IdentificationError
        If the start pose leaves no room.
    MissingDependencyError
        If scipy is not installed.

    """
    pose = problem.arm.joint_vector(start, 'start')
    rng = np.random.default_rng(seed)
    time = np.arange(_SAMPLES) / _SAMPLES * period
    candidates, numbers = [], []
    for k in range(draws):
        candidates.append(random_trajectory(problem, pose, period, harmonics, rng))
        numbers.append(float(problem.condition_number(*candidates[-1].at(time))))
        if progress is not None:
            progress(k + 1, draws + iterations)
    best = candidates[int(np.argmin(numbers))]

    def report(step: int) -> None:
        if progress is not None:
            progress(draws + step, draws + iterations)

    improved = within_limits(problem, _improve(problem, best, iterations, report),
                             _CHECK_SAMPLES)
    found = float(problem.condition_number(*improved.at(time)))
    if found > min(numbers):
        improved = within_limits(problem, best, _CHECK_SAMPLES)
        found = float(problem.condition_number(*improved.at(time)))
    return Excitation(improved, found, np.array(numbers))


def _improve(problem: ExcitationProblem, start: FourierTrajectory, iterations: int,
             report: Callable[[int], None]) -> FourierTrajectory:
    """Return the trajectory that sequential quadratic programming makes of a feasible one."""
    try:
        from scipy.optimize import minimize
    except ImportError as error:
        raise MissingDependencyError('Optimising a trajectory needs scipy: pip install '
                                     "'franka_dynamics[identify]'.") from error
    evaluation = _Evaluation(problem, start)
    steps = iter(range(1, iterations + 1))
    result = minimize(
        evaluation.objective, start.coefficients.ravel(), jac=evaluation.objective_gradient,
        constraints=[{'type': 'ineq', 'fun': evaluation.margins,
                      'jac': evaluation.margins_gradient}],
        method='SLSQP', options={'maxiter': iterations, 'ftol': 1e-4},
        callback=lambda _: report(next(steps, iterations)))
    return replace(start, coefficients=result.x.reshape(start.coefficients.shape))


class _Evaluation:
    """Objective and constraints with their difference quotients, all from one batch of states."""

    def __init__(self, problem: ExcitationProblem, start: FourierTrajectory) -> None:
        self._problem, self._start = problem, start
        time = np.arange(_SAMPLES) / _SAMPLES * start.period
        self._basis = basis(start.harmonics, start.period, time)
        self._at: Array | None = None

    def objective(self, x: Array) -> float:
        """Return the logarithm of the condition number, which is flatter than the number."""
        self._evaluate(x)
        return float(self._objectives[0])

    def objective_gradient(self, x: Array) -> Array:
        """Return its forward differences."""
        self._evaluate(x)
        return np.asarray((self._objectives[1:] - self._objectives[0]) / _STEP)

    def margins(self, x: Array) -> Array:
        """Return what is left of every limit."""
        self._evaluate(x)
        return np.asarray(self._margins[0])

    def margins_gradient(self, x: Array) -> Array:
        """Return its forward differences, shape (m, len(x))."""
        self._evaluate(x)
        return np.asarray((self._margins[1:] - self._margins[0]).T / _STEP)

    def _evaluate(self, x: Array) -> None:
        if self._at is not None and np.array_equal(x, self._at):
            return
        shifted = np.concatenate([x[None], x + _STEP * np.eye(len(x))])
        coefficients = shifted.reshape(len(shifted), self._problem.arm.n, -1)
        states = [np.einsum('tk,bjk->btj', shape, coefficients) for shape in self._basis]
        states[0] = states[0] + self._start.start
        self._objectives = np.log(self._problem.condition_number(*states))
        self._margins = self._problem.margins(*states)
        self._at = np.array(x)
