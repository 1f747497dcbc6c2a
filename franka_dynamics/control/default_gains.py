# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Gains for an arm without another feedback controller.

Feedforward alone does not correct disturbances. Stiff gains, though, become unstable when states
are some milliseconds old, or when a torque is held because none comes. The gravity torque of an
old state is destabilising as well: under the constant torque that balances gravity at a Franka's
home pose, the arm accelerates away from this pose with 31 to 34 rad/s^2 per radian. Therefore no
proportional-derivative feedback is stable with states older than sqrt(2 / 31) = 0.25 s. With
`default_gains` all Franka arms, with and without a hand, are stable at home with torques held as
long as stated, or with states 0.4 times as old. With the rated load gravity makes the arms diverge
faster; then 0.8 times that long is stable.
"""

from __future__ import annotations

import numpy as np

from ..arm import ArmDescription
from ..dynamics.newton_euler import NewtonEulerModel
from ..typing import Array

# Gains for torques held for T have kd = r m and kp = 0.375 r kd with a rate r = HELD_RATE / T and
# m = 1 / (M^-1)_ii, the effective inertia of each joint at home while the other joints are free.
# With T = 0.21 s, r is 4 1/s; with 5 1/s torques may be held for 0.18 s, with 6 1/s for 0.15 s.
HELD_RATE, STIFFNESS_RATIO = 0.84, 0.375
MAX_HELD_S = 0.21
# Upper bounds of kp and kd from `weak_gains` as fractions of the torque limit [1/rad, s/rad]:
# 60 N m/rad and 6 N m s/rad for a limit of 87 N m.
_STIFFNESS, _DAMPING = 0.7, 0.07


def default_gains(arm: ArmDescription, held: float = MAX_HELD_S) -> tuple[Array, Array]:
    """
    Return gains kp [N m/rad or N/m] and kd [N m s/rad or N s/m], shape (n,) each.

    They are stable with torques held for `held` [s], but for at most MAX_HELD_S, and as firm
    as that allows. They are in proportion to the inertia that each joint has at the arm's home
    pose while the other joints are free: a single joint has a damping ratio of 0.82. On simulated
    arms with friction and inertias 10 % off they follow motions at 90 % of the limits with errors
    of up to 1.1 rad at the wrist if torques may be held for 0.21 s, and of 0.4 rad for 0.05 s.
    """
    rate = HELD_RATE / min(held, MAX_HELD_S)
    kd = rate * _inertia_at_home(arm)
    return STIFFNESS_RATIO * rate * kd, kd


def weak_gains(
    arm: ArmDescription, most_rate: float, least_inertia: float = 0.0
) -> tuple[Array, Array]:
    """
    Return kp [N m/rad] and kd [N m s/rad] for states at most some milliseconds old, (n,) each.

    kd is a fraction of the torque limit, less where the joint's velocity would decay faster than
    `most_rate` [1/s], which is unstable with late torques. kp gives a damping ratio of 0.7, and is
    at most a fraction of the torque limit. A joint with less than `least_inertia` [kg m^2] gets
    the gains of a joint with that much.
    """
    inertia = np.maximum(_inertia_at_home(arm), least_inertia)
    effort = arm.limit('effort')
    kd = np.minimum(_DAMPING * effort, most_rate * inertia)
    return np.minimum(_STIFFNESS * effort, 0.5 * kd * kd / inertia), kd


def _inertia_at_home(arm: ArmDescription) -> Array:
    """Return each joint's inertia at home, other joints free: 1 / (M^-1)_ii, (n,) [kg m^2]."""
    inertia = NewtonEulerModel(arm).mass_matrix(arm.home_pose)
    return np.asarray(1.0 / np.diag(np.linalg.inv(inertia)))
