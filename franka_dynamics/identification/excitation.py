# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
A motion within an arm's limits after which every parameter is known as well as can be.

It is periodic, a Fourier series that starts and ends at rest: q_j(t) = s_j + sum over k of a_jk
sin(k w t) + b_jk (cos(k w t) - 1), with w = 2 pi / period (Swevers et al. 1997, "Optimal robot
excitation and identification", IEEE T-RA 13(5)). With sum k a_jk = 0 and sum k^2 b_jk = 0 the arm
is at the start pose s without velocity and acceleration at every full period; the free
coefficients are those of an orthonormal basis.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from .excitation_problem import ExcitationProblem
from ..errors import IdentificationError, MissingDependencyError
from ..typing import Array


@dataclass(frozen=True, eq=False)
class FourierTrajectory:
    """
    One period of a motion of n joints.

    Attributes
    ----------
    start : ndarray, shape (n,)
        Pose at the beginning and end of each period [rad].
    period : float
        [s].
    coefficients : ndarray, shape (n, 2 H - 2)
        Free coefficients of each joint [rad]; H is the number of harmonics.

    Raises
    ------
    IdentificationError
        If the period is not positive and finite.

    """

    start: Array
    period: float
    coefficients: Array

    def __post_init__(self) -> None:
        """Refuse what is no trajectory."""
        if not 0.0 < self.period < np.inf:
            raise IdentificationError(f'The period is {self.period} s; it must be positive.')

    @property
    def harmonics(self) -> int:
        """Number of harmonics H."""
        return self.coefficients.shape[-1] // 2 + 1

    def at(self, time: ArrayLike) -> tuple[Array, Array, Array]:
        """
        Return position, velocity and acceleration at some times [s].

        Returns
        -------
        tuple of ndarray, each of shape (..., n)
            [rad, rad/s, rad/s^2]; (...) is the shape of `time`.

        """
        shapes = basis(self.harmonics, self.period, np.asarray(time, dtype=float))
        position, velocity, acceleration = (shape @ self.coefficients.T for shape in shapes)
        return self.start + position, velocity, acceleration


def basis(harmonics: int, period: float, time: Array) -> tuple[Array, Array, Array]:
    """Return the free functions and their two derivatives at some times, (..., 2 H - 2) each."""
    if harmonics < 2:
        raise IdentificationError(
            f'{harmonics} harmonics leave no motion that starts and ends '
            'at rest; take two or more.'
        )
    rate = 2.0 * np.pi / period * np.arange(1, harmonics + 1)
    phase = np.multiply.outer(time, rate)
    s, c = np.sin(phase), np.cos(phase)
    values = (
        np.concatenate([s, c - 1.0], axis=-1),
        np.concatenate([rate * c, -rate * s], -1),
        np.concatenate([-(rate**2) * s, -(rate**2) * c], axis=-1),
    )
    free = _free_directions(harmonics)
    return values[0] @ free, values[1] @ free, values[2] @ free


@lru_cache(maxsize=8)
def _free_directions(harmonics: int) -> Array:
    """Return an orthonormal basis of the coefficients that start at rest, (2 H, 2 H - 2)."""
    k = np.arange(1, harmonics + 1, dtype=float)
    constraints = np.zeros((2, 2 * harmonics))
    constraints[0, :harmonics], constraints[1, harmonics:] = k, k**2
    return np.asarray(np.linalg.svd(constraints)[2][2:].T)


_SAMPLES = 100  # of one period, for regressor and limits while optimising
_CHECK_SAMPLES = 2000  # of one period, for the last word on limits
_STEP = 1e-5  # [rad], of the differences behind the gradient
_SMALLEST, _AMPLITUDE_TOLERANCE = 1e-4, 1e-3  # of the amplitude that is tried first
_SHARPNESS = 200.0  # of the smooth least; 100 equal samples make it log(100) / 200 too small
# Where to stop, in the criterion; looser, machines stop at different places.
_CONVERGED = 1e-6


@dataclass(frozen=True, eq=False)
class Excitation:
    """
    An optimised trajectory and what it is compared with.

    Attributes
    ----------
    trajectory : FourierTrajectory
        Within all limits.
    deviations : ndarray, shape (p,)
        Predicted standard deviations of all parameters.
    left_open : ndarray, shape (b,)
        Which part of what was not known of the base parameters is left.
    condition_number : float
        Of its regressor, in units of the starting set.
    random_worst : ndarray
        The largest `left_open` of random trajectories of the same family and limits.

    """

    trajectory: FourierTrajectory
    deviations: Array
    left_open: Array
    condition_number: float
    random_worst: Array


def random_trajectory(
    problem: ExcitationProblem,
    start: Array,
    period: float,
    harmonics: int,
    rng: np.random.Generator,
) -> FourierTrajectory:
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
            'choose another with --start, or smaller margins.'
        )
    # None at all for too few harmonics, which `basis` then refuses.
    coefficients = rng.standard_normal((problem.arm.n, max(0, 2 * harmonics - 2)))
    trajectory = FourierTrajectory(start, period, coefficients)
    return within_limits(problem, trajectory, _SAMPLES)


def within_limits(
    problem: ExcitationProblem,
    trajectory: FourierTrajectory,
    samples: int,
) -> FourierTrajectory:
    """Return the trajectory with the largest amplitude, its own at most, that keeps all limits."""
    time = np.arange(samples) / samples * trajectory.period

    def scaled(amplitude: float) -> FourierTrajectory:
        return replace(trajectory, coefficients=amplitude * trajectory.coefficients)

    def keeps(amplitude: float) -> bool:
        return bool(problem.margins(*scaled(amplitude).at(time)).min() >= 0.0)

    if keeps(1.0):
        return trajectory
    # Margins are not monotonic in the amplitude, but near the start pose they all hold: the
    # last of a falling series that is within limits is one end of the bisection.
    low, high = 0.5, 1.0
    while not keeps(low):
        low, high = 0.5 * low, low
        if low < _SMALLEST:
            raise IdentificationError(
                'No motion about the start pose keeps the limits; choose '
                'another start, or smaller margins.'
            )
    while high - low > _AMPLITUDE_TOLERANCE * low:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if keeps(middle) else (low, middle)
    return scaled(low)


