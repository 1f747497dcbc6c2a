# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Weak gains for an arm that nobody else closes a loop around, and how late its states may come.

An arm held by feedforward alone has nothing that takes a disturbance away. Gains that are stiff
enough to be felt, though, become unstable as soon as states are some milliseconds old, and the
gravity torque of an old state is itself destabilising: where gravity topples the arm, with
accelerations of 31 rad/s^2 per radian at a Franka's home pose, no proportional-derivative
feedback at all is stable with states older than sqrt(2 / 31) = 0.25 s. How old they may be under
these gains, benchmarks/default_gains.py computes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ..arm import ArmDescription
from ..dynamics.model import DynamicsModel
from ..errors import SettingsError
from ..typing import Array

# kd = RATE m and kp = RATIO kd, with m the inertia that each joint shows at home while the others
# are free, 1 / (M^-1)_ii. RATE is where the shipped arms hold still with the oldest states: for
# FER, FR3 and FR3v2, bare or with the hand, torques may be held for 0.21 s (0.20 s at 5 and 0.15 s
# at 6 1/s), and constant delays reach 0.10 s.
RATE, RATIO = 4.0, 1.5  # [1/s]
# Semi-implicit integration of dq' = -M^-1 kd dq is stable up to 2, and without a change of sign
# up to 1.
_MOST_PER_STEP = 1.0


@dataclass(frozen=True, eq=False)
class DefaultGains:
    """
    Gains of a joint PD: `kp` [N m/rad or N/m] and `kd` [N m s/rad or N s/m], shape (n,).

    `per_step` is the largest eigenvalue of M^-1 kd dt at home: the share of a velocity that one
    step takes away.
    """

    kp: Array
    kd: Array
    per_step: float


def default_gains(
    model: DynamicsModel,
    home: ArrayLike | None = None,
    *,
    rate: float = RATE,
    ratio: float = RATIO,
    timestep: float = 1e-3,
) -> DefaultGains:
    """
    Return weak gains in proportion to the inertia that each joint has at the home pose.

    Parameters
    ----------
    model : DynamicsModel
        The arm with all that it carries.
    home : array_like, shape (n,), optional
        Where M is evaluated [rad or m]; the description's home pose if not given, or the
        position nearest to zero where it has none.
    rate : float
        kd over inertia [1/s]: how fast a velocity of one joint decays.
    ratio : float
        kp over kd [1/s]: how fast a position comes back at the end.
    timestep : float
        Period of the torques [s].

    Raises
    ------
    SettingsError
        If rate, ratio or timestep is not positive, or the rate is too large for the time step.
    JointVectorError
        If `home` has another shape or is not finite.

    """
    for name, value in (('rate', rate), ('ratio', ratio), ('timestep', timestep)):
        if not 0.0 < value < np.inf:
            raise SettingsError(f'{name} must be a positive number; got {value}.')
    pose = home_pose(model.description) if home is None else home
    inverse = np.linalg.inv(model.mass_matrix(pose))
    kd = rate / np.diag(inverse)
    per_step = float(np.linalg.eigvals(inverse * kd).real.max()) * timestep
    if per_step > _MOST_PER_STEP:
        raise SettingsError(
            f'a rate of {rate:g} 1/s takes {per_step:.3g} of a velocity away in a step of '
            f'{timestep:g} s, at most {_MOST_PER_STEP:g} is stable; make the rate smaller than '
            f'{rate * _MOST_PER_STEP / per_step:.3g} 1/s.'
        )
    return DefaultGains(ratio * kd, kd, per_step)


def home_pose(description: ArmDescription) -> Array:
    """Return an arm's home pose, or the position nearest to zero where it has none, shape (n,)."""
    if description.home is not None:
        return np.array(description.home, dtype=float)
    return np.clip(np.zeros(description.n), description.limit('lower'), description.limit('upper'))
