# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Optimisation of motions within an arm's limits for identifying the arm's parameters.

The motion is a Fourier series (Swevers et al. 1997, "Optimal robot excitation and identification",
IEEE T-RA 13(5)):

    q_j(t) = s_j + sum over k of a_jk sin(k w t) + b_jk (cos(k w t) - 1),    w = 2 pi / period

With sum k a_jk = 0 and sum k^2 b_jk = 0 the arm is at the start pose s, with zero velocity and
acceleration, at the end of every period. The coefficients to optimise belong to an orthonormal
basis of the a_jk and b_jk with sum k a_jk = sum k^2 b_jk = 0.
"""

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import count

import numpy as np

from .excitation_problem import ExcitationProblem, soft_min, start_advice
from ..arrays import Array, ArrayLike
from ..errors import IdentificationError, require_extra

HARMONIC_COUNT = 5  # number of sines, and of cosines, of each joint
_SAMPLE_COUNT = 100  # samples per period for regressor and limits during optimisation
_CHECK_SAMPLE_COUNT = 2000  # samples per period for the final check of the limits
# Smallest amplitude, relative to that of the given trajectory.
_MIN_AMPLITUDE_SCALE = 1e-4
# Relative tolerance of the amplitude's bisection.
_AMPLITUDE_TOLERANCE = 1e-3
_CONVERGENCE_TOLERANCE = 1e-5  # the optimisation ends at a smaller change of the criterion
_GRADIENT_STEP_SIZE = 1e-7  # step of forward differences of scaled coefficients [rad/s]
_MIN_LIMIT_MARGIN = 5e-4  # margin for the motion between samples [rad, m, or relative to a limit]


@dataclass(frozen=True, eq=False)
class FourierTrajectory:
    """
    A periodic motion of n joints by Fourier series, at rest at the start of each period.

    `start_position` (n,) is that at the beginning and end of each period [rad], `period` is in s,
    and `coefficients` (n, 2 H - 2) are the free coefficients of each joint [rad], with H = 5
    harmonics. IdentificationError is raised for a period that is not positive and finite.
    """

    start_position: Array
    period: float
    coefficients: Array

    def __post_init__(self) -> None:
        """Raise IdentificationError if the period is not positive and finite."""
        if not 0.0 < self.period < np.inf:
            raise IdentificationError(f'The period is {self.period} s; it must be positive.')

    def states_at(self, time: ArrayLike) -> tuple[Array, Array, Array]:
        """
        Return positions, velocities, accelerations at `time` [s], (..., n) [rad, rad/s, rad/s^2].

        Each has shape (..., n) [rad, rad/s, rad/s^2]; (...) is the shape of `time`.
        """
        basis, basis_rate, basis_acceleration = fourier_basis(
            self.period, np.asarray(time, dtype=float)
        )
        position = self.start_position + basis @ self.coefficients.T
        velocity = basis_rate @ self.coefficients.T
        acceleration = basis_acceleration @ self.coefficients.T
        return position, velocity, acceleration

    def states_over_period(self, sample_count: int) -> tuple[Array, Array, Array]:
        """Return q, dq, ddq, (sample_count, n) each, at evenly spaced times of one period."""
        return self.states_at(_sample_times(sample_count, self.period))


def _sample_times(sample_count: int, period: float) -> Array:
    """Return evenly spaced times from 0 to just before the period's end, (samples,) [s]."""
    return np.arange(sample_count) / sample_count * period


def fourier_basis(period: float, time: Array) -> tuple[Array, Array, Array]:
    """
    Return a FourierTrajectory's basis functions at `time`, their first and second derivatives.

    Each has shape (..., 2 H - 2) for H harmonics: of the 2 H coefficients of a joint two are used
    up by zero velocity and acceleration at the start.
    """
    k = np.arange(1.0, HARMONIC_COUNT + 1.0)
    frequency = 2.0 * np.pi / period * k  # (H,), rad/s
    phase = np.multiply.outer(time, frequency)  # (..., H)
    sine = np.sin(phase)
    cosine = np.cos(phase)
    # By all 2 H coefficients: the a_k of sines, then the b_k of cosines.
    position = np.concatenate([sine, cosine - 1.0], axis=-1)
    velocity = np.concatenate([frequency * cosine, -frequency * sine], axis=-1)
    acceleration = np.concatenate([-(frequency**2) * sine, -(frequency**2) * cosine], axis=-1)
    # The two conditions: sum k a_k = 0 (velocity) and sum k^2 b_k = 0 (acceleration).
    conditions = np.kron(np.eye(2), np.stack([k, k**2]))[[0, 3]]  # (2, 2 H)
    _, _, right_singular_vectors = np.linalg.svd(conditions)
    free = right_singular_vectors[2:].T  # orthonormal basis of what fulfils them, (2 H, 2 H - 2)
    return position @ free, velocity @ free, acceleration @ free


@dataclass(frozen=True, eq=False)
class Excitation:
    """
    An optimised excitation trajectory, with predicted standard deviations of parameters.

    `parameter_std` (p,) are the standard deviations of all parameters, `std_to_prior_ratios` (b,)
    the remaining fractions of the prior standard deviations of the base parameters.
    """

    trajectory: FourierTrajectory
    parameter_std: Array
    std_to_prior_ratios: Array