def optimise(
    problem: ExcitationProblem,
    start: ArrayLike,
    *,
    period: float = 10.0,
    harmonics: int = 5,
    draws: int = 100,
    iterations: int = 500,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> Excitation:
    """
    Return a trajectory that leaves no parameter open, as far as all limits let it.

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
        Random trajectories to start from and to be compared with.
    iterations : int
        Most steps of the optimisation; a FER's defaults converge in 150 to 240.
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
    candidates, numbers, worst = [], [], []
    for k in range(draws):
        candidates.append(random_trajectory(problem, pose, period, harmonics, rng))
        states = candidates[-1].at(time)
        numbers.append(float(problem.criterion(*states)))
        worst.append(float(problem.left_open(*states).max()))
        if progress is not None:
            progress(k + 1, draws + iterations)
    best = candidates[int(np.argmin(numbers))]

    def report(step: int) -> None:
        if progress is not None:
            progress(draws + step, draws + iterations)

    improved = within_limits(problem, _improve(problem, best, iterations, report), _CHECK_SAMPLES)
    if problem.criterion(*improved.at(time)) > min(numbers):
        improved = within_limits(problem, best, _CHECK_SAMPLES)
    states = improved.at(time)
    return Excitation(
        improved,
        problem.deviations(*states),
        problem.left_open(*states),
        float(problem.condition_number(*states)),
        np.array(worst),
    )


def repetitions_needed(
    problem: ExcitationProblem, trajectory: FourierTrajectory, fewest: int, most: int
) -> int:
    """
    Return how often a motion must be recorded until every base parameter that matters is known.

    Parameters
    ----------
    problem : ExcitationProblem
        Arm and noise; its own duration does not count.
    trajectory : FourierTrajectory
        The motion.
    fewest, most : int
        What the answer lies between; `most` if that is not enough, either.

    """
    states = trajectory.at(np.arange(_SAMPLES) / _SAMPLES * trajectory.period)

    def enough(count: int) -> bool:
        recorded = replace(problem, duration=count * trajectory.period)
        return not recorded.not_known(recorded.deviations(*states)).any()

    # More of the same motion never leaves more open.
    while fewest < most:
        middle = (fewest + most) // 2
        fewest, most = (fewest, middle) if enough(middle) else (middle + 1, most)
    return most


def repeated(problem: ExcitationProblem, found: Excitation, count: int) -> Excitation:
    """Return an excitation with what so many repetitions of it leave open."""
    period = found.trajectory.period
    states = found.trajectory.at(np.arange(_SAMPLES) / _SAMPLES * period)
    recorded = replace(problem, duration=count * period)
    return replace(
        found, deviations=recorded.deviations(*states), left_open=recorded.left_open(*states)
    )


def _improve(
    problem: ExcitationProblem,
    start: FourierTrajectory,
    iterations: int,
    report: Callable[[int], None],
) -> FourierTrajectory:
    """Return the trajectory that sequential quadratic programming makes of a feasible one."""
    try:
        from scipy.optimize import minimize
    except ImportError as error:
        raise MissingDependencyError(
            "Optimising a trajectory needs scipy: pip install 'franka_dynamics[identify]'."
        ) from error
    evaluation = _Evaluation(problem, start)
    steps = iter(range(1, iterations + 1))
    result = minimize(
        evaluation.objective,
        start.coefficients.ravel(),
        jac=evaluation.objective_gradient,
        constraints=[
            {'type': 'ineq', 'fun': evaluation.margins, 'jac': evaluation.margins_gradient}
        ],
        method='SLSQP',
        options={'maxiter': iterations, 'ftol': _CONVERGED},
        callback=lambda _: report(next(steps, iterations)),
    )
    return replace(start, coefficients=result.x.reshape(start.coefficients.shape))


class _Evaluation:
    """Objective and constraints with their difference quotients, all from one batch of states."""

    def __init__(self, problem: ExcitationProblem, start: FourierTrajectory) -> None:
        self._problem, self._start = problem, start
        time = np.arange(_SAMPLES) / _SAMPLES * start.period
        self._basis = basis(start.harmonics, start.period, time)
        self._at: Array | None = None

    def objective(self, x: Array) -> float:
        """Return the criterion."""
        self._evaluate(x)
        return float(self._objectives[0])

    def objective_gradient(self, x: Array) -> Array:
        """Return its forward differences."""
        self._evaluate(x)
        return np.asarray((self._objectives[1:] - self._objectives[0]) / _STEP)

    def margins(self, x: Array) -> Array:
        """Return the smooth least of what is left of every limit, shape (m,)."""
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
        self._objectives = self._problem.criterion(*states)
        self._margins = smooth_least(self._problem.limits_left(*states))
        self._at = np.array(x)


def smooth_least(values: Array) -> Array:
    """
    Return a smooth lower bound of the least over samples of (..., samples, m), shape (..., m).

    -log(sum exp(-r g)) / r (Kreisselmeier and Steinhauser 1979, "Systematic control design by
    optimizing a vector performance index"). A plain least has kinks, at which sequential
    quadratic programming stops: somewhere else on every machine.
    """
    least = values.min(axis=-2)
    total = np.exp(-_SHARPNESS * (values - least[..., None, :])).sum(axis=-2)
    return np.asarray(least - np.log(total) / _SHARPNESS)
