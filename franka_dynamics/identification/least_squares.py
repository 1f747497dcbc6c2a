# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Weighted, regularised least squares for base parameters and friction, with deviations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .prior import Pull
from .qr_factors import TorqueFactors
from ..errors import IdentificationError
from ..typing import Array

_REWEIGHTINGS, _SETTLED = 20, 1e-6  # most rounds, and the relative change that ends them
_WEAKEST_PULL = 1.0  # under which weights are found: parameters known to 100 %
# Column-scaled condition numbers from here on leave no digit of an estimate without a pull.
SINGULAR = 1e6


@dataclass(frozen=True, eq=False)
class Noise:
    """
    What the joints' residuals are like.

    Attributes
    ----------
    deviation : ndarray, shape (n,)
        Standard deviation of a filtered sample [N m].
    inflation : ndarray, shape (n,)
        How many filtered samples make an independent one.

    """

    deviation: Array
    inflation: Array

    @property
    def weights(self) -> Array:
        """Weight of each joint's samples [1 / (N m)]: information, not samples, is counted."""
        return 1.0 / (self.deviation * np.sqrt(self.inflation))


@dataclass(frozen=True, eq=False)
class Estimate:
    """
    Base and friction parameters with what is known about their certainty.

    Attributes
    ----------
    theta : ndarray, shape (p,)
        Base parameters (seed 002's order), then friction.
    covariance : ndarray, shape (p, p)
        Of the estimate; includes the reference as a prior where `strength` is not 0.
    strength : float
        Strength of the pull towards the starting set; 0 is plain weighted least squares.
    condition_number : float
        Of the weighted regressor (with the pull), its columns scaled to unit length.

    """

    theta: Array
    covariance: Array
    strength: float
    condition_number: float

    @property
    def deviations(self) -> Array:
        """Standard deviation of each parameter, shape (p,)."""
        return np.sqrt(np.diag(self.covariance))


def estimate(factors: TorqueFactors, noise: Noise, pull: Pull, strength: float) -> Estimate:
    """
    Return the parameters that minimise weighted squares plus strength times the pull.

    Parameters
    ----------
    factors : TorqueFactors
        The samples.
    noise : Noise
        The joints' weights.
    pull : Pull
        Towards the starting set, to second order.
    strength : float
        0: none; s: the starting set counts as known to a part 1 / sqrt(s).

    Raises
    ------
    IdentificationError
        If the motion does not show all parameters and nothing pulls.

    """
    return solve(factors.weighted(noise.weights), pull, strength)


def solve(equations: tuple[Array, Array], pull: Pull, strength: float) -> Estimate:
    """Return the same from what `TorqueFactors.weighted` gives, for many strengths in a row."""
    triangle, effort = equations
    if strength > 0.0:
        root = np.sqrt(strength) * pull.root
        triangle = np.concatenate([triangle, root, pull.friction_root])
        effort = np.concatenate([effort, root @ pull.center, np.zeros(len(pull.friction_root))])
    lengths = np.linalg.norm(triangle, axis=0)
    if not lengths.all():
        silent = ', '.join(name for name, length in zip(pull.model.names, lengths) if not length)
        raise IdentificationError(f'No torque of this motion depends on {silent}.')
    left, values, right = np.linalg.svd(triangle / lengths, full_matrices=False)
    condition = float(values[0] / values[-1]) if values[-1] > 0.0 else np.inf
    if not condition < SINGULAR:
        raise IdentificationError(
            f'The condition number is {condition:.3g}: this motion does not tell all '
            f'{len(lengths)} parameters apart without a pull towards a starting set.')
    theta = right.T @ ((left.T @ effort) / values) / lengths
    spread = right.T / values / lengths[:, None]
    return Estimate(theta, spread @ spread.T, strength, condition)


def find_noise(factors: TorqueFactors, pull: Pull, inflation: Array) -> Noise:
    """
    Return the joints' noise by iterated reweighting.

    A weak pull keeps a poor motion from explaining its own noise. What is left of the degrees
    of freedom is counted in independent samples.

    Parameters
    ----------
    factors : TorqueFactors
        The samples.
    pull : Pull
        Towards the starting set.
    inflation : ndarray, shape (n,)
        How many filtered samples make an independent one, joint by joint.

    Raises
    ------
    IdentificationError
        If there are fewer independent samples than parameters.

    """
    independent = factors.samples / inflation
    freedom = 1.0 - len(pull.model.names) / independent.sum()
    if freedom <= 0.0:
        raise IdentificationError(
            f'The recording holds {independent.sum():.0f} independent torque samples, too few '
            f'for {len(pull.model.names)} parameters; record longer.')
    noise = Noise(np.ones(pull.model.n), inflation)
    for _ in range(_REWEIGHTINGS):
        theta = estimate(factors, noise, pull, _WEAKEST_PULL).theta
        variance = factors.squares(theta) / factors.samples / freedom
        deviation = np.sqrt(np.maximum(variance, np.finfo(float).tiny))
        settled = np.allclose(deviation, noise.deviation, rtol=_SETTLED, atol=0.0)
        noise = Noise(deviation, inflation)
        if settled:
            break
    return noise


def fit_friction_alone(factors: TorqueFactors, noise: Noise, base_values: Array) -> Array:
    """
    Return theta of a published set whose friction is fitted alike, shape (p,).

    Parameters
    ----------
    factors, noise
        As for `estimate`.
    base_values : ndarray, shape (b,)
        The set's base parameters.

    """
    triangle, effort = factors.weighted(noise.weights)
    b = len(base_values)
    left = effort - triangle[:, :b] @ base_values
    friction, *_ = np.linalg.lstsq(triangle[:, b:], left, rcond=None)
    return np.concatenate([base_values, friction])
