# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
The criterion of an excitation and its limits, with their gradients in a motion's coefficients.

Only the regressor and the limits at single states are differentiated by differences; the rest is
in closed form. Differences of the criterion itself would carry the rounding of an inverse matrix,
which differs from machine to machine, and an optimisation that follows them ends elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .excitation_problem import ExcitationProblem
from ..typing import Array

# Half of the central differences in q [rad], dq [rad/s] and ddq [rad/s^2]: regressor and torques
# are sums of sines of q, smooth in dq by friction's width, and linear in ddq.
_STEPS = np.array([1e-3, 1e-3, 1.0])
_SHARPNESS = 200.0  # of the smooth least; 100 equal samples make it log(100) / 200 too small


@dataclass(frozen=True, eq=False)
class ExcitationValue:
    """
    What a motion is worth, and how that changes with its c coefficients.

    Attributes
    ----------
    criterion : float
        As `ExcitationProblem.criterion`.
    criterion_gradient : ndarray, shape (c,)
        [1/rad].
    margins : ndarray, shape (m,)
        The smooth least of what is left of every limit.
    margins_gradient : ndarray, shape (m, c)
        [1/rad].

    """

    criterion: float
    criterion_gradient: Array
    margins: Array
    margins_gradient: Array


class ExcitationGradient:
    """
    Evaluates motions that are linear in their coefficients.

    Parameters
    ----------
    problem : ExcitationProblem
        Arm, limits and noise.
    start : ndarray, shape (n,)
        Pose of zero coefficients [rad].
    shapes : ndarray, shape (3, samples, h)
        Functions of time, with their two derivatives, that every joint's h coefficients multiply.

    """

    def __init__(self, problem: ExcitationProblem, start: Array, shapes: Array) -> None:
        self._problem, self._start, self._shapes = problem, start, shapes
        self._last: tuple[Array, ExcitationValue] | None = None
        n = problem.arm.n
        one_by_one = np.eye(3 * n).reshape(3 * n, 3, 1, n) * _STEPS[:, None, None]
        self._shifts = np.concatenate([np.zeros((1, 3, 1, n)), one_by_one, -one_by_one])

    def at(self, coefficients: Array) -> ExcitationValue:
        """
        Return value and gradients for some coefficients, shape (n h,) [rad].

        The last ones are kept: an optimiser asks for them one by one.
        """
        if self._last is None or not np.array_equal(coefficients, self._last[0]):
            self._last = (np.array(coefficients), self._evaluated(coefficients))
        return self._last[1]

    def _evaluated(self, coefficients: Array) -> ExcitationValue:
        problem, n = self._problem, self._problem.arm.n
        states = self._shapes @ coefficients.reshape(n, -1).T
        states[0] += self._start
        shifted = np.moveaxis(states + self._shifts, 1, 0)
        rows = problem.regressor(*shifted)
        limits_left = problem.limits_left(*shifted)
        criterion, slope = problem.criterion_and_slope(rows[0])
        torques = np.einsum('tip,btip->bt', slope, rows)
        margins, shares = smooth_least(limits_left[0])
        return ExcitationValue(
            criterion,
            np.einsum('djt,dth->jh', self._differences(torques), self._shapes).ravel(),
            margins,
            np.einsum(
                'djtm,dth->mjh',
                shares * self._differences(limits_left),
                self._shapes,
                optimize=True,
            ).reshape(len(margins), -1),
        )

    def _differences(self, values: Array) -> Array:
        """Return the slopes of values at all shifted states in (q, dq, ddq), (3, n, ...)."""
        ahead, behind = np.split(values[1:], 2)
        slopes = (ahead - behind).reshape(3, self._problem.arm.n, *values.shape[1:])
        return slopes / (2.0 * _STEPS).reshape(3, *(1,) * (slopes.ndim - 1))


def smooth_least(values: Array) -> tuple[Array, Array]:
    """
    Return a smooth lower bound of the least over samples, and its slope in each value.

    -log(sum exp(-r g)) / r (Kreisselmeier and Steinhauser 1979, "Systematic control design by
    optimizing a vector performance index"). A plain least has kinks, at which sequential
    quadratic programming stops: somewhere else on every machine.

    Parameters
    ----------
    values : ndarray, shape (samples, m)
        What is left of every limit.

    Returns
    -------
    tuple of ndarray, shapes (m,) and (samples, m)
        The slopes of each column sum to one.

    """
    least = values.min(axis=0)
    parts = np.exp(-_SHARPNESS * (values - least))
    total = parts.sum(axis=0)
    return np.asarray(least - np.log(total) / _SHARPNESS), parts / total
