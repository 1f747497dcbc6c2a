# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Computes default gains for an arm that no other feedback controller moves.

Feedforward alone does not correct disturbances. Stiff gains, though, become unstable when states
are some milliseconds old, or when a torque is held because none comes. The gravity torque of an
old state is destabilising as well: under the constant torque that balances gravity at a Franka's
home pose, the arm accelerates away from this pose with 31 to 34 rad/s^2 per radian. Therefore no
proportional-derivative feedback is stable with states older than sqrt(2 / 31) = 0.25 s. With
`default_gains` all Franka arms, with and without a hand, are stable at home with torques held as
long as stated, or with states 0.4 times as old. With the rated load gravity makes the arms diverge
faster; then 0.8 times that long is stable.
"""

import numpy as np

from ..arm import ArmDescription
from ..arrays import Array
from ..dynamics.newton_euler import NewtonEulerModel

# Gains for torques held for T have kd = r m and kp = r kd / (4 DAMPING_RATIO^2) with
# m = 1 / (M^-1)_ii, the effective inertia of each joint at home while the other joints are free,
# and a rate r that is 4 1/s with T = MAX_HOLD_TIME_S, and grows in proportion to 1 / T.
# With 5 1/s torques may be held for 0.18 s, with 6 1/s for 0.15 s.
DAMPING_RATIO = np.sqrt(2.0 / 3.0)
MAX_HOLD_TIME_S = 0.21
# Upper bounds of kp and kd from `low_gains` relative to the torque limit [1/rad, s/rad]:
# 60 N m/rad and 6 N m s/rad for a limit of 87 N m.
_MAX_LOW_KP_TO_TORQUE_LIMIT, _MAX_LOW_KD_TO_TORQUE_LIMIT = 0.7, 0.07


def default_gains(arm: ArmDescription, hold_time: float = MAX_HOLD_TIME_S) -> tuple[Array, Array]:
    """
    Return gains kp and kd that are stable with torques held for `hold_time`, at most 0.21 s.

    kp [N m/rad or N/m] and kd [N m s/rad or N s/m] have shape (n,). `hold_time` counts as at most
    MAX_HOLD_TIME_S. The gains are in proportion to the inertia that each joint has at the
    arm's home pose while the other joints are free: a single joint has the damping ratio
    DAMPING_RATIO. On simulated arms with friction and inertias 10 % off they follow motions at
    90 % of the limits with errors of up to 1.1 rad at the wrist if torques may be held for 0.21 s,
    and of 0.4 rad for 0.05 s.
    """
    rate = 4.0 * max(1.0, MAX_HOLD_TIME_S / hold_time)
    kd = rate * _inertia_at_home(arm)
    return rate * kd / (4.0 * DAMPING_RATIO**2), kd


def low_gains(
    arm: ArmDescription, max_damping_rate: float, min_inertia: float = 0.0
) -> tuple[Array, Array]:
    """
    Return low gains kp [N m/rad] and kd [N m s/rad] for a largest damping rate, (n,) each.

    kd is a fraction of the torque limit, less where the joint's velocity would decay faster than
    `max_damping_rate` [1/s]; late torques need a low one. kp gives a damping ratio of 0.7, and is
    at most a fraction of the torque limit. A joint with less than `min_inertia` [kg m^2] gets the
    gains of a joint with `min_inertia`.
    """
    inertia = np.maximum(_inertia_at_home(arm), min_inertia)
    effort = arm.limit('effort')
    kd = np.minimum(_MAX_LOW_KD_TO_TORQUE_LIMIT * effort, max_damping_rate * inertia)
    return np.minimum(_MAX_LOW_KP_TO_TORQUE_LIMIT * effort, 0.5 * kd * kd / inertia), kd


def _inertia_at_home(arm: ArmDescription) -> Array:
    """Return each joint's inertia at home while the other joints are free, (n,) [kg m^2]."""
    inertia = NewtonEulerModel(arm).mass_matrix(arm.home_position)
    return np.asarray(1.0 / np.diag(np.linalg.inv(inertia)))