def random_trajectory(
    problem: ExcitationProblem, start: Array, period: float, rng: np.random.Generator
) -> FourierTrajectory:
    """
    Return a random trajectory scaled to the limits; IdentificationError if `start` allows none.

    Raises IdentificationError if the start pose violates a limit, or as `scale_to_limits` does.
    """
    if _start_margin(problem, start) <= _MIN_LIMIT_MARGIN:
        arm = problem.arm
        margin = problem.limits.position_margin
        lowest = arm.limit('lower') + margin
        highest = arm.limit('upper') - margin
        for name, position, low, high in zip(arm.joint_names, start, lowest, highest):
            if not low + _MIN_LIMIT_MARGIN < position < high - _MIN_LIMIT_MARGIN:
                raise IdentificationError(
                    f'The start pose has {name} at {position:.4g}; a motion about it must start '
                    f'between {low:.4g} and {high:.4g}, which are its limits less a margin of '
                    f'{margin:g}; {start_advice(problem)}.'
                )
        raise IdentificationError(
            'The start pose is too near to the table or to the arm itself, or its torques are too '
            f'large; {start_advice(problem)}.'
        )
    coefficients = rng.standard_normal((problem.arm.n, 2 * HARMONIC_COUNT - 2))
    return scale_to_limits(problem, FourierTrajectory(start, period, coefficients), _SAMPLE_COUNT)


def _start_margin(problem: ExcitationProblem, start: Array) -> float:
    """Return the smallest margin to any limit of a pose (n,) at rest, negative if violated."""
    at_rest = np.zeros((1, problem.arm.n))
    return float(problem.limit_margins(start[None], at_rest, at_rest).min())


def scale_to_limits(
    problem: ExcitationProblem, trajectory: FourierTrajectory, sample_count: int
) -> FourierTrajectory:
    """
    Return the trajectory, scaled down if needed to keep limits; IdentificationError if none does.

    Raises IdentificationError if limits are violated even at about a ten-thousandth of the
    amplitude.
    """

    def scaled_trajectory(scale: float) -> FourierTrajectory:
        """Return the trajectory with its coefficients multiplied by `scale`."""
        return replace(trajectory, coefficients=scale * trajectory.coefficients)

    def keeps_limits(scale: float) -> bool:
        """Return whether the scaled trajectory keeps all limits at `sample_count` times."""
        states = scaled_trajectory(scale).states_over_period(sample_count)
        return bool(problem.limit_margins(*states).min() >= 0.0)

    if keeps_limits(1.0):
        return trajectory
    # Margins to limits are not monotonic in the amplitude, but the start pose keeps all limits.
    # The amplitude is therefore halved until the limits hold, and then bisected.
    low = 0.5
    high = 1.0
    while not keeps_limits(low):
        high = low
        low = 0.5 * low
        if low < _MIN_AMPLITUDE_SCALE:
            raise IdentificationError(
                'No motion about the start pose keeps the limits; choose '
                'another start, or smaller margins.'
            )
    while high - low > _AMPLITUDE_TOLERANCE * low:
        middle = 0.5 * (low + high)
        if keeps_limits(middle):
            low = middle
        else:
            high = middle
    return scaled_trajectory(low)


def optimise_excitation(
    problem: ExcitationProblem,
    start: ArrayLike,
    *,
    period: float = 10.0,
    draws: int = 100,
    iterations: int = 300,
    progress: Callable[[int, int], None] | None = None,
) -> Excitation:
    """
    Return a trajectory within the limits that determines the base parameters well.

    Sequential quadratic programming improves the best of `draws` random trajectories in at most
    `iterations` steps. The limits are checked at 2000 samples, and the amplitude reduced if a
    limit is violated. `start` (n,) is the pose at the beginning and the end [rad], `period` is in
    s. `progress` is called with the number of draws and steps done, and with `draws + iterations`.

    Raises IdentificationError if the start pose violates a limit, no motion about it keeps the
    limits, the period is not positive or there are no draws; JointVectorError for a wrong `start`;
    MissingDependencyError if scipy is not installed.
    """
    with require_extra('Optimising a trajectory needs scipy', 'identify'):
        import scipy.optimize  # noqa: F401  # asked before the draws, which take seconds
    if draws < 1:
        raise IdentificationError(f'draws is {draws}; give a whole number from 1.')
    pose = problem.arm.joint_vector(start, 'start')
    rng = np.random.default_rng(0)
    total_count = draws + iterations
    report = progress or (lambda done, total: None)

    def cost(trajectory: FourierTrajectory) -> float:
        """Return the criterion of a trajectory."""
        return float(problem.criterion(*trajectory.states_over_period(_SAMPLE_COUNT)))

    candidates = []
    costs = []
    for drawn_count in range(1, draws + 1):
        candidates.append(random_trajectory(problem, pose, period, rng))
        costs.append(cost(candidates[-1]))
        report(drawn_count, total_count)
    best_drawn = candidates[int(np.argmin(costs))]
    optimal = _optimise_locally(
        problem, best_drawn, iterations, lambda step: report(draws + step, total_count)
    )
    improved = scale_to_limits(problem, optimal, _CHECK_SAMPLE_COUNT)
    if cost(improved) > min(costs):
        improved = scale_to_limits(problem, best_drawn, _CHECK_SAMPLE_COUNT)
    return _with_predicted_std(problem, improved)


