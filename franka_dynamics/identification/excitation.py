# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
A motion within an arm's limits after which every parameter is known as well as can be.

It is a Fourier series that starts and ends at rest (`fourier_trajectory`), optimised by
sequential quadratic programming in stages, so that every machine finds the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from .excitation_gradient import ExcitationGradient
from .excitation_problem import ExcitationProblem
from .fourier_trajectory import basis, FourierTrajectory
from ..errors import IdentificationError, MissingDependencyError
from ..typing import Array

_SAMPLES = 100  # of one period, for regressor and limits while optimising
_CHECK_SAMPLES = 2000  # of one period, for the last word on limits
_SMALLEST, _AMPLITUDE_TOLERANCE = 1e-4, 1e-3  # of the amplitude that is tried first
_CONVERGED = 1e-8  # where a stage of the optimisation stops, in the criterion
# A stage ends after so many steps, and the next begins with rounded coefficients [rad]: in one
# stage machines come apart by 1e-8 rad, without stages by whole motions. The last gains little.
_STAGE, _DECIMALS, _LEAST_GAIN = 30, 3, 1e-4
_LOST = -0.1  # [rad, m or a part of a limit]: from so far beyond a limit it does not come back
_BETWEEN, _ROOM = 3, 5e-4  # stages for what is beyond a limit between samples, and room left there
_STARTS = 3  # random motions that get a first stage: the best of them ends in a better one


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

    The best of some random trajectories are improved by sequential quadratic programming, then
    the best of these, which is checked on a dense grid.

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
        Most steps of the optimisation; shipped arms converge in 115 to 360.
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
    best = [candidates[k] for k in np.argsort(numbers, kind='stable')[:_STARTS]]

    def report(step: int) -> None:
        if progress is not None:
            progress(draws + step, draws + iterations)

    improved = _improve(problem, best, iterations, report)
    improved = within_limits(problem, improved, _CHECK_SAMPLES)
    if problem.criterion(*improved.at(time)) > min(numbers):
        improved = within_limits(problem, best[0], _CHECK_SAMPLES)
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
    starts: Sequence[FourierTrajectory],
    iterations: int,
    report: Callable[[int], None],
) -> FourierTrajectory:
    """
    Return what sequential quadratic programming makes of feasible motions of one family.

    Each gets a stage, and the best of them all that are left.
    """
    try:
        from scipy.optimize import minimize
    except ImportError as error:
        raise MissingDependencyError(
            "Optimising a trajectory needs scipy: pip install 'franka_dynamics[identify]'."
        ) from error
    one = starts[0]
    shapes = basis(one.harmonics, one.period, np.arange(_SAMPLES) / _SAMPLES * one.period)
    # In coefficients that make the same velocity: steps as large in slow as in fast harmonics
    # converge in fewer steps.
    unit = np.tile(1.0 / np.sqrt(np.mean(shapes[1] ** 2, axis=0)), problem.arm.n)
    evaluation = ExcitationGradient(problem, one.start, np.array(shapes))
    steps = iter(range(1, iterations + 1))

    def stage(x: Array, most: int, kept: Array | float) -> tuple[float, Array]:
        # What machines round differently grows tenfold in every few steps.
        begin = np.round(x, _DECIMALS)
        result = minimize(
            lambda y: evaluation.at(unit * y).criterion,
            begin / unit,
            jac=lambda y: evaluation.at(unit * y).criterion_gradient * unit,
            constraints=[
                {
                    'type': 'ineq',
                    'fun': lambda y: evaluation.at(unit * y).margins - kept,
                    'jac': lambda y: evaluation.at(unit * y).margins_gradient * unit,
                }
            ],
            method='SLSQP',
            options={'maxiter': most, 'ftol': _CONVERGED},
            callback=lambda _: report(next(steps, iterations)),
        )
        end = unit * result.x
        lost = evaluation.at(end).margins.min() < _LOST
        return (evaluation.at(begin if lost else end).criterion, begin if lost else end)

    chosen = starts if iterations > _STAGE * len(starts) else starts[:1]
    begun = [stage(each.coefficients.ravel(), min(_STAGE, iterations), 0.0) for each in chosen]
    worth, x = min(begun, key=lambda pair: pair[0])
    for left in range(iterations - _STAGE * len(chosen), 0, -_STAGE):
        before = worth
        worth, x = stage(x, min(_STAGE, left), 0.0)
        if before - worth < _LEAST_GAIN:
            break
    dense = np.arange(_CHECK_SAMPLES) / _CHECK_SAMPLES * one.period
    kept = np.zeros(len(evaluation.at(x).margins))
    for _ in range(_BETWEEN):
        motion = replace(one, coefficients=x.reshape(one.coefficients.shape))
        beyond = problem.margins(*motion.at(dense))
        if beyond.min() >= 0.0:
            break
        # What is beyond a limit between the samples is kept from it at them.
        kept += np.maximum(0.0, _ROOM - beyond) * (beyond < 0.0)
        _, x = stage(x, min(_STAGE, iterations), kept)
    return replace(one, coefficients=x.reshape(one.coefficients.shape))
