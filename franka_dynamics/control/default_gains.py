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

from dataclasses import dataclass

import numpy as np

from ..arm import ArmDescription
from ..dynamics.model import DynamicsModel
from ..typing import Array

# kd = RATE m and kp = RATIO kd, with m the inertia that each joint shows at home while the others
# are free, 1 / (M^-1)_ii. RATE is where the shipped arms hold still with the oldest states: for
# FER, FR3 and FR3v2, bare or with the hand, torques may be held for 0.21 s (0.20 s at 5 and 0.15 s
# at 6 1/s), and constant delays reach 0.10 s.
RATE, RATIO = 4.0, 1.5  # [1/s]


@dataclass(frozen=True, eq=False)
class DefaultGains:
    """
    Gains of a joint PD: `kp` [N m/rad or N/m] and `kd` [N m s/rad or N s/m], shape (n,).

    A velocity of one joint alone decays at RATE, and a position comes back at RATIO at the end.
    """

    kp: Array
    kd: Array


def default_gains(model: DynamicsModel) -> DefaultGains:
    """
    Return weak gains in proportion to the inertia that each joint has at the home pose.

    Parameters
    ----------
    model : DynamicsModel
        The arm with all that it carries.

    """
    kd = RATE / np.diag(np.linalg.inv(model.mass_matrix(home_pose(model.description))))
    return DefaultGains(RATIO * kd, kd)


def home_pose(description: ArmDescription) -> Array:
    """Return an arm's home pose, or the position nearest to zero where it has none, shape (n,)."""
    if description.home is not None:
        return np.array(description.home, dtype=float)
    return np.clip(np.zeros(description.n), description.limit('lower'), description.limit('upper'))