def _with_predicted_std(problem: ExcitationProblem, trajectory: FourierTrajectory) -> Excitation:
    """Return a trajectory as an Excitation, with predicted standard deviations of parameters."""
    states = trajectory.states_over_period(_SAMPLE_COUNT)
    return Excitation(
        trajectory,
        parameter_std=problem.parameter_std(*states),
        std_to_prior_ratios=problem.std_to_prior_ratios(*states),
    )


def choose_repetitions(
    problem: ExcitationProblem, excitation: Excitation, min_count: int, max_count: int
) -> tuple[Excitation, int]:
    """
    Return the motion, judged at the fewest sufficient repetitions or the most, and their number.

    This is the smallest number from `min_count` to `max_count` after which
    `unidentified_mask` holds for no base parameter, or else `max_count`. `problem.duration`
    is not used.
    """

    def excitation_for(repetitions: int) -> Excitation:
        """Return the trajectory with standard deviations predicted for a number of repetitions."""
        lasting = replace(problem, duration=repetitions * excitation.trajectory.period)
        return _with_predicted_std(lasting, excitation.trajectory)

    def is_sufficient(repetitions: int) -> bool:
        """Return whether that many repetitions identify all essential base parameters."""
        return not problem.unidentified_mask(excitation_for(repetitions).parameter_std).any()

    # More repetitions of the motion never increase a predicted standard deviation.
    repetitions = min_count + bisect_left(range(min_count, max_count), True, key=is_sufficient)
    return excitation_for(repetitions), repetitions


def _optimise_locally(
    problem: ExcitationProblem,
    start: FourierTrajectory,
    steps: int,
    report: Callable[[int], None],
) -> FourierTrajectory:
    """
    Return the trajectory after at most `steps` steps of sequential quadratic programming.

    `report` is called with each step's number.
    """
    from scipy.optimize import minimize

    times = _sample_times(_SAMPLE_COUNT, start.period)
    basis = np.array(fourier_basis(start.period, times))  # with its derivatives, (3, samples, 8)
    # Coefficients are scaled to equal rms velocity: the optimisation then converges faster.
    rms_velocity = np.sqrt(np.mean(basis[1] ** 2, axis=0))  # of unit coefficients, (8,)
    unit = np.tile(1.0 / rms_velocity, problem.arm.n)  # (8 n,)
    steps_of_each = _GRADIENT_STEP_SIZE * np.eye(len(unit))

    def cost_and_margins(x: Array) -> Array:
        """Return criterion and m soft limit margins of scaled coefficients x, (..., 1 + m)."""
        coefficients = (unit * x).reshape(*x.shape[:-1], problem.arm.n, -1)
        transposed = np.swapaxes(coefficients, -1, -2)
        q = basis[0] @ transposed + start.start_position  # (..., samples, n), rad
        dq = basis[1] @ transposed
        ddq = basis[2] @ transposed
        cost = problem.criterion(q, dq, ddq)
        margins = soft_min(problem.state_margins(q, dq, ddq)) - _MIN_LIMIT_MARGIN
        return np.concatenate([cost[..., None], margins], axis=-1)

    # Caches, because SLSQP asks for a point's criterion and margins separately.
    @lru_cache(maxsize=1)
    def cached_cost_and_margins(x: bytes) -> Array:
        """Return criterion and limit margins of scaled coefficients, given as bytes, (1 + m,)."""
        return cost_and_margins(np.frombuffer(x))

    @lru_cache(maxsize=1)
    def cached_jacobian(x: bytes) -> Array:
        """Return derivatives of criterion and margins by coefficient, (1 + m, coefficients)."""
        moved = cost_and_margins(np.frombuffer(x) + steps_of_each)  # (coefficients, 1 + m)
        change = (moved - cached_cost_and_margins(x)).T
        return np.asarray(change / _GRADIENT_STEP_SIZE)

    step_numbers = count(1)
    margins_are_nonnegative = {
        'type': 'ineq',
        'fun': lambda x: cached_cost_and_margins(x.tobytes())[1:].copy(),
        'jac': lambda x: cached_jacobian(x.tobytes())[1:].copy(),
    }
    solution = minimize(
        lambda x: cached_cost_and_margins(x.tobytes())[0],
        start.coefficients.ravel() / unit,
        jac=lambda x: cached_jacobian(x.tobytes())[0].copy(),
        constraints=margins_are_nonnegative,
        method='SLSQP',
        options={'maxiter': steps, 'ftol': _CONVERGENCE_TOLERANCE},
        callback=lambda _: report(next(step_numbers)),
    )
    return replace(start, coefficients=(unit * solution.x).reshape(start.coefficients.shape))
