# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Weak gains for an arm that nobody else closes a loop around, and how late its states may come.

An arm held by feedforward alone has nothing that takes a disturbance away. Gains that are stiff
enough to be felt, though, become unstable as soon as states are some milliseconds old, and the
gravity torque of an old state is itself destabilising: where gravity topples the arm, with
accelerations of 31 rad/s^2 per radian at a Franka's home pose, no proportional-derivative
feedback at all is stable with states older than sqrt(2 / 31) = 0.25 s. At home, under these
gains, a state may be as old, and a torque be held as long, as the parameter files allow, on all
shipped arms, with and without a hand.
"""

from __future__ import annotations

import numpy as np

from ..arm import ArmDescription
from ..dynamics.newton_euler import NewtonEulerModel
from ..typing import Array

# kd = RATE m and kp = RATIO kd, with m the inertia that each joint shows at home while the others
# are free, 1 / (M^-1)_ii. RATE is where the shipped arms hold still with the oldest states: for
# FER, FR3 and FR3v2, bare or with the hand, torques may be held for 0.21 s (0.20 s at 5 and 0.15 s
# at 6 1/s), and constant delays reach 0.10 s.
RATE, RATIO = 4.0, 1.5  # [1/s]


# Shares of the torque limit [1/rad, s/rad]: 60 N m/rad and 6 N m s/rad for 87 N m.
_STIFFNESS, _DAMPING = 0.7, 0.07


def default_gains(arm: ArmDescription) -> tuple[Array, Array]:
    """
    Return weak gains in proportion to the inertia that each joint has at the home pose.

    A velocity of one joint alone decays at RATE, and a position comes back at RATIO at the end.

    Parameters
    ----------
    arm : ArmDescription
        The arm with all that it carries.

    Returns
    -------
    tuple of ndarray
        kp [N m/rad or N/m] and kd [N m s/rad or N s/m], shape (n,) each.

    """
    kd = RATE * _inertia_at_home(arm)
    return RATIO * kd, kd


def weak_gains(arm: ArmDescription, most_rate: float) -> tuple[Array, Array]:
    """
    Return kp and kd, as `default_gains`, for states that are some milliseconds old at most.

    kd is a share of the torque limit, but never more than takes velocity away at `most_rate`
    [1/s]: late torques, and those of light joints most of all, would make it unstable. kp then
    damps the joint's inertia by 0.7.
    """
    inertia, effort = _inertia_at_home(arm), arm.limit('effort')
    kd = np.minimum(_DAMPING * effort, most_rate * inertia)
    return np.minimum(_STIFFNESS * effort, 0.5 * kd * kd / inertia), kd


def _inertia_at_home(arm: ArmDescription) -> Array:
    """Return what each joint shows at home while the others are free, 1 / (M^-1)_ii, (n,)."""
    inertia = NewtonEulerModel(arm).mass_matrix(home_pose(arm))
    return np.asarray(1.0 / np.diag(np.linalg.inv(inertia)))


def home_pose(description: ArmDescription) -> Array:
    """Return an arm's home pose, or the position nearest to zero where it has none, shape (n,)."""
    if description.home is not None:
        return np.array(description.home, dtype=float)
    return np.clip(np.zeros(description.n), description.limit('lower'), description.limit('upper'))
